"""Series, closures and deactivated rows: what staff cannot do either is a fault. Every check selects its faults."""

from studiogate.storage.studio_file.table_types import Table
from studiogate.storage.studio_file.tables import CLASS_TYPES, INSTRUCTORS, LOCATIONS, ROOMS

SERIES_MOVED = """
    select c.n, c.place || m.member, 'cannot change: end the series and give a new one with a new id'
    from change_class_series c join class_series s on s.studio_id = $1 and s.id = c.id
    cross join lateral (values ('.location_id', c.location_id <> s.location_id),
                               ('.first_date', c.first_date <> s.first_date)) m(member, moved)
    where m.moved"""

# The stored classes to come on the days of a new or changed closure. Days are those of the location, or of the studio.
_ON_CLOSED_DAYS = """
    from change_closures c
    join studios o on o.studio_id = $1
    join classes k on k.studio_id = $1 and k.status = 'scheduled' and k.start_time > now()
        and k.start_time > c.first_date - interval '2 days' and k.start_time < c.last_date + interval '3 days'
        and k.location_id is not distinct from coalesce(c.location_id, k.location_id)
    left join locations l on l.studio_id = $1 and l.id = k.location_id
    where c.mode = '{0}'
        and (k.start_time at time zone coalesce(l.timezone, o.timezone))::date between c.first_date and c.last_date
    group by c.n, c.place"""
CLOSURE_CANCELS = f"""
    select c.n, c.place || '.mode', format('%s classes are scheduled on these days: close them with '
                                           '`studiogate closure create`, which cancels the classes', count(*))
    {_ON_CLOSED_DAYS.format("cancel")}"""
CLOSURE_SKIPS = f"""
    select c.n, c.place || '.mode', format('%s classes are scheduled on these days and take place', count(*))
    {_ON_CLOSED_DAYS.format("skip")}"""

# The table of each row that series and classes refer to, and the column by which they do.
USED = ((LOCATIONS, "location_id"), (ROOMS, "room_id"), (CLASS_TYPES, "class_type_id"), (INSTRUCTORS, "instructor_id"))


def _used_by_series(table: Table, column: str) -> str:
    return f"""
        select c.n, c.place || '.active', format('%s series that have not ended use it: end or change them', count(*))
        from {table.change} c
        join {table.name} t on t.studio_id = $1 and t.id = c.id and t.active
        join (select {column} as used, last_date from class_series
              where studio_id = $1 and id not in (select id from change_class_series)
              union all select {column}, last_date from change_class_series) s on s.used = c.id
        where not c.active and (s.last_date is null or s.last_date >= current_date) group by c.n, c.place"""


def _used_by_classes(table: Table, column: str) -> str:
    return f"""
        select c.n, c.place || '.active', format('%s scheduled classes use it', count(*))
        from {table.change} c
        join {table.name} t on t.studio_id = $1 and t.id = c.id and t.active
        join classes k on k.studio_id = $1 and k.{column} = c.id and k.status = 'scheduled' and k.start_time > now()
        where not c.active group by c.n, c.place"""


SCHEDULE_CHECKS = (SERIES_MOVED, CLOSURE_CANCELS, *(_used_by_series(*used) for used in USED))
SCHEDULE_WARNINGS = (CLOSURE_SKIPS, *(_used_by_classes(*used) for used in USED))
