"""Book a class (POST /bookings): the command, what the rules judge, and what is to be written."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings.eligibility import BookingDecision, Outcome
from studiogate.domain.bookings.facts import Attempt, BookingRequest
from studiogate.domain.bookings.waitlist import Promote
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows.bookings import promote
from studiogate.flows.idempotency import WriteContext
from studiogate.storage.bookings import create, facts
from studiogate.storage.bookings.create import NewBooking, TakenSeat
from studiogate.storage.bookings.facts import ClassSituation, PeopleSituation
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import new_id
from studiogate.storage.paging import read_one
from studiogate.storage.resources import BOOKING

NO_CLASS = Refusal(Code.NOT_FOUND, param="class_id")
NO_MEMBER = Refusal(Code.NOT_FOUND, param="member_id")


class BookClass(NamedTuple):
    class_id: UUID
    member_id: UUID
    join_waitlist: bool = False
    class_spot_id: UUID | None = None

    @property
    def request(self) -> BookingRequest:
        return BookingRequest(self.join_waitlist, self.class_spot_id)


def new_booking(context: WriteContext, wanted: BookClass, decision: BookingDecision, position: int) -> NewBooking:
    """Return what is to be written; ``position`` is the end of the waitlist."""
    waits = decision.outcome == Outcome.WAITLISTED
    ids = (decision.converts or new_id(), wanted.class_id, wanted.member_id)
    return NewBooking(*ids, decision, position if waits else None, context.access, context.once)


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


async def convert(
    connection: Connection, access: Access, situation: ClassSituation, decision: BookingDecision, now: datetime
) -> str:
    """Confirm the waitlisted booking of a member who takes an open seat at their own request; return it in wire form.
    This is not a promotion, so ``promoted_at`` stays empty on the booking and there is no promotion grace."""
    class_id = situation.class_.id
    entry = await facts.entry_of_booking(connection, access, decision.converts)
    taken = Promote(decision.membership, decision.class_spot_id, decision.credits_required)
    by_request = TakenSeat(taken, now, promoted=False)
    await create.record_promotion(connection, access, class_id, entry.booking_id, by_request)
    await promote.close_gaps(connection, access, class_id, [(entry, taken)])
    if (wire := await read_one(connection, access, BOOKING, entry.booking_id)) is None:
        raise AssertionError("a booking of a permitted class can be read")
    return wire
