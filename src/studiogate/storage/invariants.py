"""The promises that SQL can check, each as a query for its violations. Operators only: they look at all studios."""

from dataclasses import dataclass
from datetime import datetime

from studiogate.storage.database import Connection

SHOWN = 50


@dataclass(frozen=True, slots=True)
class Promise:
    """``query`` selects one text a violation."""

    name: str
    holds: str
    query: str


PROMISES = (
    Promise(
        "seats",
        "every class counts its bookings right and none is oversold",
        """
        select format('class %s of studio %s: booked_count %s, live bookings %s, capacity %s',
                      c.id, c.studio_id, c.booked_count, count(b.id), c.capacity)
        from classes c left join bookings b on b.studio_id = c.studio_id and b.class_id = c.id
            and b.status in ('confirmed', 'checked_in', 'no_show')
        group by c.studio_id, c.id having count(b.id) <> c.booked_count or count(b.id) > c.capacity""",
    ),
    Promise(
        "waitlists",
        "positions run from 1 without gaps, in join order, and are counted on the class",
        """
        select format('class %s of studio %s: positions %s, waitlist_count %s',
                      c.id, c.studio_id, array_agg(w.position order by w.created_at, w.id), c.waitlist_count)
        from classes c left join waitlist_entries w on w.studio_id = c.studio_id and w.class_id = c.id
            and w.status = 'waiting'
        group by c.studio_id, c.id
        having count(w.id) <> c.waitlist_count or (count(w.id) > 0 and array_agg(w.position order by w.position)
            <> (select array_agg(n::integer) from generate_series(1, count(w.id)) n))""",
    ),
    Promise(
        "waitlist entries",
        "a booking is waitlisted exactly while its entry waits",
        """
        select format('booking %s of studio %s is %s, its entry %s', b.id, b.studio_id, b.status, w.status)
        from bookings b left join waitlist_entries w on w.studio_id = b.studio_id and w.booking_id = b.id
        where (b.status = 'waitlisted') is distinct from coalesce(w.status = 'waiting', false)""",
    ),
    Promise(
        "credits",
        "every credit taken by a booking is in the ledger once, and settled when it is cancelled",
        """
        select format('booking %s of studio %s: credits_taken %s, ledger %s', b.id, b.studio_id, b.credits_taken,
                      coalesce(array_agg(l.reason order by l.created_at) filter (where l.id is not null), '{}'))
        from bookings b left join credit_ledger l on l.studio_id = b.studio_id and l.booking_id = b.id
        group by b.studio_id, b.id
        having count(l.id) filter (where l.delta = -1) <> b.credits_taken
            or count(l.id) filter (where l.delta <> -1)
                <> case when b.status = 'cancelled' then b.credits_taken else 0 end""",
    ),
    Promise(
        "event log",
        "every studio's numbers run without gaps up to its head",
        """
        select format('studio %s: %s events numbered %s to %s, head %s', h.studio_id, count(v.id), min(v.sequence),
                      max(v.sequence), h.sequence)
        from event_heads h left join events v on v.studio_id = h.studio_id and v.sequence is not null
        group by h.studio_id having count(v.id) > 0
            and (max(v.sequence) <> h.sequence or count(v.id) <> max(v.sequence) - min(v.sequence) + 1)""",
    ),
    Promise(
        "places and times of bookings",
        "bookings and waitlist entries carry their class's location and times",
        """
        select format('%s of studio %s is filed under another place or time than its class', b.id, b.studio_id)
        from (select studio_id, id, class_id, location_id, start_time, end_time from bookings
              union all select studio_id, id, class_id, location_id, null, null from waitlist_entries) b
        join classes c on c.studio_id = b.studio_id and c.id = b.class_id
        where b.location_id is distinct from c.location_id or b.start_time <> c.start_time or b.end_time <> c.end_time""",
    ),
)


async def violations(connection: Connection, promise: Promise) -> list[str]:
    rows = await connection.fetch(f"select v from ({promise.query}) found(v) limit {SHOWN}")
    return [row["v"] for row in rows]


async def server_version(connection: Connection) -> tuple[int, str]:
    row = await connection.fetchrow(
        "select current_setting('server_version_num')::integer as number, current_setting('server_version') as text"
    )
    if row is None:
        raise AssertionError("a select without from has one row")
    return row["number"], row["text"]


async def server_clock(connection: Connection) -> datetime:
    instant: datetime = await connection.fetchval("select clock_timestamp()")
    return instant
