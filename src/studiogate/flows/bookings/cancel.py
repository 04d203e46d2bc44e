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
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows.bookings import announce, batch, promote
from studiogate.flows.bookings.batch import Asked, BatchOutcome, Execution, Outcomes
from studiogate.flows.bookings.promote import PeopleConcerned
from studiogate.flows.idempotency import Outcome, WriteContext
from studiogate.storage import idempotency as stored_results
from studiogate.storage.bookings import cancel as cancel_booking
from studiogate.storage.bookings import facts, lock, read
from studiogate.storage.bookings import promote as promote_entry
from studiogate.storage.bookings.cancel import NewCancellation
from studiogate.storage.bookings.facts import BookingSituation, ClassSituation, LiveEntry, PeopleSituation
from studiogate.storage.bookings.lock import LockedClass
from studiogate.storage.db.class_queue import ClassQueue
from studiogate.storage.db.ids import new_id
from studiogate.storage.db.pool import Connection, Database
from studiogate.storage.idempotency import Answer

NOT_FOUND = Refusal(Code.NOT_FOUND)


class WantedCancellation(NamedTuple):
    """A booking never changes its class, so the class may be read before anything is locked."""

    class_id: UUID
    booking_id: UUID
    reason: str | None = None
    cause: CancellationCause = CancellationCause.PARTNER


async def cancel(queue: ClassQueue, database: Database, asked: Asked[WantedCancellation]) -> Outcome:
    """Cancel by the policy frozen on the booking and promote waiting members, in the next batch of the class."""
    return await batch.execute(queue, asked.wanted.class_id, Execution(database, cancel_together), asked)


async def cancel_together(connection: Connection, asked: Sequence[Asked[WantedCancellation]]) -> list[BatchOutcome]:
    """Cancel bookings of one class, in order of arrival. Must run inside a transaction.

    If nobody waits for a seat, one statement locks keys, class and members, one reads the bookings, and one writes all
    effects, events and answers. Otherwise each cancellation may promote somebody, and is written before the next one.
    """
    access, class_id = batch.shared_access(asked), asked[0].wanted.class_id
    claims = batch.claims_of(asked, lambda wanted: wanted.booking_id)
    locked = await lock.lock_to_cancel(connection, access, class_id, claims)
    outcomes = Outcomes(connection, asked, locked.found, _is_visible)
    decisions = _Decisions(connection, access, locked, outcomes)
    async for number in batch.in_turn(asked):
        if await outcomes.to_execute(number):
            await decisions.serve(number)
    await decisions.write()
    return outcomes.all()


async def _is_visible(connection: Connection, access: Access, wanted: WantedCancellation) -> bool:
    return await read.booking_is_visible(connection, access, wanted.booking_id)


class _Decisions:
    """Decides the requests of a batch one after the other, and writes what was decided."""

    def __init__(
        self, connection: Connection, access: Access, locked: LockedClass, outcomes: Outcomes[WantedCancellation]
    ) -> None:
        self._connection, self._access, self._outcomes = connection, access, outcomes
        self._situation, self._holders = locked.situation, list(locked.holders)
        self._held: dict[UUID, BookingSituation] | None = None
        self._new: dict[int, NewCancellation] = {}  # decided and not yet written, by the number of the request

    async def serve(self, number: int) -> None:
        """Decide one request; the next one finds what it leaves."""
        context, wanted = self._outcomes.asked[number]
        situation = self._situation
        if situation is None or not context.access.permits(situation.class_.location_id):
            return await self._outcomes.refuse(number, NOT_FOUND)
        people = await self._look_at_waiting(situation)
        if self._held is None:
            ids = [each.wanted.booking_id for each in self._outcomes.asked]
            self._held = await facts.look_at_bookings(self._connection, self._access, ids, situation.policy)
        held = self._held.get(wanted.booking_id)
        if held is None:
            return await self._outcomes.refuse(number, NOT_FOUND)
        lock.check_owner(held.booking.member_id, self._holders)
        decided = await _decide(self._connection, self._access, situation, held, wanted.cause)
        if isinstance(decided, Refusal):
            return await self._outcomes.refuse(number, decided)
        steps = [] if people is None else _plan(situation, people, held.booking, decided)
        self._outcomes.decide(number)
        self._new[number] = _new_cancellation(context, held, decided, wanted.reason, promoted=_promotes(steps))
        if people is not None or held.entry is not None:
            return await self._finish(number, situation, held.entry, steps)
        self._situation, self._held[wanted.booking_id] = _after(situation, held, self._new[number])
        return None

    async def _look_at_waiting(self, situation: ClassSituation) -> PeopleSituation | None:
        """Lock and read the members who may be promoted into the seat, if there are any."""
        if not situation.class_.waitlist_count:
            return None
        seats = situation.class_.available_count + 1
        concerned = PeopleConcerned(self._holders, seats)
        return await promote.look_at_people(self._connection, self._access, situation, concerned)

    async def _finish(
        self, number: int, situation: ClassSituation, entry: LiveEntry | None, steps: list[PromotionStep]
    ) -> None:
        """Write a cancellation that changes the waitlist; the next request reads everything again."""
        cancellation = self._new[number].cancellation
        await self.write(entry)
        promoted = await promote.record_steps(
            self._connection, self._access, situation.class_, steps, cancellation.cancelled_at
        )
        if not cancellation.seat_freed and not promoted:
            renumbered = await promote_entry.renumber(self._connection, self._access, situation.class_.id)
            await announce.moved_up(self._connection, self._access, renumbered)
        if number + 1 < len(self._outcomes.asked):
            self._situation = await lock.lock_class(self._connection, self._access, situation.class_.id)
            self._held = None

    async def write(self, entry: LiveEntry | None = None) -> None:
        """Write what was decided since the last time: cancellations with all their effects, and the answers. ``entry``
        is the waitlist entry that ends with them."""
        answers, new = self._outcomes.take_answers(), self._new
        if new and self._situation is not None:
            ending = Ending(list(new.values()), entry, self._outcomes.success, answers)
            await _record(self._connection, self._access, self._situation, ending)
            for number, each in new.items():
                self._outcomes.succeed(number, each.receipt)
            self._new = {}
        elif answers:
            await stored_results.remember_all(self._connection, self._access, answers)


class Ending(NamedTuple):
    """The cancellations that one statement writes, the waitlist entry that ends with them, and the other answers."""

    new: Sequence[NewCancellation]
    entry: LiveEntry | None
    success: int = 0
    answers: Sequence[Answer] = ()
    entry_becomes: WaitlistStatus = WaitlistStatus.CANCELLED


def _new_cancellation(
    context: WriteContext, held: BookingSituation, cancellation: Cancellation, reason: str | None, *, promoted: bool
) -> NewCancellation:
    booking, receipt_id = held.booking, new_id()
    purchase_id = None if cancellation.fee is None else new_id()
    receipt = receipt_json(booking, cancellation, Receipt(receipt_id, reason, purchase_id), promoted=promoted)
    before = announce.before_cancelling(booking, held.entry)
    identity = (context.access.credential_id, context.once)
    return NewCancellation(booking, cancellation, receipt_id, _text(receipt), purchase_id, before, *identity)


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
    concerned = PeopleConcerned([member_id], situation.class_.available_count + 1, lock=False)
    people = await promote.look_at_people(connection, access, situation, concerned)
    held = await facts.look_at_booking(connection, access, booking_id, situation.policy)
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
    await _record(connection, access, situation, Ending([new], held.entry, entry_becomes=WaitlistStatus.EXPIRED))


async def _record(connection: Connection, access: Access, situation: ClassSituation, ending: Ending) -> None:
    new, entry = ending.new, ending.entry
    if entry is not None:
        await cancel_booking.end_entry(connection, access, situation.class_.id, entry, ending.entry_becomes)
    await cancel_booking.record_fees(connection, access, situation, new)
    await cancel_booking.record_cancellations(connection, access, situation, new, (ending.success, ending.answers))
    purchases = [each.purchase_id for each in new if each.purchase_id is not None]
    await announce.cancelled(connection, access, entry, purchases)


_text = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
