"""Who gets a free seat: waiting members, in join order, before anybody else.

- Promotion is possible up to and including the promotion cutoff ("no promotion closer to the start than this"). After
  it a free seat is open to any POST, and nobody is promoted.
- The class's current policy decides whether promotion happens (mode, cutoff); each entry is re-checked by the policy
  frozen on its booking. Every rule is re-checked except the booking window, which applied when the member joined.
- An entry's own waitlisted booking is not ``already_waitlisted`` in that check.
- ``auto`` promotes. ``manual`` promotes nobody automatically, but free seats stay reserved for eligible waiting members
  until the cutoff: newcomers must not overtake them while staff decide. ``off`` reserves nothing; entries created
  before it was switched off keep waiting and expire at the start.
- A class whose ``allow_waitlist`` is switched off accepts no new entries; existing entries keep their positions.
- Staff may promote any entry in every mode, regardless of order and cutoff, up to the start: the cutoff prevents an
  unexpected promotion shortly before the class, and staff can ask the member.
- An entry that fails is skipped with the first failing code; entries after the last free seat are not examined.
- Promotion assigns a spot in both spot modes. With none left, ``optional`` promotes without one and ``required``
  skips with ``spot_required``."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from studiogate.domain.bookings import facts
from studiogate.domain.bookings.eligibility import first_refusal, free_spots, judge_promotion, spot_fault
from studiogate.domain.bookings.entitlement import credits_of
from studiogate.domain.bookings.facts import ClassFacts, SpotFacts, WaitingEntry
from studiogate.domain.bookings.overrides import NO_OVERRIDE, Override, binding_reasons
from studiogate.domain.bookings.policy import Policy, WaitlistMode
from studiogate.domain.refusals import Code, Refusal


@dataclass(frozen=True, slots=True)
class Promote:
    """``overridden`` are the rules that staff overrode for it."""

    membership: facts.MembershipFacts | None
    class_spot_id: UUID | None
    credits_taken: int
    overridden: tuple[Code, ...] = ()

    @property
    def membership_id(self) -> UUID | None:
        return self.membership.id if self.membership else None


@dataclass(frozen=True, slots=True)
class Skip:
    reasons: tuple[Refusal, ...]

    @property
    def skip_reason(self) -> Code:
        return self.reasons[0].code


@dataclass(frozen=True, slots=True)
class PromotionStep:
    entry: WaitingEntry
    verdict: Promote | Skip


def plan_promotions(
    class_: ClassFacts, policy: Policy, entries: Iterable[WaitingEntry], spots: Iterable[SpotFacts], now: datetime
) -> list[PromotionStep]:
    """Return what to do with each entry considered for a free seat; empty unless in ``auto`` mode before the cutoff."""
    if policy.waitlist_mode != WaitlistMode.AUTO or not promotion_is_open(class_, policy, now):
        return []
    return _walk(class_, entries, spots, now)


def eligible_waiting(
    class_: ClassFacts, entries: Iterable[WaitingEntry], spots: Iterable[SpotFacts], now: datetime
) -> int:
    """Return the number of free seats that eligible waiting members could take, in any waitlist mode."""
    return sum(isinstance(step.verdict, Promote) for step in _walk(class_, entries, spots, now))


def seats_open_to_newcomers(class_: ClassFacts, policy: Policy, eligible: int, now: datetime) -> int:
    """Return the free seats minus those reserved for ``eligible`` waiting entries. In ``auto``, after promotions have
    run, no eligible entry is left waiting for a free seat, so ``eligible`` is 0."""
    if not eligible or not policy.promises_seats(class_.start_time, now):
        return class_.available_count
    return max(0, class_.available_count - eligible)


def promotion_is_open(class_: ClassFacts, policy: Policy, now: datetime) -> bool:
    return now <= policy.promotion_cutoff_at(class_.start_time)


def waitlist_has_expired(class_: ClassFacts, now: datetime) -> bool:
    """Return whether the class has started: its waiting entries then expire and their bookings are cancelled."""
    return now >= class_.start_time


def try_promotion(class_: ClassFacts, entry: WaitingEntry, free: Sequence[SpotFacts], now: datetime) -> Promote | Skip:
    """Return the verdict on one entry, given a free seat and the free spots in order of assignment."""
    attempt = _attempt(class_, entry, now)
    spot_id = free[0].id if free and class_.spot_selection_mode is not None else None
    judgement = judge_promotion(attempt)
    fault = None if spot_id else spot_fault(class_.spot_selection_mode, (), None)
    reasons = (*judgement.reasons, fault) if fault else judgement.reasons
    return Skip(reasons) if reasons else Promote(judgement.membership, spot_id, credits_of(judgement.membership))


def decide_staff_promotion(
    class_: ClassFacts, entry: WaitingEntry, spots: Iterable[SpotFacts], now: datetime, override: Override = NO_OVERRIDE
) -> Promote | Refusal:
    """Return the promotion of an entry that staff chose, or a refusal with every reason that binds them."""
    if class_.available_count == 0:
        return Refusal(Code.CLASS_FULL, {"available_count": 0, "reasons": [str(Code.CLASS_FULL)]})
    free = free_spots(spots)
    verdict = try_promotion(class_, entry, free, now)
    if isinstance(verdict, Promote):
        return verdict
    if refusal := first_refusal(binding_reasons(verdict.reasons, override)):
        return refusal
    membership = judge_promotion(_attempt(class_, entry, now)).membership
    spot_id = free[0].id if free and class_.spot_selection_mode is not None else None
    overridden = tuple(reason.code for reason in verdict.reasons)
    return Promote(membership, spot_id, credits_of(membership), overridden)


def _walk(
    class_: ClassFacts, entries: Iterable[WaitingEntry], spots: Iterable[SpotFacts], now: datetime
) -> list[PromotionStep]:
    """Judge entries in order until no seat is free. Credits need no tracking: each entry has another member."""
    steps: list[PromotionStep] = []
    seats, free = class_.available_count, free_spots(spots)
    for entry in sorted(entries, key=lambda entry: entry.position):
        if seats == 0:
            break
        verdict = try_promotion(class_, entry, free, now)
        steps.append(PromotionStep(entry, verdict))
        if isinstance(verdict, Promote):
            seats, free = seats - 1, free[1:]
    return steps


def _attempt(class_: ClassFacts, entry: WaitingEntry, now: datetime) -> facts.Attempt:
    member, live = entry.member, entry.member.live_booking
    if live is not None and live.id == entry.booking_id:
        member = member._replace(live_booking=None)
    return facts.Attempt(class_, entry.policy, member, facts.BookingRequest(), spots=(), seats_open=1, now=now)
