"""DELETE /bookings/{id}, its preview, and the receipt."""

import json
from datetime import datetime
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings import (
    BookingFacts,
    Cancellation,
    CancellationAttempt,
    CancellationCause,
    Promote,
    PromotionStep,
    SpotFacts,
    WaitlistStatus,
    decide_cancellation,
    plan_promotions,
    receipt_json,
)
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows.bookings import announcing, promotion
from studiogate.storage.bookings import facts, locking, recording
from studiogate.storage.bookings.facts import BookingSituation, ClassSituation, PeopleSituation
from studiogate.storage.database import Connection
from studiogate.storage.ids import new_id

NOT_FOUND = Refusal(Code.NOT_FOUND)


async def cancel(connection: Connection, access: Access, booking_id: str, reason: str | None) -> str | Refusal:
    """Cancel by the policy frozen on the booking and promote who waits. The caller holds the transaction."""
    found = await locking.lock_class_of_booking(connection, access, booking_id)
    if found is None:
        return NOT_FOUND
    situation, member_id = found
    seats = situation.class_.available_count + 1
    people = await promotion.look_at_people(connection, access, situation, [member_id], seats=seats)
    held = await facts.look_at_booking(connection, access, booking_id, situation.policy)
    decided = await _decide(connection, access, situation, held, CancellationCause.PARTNER, people.now)
    if isinstance(decided, Refusal):
        return decided
    steps = _plan(situation, people, held.booking, decided)
    return await _record(connection, access, situation, held.booking, decided, steps, reason)


async def preview(connection: Connection, access: Access, booking_id: str) -> str | Refusal:
    """The receipt that cancelling now would give, without any effect."""
    found = await locking.find_class_of_booking(connection, access, booking_id)
    if found is None:
        return NOT_FOUND
    situation, member_id = found
    seats = situation.class_.available_count + 1
    people = await promotion.look_at_people(connection, access, situation, [member_id], seats=seats, lock=False)
    held = await facts.look_at_booking(connection, access, booking_id, situation.policy)
    decided = await _decide(connection, access, situation, held, CancellationCause.PARTNER, people.now)
    if isinstance(decided, Refusal):
        return decided
    promoted = _promotes(_plan(situation, people, held.booking, decided))
    return _text(receipt_json(held.booking, decided, receipt_id=None, promoted=promoted))


async def _decide(
    connection: Connection,
    access: Access,
    situation: ClassSituation,
    held: BookingSituation,
    cause: CancellationCause,
    now: datetime,
) -> Cancellation | Refusal:
    policy = held.booking.policy
    late_cancels = 0
    if policy.free_late_cancels > 0:
        since = policy.late_cancels_since(now)
        late_cancels = await facts.count_late_cancels(connection, access, held.booking.member_id, since)
    attempt = CancellationAttempt(
        held.booking, situation.class_, held.membership, late_cancels, situation.currency, cause, now
    )
    return decide_cancellation(attempt)


def _plan(
    situation: ClassSituation, people: PeopleSituation, booking: BookingFacts, cancellation: Cancellation
) -> list[PromotionStep]:
    """Who gets a seat once this booking has gone."""
    freed = situation.class_._replace(booked_count=situation.class_.booked_count - cancellation.seat_freed)
    waiting = tuple(entry for entry in people.waiting if entry.booking_id != booking.id)
    spots = tuple(
        SpotFacts(spot.id, spot.label, spot.held and spot.id != booking.class_spot_id) for spot in people.spots
    )
    return plan_promotions(freed, situation.policy, waiting, spots, people.now)


def _promotes(steps: list[PromotionStep]) -> bool:
    return any(isinstance(step.verdict, Promote) for step in steps)


async def _record(
    connection: Connection,
    access: Access,
    situation: ClassSituation,
    booking: BookingFacts,
    cancellation: Cancellation,
    steps: list[PromotionStep],
    reason: str | None,
) -> str:
    receipt = await record_cancellation(
        connection, access, situation, booking, cancellation, reason, promoted=_promotes(steps)
    )
    promoted = await promotion.record_steps(connection, access, situation.class_, steps, cancellation.cancelled_at)
    if not cancellation.seat_freed and not promoted:
        renumbered = await recording.renumber(connection, access, situation.class_.id)
        await announcing.moved_up(connection, access, renumbered)
    return receipt


async def record_cancellation(
    connection: Connection,
    access: Access,
    situation: ClassSituation,
    booking: BookingFacts,
    cancellation: Cancellation,
    reason: str | None,
    *,
    promoted: bool = False,
    entry_becomes: WaitlistStatus = WaitlistStatus.CANCELLED,
) -> str:
    """Booking, seat, credit, fee, receipt and events; returns the receipt."""
    entry = await recording.record_cancellation(connection, access, booking, cancellation, entry_becomes)
    purchase_id = await recording.record_fee(connection, access, booking, cancellation, situation.class_.location_id)
    receipt_id: UUID = new_id()
    receipt = _text(
        receipt_json(
            booking, cancellation, receipt_id=receipt_id, reason=reason, purchase_id=purchase_id, promoted=promoted
        )
    )
    await recording.record_receipt(connection, access, booking, cancellation, receipt_id, purchase_id, receipt)
    await announcing.cancelled(connection, access, booking, entry, purchase_id)
    return receipt


def _text(receipt: dict[str, object]) -> str:
    return json.dumps(receipt, separators=(",", ":"), ensure_ascii=False)
