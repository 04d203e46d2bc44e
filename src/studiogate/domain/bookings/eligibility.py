"""Decide whether a member may book a class now, and report every rule that fails, in the contract's order.

The rules are independent and every failing one is reported, so one cause may produce two codes: a class that has
started is ``class_started`` and, because its window is closed too, ``booking_window_closed``. In these groups a second
code would add nothing, so the codes are mutually exclusive: the four entitlement codes; the three spot codes;
``already_booked`` and ``already_waitlisted``; ``member_erased`` and ``member_suspended`` (an erasure suspends);
``waitlist_not_allowed`` and ``waitlist_full``.

- Booking is possible from ``opens_at`` (inclusive) until ``closes_at`` (exclusive).
- Joining the waitlist must pass every rule, including entitlement and credits, except the spot rules: these apply only
  if a seat is open, since otherwise the result is ``class_full`` or a place on the waitlist.
- A POST for a waiting member is ``already_waitlisted`` while free seats are reserved for the waitlist. Once they are
  not (after the promotion cutoff) and one is open, it converts the member's own entry. It is judged like any POST, by
  the class's current policy; the booking keeps its id and its frozen policy.
- If ``require_entitlement`` is false, memberships are ignored and none is charged, even if one would cover the class.
- ``join_waitlist`` matters only if no seat is open: otherwise the member is confirmed.
- ``class_full`` reports ``available_count`` 0 even while a free seat is reserved for the waitlist: it is not open here.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.bookings.entitlement import choose_entitlement, credits_of
from studiogate.domain.bookings.facts import Attempt, MembershipFacts, SpotFacts, SpotSelectionMode
from studiogate.domain.bookings.policy import Policy, WaitlistMode
from studiogate.domain.bookings.states import BookingStatus, ClassStatus
from studiogate.domain.instants import instant_text
from studiogate.domain.refusals import Code, Refusal

# - In a class without spots, any ``class_spot_id`` is ``spot_not_found``.
# - The rules apply to a booking that takes a seat, and not if no seat is open. A waitlisted booking holds no spot: the
#   requested one is not stored, and promotion assigns one that is free at that time.
# - ``optional`` with no spot left confirms without one: seats are counted by capacity, not by spots.
# - ``required`` with no spot left cannot confirm: a POST has none to name, and a waiting entry is skipped.

_DIGITS = re.compile(r"([0-9]+)")


def spot_fault(mode: SpotSelectionMode | None, spots: Sequence[SpotFacts], asked: UUID | None) -> Refusal | None:
    """Return why the requested spot is refused for a booking that takes a seat, or None."""
    if asked is None:
        return _refusal(Code.SPOT_REQUIRED) if mode == SpotSelectionMode.REQUIRED else None
    spot = next((spot for spot in spots if spot.id == asked), None) if mode is not None else None
    if spot is None:
        return _refusal(Code.SPOT_NOT_FOUND)
    return _refusal(Code.SPOT_TAKEN) if spot.held else None


def assigned_spot(mode: SpotSelectionMode | None, spots: Iterable[SpotFacts], asked: UUID | None = None) -> UUID | None:
    """Return the spot for a booking that takes a seat: the requested one, else the first free one, else None."""
    if mode is None:
        return None
    return asked or next((spot.id for spot in free_spots(spots)), None)


def free_spots(spots: Iterable[SpotFacts]) -> list[SpotFacts]:
    """Return the free spots in the order of assignment: by label in natural order ("A2" before "A10"), then by id."""
    return sorted((spot for spot in spots if not spot.held), key=lambda spot: (natural_order(spot.label), spot.id))


def natural_order(label: str) -> tuple[tuple[int, str], ...]:
    """Return a sort key in which numbers compare by length, then by digits, so that labels can have any length."""
    return tuple(_part(part) for part in _DIGITS.split(label.casefold()))


def _part(text: str) -> tuple[int, str]:
    if not _DIGITS.fullmatch(text):
        return 0, text
    digits = text.lstrip("0")
    return len(digits), digits


def _refusal(code: Code) -> Refusal:
    return Refusal(code, param="class_spot_id")


Rule = Callable[[Attempt], Refusal | None]


class Outcome(StrEnum):
    CONFIRMED = "confirmed"
    WAITLISTED = "waitlisted"
    REFUSED = "refused"


class BookingDecision(NamedTuple):
    """``membership`` is the one charged or, on the waitlist, the one that qualifies: it is charged at promotion, so
    ``credits_required`` is 0 there. ``converts`` is the waitlisted booking that becomes confirmed."""

    outcome: Outcome
    reasons: tuple[Refusal, ...] = ()
    membership: MembershipFacts | None = None
    class_spot_id: UUID | None = None
    credits_required: int = 0
    converts: UUID | None = None

    @property
    def refusal(self) -> Refusal | None:
        return first_refusal(self.reasons)

    @property
    def membership_id(self) -> UUID | None:
        return self.membership.id if self.membership else None


class BookingJudgement(NamedTuple):
    """Every rule that fails, and the membership that would be charged, even if other rules fail."""

    reasons: tuple[Refusal, ...]
    membership: MembershipFacts | None


def decide_booking(attempt: Attempt) -> BookingDecision:
    reasons, membership = judge_booking(attempt)
    return BookingDecision(Outcome.REFUSED, reasons) if reasons else accept_booking(attempt, membership)


def judge_booking(attempt: Attempt) -> BookingJudgement:
    return _judge(attempt, LIMIT_AND_SEAT_RULES)


def accept_booking(attempt: Attempt, membership: MembershipFacts | None) -> BookingDecision:
    """Return the decision for a member who may book: a seat, or a place on the waitlist."""
    if attempt.would_wait:
        return BookingDecision(Outcome.WAITLISTED, membership=membership)
    spot_id = assigned_spot(attempt.class_.spot_selection_mode, attempt.spots, attempt.request.class_spot_id)
    own = attempt.converts
    return BookingDecision(
        Outcome.CONFIRMED, (), membership, spot_id, credits_of(membership), None if own is None else own.id
    )


def judge_promotion(attempt: Attempt) -> BookingJudgement:
    """Judge a promotion: without the booking window, which applied on joining, and without seat and spot."""
    return _judge(attempt, LIMIT_RULES, PROMOTION_RULES)


def first_refusal(reasons: Sequence[Refusal]) -> Refusal | None:
    """Return the response to a refused request: the first reason, with the codes of all reasons in its details."""
    if not reasons:
        return None
    first = reasons[0]
    return Refusal(first.code, {**first.details, "reasons": [str(reason.code) for reason in reasons]}, first.param)


def waitlist_fault(attempt: Attempt) -> Refusal | None:
    """Return why nobody can join the waitlist, or None."""
    class_, policy = attempt.class_, attempt.policy
    if not class_.allow_waitlist or policy.waitlist_mode == WaitlistMode.OFF:
        return Refusal(Code.WAITLIST_NOT_ALLOWED)
    full = policy.waitlist_capacity is not None and class_.waitlist_count >= policy.waitlist_capacity
    return Refusal(Code.WAITLIST_FULL) if full else None


def _judge(
    attempt: Attempt, further_rules: Sequence[Rule], first_rules: Sequence[Rule] | None = None
) -> BookingJudgement:
    """Apply all rules in order. Entitlement, which comes in between, also yields the membership."""
    before = _failing(FIRST_RULES if first_rules is None else first_rules, attempt)
    chosen, after = _entitlement(attempt), _failing(further_rules, attempt)
    if isinstance(chosen, Refusal):
        return BookingJudgement((*before, chosen, *after), None)
    return BookingJudgement((*before, *after), chosen)


def _failing(rules: Sequence[Rule], attempt: Attempt) -> list[Refusal]:
    return [refusal for rule in rules if (refusal := rule(attempt)) is not None]


def _if(code: Code, holds: Callable[[Attempt], bool]) -> Rule:
    return lambda attempt: Refusal(code) if holds(attempt) else None


def _window_not_open(attempt: Attempt) -> Refusal | None:
    opens_at = attempt.policy.booking_opens_at(attempt.class_.start_time)
    if opens_at is None or attempt.now >= opens_at:
        return None
    return Refusal(Code.BOOKING_WINDOW_NOT_OPEN, {"opens_at": instant_text(opens_at)})


def _window_closed(attempt: Attempt) -> Refusal | None:
    closes_at = attempt.policy.booking_closes_at(attempt.class_.start_time)
    return Refusal(Code.BOOKING_WINDOW_CLOSED) if attempt.now >= closes_at else None


def _already_there(attempt: Attempt) -> Refusal | None:
    live = attempt.member.live_booking
    if live is None or attempt.converts is not None:
        return None
    waits = live.status == BookingStatus.WAITLISTED
    return Refusal(Code.ALREADY_WAITLISTED if waits else Code.ALREADY_BOOKED, {"booking_id": str(live.id)})


def _waiver_missing(attempt: Attempt) -> Refusal | None:
    if not waiver_is_missing(attempt.policy, submitted=attempt.member.waiver_submitted):
        return None
    return Refusal(Code.WAIVER_REQUIRED, {"form_id": str(attempt.policy.waiver_form_id)})


def waiver_is_missing(policy: Policy, *, submitted: bool) -> bool:
    """Return whether the policy asks for a waiver that the member has not submitted."""
    return policy.waiver_form_id is not None and not submitted


def _entitlement(attempt: Attempt) -> MembershipFacts | Refusal | None:
    if not attempt.policy.require_entitlement:
        return None
    return choose_entitlement(attempt.member.memberships, attempt.class_, attempt.now)


def _limit_reached(attempt: Attempt) -> Refusal | None:
    limit = attempt.policy.max_bookings_per_day
    reached = limit is not None and attempt.member.bookings_that_day >= limit
    return Refusal(Code.BOOKING_LIMIT_REACHED) if reached else None


def _overlapping(attempt: Attempt) -> Refusal | None:
    forbidden = attempt.member.overlapping and not attempt.policy.allow_overlapping
    return Refusal(Code.OVERLAPPING_BOOKING) if forbidden else None


def _spot(attempt: Attempt) -> Refusal | None:
    if attempt.seats_open <= 0:
        return None
    return spot_fault(attempt.class_.spot_selection_mode, attempt.spots, attempt.request.class_spot_id)


def _no_seat(attempt: Attempt) -> Refusal | None:
    """If no seat is open, return the waitlist's refusal when joining it, else ``class_full``."""
    if attempt.seats_open > 0:
        return None
    if attempt.request.join_waitlist:
        return waitlist_fault(attempt)
    return Refusal(Code.CLASS_FULL, {"waitlist_available": waitlist_fault(attempt) is None, "available_count": 0})


FIRST_RULES: tuple[Rule, ...] = (
    _if(Code.CLASS_CANCELLED, lambda attempt: attempt.class_.status == ClassStatus.CANCELLED),
    _if(Code.CLASS_NOT_BOOKABLE, lambda attempt: not attempt.class_.visible),
    _if(Code.CLASS_STARTED, lambda attempt: attempt.now >= attempt.class_.start_time),
    _window_not_open,
    _window_closed,
    _already_there,
    _if(Code.MEMBER_ERASED, lambda attempt: attempt.member.erased),
    _if(Code.MEMBER_SUSPENDED, lambda attempt: attempt.member.suspended and not attempt.member.erased),
    _waiver_missing,
)
PROMOTION_RULES = tuple(rule for rule in FIRST_RULES if rule not in (_window_not_open, _window_closed))
LIMIT_RULES: tuple[Rule, ...] = (_limit_reached, _overlapping)
LIMIT_AND_SEAT_RULES: tuple[Rule, ...] = (*LIMIT_RULES, _spot, _no_seat)
