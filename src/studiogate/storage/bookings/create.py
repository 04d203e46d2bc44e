"""Record a new booking: its row, the counter, the credit or the waitlist entry, its event, and the answer that is
stored for its request.

The class row and the member's row are locked, so counters can be incremented and positions can be counted.
"""

from datetime import datetime
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings import BookingDecision, Outcome
from studiogate.domain.events import EventType
from studiogate.storage.bookings.facts import ClassSituation
from studiogate.storage.bookings.read import NO_ENTRY, written_form
from studiogate.storage.db.ids import new_id
from studiogate.storage.db.pool import Connection
from studiogate.storage.events import change_told
from studiogate.storage.idempotency import Once, answer_remembered, check_remembered

# $1 studio, $2 booking, $3 class, $4 member, $5 now, $6 source, $7 spot, $8 membership, $9 policy, $10 location,
# $11 and $12 the class's times, $13 the event, $14 to $17 the credential, idempotency key, fingerprint and status with
# which the answer is stored; $18 the actor; $19 the waitlist entry, or the ledger entry.
MADE = """
    made as (
        insert into bookings (studio_id, id, class_id, member_id, location_id, start_time, end_time, status,
                              booking_source, class_spot_id, membership_id, credits_taken, policy, created_at,
                              updated_at)
        values ($1, $2, $3, $4, $10, $11, $12, {status}, $6, $7, $8, {credits}, $9, $5, $5)
        returning *)"""
COUNTED = "counted as (update classes set booked_count = booked_count + 1 where studio_id = $1 and id = $3)"
WAITLISTED = """
    counted as (
        update classes set waitlist_count = waitlist_count + 1 where studio_id = $1 and id = $3
        returning waitlist_count
    ), entry as (
        insert into waitlist_entries (studio_id, id, class_id, member_id, booking_id, location_id, position, status,
                                      created_at, updated_at)
        select $1, $19, made.class_id, made.member_id, made.id, made.location_id, counted.waitlist_count, 'waiting',
               $5, $5
        from made, counted
        returning position)"""
PAID = (
    """
    paid as (
        update memberships set credits_remaining = credits_remaining - 1, state_version = state_version + 1
        where studio_id = $1 and id = $8)""",
    """
    ledger as (
        insert into credit_ledger (studio_id, id, membership_id, booking_id, delta, reason)
        values ($1, $19, $8, $2, -1, 'booked'))""",
)
ANSWER = "select convert_to(object::text, 'UTF8') from wire"


def _book(outcome: str, *, paid: bool) -> str:
    """Return the single statement that records a booking. The class is locked while it runs, so every round trip saved
    means more bookings per second for a popular class. Parts that this kind of booking does not need are left out:
    setting up a part costs about as much as running it."""
    waits = outcome == Outcome.WAITLISTED.value
    parts = [
        MADE.format(status=f"'{outcome}'", credits="1" if paid else "0"),
        WAITLISTED if waits else COUNTED,
        *(PAID if paid else ()),
        f"wire as ({written_form('made', 'entry' if waits else NO_ENTRY)})",
        f"told as ({change_told(EventType.BOOKING_CREATED, 'wire', '$13', '$18')})",
        f"remembered as ({answer_remembered(ANSWER, '$14', '$15::text', '$16', '$17')})",
    ]
    return f"with {', '.join(parts)} select object::text as wire, (select remembered from remembered) from wire"


BOOK_FOR_A_CREDIT = _book(Outcome.CONFIRMED.value, paid=True)
BOOK = _book(Outcome.CONFIRMED.value, paid=False)
JOIN_WAITLIST = _book(Outcome.WAITLISTED.value, paid=False)


async def record_booking(
    connection: Connection,
    access: Access,
    situation: ClassSituation,
    member_id: UUID,
    decision: BookingDecision,
    now: datetime,
    source: str,
    once: Once | None,
    answer_status: int | None,
) -> str:
    """Insert a booking, emit its event and store the answer to its request; return the booking in wire form."""
    class_, confirmed = situation.class_, decision.outcome == Outcome.CONFIRMED
    arguments = [
        access.studio_id,
        new_id(),
        class_.id,
        member_id,
        now,
        source,
        decision.class_spot_id,
        decision.membership_id if confirmed else None,
        situation.policy_json,
        class_.location_id,
        class_.start_time,
        class_.end_time,
        new_id(),
        access.credential_id,
        *(once or (None, None)),
        answer_status,
        access.actor.value,
    ]
    if not confirmed or decision.credits_required:
        arguments.append(new_id())
    paid = BOOK_FOR_A_CREDIT if decision.credits_required else BOOK
    (row,) = await connection.fetch(paid if confirmed else JOIN_WAITLIST, *arguments)
    if once is not None:
        check_remembered(row["remembered"])
    wire: str = row["wire"]
    return wire
