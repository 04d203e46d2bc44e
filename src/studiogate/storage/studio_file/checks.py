"""Check references, ids and values that must be unique, and find what is allowed but probably a mistake: rooms and
instructors with two classes at a time, classes that do not fit.

Every check selects its faults: n, place, message."""

from collections.abc import Iterable, Iterator, Sequence

from studiogate.domain.access import Access
from studiogate.domain.bookings.states import MAX_CLASS
from studiogate.domain.studio_file.rows import STALE, Fault, Faults
from studiogate.storage.db.pool import Connection
from studiogate.storage.studio_file import booking_checks, stored_checks
from studiogate.storage.studio_file.stage import FAULTY
from studiogate.storage.studio_file.table_types import Table, Unique
from studiogate.storage.studio_file.tables import CLASS_TYPES, CLASSES, LOCATIONS, SERIES, TABLE_BY_NAME

WITH_POLICY = (LOCATIONS, CLASS_TYPES, SERIES, CLASSES)


async def check(
    connection: Connection, access: Access, tables: Sequence[Table], faults: Faults, *, overwrite: bool
) -> None:
    """Add all faults that the database can find to those of the individual rows. With ``overwrite``, rows that have
    changed since the export are no faults."""
    await _add_found(connection, access, (*_queries(tables), *(() if overwrite else _stale(tables))), faults)


async def _add_found(connection: Connection, access: Access, queries: Iterable[str], faults: Faults) -> None:
    for query in queries:
        statement = f"""
            select n, place, message, count(*) over () as found from ({query}) f(n, place, message)
            where $1::uuid is not null order by n, place limit $2"""
        rows = await connection.fetch(statement, access.studio_id, faults.most)
        for row in rows:
            faults.add(Fault(row["place"], row["message"], row["n"]))
        if rows:
            faults.add_uncounted(rows[0]["found"] - len(rows))


async def waiver_known(connection: Connection, access: Access, policy: str) -> bool:
    """Return whether the form that a studio's own policy names is in the file or in the studio."""
    unknown = _unknown(TABLE_BY_NAME["forms"], "p.form_id")
    query = f"select not exists (select from (select ($2::jsonb->>'waiver_form_id')::uuid) p(form_id) where {unknown})"
    return bool(await connection.fetchval(query, access.studio_id, policy))


def _queries(tables: Sequence[Table]) -> Iterator[str]:
    for table in tables:
        yield _same_id(table)
        yield _required(table)
        if table.identity is None:
            yield _id_of_another_studio(table)
        for column, referred in table.references.items():
            yield _reference(table, column, TABLE_BY_NAME[referred])
        for limits in table.limits:
            yield _limit(table, limits.column, TABLE_BY_NAME[limits.referred])
        for unique in table.uniques:
            yield _twice_in_the_file(table, unique)
            yield _taken_in_the_studio(table, unique)
    for table in WITH_POLICY:
        if table in tables:
            yield _waiver(table)
    yield from stored_checks.SCHEDULE_CHECKS
    yield from stored_checks.CATALOG_CHECKS
    yield from booking_checks.SEATS
    yield from stored_checks.PAYMENT_CHECKS
    yield from booking_checks.HISTORY_CHECKS
    yield from stored_checks.PEOPLE_CHECKS


def _stale(tables: Sequence[Table]) -> Iterator[str]:
    for table in tables:
        if table.revised:
            yield f"""
                select c.n, c.place, '{STALE}' from {table.change} c
                join {table.name} t on t.studio_id = $1 and t.id = c.id where t.revision > c.revision"""
        if table.removable:
            yield f"""
                select c.n, c.place, 'removed since this export' from {table.change} c
                where not c.existing and c.revision is not null
                    and exists (select from studios where studio_id = $1)"""


def _required(table: Table) -> str:
    members = [member.name for member in table.section.fields if member.required and member.name != "id"]
    bits = ", ".join(f"({table.section.bit(name)}, '{name}')" for name in members)
    return f"""
        select c.n, c.place || '.' || m.name, 'is required' from {table.change} c
        cross join (values {bits}) m(bit, name) where not c.existing and c.given & m.bit = 0"""


def _same_id(table: Table) -> str:
    return f"""
        select n, place || '.id', 'is also the id of ' || first
        from (select n, place, first_value(place) over w as first, row_number() over w as number from {table.stage}
              where id in (select id from {table.stage} group by id having count(*) > 1)
              window w as (partition by id order by n)) d
        where number > 1"""


def _id_of_another_studio(table: Table) -> str:
    """Return the only query of an import that reads other studios; it reveals no more than that the id is theirs.

    Keys begin with the studio, so an id alone is found by reading the keys of all studios. That must happen once per
    file, not once per row: ``in`` lets PostgreSQL join the two sets, a correlated ``exists`` does not.
    """
    return f"""
        select c.n, c.place || '.id', 'belongs to another studio' from {table.change} c
        where not c.existing and c.id in (select t.id from {table.name} t where t.studio_id <> $1)"""


def _unknown(referred: Table, value: str) -> str:
    """Return the condition that an id is neither in the file (not even as a faulty row) nor in the studio."""
    return f"""
        {value} is not null
        and not exists (select from {referred.stage} r where r.id = {value})
        and not exists (select from {FAULTY} r where r.table_name = '{referred.name}' and r.id = {value})
        and not exists (select from {referred.name} r where r.studio_id = $1 and r.id = {value})"""


def _missing(referred: Table) -> str:
    return f"is no {referred.noun} of this file or this studio"


def _reference(table: Table, column: str, referred: Table) -> str:
    return f"""
        select c.n, c.place || '.{column}', '{_missing(referred)}'
        from {table.change} c where {_unknown(referred, f"c.{column}")}"""


def _limit(table: Table, column: str, referred: Table) -> str:
    return f"""
        select s.n, format('%s.{column}[%s]', s.place, u.number - 1), '{_missing(referred)}'
        from {table.stage} s cross join unnest(s.{column}) with ordinality u(id, number)
        where s.id in (select id from {table.change}) and {_unknown(referred, "u.id")}"""


def _waiver(table: Table) -> str:
    form = TABLE_BY_NAME["forms"]
    return f"""
        select c.n, c.place || '.policy.waiver_form_id', '{_missing(form)}'
        from {table.change} c where {_unknown(form, "(c.policy->>'waiver_form_id')::uuid")}"""


def _twice_in_the_file(table: Table, unique: Unique) -> str:
    columns = ", ".join(unique.columns)
    column = unique.columns[-1]
    return f"""
        select n, place || '.{column}', 'is also the {column} of ' || first
        from (select n, place, {column}, first_value(place) over w as first, row_number() over w as number
              from {table.change} s where {unique.only.format("s")} and {column} is not null
              window w as (partition by {columns} order by n)) d
        where number > 1"""


def _taken_in_the_studio(table: Table, unique: Unique) -> str:
    """Return the check for values of rows that the file does not change."""
    same = " and ".join(f"t.{column} = c.{column}" for column in unique.columns)
    column = unique.columns[-1]
    return f"""
        select c.n, c.place || '.{column}', 'is already the {column} of the {table.noun} ' || t.id
        from {table.change} c join {table.name} t on t.studio_id = $1 and {same} and t.id <> c.id
        where {unique.only.format("c")} and not exists (select from {table.change} s where s.id = t.id)"""


# Warnings. ``final_schedule`` has the scheduled classes that the file changes and those that could collide with them.

CHANGED_CLASSES = """
    insert into final_schedule
    select n, place, id, title, room_id, instructor_id, location_id, start_time, end_time, capacity
    from change_classes where status = 'scheduled'"""

OTHER_CLASSES = f"""
    insert into final_schedule
    select null, null, k.id, k.title, k.room_id, k.instructor_id, k.location_id, k.start_time, k.end_time, k.capacity
    from classes k, (select min(start_time) as first, max(end_time) as last from final_schedule) t
    where k.studio_id = $1 and k.status = 'scheduled'
        and k.start_time > t.first - interval '{MAX_CLASS.days} days' and k.start_time < t.last
        and k.id not in (select id from change_classes)
        and (k.room_id in (select room_id from final_schedule)
             or k.instructor_id in (select instructor_id from final_schedule))"""

INDEX_SCHEDULE = """
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
    *stored_checks.SCHEDULE_WARNINGS,
)


async def find_warnings(connection: Connection, access: Access, warnings: Faults) -> None:
    """Add what the file's classes and rooms give reason to warn about."""
    statement = """
        create temp table final_schedule (n integer, place text, id uuid, title text, room_id uuid, instructor_id uuid,
            location_id uuid, start_time timestamptz, end_time timestamptz, capacity integer) on commit drop"""
    await connection.execute(statement)
    await connection.execute(CHANGED_CLASSES)
    await connection.execute(OTHER_CLASSES, access.studio_id)
    await connection.execute(INDEX_SCHEDULE)
    await _add_found(connection, access, WARNINGS, warnings)
