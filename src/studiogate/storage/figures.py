"""Figures by day: of classes, bookings, members and money.

Those of finished days are kept (``daily_figures``); those of later ones are computed from the rows by the same
statement. A day is one of the location's calendar, of the studio's where there is no location. A finished day is
computed again after every event about its classes, bookings, memberships or payments: the log of events leaves nothing
out and is in the order of the commits, so what is kept is what the rows say, as soon as housekeeping has read the log.
"""

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.db.statement import Statement
from studiogate.storage.events import NOWHERE
from studiogate.storage.status_lists import CANCELLED_BY_MEMBER, SEAT_HOLDING

MAX_DAYS = 1100  # of the past, when a studio's days are listed for the first time
EVENTS_AT_ONCE = 2_000
COUNTS = (
    *("classes", "capacity", "booked", "attended", "no_shows", "cancelled", "late", "waited", "promoted"),
    *("gained", "lost"),
)
MEASURES = (*COUNTS, "amount")
_SUMS = ", ".join(f"sum({each}) as {each}" for each in MEASURES)
_ZONE = "coalesce(l.timezone, s.timezone)"
_PLACE = f"coalesce({{}}.location_id, '{NOWHERE}')"

# Rows like those of daily_figures for the days from :first to :last, of the classes that have begun. Bookings and
# entries are looked up by their class (``offset 0``): a plan from before the tables grew may read all of them.
_COMPUTED = f"""
    with studio as materialized (select timezone, currency from studios where studio_id = :studio),
    held as materialized (
        select c.id, {_PLACE.format("c")} as location_id, c.class_type_id, c.instructor_id, c.capacity,
               (c.start_time at time zone {_ZONE}) as begins
        from classes c cross join studio s left join locations l on l.studio_id = :studio and l.id = c.location_id
        where c.studio_id = :studio and c.status = 'scheduled'
          and c.start_time >= :first::date - interval '1 day'
          and c.start_time < least(:last::date + interval '2 days', now())
    ), counted as materialized (
        select h.*, h.begins::date as day, b.*, w.* from held h
        cross join lateral (
            select count(*) filter (where b.status in ({SEAT_HOLDING})) as booked,
                   count(*) filter (where b.status = 'checked_in') as attended,
                   count(*) filter (where b.status = 'no_show') as no_shows,
                   count(*) filter (where k.cancellation_type in ({CANCELLED_BY_MEMBER})) as cancelled,
                   count(*) filter (where k.cancellation_type = 'late') as late,
                   array_agg(coalesce(b.booking_source, '')) filter (where b.status in ({SEAT_HOLDING})) as sources
            from (select * from bookings b where b.studio_id = :studio and b.class_id = h.id offset 0) b
            left join booking_cancellations k
                on b.status = 'cancelled' and k.studio_id = :studio and k.booking_id = b.id) b
        cross join lateral (
            select count(*) as waited, count(*) filter (where e.status = 'converted') as promoted
            from (select status from waitlist_entries e where e.studio_id = :studio and e.class_id = h.id offset 0) e) w
        where h.begins::date between :first::date and :last::date
    ), paid as (
        select (p.received_at at time zone {_ZONE})::date as day, {_PLACE.format("u")} as location_id,
               coalesce(u.currency, s.currency) || ':' || coalesce(p.paid_by, '') as key, p.amount
        from purchase_payments p cross join studio s
        join purchases u on u.studio_id = :studio and u.id = p.purchase_id
        left join locations l on l.studio_id = :studio and l.id = u.location_id
        where p.studio_id = :studio and p.received_at >= :first::date - interval '1 day'
          and p.received_at < :last::date + interval '2 days'
    ), days as (
        select each::date as day, each::date::timestamp at time zone s.timezone as begins,
               (each::date + 1)::timestamp at time zone s.timezone as ends
        from generate_series(:first::date, :last::date, interval '1 day') each cross join studio s
    )
    select 'all' as dimension, day, location_id, '' as key, count(*) as classes, sum(capacity::integer) as capacity,
           sum(booked) as booked, sum(attended) as attended, sum(no_shows) as no_shows, sum(cancelled) as cancelled,
           sum(late) as late, sum(waited) as waited, sum(promoted) as promoted, 0 as gained, 0 as lost, 0.0 as amount
    from counted group by day, location_id
    union all
    select by.dimension, day, location_id, by.key, count(*), sum(capacity::integer), sum(booked), sum(attended),
           sum(no_shows), sum(cancelled), sum(late), sum(waited), sum(promoted), 0, 0, 0
    from counted cross join lateral (values
        ('class_type', coalesce(class_type_id::text, '')), ('instructor', coalesce(instructor_id::text, '')),
        ('hour', to_char(begins, 'HH24'))) by (dimension, key)
    group by by.dimension, day, location_id, by.key
    union all
    select 'source', day, location_id, source, 0, 0, count(*), 0, 0, 0, 0, 0, 0, 0, 0, 0
    from counted cross join lateral unnest(sources) source group by day, location_id, source
    union all
    select 'money', day, location_id, key, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, sum(amount)
    from paid where day between :first::date and :last::date group by day, location_id, key
    union all
    -- Somebody is gained who had no membership before the day, and lost who has none after it.
    select 'members', d.day, '{NOWHERE}', '', 0, 0, 0, 0, 0, 0, 0, 0, 0, g.gained, l.lost, 0
    from days d cross join lateral (
        select count(distinct m.member_id) as gained from memberships m
        where m.studio_id = :studio and m.started_at >= d.begins and m.started_at < d.ends and not exists (
            select from memberships o where o.studio_id = :studio and o.member_id = m.member_id
              and o.started_at < d.begins and coalesce(o.ended_at, 'infinity') >= d.begins)) g
    cross join lateral (
        select count(distinct m.member_id) as lost from memberships m
        where m.studio_id = :studio and m.ended_at >= d.begins and m.ended_at < d.ends and not exists (
            select from memberships o where o.studio_id = :studio and o.member_id = m.member_id
              and o.started_at < d.ends and coalesce(o.ended_at, 'infinity') >= d.ends)) l
    where g.gained + l.lost > 0"""
_COLUMNS = f"dimension, day, location_id, key, {', '.join(MEASURES)}"
STORE = Statement(f"insert into daily_figures (studio_id, {_COLUMNS}) select :studio, {_COLUMNS} from ({_COMPUTED}) f")
LIVE = Statement(f"""
    select {_COLUMNS} from ({_COMPUTED}) f
    where :places::uuid[] is null or location_id = any(:places::uuid[])""")
# How the days of a period are put together. The key of a weekday is that of ISO 8601: 1 is Monday.
_GROUPS = {
    "key": "key",
    "day": "day::text",
    "week": "date_trunc('week', day)::date::text",
    "month": "to_char(day, 'YYYY-MM')",
    "weekday": "extract(isodow from day)::integer::text",
    "location": "location_id::text",
}
KEPT = {
    name: Statement(f"""
        select {group} as "group", case when :dimension = 'money' then key else '' end as key, {_SUMS}
        from daily_figures f
        where studio_id = :studio and dimension = :dimension and day between :first and :last
          and (:places::uuid[] is null or location_id = any(:places::uuid[]))
        group by 1, 2""")
    for name, group in _GROUPS.items()
}

_ENDED = "select min((now() at time zone z.timezone)::date) - 1 from ({}) z"
_ZONES = """select s.timezone union all select l.timezone from locations l where l.studio_id = s.studio_id"""
# The studios whose log has grown, whose days have ended, or which have days to compute.
STUDIOS = f"""
    select s.studio_id from studios s left join figure_cursors k on k.studio_id = s.studio_id
    left join event_heads h on h.studio_id = s.studio_id
    where k.studio_id is null or h.sequence > k.sequence or ({_ENDED.format(_ZONES)}) > k.through
       or exists (select from figure_days d where d.studio_id = s.studio_id and d.is_due)"""
# Days that have ended since the last look; the first time, from the first class, payment or membership on.
LIST_DAYS = f"""
    with ended as (select ({_ENDED.format(_ZONES)}) as day from studios s where s.studio_id = $1),
    began as (
        select greatest(ended.day - {MAX_DAYS}, coalesce(
            (select k.through + 1 from figure_cursors k where k.studio_id = $1),
            least((select min(start_time) from classes where studio_id = $1),
                  (select min(received_at) from purchase_payments where studio_id = $1),
                  (select min(started_at) from memberships where studio_id = $1))::date - 1, ended.day)) as day
        from ended),
    listed as (
        insert into figure_days (studio_id, day)
        select $1, each::date from began, ended, generate_series(began.day, ended.day, interval '1 day') each
        on conflict do nothing)
    insert into figure_cursors as k (studio_id, sequence, through)
    select $1, coalesce((select h.sequence from event_heads h where h.studio_id = $1), 0), ended.day from ended
    on conflict (studio_id) do update set through = greatest(k.through, excluded.through)"""
# What an event says about days: those of its class, before and after; of its payments; of its membership.
MARK = f"""
    with cursor as materialized (select sequence from figure_cursors where studio_id = $1 for update),
    studio as (select timezone from studios where studio_id = $1),
    news as materialized (
        select v.sequence, v.type, v.subject, v.object, v.previous_attributes as before from events v
        where v.studio_id = $1 and v.sequence > (select sequence from cursor)
        order by v.sequence limit {EVENTS_AT_ONCE}),
    touched as (
        select (c.start_time at time zone {_ZONE})::date as day
        from (select distinct case when type like 'class.%' then subject else (object ->> 'class_id')::uuid end as id
              from news where type like any(array['class.%', 'booking.%', 'waitlist%'])) n
        cross join lateral (select * from classes c where c.studio_id = $1 and c.id = n.id offset 0) c
        cross join studio s left join locations l on l.studio_id = $1 and l.id = c.location_id
        union
        -- It may have been elsewhere, where another day was.
        select (n.before ->> 'start_time')::timestamptz::date + away from news n, generate_series(-1, 1) away
        where n.type like 'class.%' and n.before ->> 'start_time' is not null
        union
        select (p.received_at at time zone {_ZONE})::date from news n
        cross join lateral (select * from purchases u where u.studio_id = $1 and u.id = n.subject offset 0) u
        join purchase_payments p on p.studio_id = $1 and p.purchase_id = u.id
        cross join studio s left join locations l on l.studio_id = $1 and l.id = u.location_id
        where n.type like 'purchase.%'
        union
        select (each::timestamptz at time zone s.timezone)::date from news n cross join studio s
        cross join lateral unnest(array[n.object ->> 'started_at', n.object ->> 'ended_at',
                                        n.before ->> 'started_at', n.before ->> 'ended_at']) each
        where n.type like 'membership.%' and each is not null
    ), marked as (
        update figure_days d set is_due = true from touched t
        where d.studio_id = $1 and d.day = t.day and not d.is_due)
    update figure_cursors set sequence = news.last
    from (select max(sequence) as last, count(*) as number from news) news
    where studio_id = $1 and news.last is not null returning news.number"""
TAKE = """
    update figure_days set is_due = false where studio_id = $1 and day = (
        select day from figure_days where studio_id = $1 and is_due order by day desc limit 1 for update skip locked)
    returning day"""


class Period(NamedTuple):
    first: date
    last: date


async def list_days(connection: Connection, access: Access) -> None:
    await connection.execute(LIST_DAYS, access.studio_id)


async def mark_days(connection: Connection, access: Access) -> bool:
    """Mark the days that new events are about; return whether there may be more events."""
    return bool(await connection.fetchval(MARK, access.studio_id) == EVENTS_AT_ONCE)


async def compute_day(connection: Connection, access: Access) -> bool:
    """Compute the latest day that is due; return whether there was one. Must run inside a transaction: each statement
    sees what was committed before it, so what is not seen here has its event after the cursor."""
    day = await connection.fetchval(TAKE, access.studio_id)
    if day is None:
        return False
    await connection.execute("delete from daily_figures where studio_id = $1 and day = $2", access.studio_id, day)
    await STORE.rows(connection, studio=access.studio_id, first=day, last=day)
    return True


class Kept(NamedTuple):
    """The last day that is kept, and how many days of a period have to be computed again."""

    through: date | None
    due: int


async def kept(connection: Connection, access: Access, period: Period) -> Kept:
    statement = """
        select (select through from figure_cursors where studio_id = $1) as through,
               (select count(*) from figure_days where studio_id = $1 and is_due and day between $2 and $3) as due"""
    (row,) = await connection.fetch(statement, access.studio_id, *period)
    return Kept(row["through"], row["due"])


async def read_kept(
    connection: Connection, access: Access, dimension: str, grouping: str, period: Period
) -> Sequence[Record]:
    """Return the sums of a period's kept days by a group, at the permitted locations."""
    values = {"studio": access.studio_id, "dimension": dimension, "places": access.location_ids}
    return await KEPT[grouping].rows(connection, **values, first=period.first, last=period.last)


async def read_live(connection: Connection, access: Access, period: Period) -> Sequence[Record]:
    """Return the figures of days that are not kept yet, of all dimensions, at the permitted locations."""
    values = {"studio": access.studio_id, "places": access.location_ids}
    return await LIVE.rows(connection, **values, first=period.first, last=period.last)


_NAMED = {
    "class_type": "select id, name from class_types where studio_id = $1 and id = any($2::uuid[])",
    "instructor": "select id, name from instructors where studio_id = $1 and id = any($2::uuid[])",
}


async def names(connection: Connection, access: Access, dimension: str, ids: Sequence[UUID]) -> dict[str, str]:
    """Return the names of class types or instructors by their ids."""
    rows = await connection.fetch(_NAMED[dimension], access.studio_id, ids)
    return {str(row["id"]): row["name"] for row in rows}
