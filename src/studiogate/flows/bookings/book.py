"""Book a class (POST /bookings), and validate a booking beforehand."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypedDict
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings.eligibility import BookingDecision, Outcome, decide_booking
from studiogate.domain.bookings.facts import Attempt, BookingRequest
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows.bookings import promote
from studiogate.flows.bookings.promote import MembersToLoad
from studiogate.flows.idempotency import WriteContext
from studiogate.storage.bookings import read
from studiogate.storage.bookings.create import NewBooking
from studiogate.storage.bookings.facts import ClassSituation, PeopleSituation
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import new_id

NO_CLASS = Refusal(Code.NOT_FOUND, param="class_id")
NO_MEMBER = Refusal(Code.NOT_FOUND, param="member_id")


class BookClass(NamedTuple):
    """The command: book a class for a member."""

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


async def validate(connection: Connection, access: Access, wanted: BookClass) -> dict[str, Any] | Refusal:
    """Return what a booking would decide now, without any effect."""
    found = await _foresee(connection, access, wanted.class_id, wanted.member_id)
    if isinstance(found, Refusal):
        return found
    return _validation(decide_booking(attempt_of(*found, wanted.member_id, wanted.request)))


async def _foresee(
    connection: Connection, access: Access, class_id: UUID, member_id: UUID
) -> tuple[ClassSituation, PeopleSituation] | Refusal:
    """Return the class and its people as a booking would find them now, without any effect."""
    situation = await read.find_class(connection, access, class_id)
    if situation is None:
        return NO_CLASS
    concerned = MembersToLoad([member_id], situation.class_.available_count, preview=True)
    people = await promote.load_members(connection, access, situation, concerned)
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
