"""Announce that the counts of classes have changed: ``class.availability_changed``.

It is derived from the log by the worker, twice a second, so no booking waits for it. One transaction compares the
classes that new events are about with what was last announced, writes the events, and notes up to where the log was
read: a crash loses nothing. A class that changes within a second of its last announcement is due once that is over.
"""

from datetime import timedelta

from studiogate.domain.access import Access, Actor
from studiogate.domain.events import EventType
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import Statement
from studiogate.storage.events import NOWHERE
from studiogate.storage.resources import AVAILABLE_COUNT, CLASS_COLUMNS, class_joins

PAUSE = timedelta(seconds=1)
EVENTS_AT_ONCE = 5_000
TYPE = EventType.CLASS_AVAILABILITY_CHANGED
COUNTS = ("capacity", "booked_count", "available_count", "waitlist_count")
# The events of everything that moves a class's counts.
MOVING = [
    each.value for each in EventType if each is not TYPE and each.resource in ("class", "booking", "waitlist_entry")
]

_NOW = f"select c.id, c.capacity, c.booked_count, {AVAILABLE_COUNT} as available_count, c.waitlist_count"
_COMPARED = ", ".join(f"('{name}', a.{name}, c.{name})" for name in COUNTS)
_SET = ", ".join(f"{name} = compared.{name}" for name in COUNTS)

# A single statement, so that an event says exactly what is stored as announced. Classes are looked up by their ids
# (``offset 0``), and what was announced is updated by ctid: a plan made while there were few of them would otherwise
# read all.
ANNOUNCE = Statement(f"""
    with head as materialized (
        select compared, least(sequence, compared + :at_once::bigint) as until from event_heads
        where studio_id = :studio),
    touched as (
        select case when v.type like 'class.%' then v.subject else (v.object ->> 'class_id')::uuid end as class_id
        from events v
        where v.studio_id = :studio and v.sequence > (select compared from head)
          and v.sequence <= (select until from head) and v.type = any(:moving::text[])
        union
        (select class_id from class_availability where studio_id = :studio and due_at <= now()
         order by due_at limit :at_once)
    ), compared as materialized (
        select c.*, a.row, a.announced_at + :pause::interval as due_at, instant,
               a.announced_at is null or a.announced_at + :pause <= instant as is_ready,
               (select json_object_agg(name, before) from (values {_COMPARED}) each(name, before, now)
                where before <> now) as previous
        from touched cross join lateral (
            select ctid as row, * from class_availability
            where studio_id = :studio and class_id = touched.class_id offset 0) a
        cross join lateral (
            select * from ({_NOW} from classes c where c.studio_id = :studio and c.id = touched.class_id offset 0) c) c
        cross join (select clock_timestamp() as instant offset 0) at
    ), ready as (
        select c.id, c.location_id, compared.previous, compared.instant,
               (select row_to_json(w) from (select {CLASS_COLUMNS}) w) as object
        from compared cross join lateral (
            select * from classes where studio_id = :studio and id = compared.id offset 0) c {class_joins(":studio")}
        where compared.previous is not null and compared.is_ready
    ), announced as (
        insert into events (studio_id, id, actor, type, subject, scopes, place, object, previous_attributes, created_at)
        select :studio, gen_random_uuid(), :actor, '{TYPE.value}', ready.id, array['{TYPE.scope.value}'],
               coalesce(ready.location_id, '{NOWHERE}'), ready.object, ready.previous, ready.instant
        from ready
    ), kept as (
        update class_availability a set {_SET}, announced_at = compared.instant, due_at = null
        from compared where a.studio_id = :studio and a.ctid = compared.row
          and compared.previous is not null and compared.is_ready
    ), deferred as (
        update class_availability a set due_at = case when compared.previous is not null then compared.due_at end
        from compared where a.studio_id = :studio and a.ctid = compared.row
          and (compared.previous is null or not compared.is_ready)
          and a.due_at is distinct from case when compared.previous is not null then compared.due_at end
    ), moved as (
        update event_heads set compared = (select until from head)
        where studio_id = :studio and compared < sequence
    )
    select count(*) as announced from ready""")

KEEP = f"""
    update class_availability a set {_SET.replace("compared.", "c.")}
    from ({_NOW} from classes c where c.studio_id = $1) c where a.studio_id = $1 and a.class_id = c.id"""


async def announce(connection: Connection, access: Access) -> int:
    """Announce the classes whose counts have changed by numbered events; return how many. Must run under the lock of
    the studio's event head."""
    row = await ANNOUNCE.row(
        connection,
        studio=access.studio_id,
        at_once=EVENTS_AT_ONCE,
        moving=MOVING,
        pause=PAUSE,
        actor=Actor.SYSTEM.value,
    )
    return int(row["announced"])


async def keep(connection: Connection, access: Access) -> None:
    """Take the counts of all classes as announced, after the import that creates a studio."""
    await connection.execute(KEEP, access.studio_id)
