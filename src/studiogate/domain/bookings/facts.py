"""The input of the rules, read while holding the class's lock and passed as a whole. Every instant is UTC.

All types are named tuples: a dozen are created per booking, and a frozen dataclass takes many times as long."""

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.bookings.policy import Policy
from studiogate.domain.bookings.states import BookingStatus, ClassStatus, MembershipStatus


class SpotSelectionMode(StrEnum):
    """How spots are chosen. A class without spots has None instead."""

    OPTIONAL = "optional"
    REQUIRED = "required"


class ClassFacts(NamedTuple):
    """``status`` is the stored status (scheduled or cancelled); ``booked_count`` is the number of seats held."""

    id: UUID
    status: ClassStatus
    visible: bool
    start_time: datetime
    end_time: datetime
    capacity: int
    booked_count: int
    waitlist_count: int
    allow_waitlist: bool
    spot_selection_mode: SpotSelectionMode | None
    class_type_id: UUID | None
    location_id: UUID | None

    @property
    def available_count(self) -> int:
        return max(0, self.capacity - self.booked_count)


class MembershipFacts(NamedTuple):
    """``credits_remaining`` None means unlimited. The two sets are the product's limits; an empty set is no limit."""

    id: UUID
    status: MembershipStatus
    credits_remaining: int | None
    started_at: datetime | None
    current_period_end: datetime | None
    class_type_ids: frozenset[UUID] = frozenset()
    location_ids: frozenset[UUID] = frozenset()
    pause_starts_at: datetime | None = None
    pause_ends_at: datetime | None = None
    auto_renew: bool = False
    cancel_at_period_end: bool = False
    cancel_at: datetime | None = None


class LiveBooking(NamedTuple):
    id: UUID
    status: BookingStatus


class MemberFacts(NamedTuple):
    """A member with respect to one class and one policy.

    ``waiver_submitted``: the policy's ``waiver_form_id`` has been submitted (irrelevant if the policy has none).
    ``bookings_that_day``: the number of SEAT_HOLDING bookings in OTHER classes that start within ``local_day_bounds``
    of this class's start in the studio's timezone. ``overlapping``: an OCCUPYING booking in ANOTHER class ``overlaps``
    this one. Both exclude this class: a booking in it is ``live_booking`` and has its own codes."""

    id: UUID
    suspended: bool
    waiver_submitted: bool
    live_booking: LiveBooking | None
    bookings_that_day: int
    overlapping: bool
    memberships: tuple[MembershipFacts, ...]
    erased: bool = False


class SpotFacts(NamedTuple):
    """``held``: a live booking of this class holds the spot."""

    id: UUID
    label: str
    held: bool


class BookingRequest(NamedTuple):
    join_waitlist: bool = False
    class_spot_id: UUID | None = None


class Attempt(NamedTuple):
    """One attempt to book: everything that the rules examine. ``seats_open`` is ``seats_open_to_newcomers``, not the
    class's ``available_count``: a free seat may be reserved for a waiting member."""

    class_: ClassFacts
    policy: Policy
    member: MemberFacts
    request: BookingRequest
    spots: tuple[SpotFacts, ...]
    seats_open: int
    now: datetime

    @property
    def would_wait(self) -> bool:
        """Whether no seat is open and the request asks to join the waitlist."""
        return self.seats_open <= 0 and self.request.join_waitlist

    @property
    def converts(self) -> LiveBooking | None:
        """The member's own waitlisted booking, which becomes confirmed if a seat is open and not reserved; or None."""
        live = self.member.live_booking
        if live is None or live.status != BookingStatus.WAITLISTED or self.seats_open <= 0:
            return None
        return None if self.policy.promises_seats(self.class_.start_time, self.now) else live


class WaitingEntry(NamedTuple):
    """A ``waiting`` entry. ``policy`` is the one frozen on its booking; ``member`` is read for that policy."""

    id: UUID
    booking_id: UUID
    position: int
    member: MemberFacts
    policy: Policy
    skip_reason: str | None = None


class BookingFacts(NamedTuple):
    """A booking about to be cancelled, with its frozen policy. ``credits_taken`` is 0 or 1; ``cancellation_id`` is the
    id of the receipt if it is already cancelled."""

    id: UUID
    class_id: UUID
    member_id: UUID
    status: BookingStatus
    policy: Policy
    membership_id: UUID | None
    credits_taken: int
    class_spot_id: UUID | None
    promoted_at: datetime | None
    cancellation_id: UUID | None
