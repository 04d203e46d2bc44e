"""Record a promotion. Each statement writes everything: booking, counters, credit, ledger.

The class row and the members' rows are locked, so counters can be incremented and positions can be counted.
"""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings.waitlist import Promote
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import new_id
from studiogate.storage.status_lists import OPEN_ENTRY

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
