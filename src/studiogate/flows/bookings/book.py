"""Book a class (POST /bookings), and validate a booking beforehand."""

from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings import Attempt, BookingDecision, BookingRequest, decide_booking
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows.bookings import promote
from studiogate.flows.idempotency import Remembered
from studiogate.storage.bookings import create, lock
from studiogate.storage.bookings.facts import ClassSituation, PeopleSituation
from studiogate.storage.db.pool import Connection
from studiogate.storage.idempotency import FirstResult, Once

NO_CLASS = Refusal(Code.NOT_FOUND, param="class_id")
NO_MEMBER = Refusal(Code.NOT_FOUND, param="member_id")
SOURCE = "partner_api"


class WantedBooking(NamedTuple):
    class_id: UUID
    member_id: UUID
    join_waitlist: bool = False
    class_spot_id: UUID | None = None

    @property
    def request(self) -> BookingRequest:
        return BookingRequest(self.join_waitlist, self.class_spot_id)


async def book(
    connection: Connection, access: Access, wanted: WantedBooking, once: Once | None = None, status: int | None = None
) -> str | Refusal | FirstResult:
    """Take a seat, join the waitlist, or refuse with every reason. Must run inside a transaction.

    ``once`` is claimed here, and a new booking is remembered under it with ``status``, the success status code.
    """
    key = None if once is None else once.key
    found = await lock.lock_class_and_member(connection, access, wanted.class_id, wanted.member_id, key)
    if found is None:
        return NO_CLASS
    if isinstance(found, FirstResult):
        return found
    situation = found.situation
    people = found.people or await promote.look_at_people(
        connection,
        access,
        situation,
        [wanted.member_id],
        seats=situation.class_.available_count,
        lock=not found.member_is_locked,
    )
    if wanted.member_id not in people.members:
        return NO_MEMBER
    if people.waiting:
        # Waiting members come first, even if a seat happens to be free when a new request arrives.
        situation, people = await promote.promote(connection, access, situation, people)
    decision = decide_booking(_attempt(situation, people, wanted))
    refusal = decision.refusal
    if refusal is not None:
        return refusal
    if decision.converts is not None:
        return await promote.convert(connection, access, situation, decision, people.now)
    made = await create.record_booking(
        connection, access, situation, wanted.member_id, decision, people.now, SOURCE, once, status
    )
    return made if once is None else Remembered(made)


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
    seats = situation.class_.available_count
    people = await promote.look_at_people(connection, access, situation, [wanted.member_id], seats=seats, lock=False)
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
