"""Cancel a booking (DELETE /bookings/{id}) with a receipt, and preview a cancellation."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings import cancellation as rules
from studiogate.domain.bookings.cancellation import Cancellation, CancellationAttempt, CancellationCause, Receipt
from studiogate.domain.bookings.facts import BookingFacts, SpotFacts
from studiogate.domain.bookings.states import BookingStatus
from studiogate.domain.bookings.waitlist import Promote, PromotionStep, plan_promotions
from studiogate.domain.events import EventType
from studiogate.domain.json_values import json_text
from studiogate.domain.refusals import Refusal
from studiogate.flows.idempotency import WriteContext
from studiogate.storage.bookings import cancel as cancel_booking
from studiogate.storage.bookings import facts
from studiogate.storage.bookings.facts import BookingSituation, ClassSituation, LiveEntry, PeopleSituation
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import new_id
from studiogate.storage.events import Change, emit


class CancelBooking(NamedTuple):
    """The command: cancel a booking. A booking never changes its class, so the class may be read before anything is
    locked; likewise its member, whom only a merge of duplicates changes."""

    class_id: UUID
    booking_id: UUID
    reason: str | None = None
    cause: CancellationCause = CancellationCause.PARTNER
    member_id: UUID | None = None
    moved_to: UUID | None = None
    """The booking in another class that replaces this one."""


def new_cancellation(
    context: WriteContext, held: BookingSituation, cancellation: Cancellation, reason: str | None, *, promoted: bool
) -> cancel_booking.NewCancellation:
    booking, receipt_id = held.booking, new_id()
    purchase_id = None if cancellation.fee is None else new_id()
    receipt = rules.receipt_json(booking, cancellation, Receipt(receipt_id, reason, purchase_id), promoted=promoted)
    before = _before(booking, held.entry)
    made = (booking, held.entry, cancellation, receipt_id, json_text(receipt), purchase_id, before)
    return cancel_booking.NewCancellation(*made, context.access, context.once)


def replaced(new: cancel_booking.NewCancellation, moved_to: UUID) -> cancel_booking.NewCancellation:
    """Return the cancellation of a booking that another one replaces."""
    previous = {**new.previous_attributes, "moved_to_booking_id": None}
    return new._replace(moved_to=moved_to, previous_attributes=previous)


def after(
    situation: ClassSituation, held: BookingSituation, new: cancel_booking.NewCancellation
) -> tuple[ClassSituation, BookingSituation]:
    """Return the class and the booking after a cancellation that changes no waitlist, for the next decision."""
    class_ = situation.class_
    class_ = class_._replace(booked_count=class_.booked_count - new.cancellation.seat_freed)
    booking = held.booking._replace(status=BookingStatus.CANCELLED, cancellation_id=new.receipt_id)
    return situation._replace(class_=class_), held._replace(booking=booking)


async def decide(
    connection: Connection, access: Access, situation: ClassSituation, held: BookingSituation, cause: CancellationCause
) -> Cancellation | Refusal:
    policy = held.booking.policy
    late_cancels = 0
    if policy.free_late_cancels > 0:
        since = policy.late_cancels_since(held.now)
        late_cancels = await facts.count_late_cancels(connection, access, held.booking.member_id, since)
    attempt = CancellationAttempt(
        held.booking, situation.class_, held.membership, late_cancels, situation.currency, cause, held.now
    )
    return rules.decide_cancellation(attempt)


def plan(
    situation: ClassSituation, people: PeopleSituation, booking: BookingFacts, cancellation: Cancellation
) -> list[PromotionStep]:
    """Plan who gets a seat once this booking is cancelled."""
    freed = situation.class_._replace(booked_count=situation.class_.booked_count - cancellation.seat_freed)
    waiting = tuple(entry for entry in people.waiting if entry.booking_id != booking.id)
    spots = tuple(
        SpotFacts(spot.id, spot.label, spot.held and spot.id != booking.class_spot_id) for spot in people.spots
    )
    return plan_promotions(freed, situation.policy, waiting, spots, people.now)


def promotes(steps: list[PromotionStep]) -> bool:
    return any(isinstance(step.verdict, Promote) for step in steps)


async def record(
    connection: Connection,
    access: Access,
    classes: Sequence[ClassSituation],
    new: Sequence[cancel_booking.NewCancellation],
    success: int = 0,
) -> None:
    for each in new:
        if each.entry is not None:
            await cancel_booking.end_entry(connection, access, each.booking.class_id, each.entry, each.entry_becomes)
    await cancel_booking.record_fees(connection, access, classes, new)
    await cancel_booking.record_cancellations(connection, access, new, success)
    await _announce(connection, access, new)


def _before(booking: BookingFacts, entry: LiveEntry | None) -> dict[str, object]:
    """Return the previous values of what a cancellation changes; the statement that cancels emits the event."""
    previous: dict[str, object] = {"status": booking.status.value}
    if booking.class_spot_id is not None:
        previous["class_spot_id"] = booking.class_spot_id
    if entry is not None and entry.position is not None:
        previous["waitlist_position"] = entry.position
    return previous


async def _announce(connection: Connection, access: Access, new: Sequence[cancel_booking.NewCancellation]) -> None:
    """Announce what else cancellations change: the bookings' waitlist entries end, fees are charged."""
    ended = []
    for entry in (each.entry for each in new if each.entry is not None):
        position = {} if entry.position is None else {"position": entry.position}
        ended.append(Change(entry.id, {"status": entry.status, **position}))
    await emit(connection, access, EventType.WAITLIST_UPDATED, *ended)
    charged = [Change(each.purchase_id) for each in new if each.purchase_id is not None]
    await emit(connection, access, EventType.PURCHASE_CREATED, *charged)
