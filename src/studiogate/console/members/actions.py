"""What staff do with a member and a membership: create, change, note, suspend; pause, cancel, renew, adjust credits."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from studiogate.console.framework.actions import NEW, Action, Done, Subject
from studiogate.console.framework.inputs import (
    REASON,
    REQUIRED_REASON,
    Input,
    Row,
    input_of,
    is_yes,
    optional_day,
    whole_number,
)
from studiogate.console.framework.parse import as_id
from studiogate.console.framework.refusals import Resolution
from studiogate.console.framework.request import ConsoleRequest, UndoAction
from studiogate.console.members.profile import MEMBER, address
from studiogate.domain.access import Access
from studiogate.domain.members import MAX_NOTE, NEW_MEMBER
from studiogate.domain.membership_changes import Pause
from studiogate.domain.memberships import MembershipState
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import Permission
from studiogate.flows import memberships
from studiogate.flows.members import staff as flows
from studiogate.storage import member_profile
from studiogate.storage.db.pool import Connection

MEMBERSHIP = Subject(
    "membership",
    member_profile.read_membership,
    lambda row: address(row["member_id"]),
    lambda row: f"{row['member']} · {row['product']}",
)
PROFILE = (
    input_of(NEW_MEMBER["first_name"], half=True),
    input_of(NEW_MEMBER["last_name"], half=True),
    input_of(NEW_MEMBER["email"], "Bookings, forms and leads with this email are theirs."),
    input_of(NEW_MEMBER["phone"], "Without a country code, the studio's country is assumed."),
)


def resolution_of(_request: ConsoleRequest, _row: Row, refusal: Refusal) -> Resolution | None:
    """Return the link to the member whose email was given again."""
    other = as_id(str(refusal.details.get("member_id")))
    if refusal.code is not Code.MEMBER_EXISTS or other is None:
        return None
    return Resolution("Open that member", address(other))


async def _create(
    connection: Connection, access: Access, given: Mapping[str, object]
) -> Mapping[str, object] | Refusal:
    return await flows.create(connection, access, {name: value for name, value in given.items() if value})


async def _pause(
    connection: Connection,
    access: Access,
    membership_id: UUID,
    *asked: Any,
) -> MembershipState | Refusal:
    return await memberships.pause(connection, access, membership_id, Pause(*asked))


async def _cancel(
    connection: Connection, access: Access, membership_id: UUID, when: str, reason: str | None
) -> MembershipState | Refusal:
    at_end = when == "period_end"
    return await memberships.cancel(connection, access, membership_id, reason, at_period_end=at_end)


def _cancelled(done: Done) -> str:
    at_end = done.given["when"] == "period_end"
    return f"{done.row['product']} {'will end with its period' if at_end else 'is cancelled'}."


def _undo_cancellation(done: Done) -> UndoAction | None:
    at_end = done.given["when"] == "period_end"
    return UndoAction(f"/console/memberships/{done.row['id']}/uncancel") if at_end else None


def _undo_adjustment(done: Done) -> UndoAction:
    fields = {"credits": str(-done.given["credits"]), "reason": f"Undo: {done.given['reason']}"[:500]}
    return UndoAction(f"/console/memberships/{done.row['id']}/credits", fields)


ACTIONS = (
    Action(
        "/members/new",
        Permission.MEMBERS,
        NEW,
        _create,
        lambda done: f"Created {done.result['name']}.",
        title="New member",
        button="Create",
        about="Only the name is required.",
        inputs=PROFILE,
        edits=True,
        leads_to=lambda done: address(done.result["id"]),
        resolve=resolution_of,
    ),
    Action(
        "/members/{member_id}/change",
        Permission.MEMBERS,
        MEMBER,
        flows.change,
        "Saved.",
        title="Change the profile",
        button="Save",
        inputs=PROFILE,
        edits=True,
        resolve=resolution_of,
    ),
    Action(
        "/members/{member_id}/note",
        Permission.MEMBERS,
        MEMBER,
        flows.add_note,
        "Added the note.",
        title="Add a note",
        button="Add the note",
        inputs=[
            Input(
                "note",
                "Note",
                "textarea",
                required=True,
                help="Only staff see notes. Partners and the member do not.",
                attributes={"rows": 5, "maxlength": MAX_NOTE},
            )
        ],
    ),
    Action(
        "/members/{member_id}/suspend",
        Permission.MEMBERS,
        MEMBER,
        flows.suspend,
        "Suspended: no new bookings are possible.",
        title="Suspend",
        button="Suspend",
        kind="danger",
        about="New bookings are refused while the member is suspended, whoever makes them. Bookings that exist stay.",
        inputs=[REASON],
        undo="unsuspend",
    ),
    Action(
        "/members/{member_id}/unsuspend",
        Permission.MEMBERS,
        MEMBER,
        flows.unsuspend,
        "The suspension has ended.",
        inputs=[REASON],
        undo="suspend",
    ),
    Action(
        "/memberships/{membership_id}/pause",
        Permission.SALES,
        MEMBERSHIP,
        _pause,
        lambda done: f"{done.row['product']} {'is paused' if done.result.status == 'paused' else 'will be paused'}.",
        title="Pause",
        button="Pause",
        about="Bookings that exist stay; new ones are refused while it is paused. A period that ends meanwhile begins "
        "again when the pause ends.",
        inputs=[
            Input("starts_at", "From", "date", optional_day, help="Empty: from now on.", half=True),
            Input(
                "ends_at", "Runs again from", "date", optional_day, help="Empty: until somebody resumes it.", half=True
            ),
            REASON,
        ],
        undo="resume",
    ),
    Action(
        "/memberships/{membership_id}/resume",
        Permission.SALES,
        MEMBERSHIP,
        memberships.resume,
        lambda done: f"{done.row['product']} runs again.",
    ),
    Action(
        "/memberships/{membership_id}/cancel",
        Permission.SALES,
        MEMBERSHIP,
        _cancel,
        _cancelled,
        title="Cancel the membership",
        button="Cancel the membership",
        kind="danger",
        about="Bookings that exist stay. Nothing is refunded by itself: record a refund under Purchases.",
        inputs=[Input("when", "When"), REASON],
        template="members/membership_cancel.html",
        undo=_undo_cancellation,
    ),
    Action(
        "/memberships/{membership_id}/uncancel",
        Permission.SALES,
        MEMBERSHIP,
        memberships.uncancel,
        lambda done: f"{done.row['product']} goes on.",
    ),
    Action(
        "/memberships/{membership_id}/renewal",
        Permission.SALES,
        MEMBERSHIP,
        memberships.set_renewal,
        lambda done: f"{done.row['product']} {'renews' if done.given['auto_renew'] else 'does not renew'}.",
        inputs=[Input("auto_renew", read=is_yes)],
    ),
    Action(
        "/memberships/{membership_id}/credits",
        Permission.SALES,
        MEMBERSHIP,
        memberships.adjust_credits,
        lambda done: f"{done.row['product']} has {done.result.credits_remaining} credits now.",
        title="Adjust credits",
        button="Adjust",
        inputs=[
            Input(
                "credits",
                "Change",
                "number",
                whole_number,
                required=True,
                help="How many credits more; fewer with a minus.",
                attributes={"step": 1, "placeholder": "+1 or -1"},
            ),
            REQUIRED_REASON,
        ],
        template="members/membership_credits.html",
        undo=_undo_adjustment,
    ),
)
