"""The states of bookings, waitlist entries, memberships and classes, and the valid transitions."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType

from studiogate.domain.instants import instant_text
from studiogate.domain.refusals import Code, Refusal

CHECK_IN_OPENS = timedelta(hours=12)  # before the start: allows the evening before an early class, not days ahead


class BookingStatus(StrEnum):
    WAITLISTED = "waitlisted"
    CONFIRMED = "confirmed"
    CHECKED_IN = "checked_in"
    NO_SHOW = "no_show"
    CANCELLED = "cancelled"


class WaitlistStatus(StrEnum):
    WAITING = "waiting"
    OFFERED = "offered"
    CONVERTED = "converted"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


class MembershipStatus(StrEnum):
    PENDING = "pending"
    ACTIVE = "active"
    PAUSED = "paused"
    PAST_DUE = "past_due"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class ClassStatus(StrEnum):
    """``scheduled`` and ``cancelled`` are stored; the other two are derived from the current time."""

    SCHEDULED = "scheduled"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    CANCELLED = "cancelled"


# Statements that look for classes at a time rely on it: the start times are then a range of an index.
MAX_CLASS = timedelta(days=7)
MAX_CLASS_MINUTES = MAX_CLASS // timedelta(minutes=1)

# Everything except cancelled: at most one such booking per class and member.
LIVE = frozenset(BookingStatus) - {BookingStatus.CANCELLED}

# The bookings counted by `booked_count` and towards `max_bookings_per_day`: those that hold a seat. A waitlisted
# booking holds none: a member may wait for several classes and gets as many seats as the limit allows.
SEAT_HOLDING = LIVE - {BookingStatus.WAITLISTED}

# The bookings that conflict with an overlapping class. A member marked as no_show is not attending, so it is excluded.
OCCUPYING = SEAT_HOLDING - {BookingStatus.NO_SHOW}

# The bookings of a class ahead that the member may still attend.
ATTENDABLE = frozenset({BookingStatus.CONFIRMED, BookingStatus.WAITLISTED})

# The waitlist entries that have not ended.
OPEN_ENTRY = frozenset({WaitlistStatus.WAITING, WaitlistStatus.OFFERED})

# None stands for a booking that does not exist yet.
BOOKING_TRANSITIONS: Mapping[BookingStatus | None, frozenset[BookingStatus]] = MappingProxyType(
    {
        None: frozenset({BookingStatus.CONFIRMED, BookingStatus.WAITLISTED}),
        BookingStatus.WAITLISTED: frozenset({BookingStatus.CONFIRMED, BookingStatus.CANCELLED}),
        BookingStatus.CONFIRMED: frozenset({BookingStatus.CHECKED_IN, BookingStatus.NO_SHOW, BookingStatus.CANCELLED}),
        BookingStatus.CHECKED_IN: frozenset({BookingStatus.CONFIRMED}),
        BookingStatus.NO_SHOW: frozenset({BookingStatus.CHECKED_IN}),
        BookingStatus.CANCELLED: frozenset(),
    }
)


def _reachable_from(start: BookingStatus) -> frozenset[BookingStatus]:
    """Return the statuses that a booking can have after one or several transitions, except ``start`` itself."""
    found: set[BookingStatus] = set()
    newest: set[BookingStatus] = {start}
    while newest:
        newest = {target for each in newest for target in BOOKING_TRANSITIONS[each]} - found
        found |= newest
    return frozenset(found - {start})


# The statuses that a studio file may give to a stored booking. A file states results, also corrected ones, and not each
# step towards them: a waitlisted booking may become checked_in, and a no_show confirmed or cancelled.
IMPORT_TRANSITIONS: Mapping[BookingStatus, frozenset[BookingStatus]] = MappingProxyType(
    {each: _reachable_from(each) for each in BookingStatus}
)

# The contract names only the states. An offer that is not accepted returns to waiting; the other three are final.
WAITLIST_TRANSITIONS: Mapping[WaitlistStatus | None, frozenset[WaitlistStatus]] = MappingProxyType(
    {
        None: frozenset({WaitlistStatus.WAITING}),
        WaitlistStatus.WAITING: frozenset(WaitlistStatus) - {WaitlistStatus.WAITING},
        WaitlistStatus.OFFERED: frozenset(WaitlistStatus) - {WaitlistStatus.OFFERED},
        WaitlistStatus.CONVERTED: frozenset(),
        WaitlistStatus.EXPIRED: frozenset(),
        WaitlistStatus.CANCELLED: frozenset(),
    }
)


def booking_transition_refusal(current: BookingStatus, target: BookingStatus) -> Refusal | None:
    if target in BOOKING_TRANSITIONS[current]:
        return None
    return Refusal(Code.INVALID_TRANSITION, {"from": str(current), "to": str(target)})


def attendance_refusal(current: BookingStatus, target: BookingStatus, start: datetime, now: datetime) -> Refusal | None:
    """Refuse a check-in before it opens and a no-show before the class starts. Corrections are possible at any time."""
    if current != BookingStatus.CONFIRMED or target not in (BookingStatus.CHECKED_IN, BookingStatus.NO_SHOW):
        return None
    possible_from = start - CHECK_IN_OPENS if target == BookingStatus.CHECKED_IN else start
    if now >= possible_from:
        return None
    details = {"from": str(current), "to": str(target), "possible_from": instant_text(possible_from)}
    return Refusal(Code.INVALID_TRANSITION, details)


def waitlist_transition_refusal(current: WaitlistStatus, target: WaitlistStatus) -> Refusal | None:
    if target in WAITLIST_TRANSITIONS[current]:
        return None
    return Refusal(Code.INVALID_TRANSITION, {"from": str(current), "to": str(target)})


def class_status(stored: ClassStatus, start: datetime, end: datetime, now: datetime) -> ClassStatus:
    """Return the current status of a class: in progress from its start, completed from its end."""
    if stored == ClassStatus.CANCELLED:
        return ClassStatus.CANCELLED
    if now < start:
        return ClassStatus.SCHEDULED
    return ClassStatus.IN_PROGRESS if now < end else ClassStatus.COMPLETED


# The statuses that a class passes through over time, in order.
BY_THE_CLOCK = (ClassStatus.SCHEDULED, ClassStatus.IN_PROGRESS, ClassStatus.COMPLETED)


def unannounced_status(
    announced: ClassStatus, stored: ClassStatus, start: datetime, end: datetime, now: datetime
) -> ClassStatus | None:
    """Return the status that a class has reached since ``announced``, or None if it has reached no later one. Statuses
    only advance: a transaction that waited for a later one may see a status beyond its own ``now``."""
    current = class_status(stored, start, end, now)
    if current == ClassStatus.CANCELLED or BY_THE_CLOCK.index(current) <= BY_THE_CLOCK.index(announced):
        return None
    return current
