"""What booking or cancelling would do now, without any effect."""

from collections.abc import Sequence
from typing import Any, TypedDict
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings.cancellation import CancellationCause, receipt_json
from studiogate.domain.bookings.eligibility import BookingDecision, decide_booking
from studiogate.domain.bookings.waitlist import Promote, plan_promotions
from studiogate.domain.refusals import NOT_FOUND, Refusal
from studiogate.flows.bookings import book, cancel, promote
from studiogate.flows.bookings.book import NO_CLASS, NO_MEMBER, BookClass
from studiogate.flows.bookings.promote import MembersToLoad
from studiogate.storage.bookings import facts, read
from studiogate.storage.bookings.facts import ClassSituation, PeopleSituation
from studiogate.storage.db.pool import Connection


class Reason(TypedDict):
    """A reason of a validation, as it is answered."""

    code: str
    message: str
    details: dict[str, object]


async def validate_booking(connection: Connection, access: Access, wanted: BookClass) -> dict[str, Any] | Refusal:
    """Return what a booking would decide now, without any effect."""
    found = await _foresee(connection, access, wanted.class_id, wanted.member_id)
    if isinstance(found, Refusal):
        return found
    return _validation(decide_booking(book.attempt_of(*found, wanted.member_id, wanted.request)))


async def _foresee(
    connection: Connection, access: Access, class_id: UUID, member_id: UUID
) -> tuple[ClassSituation, PeopleSituation] | Refusal:
    """Return the class and its people as a booking would find them now, without any effect."""
    situation = await read.find_class(connection, access, class_id)
    if situation is None:
        return NO_CLASS
    concerned = MembersToLoad([member_id], situation.class_.available_count, preview=True)
    people = await promote.load_members(connection, access, situation, concerned)
    return _with_promotions(situation, people) if member_id in people.members else NO_MEMBER


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


def _with_promotions(situation: ClassSituation, people: PeopleSituation) -> tuple[ClassSituation, PeopleSituation]:
    """Return what ``promote.promote`` would return, without any effect."""
    steps = plan_promotions(situation.class_, situation.policy, people.waiting, people.spots, people.now)
    verdicts = ((step.entry, step.verdict) for step in steps)
    return promote.after_promotions(
        situation, people, [(entry, verdict) for entry, verdict in verdicts if isinstance(verdict, Promote)]
    )


async def preview_cancellation(connection: Connection, access: Access, booking_id: str) -> str | Refusal:
    """Return the receipt that cancelling now would produce, without any effect."""
    found = await read.find_class_of_booking(connection, access, booking_id)
    if found is None:
        return NOT_FOUND
    situation, member_id = found
    concerned = MembersToLoad([member_id], situation.class_.available_count + 1, preview=True)
    people = await promote.load_members(connection, access, situation, concerned)
    held = await facts.look_at_booking(connection, access, booking_id, situation)
    decided = await cancel.decide(connection, access, situation, held, CancellationCause.PARTNER)
    if isinstance(decided, Refusal):
        return decided
    promoted = cancel.promotes(cancel.plan(situation, people, held.booking, decided))
    return cancel.text(receipt_json(held.booking, decided, promoted=promoted))
