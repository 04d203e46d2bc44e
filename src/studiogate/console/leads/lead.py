"""One lead: where it came from, its notes, and what staff do with it: move it, note, make a member of it."""

from uuid import UUID

from studiogate.console.framework import (
    Action,
    ConsoleRequest,
    Done,
    Form,
    Subject,
    UndoAction,
    Values,
    own_page,
    page_of,
)
from studiogate.console.framework.inputs import Input, Row, input_of
from studiogate.console.leads.board import COLUMNS, LABELS, PATH, source_text
from studiogate.domain.leads import LeadStatus
from studiogate.domain.members import MAX_NOTE, NEW_MEMBER
from studiogate.domain.refusals import Fault
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import fault
from studiogate.flows import lead_staff as flows
from studiogate.storage import lead_board
from studiogate.storage.db.pool import Connection


def address(lead_id: UUID) -> str:
    return f"{PATH}/{lead_id}"


def _name(row: Row) -> str:
    return str(row["name"] or row["email"])


LEAD = Subject(
    "lead", "/leads/{lead_id}", Permission.LEADS, lead_board.read_lead, lambda row: address(row["id"]), _name
)


@page_of(LEAD, "/leads/{lead_id}", Permission.LEADS, "leads/lead.html")
async def show(request: ConsoleRequest, connection: Connection, lead: Row) -> Values:
    """Show a lead in the drawer, or as a page."""
    status = LeadStatus(lead["status"])
    return {
        "forms_sent": await lead_board.forms_of(connection, request.access, lead["id"]),
        "title": _name(lead),
        "status_text": LABELS[status],
        "source_text": source_text,
        "others": []
        if status is LeadStatus.CONVERTED
        else [(each, LABELS[each]) for each in MOVABLE if each != status],
        "here": own_page(request.query.get("next")) or PATH,
        "max_note": MAX_NOTE,
    }


MOVABLE = [each for each in COLUMNS if each is not LeadStatus.CONVERTED]


def _status(name: str, typed: str, _row: Row) -> LeadStatus | Fault:
    return LeadStatus(typed) if typed in set(LeadStatus) else fault(name, "must be a column of the board")


def _moved_back(done: Done) -> UndoAction | None:
    was = LeadStatus(done.row["status"])
    if was in (LeadStatus.CONVERTED, done.result):
        return None
    here = own_page(done.request.form.get("next")) or PATH
    return UndoAction(f"{address(done.row['id'])}/move", {"status": was, "next": here})


ACTIONS = (
    Action(
        LEAD,
        "move",
        flows.move,
        lambda done: f"{_name(done.row)}: {LABELS[done.result].lower()}.",
        [Input("status", read=_status)],
        leads_to=lambda _done: PATH,
        undo=_moved_back,
    ),
    Action(
        LEAD,
        "note",
        flows.add_note,
        "Added the note.",
        [Input("note", "Note", "textarea", required=True, attributes={"maxlength": MAX_NOTE, "rows": 3})],
        Form("Add a note", "Add the note", about="Notes are for the studio's staff. Partners never see them."),
    ),
    Action(
        LEAD,
        "convert",
        flows.convert,
        lambda done: f"{done.result['name']} is a member now.",
        [
            input_of(NEW_MEMBER["first_name"], half=True),
            input_of(NEW_MEMBER["last_name"], half=True),
            input_of(NEW_MEMBER["phone"]),
        ],
        Form("Make a member", "Make a member", about="Bookings, memberships and forms are kept with the member."),
        edits=True,
        leads_to=lambda done: f"/console/members/{done.result['id']}" if done.request.may(Permission.MEMBERS) else PATH,
        is_offered=lambda row: row["member_id"] is None or row["status"] != LeadStatus.CONVERTED,
    ),
)
