"""Cancel a booking (DELETE /bookings/{id}) with a receipt, and preview a cancellation."""

import json
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
from studiogate.flows.bookings import announce, promote
from studiogate.flows.idempotency import Remembered
from studiogate.storage.bookings import cancel as cancel_booking
from studiogate.storage.bookings import facts, lock
from studiogate.storage.bookings import promote as promote_entry
from studiogate.storage.bookings.facts import BookingSituation, ClassSituation, PeopleSituation
from studiogate.storage.db.ids import new_id
from studiogate.storage.db.pool import Connection
from studiogate.storage.idempotency import FirstResult, Once

NOT_FOUND = Refusal(Code.NOT_FOUND)


async def cancel(
    connection: Connection,
    access: Access,
    booking_id: str,
    reason: str | None,
    once: Once | None = None,
    status: int | None = None,
    cause: CancellationCause = CancellationCause.PARTNER,
) -> str | Refusal | FirstResult:
    """Cancel by the policy frozen on the booking and promote waiting members. Must run inside a transaction.

    ``once`` is claimed here, and the receipt is remembered under it with ``status``, the success status code.
    """
    found = await lock.lock_booking(connection, access, booking_id, None if once is None else once.key)
    if found is None:
        return NOT_FOUND
    if isinstance(found, FirstResult):
        return found
    situation, people = found.situation, None
    if not found.member_is_locked:
        seats = situation.class_.available_count + 1
        people = await promote.look_at_people(connection, access, situation, [found.member_id], seats=seats)
    held = await facts.look_at_booking(connection, access, booking_id, situation.policy)
    decided = await _decide(connection, access, situation, held, cause)
    if isinstance(decided, Refusal):
        return decided
    steps = [] if people is None else _plan(situation, people, held.booking, decided)
    receipt = await _record(connection, access, situation, held, decided, steps, reason, once, status)
    return receipt if once is None else Remembered(receipt)


async def preview(connection: Connection, access: Access, booking_id: str) -> str | Refusal:
    """Return the receipt that cancelling now would produce, without any effect."""
    found = await lock.find_class_of_booking(connection, access, booking_id)
    if found is None:
        return NOT_FOUND
    situation, member_id = found
    seats = situation.class_.available_count + 1
    people = await promote.look_at_people(connection, access, situation, [member_id], seats=seats, lock=False)
    held = await facts.look_at_booking(connection, access, booking_id, situation.policy)
    decided = await _decide(connection, access, situation, held, CancellationCause.PARTNER)
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
) -> Cancellation | Refusal:
    policy = held.booking.policy
    late_cancels = 0
    if policy.free_late_cancels > 0:
        since = policy.late_cancels_since(held.now)
        late_cancels = await facts.count_late_cancels(connection, access, held.booking.member_id, since)
    attempt = CancellationAttempt(
        held.booking, situation.class_, held.membership, late_cancels, situation.currency, cause, held.now
    )
    return decide_cancellation(attempt)


def _plan(
    situation: ClassSituation, people: PeopleSituation, booking: BookingFacts, cancellation: Cancellation
) -> list[PromotionStep]:
    """Plan who gets a seat once this booking is cancelled."""
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
    held: BookingSituation,
    cancellation: Cancellation,
    steps: list[PromotionStep],
    reason: str | None,
    once: Once | None,
    status: int | None,
) -> str:
    receipt = await record_cancellation(
        connection,
        access,
        situation,
        held,
        cancellation,
        reason,
        promoted=_promotes(steps),
        once=once,
        answer_status=status,
    )
    promoted = await promote.record_steps(connection, access, situation.class_, steps, cancellation.cancelled_at)
    if not cancellation.seat_freed and not promoted:
        renumbered = await promote_entry.renumber(connection, access, situation.class_.id)
        await announce.moved_up(connection, access, renumbered)
    return receipt


async def record_cancellation(
    connection: Connection,
    access: Access,
    situation: ClassSituation,
    held: BookingSituation,
    cancellation: Cancellation,
    reason: str | None,
    *,
    promoted: bool = False,
    entry_becomes: WaitlistStatus = WaitlistStatus.CANCELLED,
    once: Once | None = None,
    answer_status: int | None = None,
) -> str:
    """Write a cancellation (booking, seat, credit, fee, receipt and events) and return the receipt."""
    booking, entry = held.booking, held.entry
    if entry is not None:
        await cancel_booking.end_entry(connection, access, booking.class_id, entry, entry_becomes)
    purchase_id = await promote_entry.record_fee(
        connection, access, booking, cancellation, situation.class_.location_id
    )
    receipt_id: UUID = new_id()
    receipt = _text(
        receipt_json(
            booking, cancellation, receipt_id=receipt_id, reason=reason, purchase_id=purchase_id, promoted=promoted
        )
    )
    before = announce.before_cancelling(booking, entry)
    kept = cancel_booking.Receipt(receipt_id, receipt, purchase_id)
    await cancel_booking.record_leaving(connection, access, booking, cancellation, kept, before, once, answer_status)
    await announce.cancelled(connection, access, entry, purchase_id)
    return receipt


_text = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
