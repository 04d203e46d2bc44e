"""Read one class with its people, as the panel of Today and the page of a class show it."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from studiogate.console import resolutions
from studiogate.console.desk import history, views
from studiogate.console.desk.history import Line
from studiogate.console.desk.views import ClassCard, SeatRow
from studiogate.console.framework.parse import as_id
from studiogate.console.framework.refusals import Resolution
from studiogate.console.framework.request import ConsoleRequest
from studiogate.domain.bookings.policy import Policy
from studiogate.domain.bookings.states import ClassStatus
from studiogate.domain.staff import Permission
from studiogate.storage.bookings import read, roster
from studiogate.storage.bookings.roster import MAX_PEOPLE, Waiting
from studiogate.storage.db.pool import Connection
from studiogate.storage.schedule import day
from studiogate.storage.schedule.day import DayClass

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
        return _not_listed(self.rows, self.class_.booked_count)

    @property
    def waiting_not_listed(self) -> int:
        return _not_listed(self.waiting, self.class_.waitlist_count)

    @property
    def just_now(self) -> list[Line]:
        return self.lines[:JUST_NOW]


def _not_listed(listed: Sequence[object], count: int) -> int:
    return max(0, count - len(listed)) if len(listed) >= MAX_PEOPLE else 0


async def find_card(connection: Connection, request: ConsoleRequest, class_id: str) -> ClassCard | None:
    """Return the class that a path or a query names, if the person may see it."""
    parsed = as_id(class_id)
    found = None if parsed is None else await day.find_class(connection, request.access, parsed)
    return None if found is None else views.card_of(found)


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
    lines = await history.read_lines(connection, access, class_.id)
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
    """Return one line of the roster."""
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
