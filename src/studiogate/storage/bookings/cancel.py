"""Record the cancelled bookings of a batch: their rows, the counters, credits, fees and receipts, their events, and the
answers that are stored for their requests. Also end a waitlist entry.

The rows of the classes and members are locked, so counters can be changed.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings.cancellation import Cancellation
from studiogate.domain.bookings.facts import BookingFacts
from studiogate.domain.bookings.states import BookingStatus, WaitlistStatus
from studiogate.domain.events import EventType
from studiogate.storage import audit
from studiogate.storage.bookings.facts import ClassSituation, LiveEntry
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import Statement, json_rows, new_id
from studiogate.storage.events import announced
from studiogate.storage.idempotency import IdempotencyKey, check_stored, stored_answers
from studiogate.storage.resources import BOOKING

# A single statement, for the same reasons as for new bookings. ``new`` holds one row per booking, in order of
# arrival, with the key under which its receipt is stored as the answer; ``classes`` one row per class.
RECORD = Statement(f"""
    with class as materialized (
        select * from json_to_recordset(:classes::json) as each(class_id uuid, seats integer)
    ), new as materialized (
        select * from json_to_recordset(:new::json) as each(
            number integer, id uuid, member_id uuid, cancelled_at timestamptz, cancellation_type text, late boolean,
            graced boolean, purchase_id uuid, membership_id uuid, forfeited integer, returned integer, receipt_id uuid,
            receipt text, ledger_id uuid, event_id uuid, previous json, changes jsonb, credential_id text, address text,
            key text, fingerprint bytea)
    ), gone as (
        update bookings set status = 'cancelled', class_spot_id = null, moved_to_booking_id = :moved_to
        where studio_id = :studio and class_id = any(array(select class_id from class))
        and id = any(array(select id from new))
        returning *
    ), counted as (
        update classes c set booked_count = booked_count - (select seats from class where class_id = c.id)
        where c.studio_id = :studio and c.id = any(array(select class_id from class))
    ), receipt as (
        insert into booking_cancellations (studio_id, id, booking_id, member_id, cancelled_at, cancellation_type, late,
                                           graced_for_promotion, purchase_id, receipt, credits_forfeited,
                                           credits_returned, made_by)
        select :studio, receipt_id, id, member_id, cancelled_at, cancellation_type, late, graced, purchase_id,
               receipt::json, forfeited, returned, credential_id
        from new
    ), repaid as (
        update memberships set credits_remaining = credits_remaining + 1, state_version = state_version + 1
        where studio_id = :studio and id = any(array(select membership_id from new where returned = 1))
        and member_id = any(array(select member_id from new where returned = 1))
    ), settled as (
        insert into credit_ledger (studio_id, id, membership_id, booking_id, delta, reason)
        select :studio, ledger_id, membership_id, id, returned,
               case returned when 1 then 'returned' else 'forfeited' end
        from new where returned + forfeited = 1
    ), wire as (
        select new.*, b.location_id, row_to_json(w) as object
        from new join gone b on b.id = new.id cross join (select null::integer as position) entry
        cross join lateral (select {BOOKING.columns}) w
    ), announced as (
        {announced(EventType.BOOKING_CANCELLED, "wire", "wire.previous")} order by wire.number
    ), audited as (
        {audit.recorded_for_keys("booking.cancel", "booking", "new")} order by number
    ), stored as ({
    stored_answers('''
        select credential_id, key, fingerprint, :success::integer, convert_to(receipt, 'UTF8') from new
        where key is not null''')
})
    select count(*) as stored from stored""")

FEES = Statement("""
    insert into purchases (studio_id, id, member_id, product_key, product_type, quantity, amount_total, currency,
                           status, location_id, booking_id, created_at, updated_at)
    select :studio, fee.id, fee.member_id, 'late_cancel_fee', 'fee', 1, fee.amount, fee.currency, 'pending',
           fee.location_id, fee.booking_id, fee.charged_at, fee.charged_at
    from unnest(:ids::uuid[], :members::uuid[], :amounts::numeric[], :currencies::text[], :locations::uuid[],
                :bookings::uuid[], :times::timestamptz[])
        as fee(id, member_id, amount, currency, location_id, booking_id, charged_at)""")

# $1 studio, $2 entry, $3 its new status, $4 class, $5 whether it counted as waiting.
END_ENTRY = """
    with ended as (update waitlist_entries set status = $3, position = null where studio_id = $1 and id = $2)
    update classes set waitlist_count = waitlist_count - $5::boolean::integer where studio_id = $1 and id = $4"""


CANCELLED = {"status": BookingStatus.CANCELLED.value}


class NewCancellation(NamedTuple):
    """A booking to cancel, with the waitlist entry that ends with it, and its receipt, which is also stored as the
    answer to its request; ``purchase_id`` is the fee's."""

    booking: BookingFacts
    entry: LiveEntry | None
    cancellation: Cancellation
    receipt_id: UUID
    receipt: str
    purchase_id: UUID | None
    previous_attributes: Mapping[str, object]
    access: Access
    once: IdempotencyKey | None
    entry_becomes: WaitlistStatus = WaitlistStatus.CANCELLED
    moved_to: UUID | None = None


async def record_cancellations(
    connection: Connection, access: Access, new: Sequence[NewCancellation], success: int = 0
) -> None:
    """Cancel bookings and emit their events; store their receipts, also as the answers to their requests, with the
    status ``success``. One that another booking replaces is alone."""
    freed = Counter[UUID]()
    for each in new:
        freed[each.booking.class_id] += each.cancellation.seat_freed
    row = await RECORD.row(
        connection,
        classes=json_rows({"class_id": class_id, "seats": seats} for class_id, seats in freed.items()),
        new=json_rows(_row(each) for each in new),
        studio=access.studio_id,
        actor=access.actor.value,
        success=success,
        moved_to=new[0].moved_to,
    )
    check_stored(row["stored"], sum(each.once is not None for each in new))


def _row(new: NewCancellation) -> dict[str, object]:
    booking, cancellation, access, once = new.booking, new.cancellation, new.access, new.once
    return {
        "id": booking.id,
        "member_id": booking.member_id,
        "cancelled_at": cancellation.cancelled_at,
        "cancellation_type": cancellation.cancellation_type.value,
        "late": cancellation.late,
        "graced": cancellation.graced_for_promotion,
        "purchase_id": new.purchase_id,
        "membership_id": cancellation.membership_id,
        "forfeited": cancellation.credits_forfeited,
        "returned": cancellation.credits_returned,
        "receipt_id": new.receipt_id,
        "receipt": new.receipt,
        "ledger_id": new_id(),
        "event_id": new_id(),
        "previous": new.previous_attributes,
        "changes": audit.changes_by_key(access, "booking", _recorded(booking), CANCELLED),
        "credential_id": access.credential_id,
        "address": access.address,
        "key": once and once.key,
        "fingerprint": once and once.fingerprint,
    }


def _recorded(booking: BookingFacts) -> dict[str, object]:
    return {"status": booking.status.value, "class_spot_id": booking.class_spot_id and str(booking.class_spot_id)}


async def record_fees(
    connection: Connection, access: Access, classes: Sequence[ClassSituation], new: Sequence[NewCancellation]
) -> None:
    """Insert the late fees as pending purchases at the locations of the classes."""
    charged = [(each, each.cancellation.fee) for each in new if each.cancellation.fee is not None]
    if not charged:
        return
    location_of = {each.class_.id: each.class_.location_id for each in classes}
    await FEES.rows(
        connection,
        studio=access.studio_id,
        ids=[each.purchase_id for each, _ in charged],
        members=[each.booking.member_id for each, _ in charged],
        amounts=[Decimal(fee.amount) for _, fee in charged],
        currencies=[fee.currency for _, fee in charged],
        locations=[location_of[each.booking.class_id] for each, _ in charged],
        bookings=[each.booking.id for each, _ in charged],
        times=[each.cancellation.cancelled_at for each, _ in charged],
    )


async def end_entry(connection: Connection, access: Access, class_id: UUID, entry: LiveEntry, becomes: str) -> None:
    await connection.execute(END_ENTRY, access.studio_id, entry.id, becomes, class_id, entry.status == "waiting")
