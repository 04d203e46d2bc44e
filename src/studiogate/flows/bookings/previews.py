"""What booking or cancelling would do now, without any effect."""

from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings.cancellation import CancellationCause, ReceiptJson, receipt_json
from studiogate.domain.bookings.eligibility import decide_booking
from studiogate.domain.bookings.waitlist import Promote, plan_promotions
from studiogate.domain.json_values import json_text
from studiogate.domain.refusals import NOT_FOUND, Refusal
from studiogate.flows.bookings import book, cancel, promote
from studiogate.storage.bookings import facts, read
from studiogate.storage.db.pool import Connection


async def validate_booking(connection: Connection, access: Access, wanted: book.BookClass) -> dict[str, Any] | Refusal:
    """Return what a booking would decide now, without any effect."""
    if (situation := await read.find_class(connection, access, wanted.class_id)) is None:
        return book.NO_CLASS
    concerned = promote.MembersToLoad([wanted.member_id], situation.class_.available_count, preview=True)
    people = await promote.load_members(connection, access, situation, concerned)
    if wanted.member_id not in people.members:
        return book.NO_MEMBER
    steps = plan_promotions(situation.class_, situation.policy, people.waiting, people.spots, people.now)
    promoted = [(step.entry, step.verdict) for step in steps if isinstance(step.verdict, Promote)]
    after = promote.after_promotions(situation, people, promoted)
    decision = decide_booking(book.attempt_of(*after, wanted.member_id, wanted.request))
    return {
        "object": "booking_validation",
        "bookable": not decision.reasons,
        "outcome": decision.outcome.value,
        "reasons": [
            {"code": each.code.value, "message": each.message, "details": dict(each.details)}
            for each in decision.reasons
        ],
        "membership_id": str(decision.membership_id) if decision.membership_id else None,
        "credits_required": decision.credits_required,
    }


async def preview_cancellation(connection: Connection, access: Access, booking_id: str) -> str | Refusal:
    """Return the receipt that a partner's cancellation would produce now, without any effect."""
    planned = await plan_cancellation(connection, access, booking_id, CancellationCause.PARTNER)
    return planned if isinstance(planned, Refusal) else json_text(planned.receipt)


class PlannedCancellation(NamedTuple):
    """The receipt that a cancellation would produce, and who would be promoted into the seat."""

    receipt: ReceiptJson
    promoted: Sequence[UUID]


async def plan_cancellation(
    connection: Connection, access: Access, booking_id: UUID | str, cause: CancellationCause
) -> PlannedCancellation | Refusal:
    if (found := await read.find_class_of_booking(connection, access, booking_id)) is None:
        return NOT_FOUND
    situation, member_id = found
    concerned = promote.MembersToLoad([member_id], situation.class_.available_count + 1, preview=True)
    people = await promote.load_members(connection, access, situation, concerned)
    held = await facts.look_at_booking(connection, access, booking_id, situation)
    if isinstance(decided := await cancel.decide(connection, access, situation, held, cause), Refusal):
        return decided
    steps = cancel.plan(situation, people, held.booking, decided)
    promoted = [each.entry.member.id for each in steps if isinstance(each.verdict, Promote)]
    return PlannedCancellation(receipt_json(held.booking, decided, promoted=bool(promoted)), promoted)
