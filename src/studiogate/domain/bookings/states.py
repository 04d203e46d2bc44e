"""The states of bookings, waitlist entries, memberships and classes, and the changes between them that exist."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType

from studiogate.domain.bookings.instants import instant_text
from studiogate.domain.refusals import Code, Refusal

CHECK_IN_OPENS = timedelta(hours=12)  # before the start: the evening before an early class, never days ahead


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
    """``scheduled`` and ``cancelled`` are stored; the other two follow from the clock."""

    SCHEDULED = "scheduled"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    CANCELLED = "cancelled"


# Everything but cancelled: at most one of these per class and member.
LIVE = frozenset(BookingStatus) - {BookingStatus.CANCELLED}

# What `booked_count` counts, and what counts towards `max_bookings_per_day`: a seat that was taken. Waiting for a
# seat is not holding one; a member may wait in several classes and gets as many seats as the limit allows.
SEAT_HOLDING = LIVE - {BookingStatus.WAITLISTED}

# What another class may overlap with: a member marked as no_show is evidently not sitting there.
OCCUPYING = SEAT_HOLDING - {BookingStatus.NO_SHOW}

# None is the state before the first one.
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

# The contract names the states only. An offer that is not taken goes back to waiting; the other three are final.
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
    """What a class is now: it is in progress from its start, and completed from its end."""
    if stored == ClassStatus.CANCELLED:
        return ClassStatus.CANCELLED
    if now < start:
        return ClassStatus.SCHEDULED
    return ClassStatus.IN_PROGRESS if now < end else ClassStatus.COMPLETED


# The statuses that the clock gives, in their order.
BY_THE_CLOCK = (ClassStatus.SCHEDULED, ClassStatus.IN_PROGRESS, ClassStatus.COMPLETED)


def unannounced_status(
    announced: ClassStatus, stored: ClassStatus, start: datetime, end: datetime, now: datetime
) -> ClassStatus | None:
    """Return the status that the clock has given to a class since ``announced``, or None where there is no such one.

    The clock only moves forward. A transaction that began before another one, and then waited for it, knows less.
    """
    current = class_status(stored, start, end, now)
    if current == ClassStatus.CANCELLED or BY_THE_CLOCK.index(current) <= BY_THE_CLOCK.index(announced):
        return None
    return current
