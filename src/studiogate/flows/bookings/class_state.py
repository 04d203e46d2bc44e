"""Decide the requests of a transaction for one class, in order of arrival, each on the state that those before it left.

What is decided is collected for all classes of the transaction, and written by as few statements as it takes."""

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings.eligibility import decide_booking
from studiogate.domain.refusals import NOT_FOUND, Refusal
from studiogate.flows.bookings import book, cancel, promote
from studiogate.flows.bookings.book import NO_MEMBER, BookClass
from studiogate.flows.bookings.cancel import CancelBooking
from studiogate.flows.changes import audited_key
from studiogate.flows.idempotency import WriteContext
from studiogate.storage.audit import Subject
from studiogate.storage.bookings import create, facts, lock
from studiogate.storage.bookings.cancel import NewCancellation
from studiogate.storage.bookings.create import NewBooking, NewBookings
from studiogate.storage.bookings.facts import ClassSituation, PeopleSituation
from studiogate.storage.db.pool import Connection


class Writes:
    """What was decided and is not written yet, and the results, in wire form, of what is; by number of the request."""

    def __init__(self, connection: Connection, access: Access, now: datetime | None) -> None:
        self.connection, self.access, self.now = connection, access, now
        self.results: dict[int, str] = {}
        self._bookings: dict[int, tuple[NewBooking, int]] = {}
        self._cancellations: dict[int, tuple[NewCancellation, int]] = {}
        self._classes: dict[UUID, ClassSituation] = {}

    def add_booking(self, number: int, situation: ClassSituation, new: NewBooking, success: int) -> None:
        """Add a booking; ``success`` is the status of its answer."""
        self._bookings[number] = (new, success)
        self._classes[situation.class_.id] = situation

    def add_cancellation(self, number: int, situation: ClassSituation, new: NewCancellation, success: int) -> None:
        self._cancellations[number] = (new, success)
        self._classes[situation.class_.id] = situation

    async def write(self) -> None:
        """Write what was decided since the last time: cancellations first, because bookings may take their seats."""
        classes, self._classes = list(self._classes.values()), {}
        cancellations, self._cancellations = self._cancellations, {}
        bookings, self._bookings = self._bookings, {}
        booked = {new.class_id for new, _ in bookings.values()}
        if cancellations:
            new = [each for each, _ in cancellations.values()]
            success = next(iter(cancellations.values()))[1]
            await cancel.record(self.connection, self.access, classes, new, success)
            self.results.update({number: each.receipt for number, (each, _) in cancellations.items()})
        if bookings:
            if self.now is None:
                raise AssertionError("a booking is decided on facts, which have a time")
            success = next(iter(bookings.values()))[1]
            made = NewBookings([each for each, _ in bookings.values()], self.now, success)
            classes = [each for each in classes if each.class_.id in booked]
            wires = await create.record_bookings(self.connection, self.access, classes, made)
            self.results.update({number: wires[each.id] for number, (each, _) in bookings.items()})


class ClassState:
    """A locked class, and its people and bookings as the last decision left them. ``members`` are those who book."""

    def __init__(self, writes: Writes, locked: lock.LockedClass, members: Sequence[UUID]) -> None:
        self.connection, self.access, self._writes = writes.connection, writes.access, writes
        self.situation, self.is_moving, self._people, self._held = locked
        self._members = members
        self._last: NewBooking | None = None  # decided last; its effect is only worth computing for another request
        self._promoted = False
        self._is_current = False  # whether what is due has been applied to the memberships of its people

    async def waiting_members(self) -> Collection[UUID]:
        concerned = promote.MembersToLoad(list(self._members), self.situation.class_.available_count + 1)
        people = await promote.load_members(self.connection, self.access, self.situation, concerned)
        return [entry.member.id for entry in people.waiting]

    async def book(self, number: int, context: WriteContext, wanted: BookClass) -> Refusal | str | None:
        """Decide a booking: note what is to be written, or return a refusal, or the result if it is written already."""
        people = await self._current_people()
        if wanted.member_id not in people.members:
            return NO_MEMBER
        if people.waiting and not self._promoted:
            # Waiting members come first, even if a seat happens to be free when a new request arrives.
            self.situation, people = await promote.promote(self.connection, self.access, self.situation, people)
            self._people, self._promoted = people, True
        decision = decide_booking(book.attempt_of(self.situation, people, wanted.member_id, wanted.request))
        if decision.refusal is not None:
            return decision.refusal
        new = self._last = book.new_booking(context, wanted, decision, self.situation.class_.waitlist_count + 1)
        if decision.converts is None:
            self._writes.add_booking(number, self.situation, new, context.answers.success)
            return None
        # Positions move up, so what was decided before is written first.
        await self._writes.write()
        async with audited_key(self.connection, context.access, "booking.change", Subject("booking", new.id)):
            return await book.convert(self.connection, self.access, self.situation, decision, people.now)

    async def cancel(self, number: int, context: WriteContext, wanted: CancelBooking) -> Refusal | None:
        """Decide a cancellation; the members whom it may move are locked."""
        self._settle()
        people = await self._waiting_people() if self.situation.class_.waitlist_count else None
        if (held := self._held.get(wanted.booking_id)) is None:
            return NOT_FOUND
        decided = await cancel.decide(self.connection, self.access, self.situation, held, wanted.cause)
        if isinstance(decided, Refusal):
            return decided
        steps = [] if people is None else cancel.plan(self.situation, people, held.booking, decided)
        new = cancel.new_cancellation(context, held, decided, wanted.reason, promoted=cancel.promotes(steps))
        if wanted.moved_to is not None:
            new = cancel.replaced(new, wanted.moved_to)
        self._writes.add_cancellation(number, self.situation, new, context.answers.success)
        if people is None and held.entry is None:
            self.situation, self._held[wanted.booking_id] = cancel.after(self.situation, held, new)
            if self._people is not None:
                self._people = promote.after_cancellation(self._people, new)
            return None
        await self._writes.write()
        plan = promote.PromotionPlan(steps, decided.cancelled_at, someone_left=not decided.seat_freed)
        await promote.record_steps(self.connection, self.access, self.situation.class_, plan)
        await self._read_again()
        return None

    def needs_waiting_members(self, wanted: object) -> bool:
        """Return whether a request would move members who joined the waitlist in this transaction, after its locks."""
        self._settle()
        return isinstance(wanted, CancelBooking) and not self.is_moving and self.situation.class_.waitlist_count > 0

    async def _read_again(self) -> None:
        """Read the class after a change of its waitlist; its people and bookings are read when they are needed."""
        if (situation := await lock.lock_class(self.connection, self.access, self.situation.class_.id)) is None:
            raise AssertionError("a locked class remains")
        self.situation, self._people, self._promoted = situation, None, False
        self._held = await facts.look_at_bookings(self.connection, self.access, list(self._held), [situation])

    def _settle(self) -> None:
        """Apply the last booking to the state, for the next decision."""
        if self._last is not None and self._people is not None:
            self.situation, self._people = promote.after_booking(self.situation, self._people, self._last)
        self._last = None

    async def _current_people(self) -> PeopleSituation:
        self._settle()
        people = self._people
        if people is None or (not self._is_current and promote.members_behind(people)):
            # The members who book, and the waiting members who may move into free seats.
            seats = self.situation.class_.available_count
            people = await self._load(promote.MembersToLoad(list(self._members), seats, lock=self.is_moving))
        self._is_current = True
        return people

    async def _waiting_people(self) -> PeopleSituation:
        """Return the members for one more seat, as all decisions before this one left them."""
        await self._writes.write()
        seats = self.situation.class_.available_count + 1
        people = await self._load(promote.MembersToLoad(list(self._members), seats))
        self._people = None
        return people

    async def _load(self, concerned: promote.MembersToLoad) -> PeopleSituation:
        self._people = await promote.load_members(self.connection, self.access, self.situation, concerned)
        if self._writes.now is None or self._writes.now < self._people.now:
            self._writes.now = self._people.now
        return self._people
