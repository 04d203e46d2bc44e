"""Record promotions, and the new bookings of a batch with their counters, credits, entries, events and answers.

The rows of the classes and members are locked, so counters can be incremented and positions can be counted.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings.eligibility import BookingDecision, Outcome
from studiogate.domain.bookings.waitlist import Promote
from studiogate.domain.events import EventType
from studiogate.storage import audit
from studiogate.storage.bookings.facts import ClassSituation
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import Statement, json_rows, new_id
from studiogate.storage.events import announced
from studiogate.storage.idempotency import IdempotencyKey, check_stored, stored_answers
from studiogate.storage.resources import BOOKING
from studiogate.storage.status_lists import OPEN_ENTRY

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
               :source as booking_source, :moved_from::uuid as moved_from_booking_id,
               null::uuid as moved_to_booking_id, :now::timestamptz as created_at, :now as updated_at
        from json_to_recordset(:new::json) as each(
            number integer, id uuid, class_id uuid, member_id uuid, status text, class_spot_id uuid, membership_id uuid,
            credits integer, position integer, ledger_id uuid, event_id uuid, changes jsonb, credential_id text,
            address text, key text, fingerprint bytea)
        join class using (class_id)
    ), made as (
        insert into bookings (studio_id, id, class_id, member_id, location_id, start_time, end_time, status,
                              booking_source, class_spot_id, membership_id, credits_taken, policy, made_by,
                              moved_from_booking_id, created_at, updated_at)
        select :studio, id, class_id, member_id, location_id, start_time, end_time, status, booking_source,
               class_spot_id, membership_id, credits, policy, credential_id, moved_from_booking_id, created_at,
               updated_at
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
    """The bookings of one batch, made at one instant; ``success`` is stored as the status of their answers. A booking
    that replaces one in another class, ``moved_from``, is alone in its batch."""

    bookings: Sequence[NewBooking]
    now: datetime
    success: int = 0
    source: str = PARTNER
    moved_from: UUID | None = None


async def record_bookings(
    connection: Connection, access: Access, classes: Sequence[ClassSituation], new: NewBookings
) -> dict[UUID, str]:
    """Insert bookings of these classes, emit their events, store them as answers; return them in wire form, by id."""
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
        moved_from=new.moved_from,
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
    decision = booking.decision
    return {
        "class_id": str(booking.class_id),
        "member_id": str(booking.member_id),
        "status": decision.outcome.value,
        "class_spot_id": decision.class_spot_id and str(decision.class_spot_id),
        "membership_id": decision.membership_id and str(decision.membership_id),
        "credits_taken": decision.credits_required,
    }


# A promotion, likewise in one statement: booking, counters, credit, ledger.
# $1 studio, $2 booking, $3 class, $4 now, $5 spot, $6 membership, $7 credits, $8 ledger id, $9 true if the member was
# promoted, false if they took the seat by their own request. An entry whose place was offered is not counted any more.
PROMOTE = f"""
    with moved as (
        update bookings set status = 'confirmed', class_spot_id = $5, membership_id = $6, credits_taken = $7,
                            promoted_at = case when $9::boolean then $4::timestamptz end
        where studio_id = $1 and id = $2 and status = 'waitlisted'
        returning id
    ), converted as (
        update waitlist_entries set status = 'converted', position = null, promoted_at = $4, skip_reason = null
        where studio_id = $1 and booking_id = $2 and status in ({OPEN_ENTRY})
    ), counted as (
        update classes set booked_count = booked_count + 1, waitlist_count = waitlist_count - (
            select count(*) from waitlist_entries where studio_id = $1 and booking_id = $2 and status = 'waiting')
        where studio_id = $1 and id = $3
    ), paid as (
        update memberships set credits_remaining = credits_remaining - 1, state_version = state_version + 1
        where studio_id = $1 and id = $6 and $7 = 1
    )
    insert into credit_ledger (studio_id, id, membership_id, booking_id, delta, reason)
    select $1, $8, $6, moved.id, -1, 'promoted' from moved where $7 = 1"""

SKIP = """
    update waitlist_entries set skip_reason = $3
    where studio_id = $1 and id = $2 and skip_reason is distinct from $3"""

# After an entry has ended: 1..n again, in the same order. The bookings show the position, so they have changed too.
RENUMBER = """
    with moved as (
        update waitlist_entries w set position = n.position
        from (select id, position as before, row_number() over (order by position) as position from waitlist_entries
              where studio_id = $1 and class_id = $2 and status = 'waiting') n
        where w.studio_id = $1 and w.id = n.id and w.position <> n.position
        returning w.id, w.booking_id, w.position, n.before
    ), touched as (
        update bookings set updated_at = clock_timestamp()
        where studio_id = $1 and id = any(array(select booking_id from moved)))
    select id, position, before from moved"""


class Renumbered(NamedTuple):
    entry_id: UUID
    position: int
    position_before: int


class TakenSeat(NamedTuple):
    """The seat that a waiting member gets; ``promoted`` is false if the member took it at their own request."""

    seat: Promote
    at: datetime
    promoted: bool


async def record_promotion(
    connection: Connection, access: Access, class_id: UUID, booking_id: UUID, taken: TakenSeat
) -> None:
    seat, at, promoted = taken
    place = (seat.class_spot_id, seat.membership_id, seat.credits_taken)
    await connection.execute(PROMOTE, access.studio_id, booking_id, class_id, at, *place, new_id(), promoted)


async def record_skip(connection: Connection, access: Access, entry_id: UUID, reason: str) -> None:
    await connection.execute(SKIP, access.studio_id, entry_id, reason)


async def renumber(connection: Connection, access: Access, class_id: UUID) -> list[Renumbered]:
    """Close gaps in the positions; return the entries whose position changed, ordered by position."""
    rows = await connection.fetch(RENUMBER, access.studio_id, class_id)
    return sorted((Renumbered(*row) for row in rows), key=lambda each: each.position)
