"""Record a cancelled booking: its row, the counters, the credit, its receipt, its event, and the answer that is stored
for its request. Also end its waitlist entry, if it had one.

The class row and the member's row are locked, so counters can be changed.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings import BookingFacts, Cancellation
from studiogate.domain.events import EventType
from studiogate.storage.bookings.facts import LiveEntry
from studiogate.storage.bookings.read import written_form
from studiogate.storage.db.ids import new_id
from studiogate.storage.db.pool import Connection
from studiogate.storage.events import as_json, change_told
from studiogate.storage.idempotency import Once, answer_remembered, check_remembered

# $1 studio, $2 booking, $3 class, $4 member, $5 whether a seat is freed, $6 the receipt's id, $7 now, $8 its type, $9
# late, $10 graced, $11 the fee's purchase, $12 the receipt, $13 the event, $14 the previous attributes, $15 to $18 the
# credential, idempotency key, fingerprint and status with which the answer is stored; $19 the actor; $20 the
# membership, $21 the ledger entry.
GONE = (
    """
    gone as (
        update bookings set status = 'cancelled', class_spot_id = null where studio_id = $1 and id = $2
        returning *)""",
    """
    counted as (
        update classes set booked_count = booked_count - $5::boolean::integer where studio_id = $1 and id = $3)""",
)
RECEIPT = """
    receipt as (
        insert into booking_cancellations (studio_id, id, booking_id, member_id, cancelled_at, cancellation_type, late,
                                           graced_for_promotion, purchase_id, receipt, credits_forfeited,
                                           credits_returned)
        values ($1, $6, $2, $4, $7, $8, $9, $10, $11, $12::text::json, {forfeited}, {returned}))"""
REPAID = """
    repaid as (
        update memberships set credits_remaining = credits_remaining + 1, state_version = state_version + 1
        where studio_id = $1 and id = $20)"""
SETTLED = """
    settled as (
        insert into credit_ledger (studio_id, id, membership_id, booking_id, delta, reason)
        values ($1, $21, $20, $2, {delta}, '{reason}'))"""
RETURNED = (RECEIPT.format(forfeited=0, returned=1), REPAID, SETTLED.format(delta=1, reason="returned"))
FORFEITED = (RECEIPT.format(forfeited=1, returned=0), SETTLED.format(delta=0, reason="forfeited"))
NO_CREDIT = (RECEIPT.format(forfeited=0, returned=0),)
TOLD = (
    f"wire as ({written_form('gone')})",
    f"told as ({change_told(EventType.BOOKING_CANCELLED, 'wire', '$13', '$19', '$14::json')})",
)
ANSWER = "select convert_to($12::text, 'UTF8')"
REMEMBERED = f"remembered as ({answer_remembered(ANSWER, '$15', '$16::text', '$17', '$18')})"
RESULT = "select (select remembered from remembered) as remembered"

# Each is a single statement without the parts that it does not need, for the same reasons as for a new booking.
LEAVE = f"with {', '.join((*GONE, *NO_CREDIT, *TOLD, REMEMBERED))} {RESULT}"
LEAVE_WITH_THE_CREDIT = f"with {', '.join((*GONE, *RETURNED, *TOLD, REMEMBERED))} {RESULT}"
LEAVE_THE_CREDIT = f"with {', '.join((*GONE, *FORFEITED, *TOLD, REMEMBERED))} {RESULT}"

# $1 studio, $2 entry, $3 its new status, $4 class, $5 whether it counted as waiting.
END_ENTRY = """
    with ended as (update waitlist_entries set status = $3, position = null where studio_id = $1 and id = $2)
    update classes set waitlist_count = waitlist_count - $5::boolean::integer where studio_id = $1 and id = $4"""


class Receipt(NamedTuple):
    """A receipt as it is stored and returned; ``purchase_id`` is the fee's."""

    id: UUID
    text: str
    purchase_id: UUID | None


async def record_leaving(
    connection: Connection,
    access: Access,
    booking: BookingFacts,
    cancellation: Cancellation,
    receipt: Receipt,
    previous_attributes: Mapping[str, Any],
    once: Once | None,
    answer_status: int | None,
) -> None:
    """Cancel the booking and emit its event; store its receipt, also as the answer to its request."""
    arguments = [
        access.studio_id,
        booking.id,
        booking.class_id,
        booking.member_id,
        cancellation.seat_freed,
        receipt.id,
        cancellation.cancelled_at,
        cancellation.cancellation_type.value,
        cancellation.late,
        cancellation.graced_for_promotion,
        receipt.purchase_id,
        receipt.text,
        new_id(),
        as_json(previous_attributes),
        access.credential_id,
        *(once or (None, None)),
        answer_status,
        access.actor.value,
    ]
    settles = cancellation.credits_returned or cancellation.credits_forfeited
    if settles:
        arguments += [cancellation.membership_id, new_id()]
    credit = LEAVE_WITH_THE_CREDIT if cancellation.credits_returned else LEAVE_THE_CREDIT
    remembered = await connection.fetchval(credit if settles else LEAVE, *arguments)
    if once is not None:
        check_remembered(remembered)


async def end_entry(connection: Connection, access: Access, class_id: UUID, entry: LiveEntry, becomes: str) -> None:
    await connection.execute(END_ENTRY, access.studio_id, entry.id, becomes, class_id, entry.status == "waiting")
