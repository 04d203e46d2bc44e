"""Fill a migrated database with one studio to measure, and a given number of others.

Every id is the MD5 of its kind and number, so that Python, PostgreSQL and pgbench can each compute it.
"""

import hashlib
from dataclasses import dataclass
from uuid import UUID

import asyncpg

from studiogate.domain.access import Scope
from studiogate.flows import keys
from studiogate.storage.db import migrate, pool

# The classes that are booked during the benchmark. All are at the same time: a member books only one of them.
HOT_CLASS, FIRST_OF_MANY, MANY = 1_000_000, 1_000_001, 500
FORM = "form1-1"
CREDENTIAL = "benchkey"  # of baseline and limit, which check no key
FIELDS = (
    '[{"key": "goals", "label": "Goals", "type": "textarea", "required": true},'
    ' {"key": "injured", "label": "Injuries?", "type": "select", "options": ["no", "yes"]}]'
)
START = "timestamptz '2035-01-01 12:00+00'"
TABLES = "studios, locations, class_types, products, members, memberships, classes, bookings, forms, form_versions"

STUDIOS = """
insert into studios (studio_id, name, slug, timezone, currency, country)
select md5('studio' || s)::uuid, 'Studio ' || s, 'studio-' || s, 'America/New_York', 'USD', 'US'
from generate_series({first}, {last}) s;

insert into locations (studio_id, id, name, city, state, timezone)
select md5('studio' || s)::uuid, md5('location' || s || '-' || n)::uuid, 'Location ' || n, 'City',
       'ST', 'America/New_York'
from generate_series({first}, {last}) s, generate_series(1, 2) n;

insert into class_types (studio_id, id, name, description)
select md5('studio' || s)::uuid, md5('type' || s || '-' || n)::uuid, 'Type ' || n, 'A class type'
from generate_series({first}, {last}) s, generate_series(1, 5) n;

insert into members (studio_id, id, first_name, last_name, email, created_at)
select md5('studio' || s)::uuid, md5('member' || s || '-' || n)::uuid, 'First' || n, 'Last' || n,
       'member' || n || '@studio' || s || '.example', now() - n * interval '1 hour'
from generate_series({first}, {last}) s, generate_series(1, {members}) n;

insert into classes (studio_id, id, title, description, class_type_id, location_id, start_time, end_time, capacity,
                     booked_count)
select md5('studio' || s)::uuid, md5('class' || s || '-' || n)::uuid, 'Class ' || n, 'Fifty minutes of work',
       md5('type' || s || '-' || n % 5 + 1)::uuid, md5('location' || s || '-' || n % 2 + 1)::uuid,
       date_trunc('hour', now()) + (n - {classes} / 2) * interval '1 hour',
       date_trunc('hour', now()) + (n - {classes} / 2) * interval '1 hour' + interval '50 minutes', 20, {per_class}
from generate_series({first}, {last}) s, generate_series(1, {classes}) n;

insert into bookings (studio_id, id, class_id, member_id, location_id, start_time, end_time, status, booking_source,
                      created_at, updated_at)
select md5('studio' || s)::uuid, md5('booking' || s || '-' || c || '-' || n)::uuid, md5('class' || s || '-' || c)::uuid,
       md5('member' || s || '-' || (c * {per_class} + n) % {members} + 1)::uuid,
       md5('location' || s || '-' || c % 2 + 1)::uuid, at.start, at.start + interval '50 minutes', 'confirmed',
       'partner_api', at.start - interval '3 days' - n * interval '1 minute', at.start - interval '3 days'
from generate_series({first}, {last}) s, generate_series(1, {classes}) c, generate_series(1, {per_class}) n,
     lateral (select date_trunc('hour', now()) + (c - {classes} / 2) * interval '1 hour' as start) at;
"""

# Additional rows of the measured studio: the classes to be booked, a product to pay with, a form, a key.
MEASURED = f"""
insert into credentials (studio_id, id, name, scopes, created_by)
values (md5('studio1')::uuid, '{CREDENTIAL}', 'Baseline', '{{bookings:write}}', 'bench');

insert into classes (studio_id, id, title, description, class_type_id, location_id, start_time, end_time, capacity)
select md5('studio1')::uuid, md5('class1-' || n)::uuid, 'Class ' || n, 'Fifty minutes of work', md5('type1-1')::uuid,
       md5('location1-1')::uuid, {START}, {START} + interval '50 minutes', 1000000000
from generate_series({HOT_CLASS}, {FIRST_OF_MANY + MANY - 1}) n;

insert into products (studio_id, id, key, name, product_type)
values (md5('studio1')::uuid, md5('product1-1')::uuid, 'pack', 'Pack', 'package');

insert into forms (studio_id, id, title, slug, fields, status)
values (md5('studio1')::uuid, md5('{FORM}')::uuid, 'Intake', 'intake', '{FIELDS}', 'published');

insert into form_versions (studio_id, form_id, version, fields)
values (md5('studio1')::uuid, md5('{FORM}')::uuid, 1, '{FIELDS}');
"""

# A member who can pay. The membership has the member's id, so that either is known from the other.
NEW_MEMBERS = """
insert into members (studio_id, id, first_name, last_name)
select md5('studio1')::uuid, md5('{kind}1-' || n)::uuid, 'Bench', 'Member' from generate_series({first}, {last}) n;

insert into memberships (studio_id, id, member_id, product_id, status, credits_granted, credits_remaining)
select md5('studio1')::uuid, md5('{kind}1-' || n)::uuid, md5('{kind}1-' || n)::uuid, md5('product1-1')::uuid,
       'active', 10, 10
from generate_series({first}, {last}) n;
"""

# A class with few seats, and members who all want one.
SEATS = 20
NEW_CROWD = f"""
{NEW_MEMBERS.replace("{kind}", "member")}
insert into classes (studio_id, id, title, description, class_type_id, location_id, start_time, end_time, capacity)
values (md5('studio1')::uuid, md5('crowd1-{{first}}')::uuid, 'The Long Ride', 'Fifty minutes of work',
        md5('type1-1')::uuid, md5('location1-1')::uuid, {START}, {START} + interval '50 minutes', {SEATS});
"""

# A booking to be cancelled. It shares its id with its class, member and membership: the baseline knows only the values
# in the request, and can derive all of them from this one.
NEW_BOOKINGS = f"""
{NEW_MEMBERS.replace("{kind}", "booked")}
insert into classes (studio_id, id, title, description, class_type_id, location_id, start_time, end_time, capacity,
                     booked_count)
select md5('studio1')::uuid, md5('booked1-' || n)::uuid, 'Class ' || n, 'Fifty minutes of work', md5('type1-1')::uuid,
       md5('location1-1')::uuid, {START}, {START} + interval '50 minutes', 20, 1
from generate_series({{first}}, {{last}}) n;

insert into bookings (studio_id, id, class_id, member_id, location_id, start_time, end_time, status, booking_source,
                      membership_id, credits_taken)
select studio_id, id, id, id, location_id, start_time, end_time, 'confirmed', 'partner_api', id, 1
from classes where studio_id = md5('studio1')::uuid
    and id = any(array(select md5('booked1-' || n)::uuid from generate_series({{first}}, {{last}}) n));
"""


# Bookings of the mixed day to be cancelled, each in the class that its number says.
DAY_CLASSES = 200
DAY_BOOKINGS = f"""
{NEW_MEMBERS.replace("{kind}", "member")}
insert into bookings (studio_id, id, class_id, member_id, location_id, start_time, end_time, status, booking_source,
                      membership_id, credits_taken)
select md5('studio1')::uuid, md5('booked1-' || n)::uuid, md5('class1-' || {FIRST_OF_MANY} + n % {DAY_CLASSES})::uuid,
       md5('member1-' || n)::uuid, md5('location1-1')::uuid, {START}, {START} + interval '50 minutes', 'confirmed',
       'partner_api', md5('member1-' || n)::uuid, 1
from generate_series({{first}}, {{last}}) n where n % 20 = 0;

update classes c set booked_count = booked_count + added.count
from (select md5('class1-' || {FIRST_OF_MANY} + n % {DAY_CLASSES})::uuid as id, count(*)
      from generate_series({{first}}, {{last}}) n where n % 20 = 0 group by 1) added
where c.studio_id = md5('studio1')::uuid and c.id = added.id;
"""


def id_of(what: str) -> UUID:
    return UUID(hashlib.md5(what.encode(), usedforsecurity=False).hexdigest())


STUDIO_ID = id_of("studio1")


@dataclass(frozen=True)
class Size:
    """The number of rows per studio."""

    classes: int = 1000
    members: int = 500
    per_class: int = 5


async def prepare(dsn: str, size: Size) -> str:
    """Migrate the database, add the measured studio, and return its key."""
    connection = await pool.connect(dsn)
    await migrate.migrate(connection)
    await fill(connection, STUDIOS, first=1, last=1, **vars(size))
    await fill(connection, MEASURED)
    await connection.execute(f"vacuum analyze {TABLES}")
    key = await _issue_key(connection)
    await connection.close()
    return key


async def _issue_key(connection: "asyncpg.Connection[asyncpg.Record]") -> str:
    issued = await keys.create(connection, "studio-1", keys.KeyRequest("bench", [each.value for each in Scope]))
    return issued.key


async def surround(dsn: str, studios: int, size: Size) -> None:
    """Add other studios beside the measured one."""
    connection = await pool.connect(dsn)
    await _fill_quickly(connection, 2, studios, size)
    await connection.close()


async def prepare_large(dsn: str, size: Size) -> str:
    """Migrate the database, add the measured studio with many rows, and return its key."""
    connection = await pool.connect(dsn)
    await migrate.migrate(connection)
    await _fill_quickly(connection, 1, 1, size)
    key = await _issue_key(connection)
    await connection.close()
    return key


async def _fill_quickly(connection: "asyncpg.Connection[asyncpg.Record]", first: int, last: int, size: Size) -> None:
    """Add studios. Indexes are built after all rows are inserted, and foreign keys are not checked: doing either row by
    row takes minutes."""
    await connection.execute("set session_replication_role = replica; set maintenance_work_mem = '256MB'")
    indexes = await connection.fetch(
        """
        select format('drop index %s', x.indexrelid::regclass) as drop, pg_get_indexdef(x.indexrelid) as create
        from pg_index x where x.indrelid = any(array['bookings', 'classes', 'members']::regclass[])
            and not exists (select from pg_constraint c where c.conindid = x.indexrelid)"""
    )
    for index in indexes:
        await connection.execute(index["drop"])
    await fill(connection, STUDIOS, first=first, last=last, **vars(size))
    for index in indexes:
        await connection.execute(index["create"])
    await connection.execute(f"vacuum analyze {TABLES}")


async def fill(connection: "asyncpg.Connection[asyncpg.Record]", statements: str, **values: int | str) -> None:
    """Run one of the scripts above, without waiting for the disk: the data need not survive a crash."""
    await connection.execute("set synchronous_commit = off")
    for statement in statements.split(";\n"):
        if statement.strip():
            await connection.execute(statement.format(**values) if values else statement)
