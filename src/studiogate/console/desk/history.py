"""The lines of a class's history: who booked, cancelled, was promoted, by which partner or person."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple
from uuid import UUID

from studiogate.console.framework.formats import money
from studiogate.domain.access import Access
from studiogate.storage.bookings import roster as storage
from studiogate.storage.bookings.roster import ClassAction, PlacedBooking
from studiogate.storage.db.pool import Connection

AUTOMATIC = "automatic"
_MARKS: Mapping[str, str] = MappingProxyType(
    {
        "booking.check_in": "checked in",
        "booking.check_in_undone": "check-in undone",
        "booking.no_show": "marked as no-show",
        "booking.no_show_undone": "no-show undone",
    }
)
_CANCELLATIONS: Mapping[str, str] = MappingProxyType(
    {
        "standard": "cancelled",
        "late": "cancelled late",
        "graced": "cancelled late, graced",
        "studio": "cancelled by the studio",
        "class_cancelled": "cancelled with the class",
        "waitlist_left": "left the waitlist",
    }
)
_CLASS_ACTIONS: Mapping[str, str] = MappingProxyType(
    {"class.cancel": "Class cancelled", "class.create": "Class created", "class.capacity": "Capacity changed"}
)


class Line(NamedTuple):
    """One thing that happened. Without a name it is about the class itself."""

    at: datetime
    name: str | None
    member_id: UUID | None
    text: str
    by: str | None


async def read_lines(connection: Connection, access: Access, class_id: UUID) -> list[Line]:
    """Return the history of a class, newest first."""
    placed = await storage.placed_bookings(connection, access, class_id)
    entries = [each.entry_id for each in placed if each.entry_id is not None]
    actions = await storage.actions_on(connection, access, [class_id, *(each.id for each in placed), *entries])
    return lines_of(class_id, placed, actions)


def lines_of(class_id: UUID, placed: Sequence[PlacedBooking], actions: Sequence[ClassAction]) -> list[Line]:
    people = {(each.subject_id, each.action): each.actor_name for each in actions}
    names = {each.id: each for each in placed}
    lines = [line for each in placed for line in _course(each, people)]
    for action in actions:
        if action.subject_id == class_id:
            lines.append(Line(action.occurred_at, None, None, _class_text(action), action.actor_name))
        elif action.action in _MARKS and action.subject_id in names:
            booking = names[action.subject_id]
            text = _MARKS[action.action]
            lines.append(Line(action.occurred_at, booking.name, booking.member_id, text, action.actor_name))
    return sorted(lines, key=lambda line: line.at, reverse=True)


def _course(booking: PlacedBooking, people: Mapping[tuple[UUID, str], str]) -> Iterator[Line]:
    """Yield the lines of one booking: booked or joined, promoted, cancelled."""
    who = (booking.name, booking.member_id)
    booked_by = booking.partner or people.get((booking.id, "booking.create"))
    if booking.joined_at is None:
        yield Line(booking.created_at, *who, "booked", booked_by)
    else:
        yield Line(booking.joined_at, *who, "joined the waitlist", booked_by)
    if booking.taken_at is not None:
        by_hand = people.get((booking.entry_id, "waitlist.promote")) if booking.entry_id else None
        text = "promoted" if booking.was_promoted else "took a free seat"
        yield Line(booking.taken_at, *who, text, by_hand or (AUTOMATIC if booking.was_promoted else booked_by))
    if booking.cancelled_at is not None:
        by = (
            booking.cancelled_by
            or people.get((booking.id, "booking.cancel"))
            or people.get((booking.id, "booking.move"))
        )
        yield Line(booking.cancelled_at, *who, _cancellation_text(booking), by)


def _cancellation_text(booking: PlacedBooking) -> str:
    text = _CANCELLATIONS.get(booking.cancellation_type or "", "cancelled")
    if booking.credits_returned:
        text += ", credit returned"
    if booking.credits_forfeited:
        text += ", credit forfeited"
    if booking.fee:
        text += f", {money(booking.fee, booking.fee_currency)} fee"
    return text


def _class_text(action: ClassAction) -> str:
    changes = json.loads(action.changes)
    shown = _SHOWN & set(changes)
    if shown == {"capacity"}:
        before, after = changes["capacity"]
        return f"Capacity changed from {before} to {after}"
    if action.action in _CLASS_ACTIONS:
        return _CLASS_ACTIONS[action.action]
    fields = ", ".join(sorted(name.removesuffix("_id").replace("_", " ") for name in shown))
    return f"Class changed: {fields}" if fields else "Class changed"


_SHOWN = frozenset(
    {"title", "start_time", "end_time", "capacity", "room_id", "instructor_id", "class_type_id", "visible", "policy"}
)
