"""Book a class (POST /bookings), and validate a booking beforehand."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings.eligibility import BookingDecision, Outcome, decide_booking
from studiogate.domain.bookings.facts import Attempt, BookingRequest
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows import idempotency
from studiogate.flows.bookings import batch, promote
from studiogate.flows.bookings.batch import Asked, BatchOutcome, Execution, Outcomes
from studiogate.flows.bookings.promote import PeopleConcerned
from studiogate.storage import idempotency as stored_results
from studiogate.storage.bookings import create, lock, read
from studiogate.storage.bookings.create import NewBooking, NewBookings
from studiogate.storage.bookings.facts import ClassSituation, PeopleSituation
from studiogate.storage.bookings.lock import LockedClass
from studiogate.storage.db.class_queue import ClassQueue
from studiogate.storage.db.ids import new_id
from studiogate.storage.db.pool import Connection, Database

NO_CLASS = Refusal(Code.NOT_FOUND, param="class_id")
NO_MEMBER = Refusal(Code.NOT_FOUND, param="member_id")


class WantedBooking(NamedTuple):
    class_id: UUID
    member_id: UUID
    join_waitlist: bool = False
    class_spot_id: UUID | None = None

    @property
    def request(self) -> BookingRequest:
        return BookingRequest(self.join_waitlist, self.class_spot_id)


async def book(queue: ClassQueue, database: Database, asked: Asked[WantedBooking]) -> idempotency.Outcome:
    """Take a seat, join the waitlist, or refuse with every reason, in the next batch of the class."""
    outcome = await batch.execute(queue, asked.wanted.class_id, Execution(database, book_together), asked)
    return NO_CLASS if outcome == Refusal(Code.NOT_FOUND) else outcome


async def book_together(connection: Connection, asked: Sequence[Asked[WantedBooking]]) -> list[BatchOutcome]:
    """Book for requests of one class, in order of arrival. Must run inside a transaction.

    One statement locks keys, class and members and reads their facts. Each decision is then made on the state that the
    decisions before it left. One statement writes all effects, events and answers.
    """
    access, class_id = batch.shared_access(asked), asked[0].wanted.class_id
    claims = batch.claims_of(asked, lambda wanted: wanted.member_id)
    locked = await lock.lock_to_book(connection, access, class_id, claims)
    outcomes = Outcomes(connection, asked, locked.found, _is_visible)
    decisions = _Decisions(connection, access, locked, outcomes)
    async for number in batch.in_turn(asked):
        if await outcomes.to_execute(number):
            await decisions.serve(number)
    await decisions.write()
    return outcomes.all()


async def _is_visible(connection: Connection, access: Access, wanted: WantedBooking) -> bool:
    return await read.class_is_visible(connection, access, wanted.class_id)


class _Decisions:
    """Decides the requests of a batch one after the other, and writes what was decided."""

    def __init__(
        self, connection: Connection, access: Access, locked: LockedClass, outcomes: Outcomes[WantedBooking]
    ) -> None:
        self._connection, self._access, self._locked, self._outcomes = connection, access, locked, outcomes
        self._situation, self._people = locked.situation, locked.people
        self._promoted = False
        self._new: dict[int, NewBooking] = {}  # decided and not yet written, by the number of the request

    async def serve(self, number: int) -> None:
        """Decide one request; the next one finds what it leaves."""
        decided = await self._decide(number)
        if isinstance(decided, Refusal):
            return await self._outcomes.refuse(number, decided)
        situation, people = self._situation, self._people
        if situation is None or people is None:
            raise AssertionError("a booking is decided on a class and its people")
        new = _new_booking(self._outcomes.asked[number], decided, situation.class_.waitlist_count + 1)
        self._situation, self._people = promote.after_booking(situation, people, new)
        self._outcomes.decide(number)
        if decided.converts is not None:
            return await self._convert(number, situation, decided, people.now)
        self._new[number] = new
        return None

    async def _decide(self, number: int) -> BookingDecision | Refusal:
        context, wanted = self._outcomes.asked[number]
        situation = self._situation
        if situation is None or not context.access.permits(situation.class_.location_id):
            return NO_CLASS
        people = self._people or await self._look_at_people(situation)
        if wanted.member_id not in people.members:
            return NO_MEMBER
        if people.waiting and not self._promoted:
            # Waiting members come first, even if a seat happens to be free when a new request arrives.
            situation, people = await promote.promote(self._connection, self._access, situation, people)
            self._situation, self._promoted = situation, True
        self._people = people
        decision = decide_booking(_attempt(situation, people, wanted))
        return decision.refusal or decision

    async def _look_at_people(self, situation: ClassSituation) -> PeopleSituation:
        members = [each.wanted.member_id for each in self._outcomes.asked]
        seats = situation.class_.available_count
        concerned = PeopleConcerned(members, seats, lock=not self._locked.members_are_locked)
        self._people = await promote.look_at_people(self._connection, self._access, situation, concerned)
        return self._people

    async def _convert(self, number: int, situation: ClassSituation, decision: BookingDecision, now: datetime) -> None:
        """Confirm the member's waitlisted booking at once: positions move up, so what was decided before is written."""
        await self.write()
        wire = await promote.convert(self._connection, self._access, situation, decision, now)
        self._outcomes.succeed(number, wire, is_stored=False)

    async def write(self) -> None:
        """Write what was decided since the last time: bookings with all their effects, and the answers."""
        answers, new = self._outcomes.take_answers(), self._new
        if new and self._people is not None and self._situation is not None:
            bookings = NewBookings(list(new.values()), self._people.now, self._outcomes.success)
            made = await create.record_bookings(self._connection, self._access, self._situation, bookings, answers)
            for number, booking in new.items():
                self._outcomes.succeed(number, made[booking.id])
            self._new = {}
        elif answers:
            await stored_results.remember_all(self._connection, self._access, answers)


def _new_booking(asked: Asked[WantedBooking], decision: BookingDecision, position: int) -> NewBooking:
    access, once, _ = asked.context
    waits = decision.outcome == Outcome.WAITLISTED
    booking_id = decision.converts or new_id()
    return NewBooking(
        booking_id, asked.wanted.member_id, decision, position if waits else None, access.credential_id, once
    )


def _attempt(situation: ClassSituation, people: PeopleSituation, wanted: WantedBooking) -> Attempt:
    return Attempt(
        situation.class_,
        situation.policy,
        people.members[wanted.member_id],
        wanted.request,
        people.spots,
        promote.open_seats(situation, people),
        people.now,
    )


async def validate(connection: Connection, access: Access, wanted: WantedBooking) -> dict[str, Any] | Refusal:
    """Return what ``book`` would decide now, without any effect."""
    situation = await lock.find_class(connection, access, wanted.class_id)
    if situation is None:
        return NO_CLASS
    concerned = PeopleConcerned([wanted.member_id], situation.class_.available_count, lock=False)
    people = await promote.look_at_people(connection, access, situation, concerned)
    if wanted.member_id not in people.members:
        return NO_MEMBER
    situation, people = promote.foresee(situation, people)
    return _validation(decide_booking(_attempt(situation, people, wanted)))


def _validation(decision: BookingDecision) -> dict[str, Any]:
    return {
        "object": "booking_validation",
        "bookable": not decision.reasons,
        "outcome": decision.outcome.value,
        "reasons": _reasons(decision.reasons),
        "membership_id": str(decision.membership_id) if decision.membership_id else None,
        "credits_required": decision.credits_required,
    }


def _reasons(reasons: Sequence[Refusal]) -> list[dict[str, Any]]:
    return [{"code": each.code.value, "message": each.message, "details": dict(each.details)} for each in reasons]
