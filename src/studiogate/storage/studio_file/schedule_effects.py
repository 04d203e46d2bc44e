"""What changes of the schedule affect besides their own rows: the classes of series, and those that inherit a policy.

``affected_series`` has the stored series that the file changes, whose location gets another time zone (``moved``), or
on whose days a closure changes; ``agrees`` is whether their classes must follow. ``affected_classes`` has the classes
to come of these series, and (``inherits``) those whose policy changes with their studio, location or class type.
"""

from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.storage.db.pool import Connection
from studiogate.storage.record_invariants import AGREES
from studiogate.storage.schedule.rows import TO_COME
from studiogate.storage.schedule.series_starts import STARTS, WANTED, start_rows

PREPARE = """
    create temp table affected_series (id uuid, n integer, place text, agrees boolean, moved boolean, changed text[])
        on commit drop;
    create temp table affected_classes (id uuid, inherits boolean) on commit drop"""

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
    """Find what the changes affect; ``policy_changes`` is whether that of the studio itself does."""
    await connection.execute(SERIES, access.studio_id)
    await connection.execute(CLASSES, access.studio_id, policy_changes)
    await connection.execute("analyze affected_series; analyze affected_classes")


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
