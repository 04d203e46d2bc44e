"""Book a class (POST /bookings), and validate a booking beforehand."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypedDict
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings.eligibility import BookingDecision, Outcome, decide_booking
from studiogate.domain.bookings.facts import Attempt, BookingRequest
from studiogate.domain.bookings.states import BookingStatus
from studiogate.domain.refusals import NOT_FOUND, Code, Refusal
from studiogate.flows import idempotency
from studiogate.flows.audit import audited_key
from studiogate.flows.bookings import batch, due_memberships, promote, shared
from studiogate.flows.bookings.batch import Asked, Batch, BatchOutcome, Execution
from studiogate.flows.bookings.promote import PeopleConcerned
from studiogate.flows.bookings.shared import SharedOutcome
from studiogate.flows.bookings.submit import submit
from studiogate.storage.audit import Subject
from studiogate.storage.bookings import create, lock, read
from studiogate.storage.bookings.create import NewBooking, NewBookings
from studiogate.storage.bookings.facts import ClassSituation, PeopleSituation
from studiogate.storage.bookings.lock import LockedClass
from studiogate.storage.db.class_queue import ClassQueue
from studiogate.storage.db.ids import new_id
from studiogate.storage.db.pool import Connection, Database
from studiogate.storage.db.shared_transactions import TO_EXECUTE_ALONE, NotShared

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


class Reason(TypedDict):
    """A reason of a validation, as it is answered."""

    code: str
    message: str
    details: dict[str, object]


async def book(queue: ClassQueue, database: Database, asked: Asked[WantedBooking]) -> idempotency.Outcome:
    """Take a seat, join the waitlist, or refuse with every reason."""
    outcome = await submit(queue, asked.wanted.class_id, execution(database), book_shared, asked)
    return NO_CLASS if outcome == NOT_FOUND else outcome


def execution(database: Database) -> Execution[WantedBooking]:
    return Execution(database, book_together, _members_of)


async def _members_of(_connection: Connection, asked: Sequence[Asked[WantedBooking]]) -> list[UUID | None]:
    return [each.wanted.member_id for each in asked]


async def book_together(connection: Connection, asked: Sequence[Asked[WantedBooking]]) -> list[BatchOutcome]:
    """Book for requests of one class, in order of arrival. Must run inside a transaction.

    One statement locks keys, class and members and reads their facts. Each decision is then made on the state that the
    decisions before it left. One statement writes the effects, events and answers; if there are any, one more adds
    waitlist entries, and one stores refusals.
    """
    access, claims = batch.shared_access(asked), batch.claims_of(asked, [each.wanted.member_id for each in asked])
    locked = await lock.lock_to_book(connection, access, asked[0].wanted.class_id, claims)
    return await _Bookings(connection, access, asked, locked).execute()


async def book_shared(connection: Connection, asked: Sequence[Asked[WantedBooking]]) -> list[SharedOutcome]:
    """Book for requests of different classes. Must run inside a transaction.

    One statement locks keys, classes and members, as far as they are free, and reads the facts; then as above.
    """
    access = batch.shared_access(asked)
    claims = shared.claims_of(asked, [(each.wanted.member_id, each.wanted.class_id) for each in asked])
    locked = shared.each_member_once(await lock.lock_free_to_book(connection, access, claims))
    batches = [_batch_of_one(connection, *each) for each in zip(asked, locked, strict=True)]
    return await shared.execute(connection, access, batches)


def _batch_of_one(
    connection: Connection, asked: Asked[WantedBooking], locked: LockedClass | NotShared
) -> "_Bookings | NotShared":
    """Return the batch of one request, unless its decision would concern more than its booking."""
    if isinstance(locked, NotShared):
        return locked
    if locked.people is None:
        raise AssertionError("the members of a shared transaction are read when they are locked")
    live = locked.people.members[asked.wanted.member_id].live_booking
    is_waiting = live is not None and live.status == BookingStatus.WAITLISTED
    if is_waiting or due_memberships.members_behind(locked.people):
        return TO_EXECUTE_ALONE
    return _Bookings(connection, asked.context.access, [asked], locked)


class _Bookings(Batch[WantedBooking, NewBooking]):
    _people: PeopleSituation | None = None  # as the last decision found them
    _last: NewBooking | None = None  # what that decision added
    _promoted = False

    async def is_visible(self, access: Access, wanted: WantedBooking) -> bool:
        return await read.class_is_visible(self.connection, access, wanted.class_id)

    async def decide(self, number: int, situation: ClassSituation) -> Refusal | None:
        wanted = self.asked[number].wanted
        people = self._people or await self._look_at_people(situation)
        if self._last is not None:
            situation, people = promote.after_booking(situation, people, self._last)
            self.situation, self._people, self._last = situation, people, None
        if wanted.member_id not in people.members:
            return NO_MEMBER
        if people.waiting and not self._promoted:
            # Waiting members come first, even if a seat happens to be free when a new request arrives.
            situation, people = await promote.promote(self.connection, self.access, situation, people)
            self._promoted = True
        decision = decide_booking(attempt_of(situation, people, wanted.member_id, wanted.request))
        self.situation, self._people = situation, people
        if decision.refusal is not None:
            return decision.refusal
        new = self._last = _new_booking(self.asked[number], decision, situation.class_.waitlist_count + 1)
        if decision.converts is None:
            self.note(number, new)
            return None
        # Positions move up, so what was decided before is written first.
        await self.write()
        async with audited_key(
            self.connection, self.asked[number].context.access, "booking.change", Subject("booking", new.id)
        ):
            wire = await promote.convert(self.connection, self.access, situation, decision, people.now)
        self.succeed(number, wire)
        return None

    async def _look_at_people(self, situation: ClassSituation) -> PeopleSituation:
        people = self.locked.people
        if people is not None and not due_memberships.members_behind(people):
            return people
        members = [each.wanted.member_id for each in self.asked]
        seats = situation.class_.available_count
        concerned = PeopleConcerned(members, seats, lock=not self.locked.members_are_locked)
        self._people = await promote.look_at_people(self.connection, self.access, situation, concerned)
        return self._people

    async def record(self, classes: Sequence[ClassSituation], new: Sequence[NewBooking]) -> list[str]:
        if self._people is None:
            raise AssertionError("a booking is decided on its people")
        bookings = NewBookings(new, self._people.now, self.success)
        made = await create.record_bookings(self.connection, self.access, classes, bookings)
        return [made[each.id] for each in new]


def _new_booking(asked: Asked[WantedBooking], decision: BookingDecision, position: int) -> NewBooking:
    access, once, _ = asked.context
    waits = decision.outcome == Outcome.WAITLISTED
    ids = (decision.converts or new_id(), asked.wanted.class_id, asked.wanted.member_id)
    return NewBooking(*ids, decision, position if waits else None, access, once)


def attempt_of(situation: ClassSituation, people: PeopleSituation, member_id: UUID, request: BookingRequest) -> Attempt:
    """Return what the rules judge: a request for a member, with the class and its people."""
    return Attempt(
        situation.class_,
        situation.policy,
        people.members[member_id],
        request,
        people.spots,
        promote.open_seats(situation, people),
        people.now,
    )


async def validate(connection: Connection, access: Access, wanted: WantedBooking) -> dict[str, Any] | Refusal:
    """Return what ``book`` would decide now, without any effect."""
    found = await _foresee(connection, access, wanted.class_id, wanted.member_id)
    if isinstance(found, Refusal):
        return found
    return _validation(decide_booking(attempt_of(*found, wanted.member_id, wanted.request)))


async def _foresee(
    connection: Connection, access: Access, class_id: UUID, member_id: UUID
) -> tuple[ClassSituation, PeopleSituation] | Refusal:
    """Return the class and its people as a booking would find them now, without any effect."""
    situation = await lock.find_class(connection, access, class_id)
    if situation is None:
        return NO_CLASS
    concerned = PeopleConcerned([member_id], situation.class_.available_count, preview=True)
    people = await promote.look_at_people(connection, access, situation, concerned)
    return promote.foresee(situation, people) if member_id in people.members else NO_MEMBER


def _validation(decision: BookingDecision) -> dict[str, object]:
    return {
        "object": "booking_validation",
        "bookable": not decision.reasons,
        "outcome": decision.outcome.value,
        "reasons": _reasons(decision.reasons),
        "membership_id": str(decision.membership_id) if decision.membership_id else None,
        "credits_required": decision.credits_required,
    }


def _reasons(reasons: Sequence[Refusal]) -> list[Reason]:
    return [{"code": each.code.value, "message": each.message, "details": dict(each.details)} for each in reasons]
