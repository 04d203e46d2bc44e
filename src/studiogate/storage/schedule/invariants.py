"""The invariants of series and their classes, each as a query for its violations. Operators only: all studios."""

from studiogate.storage.db.pool import Connection
from studiogate.storage.invariant_type import Invariant
from studiogate.storage.schedule.series_starts import STARTS, WANTED, start_rows

# The local date d of a series s is one of its pattern's; weeks are counted from the Monday of the first date's week.
# The rule is ``domain.schedule.series.dates``; a test keeps the two in agreement.
IN_PATTERN = """
    ({0} >= s.first_date and (s.last_date is null or {0} <= s.last_date)
     and extract(isodow from {0})::integer = any(s.weekdays)
     and ({0} - date_trunc('week', s.first_date)::date) / 7 % s.every_weeks = 0)"""

# The class c agrees with its series s; ``start`` (``series_starts``) is when it is to start.
AGREES = f"""
    {IN_PATTERN.format("c.series_date")}
    and c.start_time = start.instant
    and c.end_time - c.start_time = s.minutes * interval '1 minute'
    and (c.title, c.description, c.class_type_id, c.location_id, c.room_id, c.instructor_id, c.capacity,
         c.allow_waitlist, c.spot_selection_mode, c.visible, c.policy) is not distinct from
        (s.title, s.description, s.class_type_id, s.location_id, s.room_id, s.instructor_id, s.capacity,
         s.allow_waitlist, s.spot_selection_mode, s.visible, s.policy)"""
FOLLOWING = "c.status = 'scheduled' and not c.detached and c.start_time > clock_timestamp()"
WANTED_STARTS = WANTED.format(FOLLOWING)


async def _starts(connection: Connection) -> str:
    return start_rows(await connection.fetch(WANTED_STARTS))


PROMISES = (
    Invariant(
        "series",
        "every class to come of a series agrees with it, unless it was changed by itself",
        f"""
        select format('class %s of studio %s: does not agree with its series %s: change it back, or change the series',
                      c.id, c.studio_id, s.id)
        from classes c
        join class_series s on s.studio_id = c.studio_id and s.id = c.series_id
        join locations l on l.studio_id = s.studio_id and l.id = s.location_id
        join {STARTS.format("$1")} on (start.timezone, start.day, start.at) = (l.timezone, c.series_date, s.local_start)
        where {FOLLOWING} and not ({AGREES})""",
        facts=_starts,
    ),
    Invariant(
        "classes of series",
        "every day of a series has its class, as far ahead as they were created",
        f"""
        select format('series %s of studio %s: there is no class on %s: is the worker running?', s.id, s.studio_id,
                      d.day)
        from class_series s
        join locations l on l.studio_id = s.studio_id and l.id = s.location_id
        cross join lateral (
            select g::date as day from generate_series(
                greatest(s.first_date, current_date), least(s.generated_until, s.last_date), interval '1 day') g) d
        where {IN_PATTERN.format("d.day")}
          and ((d.day + s.local_start) at time zone l.timezone) > clock_timestamp()
          and not exists (select from classes c
                          where c.studio_id = s.studio_id and c.series_id = s.id and c.series_date = d.day)
          and not exists (select from closures o
                          where o.studio_id = s.studio_id and (o.location_id is null or o.location_id = s.location_id)
                            and d.day between o.first_date and o.last_date)""",
        level="warning",
    ),
)
