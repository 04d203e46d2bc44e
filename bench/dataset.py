"""Fills a migrated database: one studio to measure, and as many others around it as asked for."""

from dataclasses import dataclass
from uuid import UUID

import asyncpg

from studiogate.domain.access import Scope
from studiogate.flows import keys

# $1: how many studios; each gets its share of classes, members and bookings.
FILL = """
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
select c.studio_id, md5(c.id::text || n)::uuid, c.id, m.id, c.location_id, c.start_time, c.end_time, 'confirmed',
       'partner_api', c.start_time - interval '3 days' - n * interval '1 minute', c.start_time - interval '3 days'
from (select *, row_number() over (partition by studio_id order by start_time) as place from classes) c
     join generate_series(1, {per_class}) n on true
     join generate_series({first}, {last}) s on c.studio_id = md5('studio' || s)::uuid
     join members m on m.studio_id = c.studio_id
                   and m.id = md5('member' || s || '-' || (c.place * {per_class} + n) % {members} + 1)::uuid;
"""


@dataclass(frozen=True)
class Measured:
    """The studio that is measured, with a key and ids to ask for."""

    studio_id: UUID
    key: str
    class_id: UUID
    member_id: UUID


async def fill(dsn: str, first: int, last: int, *, classes: int = 1000, members: int = 500, per_class: int = 5) -> None:
    connection = await asyncpg.connect(dsn)
    statements = FILL.format(first=first, last=last, classes=classes, members=members, per_class=per_class)
    for statement in statements.split(";\n"):
        if statement.strip():
            await connection.execute(statement)
    await connection.execute("vacuum analyze")
    await connection.close()


async def measured_studio(dsn: str) -> Measured:
    connection = await asyncpg.connect(dsn)
    issued = await keys.create(connection, "studio-1", keys.KeyRequest("bench", [each.value for each in Scope]))
    studio_id = await connection.fetchval("select studio_id from studios where slug = 'studio-1'")
    row = await connection.fetchrow(
        "select class_id, member_id from bookings where studio_id = $1 order by created_at limit 1", studio_id
    )
    await connection.close()
    assert row is not None
    return Measured(studio_id, issued.key, row["class_id"], row["member_id"])
