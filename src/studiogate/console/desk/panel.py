"""Read one class with its people, as the panel of Today and the page of a class show it."""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from studiogate.console import resolutions
from studiogate.console.desk import views
from studiogate.console.desk.views import ClassCard, SeatRow
from studiogate.console.framework import ConsoleRequest, Resolution, words
from studiogate.console.framework.formats import money
from studiogate.domain.access import Access
from studiogate.domain.bookings.policy import Policy
from studiogate.domain.bookings.states import ClassStatus
from studiogate.domain.staff import Permission
from studiogate.storage.bookings import read, roster
from studiogate.storage.bookings.roster import MAX_PEOPLE, ClassAction, PlacedBooking, Waiting
from studiogate.storage.db.pool import Connection
from studiogate.storage.schedule import day
from studiogate.storage.schedule.day import DayClass

# The lines of a class's history: who booked, cancelled, was promoted, by which partner or person.

AUTOMATIC = "automatic"
_MARKS: Mapping[str, str] = words.WORDS["marks"]
_CANCELLATIONS: Mapping[str, str] = words.WORDS["cancellations"]
_CLASS_ACTIONS: Mapping[str, str] = words.WORDS["class_actions"]
_CLASS_FIELDS = frozenset(
    {"title", "start_time", "end_time", "capacity", "room_id", "instructor_id", "class_type_id", "visible", "policy"}
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
    placed = await roster.placed_bookings(connection, access, class_id)
    entries = [each.entry_id for each in placed if each.entry_id is not None]
    actions = await roster.actions_on(connection, access, [class_id, *(each.id for each in placed), *entries])
    people = {(each.subject_id, each.action): each.actor_name for each in actions}
    names = {each.id: each for each in placed}
    lines = [line for each in placed for line in _course(each, people)]
    for action in actions:
        if action.subject_id == class_id:
            lines.append(Line(action.occurred_at, None, None, _class_text(action), action.actor_name))
        elif action.action in _MARKS and (who := names.get(action.subject_id)) is not None:
            text = _MARKS[action.action]
            lines.append(Line(action.occurred_at, who.name, who.member_id, text, action.actor_name))
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
        acts = ("booking.cancel", "booking.move")
        by = booking.cancelled_by or next(filter(None, (people.get((booking.id, act)) for act in acts)), None)
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
    shown = _CLASS_FIELDS & set(changes)
    if shown == {"capacity"}:
        before, after = changes["capacity"]
        return f"Capacity changed from {before} to {after}"
    if action.action in _CLASS_ACTIONS:
        return _CLASS_ACTIONS[action.action]
    fields = ", ".join(sorted(name.removesuffix("_id").replace("_", " ") for name in shown))
    return f"Class changed: {fields}" if fields else "Class changed"


JUST_NOW = 8  # lines


class WaitingRow(NamedTuple):
    """A line of the waitlist; ``resolution`` leads to what makes the member eligible again."""

    waiting: Waiting
    since: str
    skip_text: str | None
    resolution: Resolution | None
    can_promote: bool


class Panel(NamedTuple):
    """A class with its people. Who may not act on the class does not see them: an instructor sees their own classes."""

    card: ClassCard
    policy: Policy
    sees_people: bool
    rows: list[SeatRow]
    waiting: list[WaitingRow]
    lines: list[Line]

    @property
    def class_(self) -> DayClass:
        return self.card.class_

    @property
    def free(self) -> int:
        return views.free_seats(self.class_)

    @property
    def seats_not_listed(self) -> int:
        """How many people have a seat, but are beyond the most that a page lists."""
        return max(0, self.class_.booked_count - len(self.rows)) if len(self.rows) >= MAX_PEOPLE else 0

    @property
    def waiting_not_listed(self) -> int:
        return max(0, self.class_.waitlist_count - len(self.waiting)) if len(self.waiting) >= MAX_PEOPLE else 0

    @property
    def just_now(self) -> list[Line]:
        return self.lines[:JUST_NOW]


async def find_card(connection: Connection, request: ConsoleRequest, class_id: UUID) -> ClassCard | None:
    found = await day.find_class(connection, request.access, class_id)
    return None if found is None else views.card_of(found)


async def card_of_path(request: ConsoleRequest) -> ClassCard | None:
    async with request.database.connection() as connection:
        return await find_card(connection, request, request.param_id("class_id"))


def sees_people(request: ConsoleRequest, class_: DayClass) -> bool:
    """Return whether the person may see the names of a class: the desk all of them, an instructor their own."""
    return request.may(Permission.ATTENDANCE) and request.access.may_act_on_class_of(class_.instructor_id)


async def read_panel(connection: Connection, request: ConsoleRequest, card: ClassCard) -> Panel:
    access, class_ = request.access, card.class_
    situation = await read.find_class(connection, access, class_.id)
    if situation is None:
        raise AssertionError("a class that was found has a policy")
    if not sees_people(request, class_):
        return Panel(card, situation.policy, False, [], [], [])
    seats = await roster.seats_of_class(connection, access, class_.id, class_.start_time)
    waiting = await roster.waiting_for_class(connection, access, class_.id, class_.start_time)
    lines = await read_lines(connection, access, class_.id)
    sees_fees = request.may(Permission.SALES)
    return Panel(
        card,
        situation.policy,
        True,
        [views.seat_row(seat, class_, situation.policy, sees_fees=sees_fees) for seat in seats],
        [_waiting_row(request, class_, each) for each in waiting],
        lines,
    )


async def read_row(
    connection: Connection, request: ConsoleRequest, card: ClassCard, booking_id: UUID
) -> SeatRow | None:
    class_ = card.class_
    situation = await read.find_class(connection, request.access, class_.id)
    seats = await roster.seats_of_class(connection, request.access, class_.id, class_.start_time, booking_id)
    if situation is None or not seats:
        return None
    return views.seat_row(seats[0], class_, situation.policy, sees_fees=request.may(Permission.SALES))


def _waiting_row(request: ConsoleRequest, class_: DayClass, waiting: Waiting) -> WaitingRow:
    ways, code = resolutions.at_the_desk(class_.id, waiting.person.member_id), waiting.skip_reason
    can_promote = (
        views.free_seats(class_) > 0
        and class_.now < class_.start_time
        and class_.status == ClassStatus.SCHEDULED
        and request.may(Permission.BOOKINGS)
    )
    return WaitingRow(
        waiting,
        views.moment(waiting.joined_at, class_),
        None if code is None else resolutions.short_text(code),
        None if code is None else resolutions.resolution(request, code, ways),
        can_promote,
    )
