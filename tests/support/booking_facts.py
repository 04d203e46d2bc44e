"""Default facts of a class, a member and a booking; a test passes only what differs from the defaults."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from hypothesis import settings

from studiogate.domain.bookings.cancellation import CancellationAttempt, CancellationCause
from studiogate.domain.bookings.facts import (
    Attempt,
    BookingFacts,
    BookingRequest,
    ClassFacts,
    MemberFacts,
    MembershipFacts,
    SpotFacts,
    WaitingEntry,
)
from studiogate.domain.bookings.policy import Policy
from studiogate.domain.bookings.states import BookingStatus, ClassStatus, MembershipStatus

# The rules do not read the clock, so their property tests have no deadline: a busy machine must not fail them.
without_deadline = settings(deadline=None)
thorough = settings(deadline=None, max_examples=500)

START = datetime(2026, 8, 10, 16, 0, tzinfo=UTC)
END = START + timedelta(hours=1)
NOW = START - timedelta(days=2)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)


def uid(number: int) -> UUID:
    return UUID(int=number)


YOGA, NORTH = uid(101), uid(102)


def a_class(**changes: Any) -> ClassFacts:
    members: dict[str, Any] = {
        "id": uid(1),
        "status": ClassStatus.SCHEDULED,
        "visible": True,
        "start_time": START,
        "end_time": END,
        "capacity": 10,
        "booked_count": 3,
        "waitlist_count": 0,
        "allow_waitlist": True,
        "spot_selection_mode": None,
        "class_type_id": YOGA,
        "location_id": NORTH,
    }
    return ClassFacts(**{**members, **changes})


def a_membership(number: int = 11, **changes: Any) -> MembershipFacts:
    members: dict[str, Any] = {
        "id": uid(number),
        "status": MembershipStatus.ACTIVE,
        "credits_remaining": 5,
        "started_at": NOW - timedelta(days=30),
        "current_period_end": NOW + timedelta(days=30),
    }
    return MembershipFacts(**{**members, **changes})


def a_member(number: int = 21, **changes: Any) -> MemberFacts:
    members: dict[str, Any] = {
        "id": uid(number),
        "suspended": False,
        "waiver_submitted": False,
        "live_booking": None,
        "bookings_that_day": 0,
        "overlapping": False,
        "memberships": (a_membership(),),
    }
    return MemberFacts(**{**members, **changes})


def an_attempt(**changes: Any) -> Attempt:
    members: dict[str, Any] = {
        "class_": a_class(),
        "policy": Policy(),
        "member": a_member(),
        "request": BookingRequest(),
        "spots": (),
        "seats_open": 7,
        "now": NOW,
    }
    return Attempt(**{**members, **changes})


def a_spot(number: int, label: str | None = None, *, held: bool = False) -> SpotFacts:
    return SpotFacts(uid(number), label or f"S{number}", held)


def an_entry(position: int, policy: Policy | None = None, **member_changes: Any) -> WaitingEntry:
    member = a_member(1000 + position, **member_changes)
    return WaitingEntry(uid(2000 + position), uid(3000 + position), position, member, policy or Policy())


def a_booking(policy: Policy | None = None, **changes: Any) -> BookingFacts:
    members: dict[str, Any] = {
        "id": uid(31),
        "class_id": uid(1),
        "member_id": uid(21),
        "status": BookingStatus.CONFIRMED,
        "membership_id": uid(11),
        "credits_taken": 1,
        "class_spot_id": None,
        "promoted_at": None,
        "cancellation_id": None,
    }
    return BookingFacts(policy=policy or Policy(), **{**members, **changes})


def a_cancellation(
    policy: Policy | None = None, booking: dict[str, Any] | None = None, **changes: Any
) -> CancellationAttempt:
    members: dict[str, Any] = {
        "booking": a_booking(policy, **(booking or {})),
        "class_": a_class(),
        "membership": a_membership(credits_remaining=4),
        "late_cancels": 0,
        "studio_currency": "USD",
        "cause": CancellationCause.PARTNER,
        "now": NOW,
    }
    return CancellationAttempt(**{**members, **changes})
