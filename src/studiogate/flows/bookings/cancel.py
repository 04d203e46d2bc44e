"""Cancel a booking (DELETE /bookings/{id}) with a receipt, and preview a cancellation."""

import json
from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings.cancellation import (
    Cancellation,
    CancellationAttempt,
    CancellationCause,
    Receipt,
    decide_cancellation,
    receipt_json,
)
from studiogate.domain.bookings.facts import BookingFacts, SpotFacts
from studiogate.domain.bookings.states import BookingStatus, WaitlistStatus
from studiogate.domain.bookings.waitlist import Promote, PromotionStep, plan_promotions
from studiogate.domain.refusals import NOT_FOUND, Refusal
from studiogate.flows.bookings import announce, batch, promote, shared
from studiogate.flows.bookings.batch import Asked, Batch, BatchOutcome, Execution
from studiogate.flows.bookings.promote import PeopleConcerned, PromotionPlan
from studiogate.flows.bookings.shared import SharedOutcome
from studiogate.flows.bookings.submit import submit
from studiogate.flows.idempotency import Outcome, WriteContext
from studiogate.storage.bookings import cancel as cancel_booking
from studiogate.storage.bookings import facts, lock, read
from studiogate.storage.bookings.cancel import NewCancellation
from studiogate.storage.bookings.facts import BookingSituation, ClassSituation, PeopleSituation
from studiogate.storage.bookings.lock import LockedClass
from studiogate.storage.db.class_queue import ClassQueue
from studiogate.storage.db.ids import new_id
from studiogate.storage.db.pool import Connection, Database
from studiogate.storage.db.shared_transactions import TO_EXECUTE_ALONE, NotShared


class WantedCancellation(NamedTuple):
    """A booking never changes its class, so the class may be read before anything is locked."""

    class_id: UUID
    booking_id: UUID
    reason: str | None = None
    cause: CancellationCause = CancellationCause.PARTNER


async def cancel(queue: ClassQueue, database: Database, asked: Asked[WantedCancellation]) -> Outcome:
    """Cancel by the policy frozen on the booking, and promote waiting members."""
    return await submit(queue, asked.wanted.class_id, execution(database), cancel_shared, asked)


def execution(database: Database) -> Execution[WantedCancellation]:
    return Execution(database, cancel_together, _members_of)


async def _members_of(connection: Connection, asked: Sequence[Asked[WantedCancellation]]) -> list[UUID | None]:
    ids = [each.wanted.booking_id for each in asked]
    holders = await read.members_of_bookings(connection, asked[0].context.access, ids)
    return [holders.get(each) for each in ids]


async def cancel_together(connection: Connection, asked: Sequence[Asked[WantedCancellation]]) -> list[BatchOutcome]:
    """Cancel bookings of one class, in order of arrival. Must run inside a transaction.

    If nobody waits for a seat, one statement locks keys, class and members, one reads the bookings, and one writes the
    effects, events and answers; if there are refusals, one more stores them. Otherwise each cancellation may promote
    somebody, and is written before the next one.
    """
    access, claims = batch.shared_access(asked), batch.claims_of(asked, [each.wanted.booking_id for each in asked])
    locked = await lock.lock_to_cancel(connection, access, asked[0].wanted.class_id, claims)
    return await _Cancellations(connection, access, asked, locked).execute()


async def cancel_shared(connection: Connection, asked: Sequence[Asked[WantedCancellation]]) -> list[SharedOutcome]:
    """Cancel bookings of different classes. Must run inside a transaction.

    One statement locks keys, classes and members, as far as they are free; then as if nobody waits for a seat.
    """
    access = batch.shared_access(asked)
    claims = shared.claims_of(asked, [(each.wanted.booking_id, each.wanted.class_id) for each in asked])
    locked = shared.each_member_once(await lock.lock_free_to_cancel(connection, access, claims))
    taking_part = {
        each.wanted.booking_id: found.situation
        for each, found in zip(asked, locked, strict=True)
        if not isinstance(found, NotShared) and found.situation is not None
    }
    held = await facts.look_at_bookings(connection, access, list(taking_part), list(taking_part.values()))
    batches = [_batch_of_one(connection, *each, held) for each in zip(asked, locked, strict=True)]
    return await shared.execute(connection, access, batches)


def _batch_of_one(
    connection: Connection,
    asked: Asked[WantedCancellation],
    locked: LockedClass | NotShared,
    held: dict[UUID, BookingSituation],
) -> "_Cancellations | NotShared":
    """Return the batch of one request, unless its decision would concern more than its booking."""
    if isinstance(locked, NotShared):
        return locked
    booking = held.get(asked.wanted.booking_id)
    if booking is None or booking.entry is not None or booking.booking.member_id not in locked.holders:
        return TO_EXECUTE_ALONE
    return _Cancellations(connection, asked.context.access, [asked], locked).with_held(held)


class _Cancellations(Batch[WantedCancellation, NewCancellation]):
    _held: dict[UUID, BookingSituation] | None = None  # as the last decision left them

    def with_held(self, held: dict[UUID, BookingSituation]) -> "_Cancellations":
        """Decide on bookings that have been read."""
        self._held = held
        return self

    async def is_visible(self, access: Access, wanted: WantedCancellation) -> bool:
        return await read.class_of_booking(self.connection, access, wanted.booking_id) is not None

    async def decide(self, number: int, situation: ClassSituation) -> Refusal | None:
        context, wanted = self.asked[number]
        people = await self._look_at_waiting(situation)
        if self._held is None:
            ids = [each.wanted.booking_id for each in self.asked]
            self._held = await facts.look_at_bookings(self.connection, self.access, ids, [situation])
        held = self._held.get(wanted.booking_id)
        if held is None:
            return NOT_FOUND
        lock.check_owner(held.booking.member_id, self.locked.holders)
        decided = await _decide(self.connection, self.access, situation, held, wanted.cause)
        if isinstance(decided, Refusal):
            return decided
        steps = [] if people is None else _plan(situation, people, held.booking, decided)
        new = _new_cancellation(context, held, decided, wanted.reason, promoted=_promotes(steps))
        self.note(number, new)
        if people is not None or held.entry is not None:
            await self._finish(number, situation, decided, steps)
        else:
            self.situation, self._held[wanted.booking_id] = _after(situation, held, new)
        return None

    async def _look_at_waiting(self, situation: ClassSituation) -> PeopleSituation | None:
        """Lock and read the members who may be promoted into the seat, if there are any."""
        if not situation.class_.waitlist_count:
            return None
        concerned = PeopleConcerned(list(self.locked.holders), situation.class_.available_count + 1)
        return await promote.look_at_people(self.connection, self.access, situation, concerned)

    async def _finish(
        self, number: int, situation: ClassSituation, cancellation: Cancellation, steps: list[PromotionStep]
    ) -> None:
        """Write a cancellation that changes the waitlist; the next request reads everything again."""
        connection, access, class_ = self.connection, self.access, situation.class_
        await self.write()
        plan = PromotionPlan(steps, cancellation.cancelled_at, someone_left=not cancellation.seat_freed)
        await promote.record_steps(connection, access, class_, plan)
        if number + 1 < len(self.asked):
            self.situation, self._held = await lock.lock_class(connection, access, class_.id), None

    async def record(self, classes: Sequence[ClassSituation], new: Sequence[NewCancellation]) -> list[str]:
        await _record(self.connection, self.access, classes, new, self.success)
        return [each.receipt for each in new]


def _new_cancellation(
    context: WriteContext, held: BookingSituation, cancellation: Cancellation, reason: str | None, *, promoted: bool
) -> NewCancellation:
    booking, receipt_id = held.booking, new_id()
    purchase_id = None if cancellation.fee is None else new_id()
    receipt = receipt_json(booking, cancellation, Receipt(receipt_id, reason, purchase_id), promoted=promoted)
    before = announce.before_cancelling(booking, held.entry)
    made = (booking, held.entry, cancellation, receipt_id, _text(receipt), purchase_id, before)
    return NewCancellation(*made, context.access, context.once)


def _after(
    situation: ClassSituation, held: BookingSituation, new: NewCancellation
) -> tuple[ClassSituation, BookingSituation]:
    """Return the class and the booking after a cancellation that changes no waitlist, for the next decision."""
    class_ = situation.class_
    class_ = class_._replace(booked_count=class_.booked_count - new.cancellation.seat_freed)
    booking = held.booking._replace(status=BookingStatus.CANCELLED, cancellation_id=new.receipt_id)
    return situation._replace(class_=class_), held._replace(booking=booking)


async def preview(connection: Connection, access: Access, booking_id: str) -> str | Refusal:
    """Return the receipt that cancelling now would produce, without any effect."""
    found = await lock.find_class_of_booking(connection, access, booking_id)
    if found is None:
        return NOT_FOUND
    situation, member_id = found
    concerned = PeopleConcerned([member_id], situation.class_.available_count + 1, preview=True)
    people = await promote.look_at_people(connection, access, situation, concerned)
    held = await facts.look_at_booking(connection, access, booking_id, situation)
    decided = await _decide(connection, access, situation, held, CancellationCause.PARTNER)
    if isinstance(decided, Refusal):
        return decided
    promoted = _promotes(_plan(situation, people, held.booking, decided))
    return _text(receipt_json(held.booking, decided, promoted=promoted))


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


async def record_with_class(
    connection: Connection,
    access: Access,
    situation: ClassSituation,
    held: BookingSituation,
    cancellation: Cancellation,
) -> None:
    """Write one cancellation that the class caused and no request asked for: booking, seat, credit, receipt, events.
    The member's place on the waitlist, if there is one, has expired."""
    new = _new_cancellation(WriteContext(access), held, cancellation, None, promoted=False)
    await _record(connection, access, [situation], [new._replace(entry_becomes=WaitlistStatus.EXPIRED)])


async def _record(
    connection: Connection,
    access: Access,
    classes: Sequence[ClassSituation],
    new: Sequence[NewCancellation],
    success: int = 0,
) -> None:
    for each in new:
        if each.entry is not None:
            await cancel_booking.end_entry(connection, access, each.booking.class_id, each.entry, each.entry_becomes)
    await cancel_booking.record_fees(connection, access, classes, new)
    await cancel_booking.record_cancellations(connection, access, new, success)
    await announce.cancelled(connection, access, new)


_text = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
