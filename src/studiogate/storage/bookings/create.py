"""Record the new bookings of a batch: their rows, the counters, credits and waitlist entries, their events, and the
answers that are stored for their requests.

The rows of the classes and members are locked, so counters can be incremented and positions can be counted.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings.eligibility import BookingDecision, Outcome
from studiogate.domain.events import EventType
from studiogate.storage import audit
from studiogate.storage.bookings.facts import ClassSituation
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import Statement, json_rows, new_id
from studiogate.storage.events import announced
from studiogate.storage.idempotency import IdempotencyKey, check_stored, stored_answers
from studiogate.storage.resources import BOOKING

PARTNER = "partner_api"

# A single statement: the classes are locked while it runs, so every round trip saved means more bookings per second for
# a popular class. ``new`` holds one row per booking, in order of arrival, with the key under which its answer is
# stored, and ``classes`` one row per class. Memberships are also looked for by their members: PostgreSQL expects an
# array of ids to be long, and would rather read all memberships of a small studio.
RECORD = Statement(f"""
    with class as materialized (
        select * from json_to_recordset(:classes::json) as each(
            class_id uuid, location_id uuid, start_time timestamptz, end_time timestamptz, policy text, seats integer,
            places integer)
    ), new as materialized (
        select each.*, class.location_id, class.start_time, class.end_time, class.policy::jsonb,
               :source as booking_source, :now::timestamptz as created_at, :now as updated_at
        from json_to_recordset(:new::json) as each(
            number integer, id uuid, class_id uuid, member_id uuid, status text, class_spot_id uuid, membership_id uuid,
            credits integer, position integer, ledger_id uuid, event_id uuid, changes jsonb, credential_id text,
            address text, key text, fingerprint bytea)
        join class using (class_id)
    ), made as (
        insert into bookings (studio_id, id, class_id, member_id, location_id, start_time, end_time, status,
                              booking_source, class_spot_id, membership_id, credits_taken, policy, made_by,
                              created_at, updated_at)
        select :studio, id, class_id, member_id, location_id, start_time, end_time, status, booking_source,
               class_spot_id, membership_id, credits, policy, credential_id, created_at, updated_at
        from new
    ), counted as (
        update classes c set
            booked_count = booked_count + (select seats from class where class_id = c.id),
            waitlist_count = waitlist_count + (select places from class where class_id = c.id)
        where c.studio_id = :studio and c.id = any(array(select class_id from class))
    ), paid as (
        update memberships set credits_remaining = credits_remaining - 1, state_version = state_version + 1
        where studio_id = :studio and id = any(:paying_memberships::uuid[]) and member_id = any(:paying_members::uuid[])
    ), ledger as (
        insert into credit_ledger (studio_id, id, membership_id, booking_id, delta, reason)
        select :studio, ledger_id, membership_id, id, -1, 'booked' from new where credits = 1
    ), wire as (
        select b.*, row_to_json(w) as object
        from new b cross join lateral (select b.position) entry cross join lateral (select {BOOKING.columns}) w
    ), announced as (
        {announced(EventType.BOOKING_CREATED, "wire")} order by wire.number
    ), audited as (
        {audit.recorded_for_keys("booking.create", "booking", "new")} order by number
    ), stored as ({
    stored_answers('''
        select credential_id, key, fingerprint, :success::integer, convert_to(object::text, 'UTF8') from wire
        where key is not null''')
})
    select id, object::text as wire, (select count(*) from stored) as stored from wire""")

ADD_ENTRIES = Statement("""
    insert into waitlist_entries (studio_id, id, class_id, member_id, booking_id, location_id, position, status,
                                  created_at, updated_at)
    select :studio, entry.id, entry.class_id, entry.member_id, entry.booking_id, entry.location_id, entry.position,
           'waiting', :now, :now
    from json_to_recordset(:entries::json)
        as entry(id uuid, class_id uuid, member_id uuid, booking_id uuid, location_id uuid, position integer)""")


class NewBooking(NamedTuple):
    """A booking to record, with the access that asked for it and the key under which its answer is stored.
    ``position`` is its place on the waitlist."""

    id: UUID
    class_id: UUID
    member_id: UUID
    decision: BookingDecision
    position: int | None
    access: Access
    once: IdempotencyKey | None


class NewBookings(NamedTuple):
    """The bookings of one batch, made at one instant; ``success`` is stored as the status of their answers."""

    bookings: Sequence[NewBooking]
    now: datetime
    success: int = 0
    source: str = PARTNER


async def record_bookings(
    connection: Connection, access: Access, classes: Sequence[ClassSituation], new: NewBookings
) -> dict[UUID, str]:
    """Insert bookings of these classes, emit their events and store them as answers; return them in wire form, by
    id."""
    paying = [each for each in new.bookings if each.decision.credits_required]
    rows = await RECORD.rows(
        connection,
        classes=json_rows(_class_row(each, new.bookings) for each in classes),
        new=json_rows(map(_row, new.bookings)),
        studio=access.studio_id,
        actor=access.actor.value,
        now=new.now,
        success=new.success,
        source=new.source,
        paying_memberships=[each.decision.membership_id for each in paying],
        paying_members=[each.member_id for each in paying],
    )
    await _add_entries(connection, access, classes, new)
    check_stored(rows[0]["stored"], sum(each.once is not None for each in new.bookings))
    return {row["id"]: row["wire"] for row in rows}


async def _add_entries(
    connection: Connection, access: Access, classes: Sequence[ClassSituation], new: NewBookings
) -> None:
    """Insert the waitlist entries of the bookings that wait. A statement of its own: most batches have none."""
    waiting = [each for each in new.bookings if each.position is not None]
    if waiting:
        location_of = {each.class_.id: each.class_.location_id for each in classes}
        await ADD_ENTRIES.rows(
            connection,
            studio=access.studio_id,
            now=new.now,
            entries=json_rows(
                {
                    "id": new_id(),
                    "class_id": each.class_id,
                    "member_id": each.member_id,
                    "booking_id": each.id,
                    "location_id": location_of[each.class_id],
                    "position": each.position,
                }
                for each in waiting
            ),
        )


def _class_row(situation: ClassSituation, new: Sequence[NewBooking]) -> dict[str, object]:
    class_ = situation.class_
    waits = [each.position is not None for each in new if each.class_id == class_.id]
    return {
        "class_id": class_.id,
        "location_id": class_.location_id,
        "start_time": class_.start_time,
        "end_time": class_.end_time,
        "policy": situation.policy_json,
        "seats": waits.count(False),
        "places": waits.count(True),
    }


def _row(booking: NewBooking) -> dict[str, object]:
    decision, access, once = booking.decision, booking.access, booking.once
    return {
        "id": booking.id,
        "class_id": booking.class_id,
        "member_id": booking.member_id,
        "status": decision.outcome.value,
        "class_spot_id": decision.class_spot_id,
        "membership_id": decision.membership_id if decision.outcome == Outcome.CONFIRMED else None,
        "credits": decision.credits_required,
        "position": booking.position,
        "ledger_id": new_id(),
        "event_id": new_id(),
        "changes": audit.changes_by_key(access, "booking", None, _recorded(booking)),
        "credential_id": access.credential_id,
        "address": access.address,
        "key": once and once.key,
        "fingerprint": once and once.fingerprint,
    }


def _recorded(booking: NewBooking) -> dict[str, object]:
    """Return what the audit log keeps of a new booking."""
    decision = booking.decision
    return {
        "class_id": str(booking.class_id),
        "member_id": str(booking.member_id),
        "status": decision.outcome.value,
        "class_spot_id": decision.class_spot_id and str(decision.class_spot_id),
        "membership_id": decision.membership_id and str(decision.membership_id),
        "credits_taken": decision.credits_required,
    }
