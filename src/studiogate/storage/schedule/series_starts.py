"""When the classes of series start, by the clocks of their locations.

The instants are computed here and given to statements as rows. PostgreSQL has rules of its own for time zones, which
may be older or newer than ours: it would call a class wrong that starts when it should.
"""

from collections.abc import Iterable
from zoneinfo import ZoneInfo

from studiogate.domain.schedule.series import local_instant
from studiogate.storage.db.pool import Record
from studiogate.storage.db.statement import json_rows

# ``start`` has the instant of a local time on a day; ``{0}`` is the parameter.
STARTS = "json_to_recordset({0}::json) as start(timezone text, day date, at time, instant timestamptz)"

# The days and local times of the classes c of series s at locations l for which a condition holds.
WANTED = """
    select distinct l.timezone, c.series_date as day, s.local_start as at
    from classes c
    join class_series s on s.studio_id = c.studio_id and s.id = c.series_id
    join locations l on l.studio_id = s.studio_id and l.id = s.location_id
    where {0}"""


def start_rows(wanted: Iterable[Record]) -> str:
    """Return the rows of ``STARTS`` for what ``WANTED`` found."""
    return json_rows(
        {
            "timezone": zone,
            "day": day.isoformat(),
            "at": at.isoformat(),
            "instant": local_instant(day, at, ZoneInfo(zone)),
        }
        for zone, day, at in wanted
    )
