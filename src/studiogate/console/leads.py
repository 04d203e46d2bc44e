"""Leads: the board with a column for each status, whose cards move by drag and drop, by keys, or in the lead's drawer;
one lead with its notes, and what staff do with it."""

from collections.abc import Mapping
from uuid import UUID

from studiogate.console.framework import Action, ConsoleRequest, Done, Form, Subject, Values, page, page_of, words
from studiogate.console.framework.formats import with_query
from studiogate.console.framework.inputs import Input, Row, input_of
from studiogate.console.framework.parse import as_id
from studiogate.console.framework.request import UndoAction, own_page
from studiogate.domain.leads import LeadStatus
from studiogate.domain.members import MAX_NOTE, NEW_MEMBER
from studiogate.domain.refusals import Fault
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import fault
from studiogate.flows import lead_staff as flows
from studiogate.storage import lead_board
from studiogate.storage.db.pool import Connection
from studiogate.storage.forms import inbox
from studiogate.storage.lead_board import Origin
from studiogate.web.response import Answer

PATH = "/console/leads"
PER_COLUMN = 15
PER_PAGE = 50
MAX_FORMS = 200
LABELS: Mapping[str, str] = words.WORDS["leads"]
COLUMNS = [LeadStatus(each) for each in LABELS]
SOURCES = {"partner_api": "A partner", "form": "A form"}


def _origin_of(request: ConsoleRequest) -> Origin:
    """Return what the address filters by: a source, or the id of a form."""
    asked = request.query.get("source", "")
    if not asked or not asked.isprintable():
        return Origin()
    return Origin("form", str(form)) if (form := as_id(asked)) else Origin("source", asked)


def source_text(source: str) -> str:
    text = SOURCES.get(source, source.replace("_", " ")) if source else "Not said"
    return text[:1].upper() + text[1:]


@page("/leads", Permission.LEADS)
async def board(request: ConsoleRequest) -> Answer:
    """Show the first leads of each status. On phones one column at a time: ``status`` is the one that is shown."""
    origin, asked = _origin_of(request), request.query.get("status")
    source, shown = origin.value, LeadStatus(asked) if asked in set(LeadStatus) else LeadStatus.NEW
    async with request.database.connection() as connection:
        read = await lead_board.read_board(connection, request.access, origin, PER_COLUMN)
        sources = await lead_board.sources(connection, request.access)
        forms = await inbox.form_titles(connection, request.access, MAX_FORMS)
    found = {each.status: each for each in read}
    return request.render(
        "leads/board.html",
        columns=[found[each] for each in COLUMNS],
        labels=LABELS,
        shown=shown,
        source=source,
        origins=[
            ("Sources", [(each, source_text(each)) for each in sources]),
            ("Forms", [(str(each["id"]), each["title"]) for each in forms]),
        ],
        source_text=source_text,
        here=with_query(PATH, source=source, status=shown if asked else None),
        address=lambda status: with_query(PATH, source=source, status=status),
        more=lambda column: with_query(f"{PATH}/list", status=column.status, source=source, after=column.page.next),
    )


@page("/leads/list", Permission.LEADS)
async def column(request: ConsoleRequest) -> Answer:
    """Show the leads of a status, a page at a time."""
    origin, asked = _origin_of(request), request.query.get("status")
    status, after = LeadStatus(asked) if asked in set(LeadStatus) else LeadStatus.NEW, as_id(request.query.get("after"))
    found = await request.read(lead_board.read_column, status, origin, (after, PER_PAGE))
    given = {"status": status, "source": origin.value}
    return request.render(
        "leads/list.html",
        rows=found.rows,
        label=LABELS[status],
        source_text=source_text,
        here=with_query(f"{PATH}/list", **given, after=after),
        back=with_query(PATH, **given),
        next_href=found.next and with_query(f"{PATH}/list", **given, after=found.next),
    )


# One lead.


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
