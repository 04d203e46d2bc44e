"""What is allowed but probably a mistake: rooms and instructors with two classes at a time, classes that do not fit.

``final_schedule`` contains the scheduled classes that the file changes and those that could collide with them.
"""

from studiogate.domain.access import Access
from studiogate.domain.bookings.states import MAX_CLASS
from studiogate.domain.studio_file.rows import Fault, Faults
from studiogate.storage.db.pool import Connection
from studiogate.storage.studio_file.stored_checks import SCHEDULE_WARNINGS

PREPARE = """
    create temp table final_schedule (n integer, place text, id uuid, title text, room_id uuid, instructor_id uuid,
        location_id uuid, start_time timestamptz, end_time timestamptz, capacity integer) on commit drop"""

CHANGED = """
    insert into final_schedule
    select n, place, id, title, room_id, instructor_id, location_id, start_time, end_time, capacity
    from change_classes where status = 'scheduled'"""

OTHERS = f"""
    insert into final_schedule
    select null, null, k.id, k.title, k.room_id, k.instructor_id, k.location_id, k.start_time, k.end_time, k.capacity
    from classes k, (select min(start_time) as first, max(end_time) as last from final_schedule) t
    where k.studio_id = $1 and k.status = 'scheduled'
        and k.start_time > t.first - interval '{MAX_CLASS.days} days' and k.start_time < t.last
        and k.id not in (select id from change_classes)
        and (k.room_id in (select room_id from final_schedule)
             or k.instructor_id in (select instructor_id from final_schedule))"""

INDEX = """
    create index on final_schedule (room_id, start_time);
    create index on final_schedule (instructor_id, start_time);
    analyze final_schedule"""


# These repeat ``domain.schedule.warnings`` for all classes of a file at once; a test compares the two. One warning is
# given by imports only: that a class in a room has no location. Staff cannot change the location of a class.


def _double_booked(column: str, noun: str) -> str:
    return f"""
        select s.n, s.place || '.{column}', format('the {noun} has another class at this time: %s', o.name)
        from final_schedule s cross join lateral (
            select coalesce(o.place, format('%s (%s)', o.title, o.id)) as name from final_schedule o
            where o.{column} = s.{column} and o.id <> s.id
                and o.start_time > s.start_time - interval '{MAX_CLASS.days} days'
                and o.start_time < s.end_time and o.end_time > s.start_time
            order by o.n nulls last, o.start_time, o.id limit 1) o
        where s.place is not null and s.{column} is not null"""


_ROOM = """
    left join change_rooms c on c.id = s.room_id
    left join rooms r on r.studio_id = $1 and r.id = s.room_id"""
TOO_LARGE = f"""
    select s.n, s.place || '.capacity',
           format('the class has %s places and its room %s', s.capacity, coalesce(c.capacity, r.capacity))
    from final_schedule s {_ROOM} where s.place is not null and s.capacity > coalesce(c.capacity, r.capacity)"""

ROOM_TOO_SMALL = """
    select c.n, c.place || '.capacity', format('the class %s (%s) has %s places', k.title, k.id, k.capacity)
    from change_rooms c join classes k on k.studio_id = $1 and k.room_id = c.id
    where c.existing and k.status = 'scheduled' and k.end_time > now() and k.capacity > c.capacity
        and k.id not in (select id from change_classes)"""

ELSEWHERE = f"""
    select s.n, s.place || '.room_id', 'the room is not at the class''s location'
    from final_schedule s {_ROOM}
    where s.place is not null and s.location_id is distinct from coalesce(c.location_id, r.location_id)
        and (c.id is not null or r.id is not null)"""

WARNINGS = (
    _double_booked("room_id", "room"),
    _double_booked("instructor_id", "instructor"),
    TOO_LARGE,
    ROOM_TOO_SMALL,
    ELSEWHERE,
    *SCHEDULE_WARNINGS,
)


async def find(connection: Connection, access: Access, warnings: Faults) -> None:
    """Add what the file's classes and rooms give reason to warn about."""
    await connection.execute(PREPARE)
    await connection.execute(CHANGED)
    await connection.execute(OTHERS, access.studio_id)
    await connection.execute(INDEX)
    for query in WARNINGS:
        statement = f"""select n, place, message, count(*) over () as found from ({query}) f(n, place, message)
                where $1::uuid is not null order by n, place limit $2"""
        rows = await connection.fetch(statement, access.studio_id, warnings.most)
        for row in rows:
            warnings.add(Fault(row["place"], row["message"], row["n"]))
        if rows:
            warnings.add_uncounted(rows[0]["found"] - len(rows))
