"""Bookings that staff make: which rules they may override with a reason.

- Everything that protects the studio's own policy can be overridden: visibility, the booking window and the start, a
  suspension, a missing waiver, the entitlement, the daily limit, an overlap, the choice of a spot.
- What protects others or the facts cannot: seats and the waitlist's capacity, one place per class and member, seats
  that waiting members were promised, a spot that is taken or unknown, a cancelled class. Nobody joins the waitlist of a
  class that has started: it has ended.
- A booking whose entitlement was overridden takes no credit, unless it replaces a booking that had taken one (a move):
  then it takes the credit that this one returned."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.bookings import eligibility
from studiogate.domain.bookings.entitlement import is_spent
from studiogate.domain.bookings.facts import Attempt
from studiogate.domain.names import reason_fault
from studiogate.domain.refusals import Code, Fault, Refusal

# Nothing that the member has pays for the class.
ENTITLEMENT = frozenset(
    {Code.NO_ACTIVE_MEMBERSHIP, Code.MEMBERSHIP_PAUSED, Code.MEMBERSHIP_NOT_VALID_FOR_CLASS, Code.INSUFFICIENT_CREDITS}
)
OVERRIDABLE = ENTITLEMENT | {
    Code.CLASS_NOT_BOOKABLE,
    Code.CLASS_STARTED,
    Code.BOOKING_WINDOW_NOT_OPEN,
    Code.BOOKING_WINDOW_CLOSED,
    Code.MEMBER_SUSPENDED,
    Code.WAIVER_REQUIRED,
    Code.BOOKING_LIMIT_REACHED,
    Code.OVERLAPPING_BOOKING,
    Code.SPOT_REQUIRED,
}


class StaffDecision(NamedTuple):
    decision: eligibility.BookingDecision
    overridden: tuple[Code, ...] = ()


class Override(NamedTuple):
    """Whether staff override rules. A reason is kept in the audit log; an override needs one."""

    wanted: bool = False
    reason: str | None = None

    @property
    def faults(self) -> tuple[Fault, ...]:
        if self.reason is None:
            return (Fault(("reason",), "missing", "An override needs a reason."),) if self.wanted else ()
        wrong = reason_fault(self.reason)
        return (Fault(("reason",), "value_error", f"A reason must {wrong}."),) if wrong else ()


NO_OVERRIDE = Override()


def decide_staff_booking(attempt: Attempt, override: Override, returned_to: UUID | None = None) -> StaffDecision:
    """Decide a booking by staff. ``returned_to`` got the credit of the booking that this one replaces."""
    judgement = eligibility.judge_booking(attempt)
    binding = binding_reasons(judgement.reasons, override, waits=attempt.would_wait)
    if binding:
        return StaffDecision(eligibility.BookingDecision(eligibility.Outcome.REFUSED, binding))
    codes = tuple(reason.code for reason in judgement.reasons)
    membership = judgement.membership
    if membership is None and not ENTITLEMENT.isdisjoint(codes):
        returned = (each for each in attempt.member.memberships if each.id == returned_to and not is_spent(each))
        membership = next(returned, None)
    return StaffDecision(eligibility.accept_booking(attempt, membership), codes)


def binding_reasons(reasons: Sequence[Refusal], override: Override, *, waits: bool = False) -> tuple[Refusal, ...]:
    """Return the reasons that still refuse: without an override all of them. ``waits``: to join the waitlist."""
    if not override.wanted:
        return tuple(reasons)
    allowed = _overridable(waits)
    return tuple(reason for reason in reasons if reason.code not in allowed)


def can_override(codes: Iterable[str], *, waits: bool) -> bool:
    """Return whether an override makes such a booking possible. ``waits``: a full class does not refuse it."""
    standing = set(codes) - {Code.CLASS_FULL} if waits else set(codes)
    return bool(standing) and standing <= _overridable(waits)


def _overridable(waits: bool) -> frozenset[Code]:
    return OVERRIDABLE - {Code.CLASS_STARTED} if waits else OVERRIDABLE
