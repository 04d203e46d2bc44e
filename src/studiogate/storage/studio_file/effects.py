"""What follows from the changes besides their own rows: other rows, counters, copies and the credit ledger.

``affected_series`` has the stored series that the file changes, whose location gets another time zone (``moved``), or
on whose days a closure changes; ``agrees`` is whether their classes must follow. ``affected_classes`` has the classes
to come of these series, and (``inherits``) those whose policy changes with their studio, location or class type.
``affected_memberships`` has those of which a purchase becomes failed or no longer is, with the purchase.

Imported bookings take and return no credit, and no member is promoted: the sweep fills seats that an import frees.
"""

from collections.abc import AsyncIterator
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.fields.catalog import PurchaseStatus
from studiogate.domain.memberships import MembershipState
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import affected
from studiogate.storage.memberships import STATE, read_row
from studiogate.storage.record_invariants import AGREES, STARTS, WANTED, start_rows
from studiogate.storage.schedule.rows import TO_COME
from studiogate.storage.status_lists import OPEN_ENTRY, SEAT_HOLDING

PREPARE = """
    create temp table affected_series (id uuid, n integer, place text, agrees boolean, moved boolean, changed text[])
        on commit drop;
    create temp table affected_classes (id uuid, inherits boolean) on commit drop;
    create temp table affected_memberships (id uuid, purchase_id uuid) on commit drop"""

_CLOSED = """
    select from change_closures o left join closures k on k.studio_id = $1 and k.id = o.id
    where s.location_id = coalesce(o.location_id, s.location_id)
        or (k.id is not null and s.location_id = coalesce(k.location_id, s.location_id))"""
SERIES = f"""
    insert into affected_series
    select s.id, c.n, c.place, c.id is not null or l.id is not null, l.id is not null,
           case when c.id is null then '{{}}' else array_remove(array[
               case when c.room_id is distinct from s.room_id then 'room_id' end,
               case when c.spot_selection_mode is distinct from s.spot_selection_mode then 'spot_selection_mode' end
           ], null) end
    from class_series s
    left join change_class_series c on c.id = s.id
    left join (select o.id from change_locations o join locations k on k.studio_id = $1 and k.id = o.id
               where k.timezone <> o.timezone) l on l.id = s.location_id
    where s.studio_id = $1 and (c.id is not null or l.id is not null or exists ({_CLOSED}))"""

_NEW_POLICY = """
    select o.id from change_{0} o join {0} k on k.studio_id = $1 and k.id = o.id where k.policy <> o.policy"""
# $2: whether the studio's own policy changes.
CLASSES = f"""
    insert into affected_classes
    select c.id, false from classes c where c.studio_id = $1 and c.start_time > now()
        and c.series_id in (select id from affected_series where agrees)
    union all
    select c.id, true from classes c where {TO_COME} and (
        $2 or c.location_id in ({_NEW_POLICY.format("locations")})
        or c.class_type_id in ({_NEW_POLICY.format("class_types")}))"""

# Changes nothing but updated_at, which a trigger sets: partners who ask for what changed must find the classes.
TOUCH = """
    update classes set visible = visible
    where studio_id = $1 and id in (select id from affected_classes where inherits)"""

_NEW_OF_SERIES = f"""
    c.id in (select id from change_classes where not existing and series_id is not null)
    and {TO_COME} and not c.detached"""
WANTED_STARTS = WANTED.format(_NEW_OF_SERIES)
DETACH = f"""
    update classes c set detached = true
    from class_series s join locations l on l.studio_id = $1 and l.id = s.location_id
    join {STARTS.format("$2")} on (start.timezone, start.at) = (l.timezone, s.local_start)
    where s.studio_id = $1 and s.id = c.series_id and start.day = c.series_date
        and {_NEW_OF_SERIES} and not ({AGREES})"""

NEW_SERIES = """
    select id, n, place, false as agrees, false as moved, '{}'::text[] as changed from change_class_series
    where not existing and generated_until is null order by id"""


class AffectedSeries(NamedTuple):
    """A series whose classes must follow a change. ``changed`` has those of its fields that may take spots away."""

    id: UUID
    n: int | None
    place: str | None
    agrees: bool
    moved: bool
    changed: list[str]


async def prepare(connection: Connection) -> None:
    await connection.execute(PREPARE)


async def find(connection: Connection, access: Access, *, policy_changes: bool) -> None:
    """Find what the changes affect, so that it can be locked; ``policy_changes`` is whether the studio's own does. Of
    memberships, these are all with changed purchases."""
    await connection.execute(SERIES, access.studio_id)
    await connection.execute(CLASSES, access.studio_id, policy_changes)
    await connection.execute(PAID_FOR, access.studio_id)
    await connection.execute("analyze affected_series; analyze affected_classes; analyze affected_memberships")


async def settle(connection: Connection, access: Access) -> None:
    """Mark the classes that inherit a changed policy as changed, and detach new ones that differ from their series."""
    await connection.execute(TOUCH, access.studio_id)
    wanted = await connection.fetch(WANTED_STARTS, access.studio_id)
    await connection.execute(DETACH, access.studio_id, start_rows(wanted))


async def series_to_follow(connection: Connection) -> list[AffectedSeries]:
    """Return the stored series that are affected, by id."""
    return [AffectedSeries(*row) for row in await connection.fetch("select * from affected_series order by id")]


async def new_series(connection: Connection) -> list[AffectedSeries]:
    """Return the new series whose classes do not exist yet, by id."""
    return [AffectedSeries(*row) for row in await connection.fetch(NEW_SERIES)]


BATCH = 500

PAID_FOR = """
    insert into affected_memberships
    select r.membership_id, c.id from change_purchases c
    join renewals r on r.studio_id = $1 and r.purchase_id = c.id where c.existing
    union
    select s.membership_id, c.id from change_purchases c
    join sales s on s.studio_id = $1 and s.purchase_id = c.id where c.existing"""

UNCONCERNED = f"""
    delete from affected_memberships a where not exists (
        select from change_purchases c join purchases u on u.studio_id = $1 and u.id = c.id
        where c.id = a.purchase_id
            and ((c.status = '{PurchaseStatus.FAILED}') is true) <> ((u.status = '{PurchaseStatus.FAILED}') is true))"""

# Whether a membership is unpaid is read from all of its purchases, those that the file does not name included.
PAYMENTS = f"""
    select s.id, {STATE}, exists (
        select from (select r.purchase_id from renewals r where r.studio_id = $1 and r.membership_id = s.id
                     union all
                     select o.purchase_id from sales o where o.studio_id = $1 and o.membership_id = s.id) paid
        join purchases u on u.studio_id = $1 and u.id = paid.purchase_id
        where u.status = '{PurchaseStatus.FAILED}') as unpaid
    from memberships s
    where s.studio_id = $1 and s.id = any($2::uuid[])"""


class PaidMembership(NamedTuple):
    id: UUID
    state: MembershipState
    unpaid: bool


async def leave_out_unconcerned(connection: Connection, access: Access) -> None:
    """Keep the memberships of which a purchase becomes failed, or no longer is: before the purchases are written."""
    await connection.execute(UNCONCERNED, access.studio_id)
    await connection.execute("analyze affected_memberships")


async def paid_memberships(connection: Connection, access: Access) -> AsyncIterator[list[PaidMembership]]:
    """Yield the memberships that the import's payments concern, in batches. Must run once these are written."""
    ids = await connection.fetch("select distinct id from affected_memberships order by id")
    for start in range(0, len(ids), BATCH):
        batch = [row["id"] for row in ids[start : start + BATCH]]
        rows = await connection.fetch(PAYMENTS, access.studio_id, batch)
        yield [PaidMembership(row["id"], read_row(row), row["unpaid"]) for row in rows]


# Bookings have copies of their class's location and times, which follow a change of the class.
MOVE_BOOKINGS = """
    update bookings b set location_id = k.location_id, start_time = k.start_time, end_time = k.end_time
    from classes k join change_classes c on c.id = k.id and c.existing
    where k.studio_id = $1 and b.studio_id = $1 and b.class_id = k.id
        and (b.location_id, b.start_time, b.end_time) is distinct from (k.location_id, k.start_time, k.end_time)"""

MOVE_ENTRIES = """
    update waitlist_entries w set location_id = k.location_id
    from classes k join change_classes c on c.id = k.id and c.existing
    where k.studio_id = $1 and w.studio_id = $1 and w.class_id = k.id
        and w.location_id is distinct from k.location_id"""

# An entry whose booking is no longer waitlisted was converted or cancelled.
END_WAITING = f"""
    with ended as (
        update waitlist_entries w
        set status = case b.status when 'cancelled' then 'cancelled' else 'converted' end, position = null,
            promoted_at = case b.status when 'cancelled' then w.promoted_at else now() end
        from change_bookings c join bookings b on b.studio_id = $1 and b.id = c.id
        where w.studio_id = $1 and w.booking_id = b.id and w.status in ({OPEN_ENTRY})
            and b.status <> 'waitlisted'
        returning w.booking_id, w.status
    )
    update bookings b set promoted_at = now() from ended
    where b.studio_id = $1 and b.id = ended.booking_id and ended.status = 'converted'"""

# New entries follow those that already wait, in the order in which their bookings were created.
BEGIN_WAITING = """
    insert into waitlist_entries (studio_id, id, class_id, member_id, booking_id, location_id, position, status,
                                  created_at)
    select $1, gen_random_uuid(), b.class_id, b.member_id, b.id, b.location_id,
           coalesce((select max(w.position) from waitlist_entries w where w.studio_id = $1 and w.class_id = b.class_id
                     and w.status = 'waiting'), 0)
           + row_number() over (partition by b.class_id order by b.created_at, c.n),
           'waiting', b.created_at
    from change_bookings c join bookings b on b.studio_id = $1 and b.id = c.id
    where b.status = 'waitlisted'
        and not exists (select from waitlist_entries w where w.studio_id = $1 and w.booking_id = b.id)"""

# The bookings show the position, so those of moved entries have changed too.
CLOSE_GAPS = """
    with moved as (
        update waitlist_entries w set position = o.position
        from (select id, row_number() over (partition by class_id order by position, created_at, id) as position
              from waitlist_entries where studio_id = $1 and status = 'waiting'
                  and class_id in (select class_id from change_bookings)) o
        where w.studio_id = $1 and w.id = o.id and w.position <> o.position
        returning w.booking_id)
    update bookings set updated_at = clock_timestamp()
    where studio_id = $1 and id = any(array(select booking_id from moved))"""

COUNT = f"""
    update classes k set booked_count = n.booked, waitlist_count = n.waiting
    from (select f.id, count(b.id) filter (where b.status in ({SEAT_HOLDING})) as booked,
                 count(b.id) filter (where b.status = 'waitlisted') as waiting
          from final_classes f left join bookings b on b.studio_id = $1 and b.class_id = f.id group by f.id) n
    where k.studio_id = $1 and k.id = n.id
        and (k.booked_count, k.waitlist_count) is distinct from (n.booked, n.waiting)"""

# A changed number of credits is an adjustment. New memberships have their line from the database.
ADJUST_CREDITS = """
    insert into credit_ledger (studio_id, id, membership_id, delta, reason)
    select $1, gen_random_uuid(), s.id, s.credits_remaining - l.total, 'adjusted'
    from change_memberships c join memberships s on s.studio_id = $1 and s.id = c.id
    cross join lateral (select coalesce(sum(o.delta), 0) as total from credit_ledger o
                        where o.studio_id = $1 and o.membership_id = s.id) l
    where c.existing and s.credits_remaining <> l.total"""


async def recount(connection: Connection, access: Access) -> int:
    """Run the updates, after classes and bookings are in their tables; return for how many memberships the credits were
    adjusted. The classes must be locked."""
    for statement in (MOVE_BOOKINGS, MOVE_ENTRIES, END_WAITING, BEGIN_WAITING, CLOSE_GAPS, COUNT):
        await connection.execute(statement, access.studio_id)
    return affected(await connection.execute(ADJUST_CREDITS, access.studio_id))
