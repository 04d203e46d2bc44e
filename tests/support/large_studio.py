"""A studio with 100,000 members beside smaller ones: what the console's lists are read from, without waiting for flows.

A test file assigns the fixture by name: ``large = large_studio.large``, or ``large_studio.medium``.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from studiogate.domain.access import Access, Scope
from studiogate.storage.db.pool import SESSION
from tests.storage.test_plans import Recorder, long_looks, scans, sorts

MEMBERS = 100_000
FILL = """
    set session_replication_role = replica;
    insert into studios (studio_id, name, slug, timezone, currency, country)
    select md5('s' || s)::uuid, 's' || s, 's' || s, 'UTC', 'USD', 'US' from generate_series(0, 9) s;
    create temp table size as
    select md5('s' || s)::uuid as studio_id, s, case s when 0 then {members} else 1000 end as people
    from generate_series(0, 9) s;
    insert into locations (studio_id, id, name, city, state, timezone)
    select studio_id, md5('l' || s || '-' || l)::uuid, 'l' || l, 'c', 's', 'UTC' from size, generate_series(0, 4) l;
    insert into products (studio_id, id, key, name, product_type)
    select studio_id, md5('d' || s)::uuid, 'k', 'n', 'package' from size;
    insert into prices (studio_id, id, product_id, amount, currency, price_type, "interval")
    select studio_id, md5('p' || s)::uuid, md5('d' || s)::uuid, 10, 'USD', 'recurring', 'month' from size;
    insert into forms (studio_id, id, title, slug)
    select studio_id, md5('f' || s)::uuid, 'f', 'f' from size;
    insert into form_versions (studio_id, form_id, version, fields)
    select studio_id, md5('f' || s)::uuid, 1, '[]' from size;

    insert into members (studio_id, id, first_name, last_name, email, phone, suspended, created_at)
    select studio_id, md5('m' || s || '-' || n)::uuid,
           (array['Anna', 'Ben', 'Chloe', 'Dev', 'Émile'])[1 + n % 5] || n % 40,
           case when n % 100 = 0 then 'van der Berg' || n else 'Last' || n end, 'person' || n || '@example.com',
           '+1212' || lpad(n::text, 7, '0'), n % 5000 = 7, timestamptz '2026-01-01' - n * interval '1 hour'
    from size, generate_series(1, people) n;
    insert into memberships (studio_id, id, member_id, product_id, price_id, status, auto_renew, current_period_end,
                             credits_granted, credits_remaining, created_at)
    select studio_id, md5('ms' || s || '-' || n || '-' || k)::uuid, md5('m' || s || '-' || n)::uuid,
           md5('d' || s)::uuid, md5('p' || s)::uuid,
           case when n % 1000 = 3 then 'past_due' when n % 50 = 4 then 'paused' when k = 2 or n % 3 = 0 then 'expired'
                else 'active' end,
           n % 2 = 0, now() + (n % 60 - 20) * interval '1 day', 10, 5, timestamptz '2026-01-01' - n * interval '1 hour'
    from size, generate_series(1, people) n, generate_series(1, case when n % 4 = 0 then 2 else 1 end) k;

    insert into classes (studio_id, id, title, location_id, start_time, end_time, capacity)
    select studio_id, md5('c' || s || '-' || n)::uuid, 'class', md5('l' || s || '-' || n % 5)::uuid, t,
           t + interval '1 hour', 20
    from size, generate_series(1, people / 20) n,
         lateral (select now() + (n - people / 20) * interval '1 hour' + interval '30 days') x(t);
    insert into bookings (studio_id, id, class_id, member_id, location_id, start_time, end_time, status, created_at)
    select c.studio_id, md5('b' || s || '-' || n)::uuid, c.id,
           md5('m' || s || '-' || 1 + (n * 7::bigint + n / 777) % people)::uuid, c.location_id, c.start_time,
           c.end_time,
           case when n % 10 < 5 then 'checked_in' when n % 10 < 7 then 'cancelled' when n % 10 = 7 then 'no_show'
                else 'confirmed' end, timestamptz '2026-01-01' - n * interval '1 minute'
    from size, generate_series(1, people * 2) n
    join lateral (select md5('c' || s || '-' || 1 + n % (people / 20))::uuid as class_id) x on true
    join classes c on c.id = x.class_id
    on conflict do nothing;
    insert into purchases (studio_id, id, member_id, product_key, product_type, status, amount_total, currency,
                           location_id, created_at)
    select studio_id, md5('u' || s || '-' || n)::uuid, md5('m' || s || '-' || n)::uuid, 'k',
           case when n % 40 = 0 then 'fee' else 'package' end,
           case when n % 400 = 0 then 'pending' when n % 401 = 0 then 'failed' when n % 402 = 0 then 'refunded'
                when n % 403 = 0 then null else 'completed' end, 10, 'USD',
           case when n % 6 < 5 then md5('l' || s || '-' || n % 6)::uuid end,
           timestamptz '2026-01-01' - n * interval '1 hour'
    from size, generate_series(1, people) n;
    insert into credit_ledger (studio_id, id, membership_id, delta, reason, created_at)
    select studio_id, gen_random_uuid(), id, 10, 'granted', created_at from memberships;
    insert into form_submissions (studio_id, id, form_id, form_version, submitter_email, member_id, verified)
    select studio_id, gen_random_uuid(), md5('f' || s)::uuid, 1, 'x@x.example', md5('m' || s || '-' || n)::uuid, true
    from size, generate_series(1, people / 5) n;
    insert into audit_log (studio_id, id, channel, actor_name, action, subject_type, subject_id)
    select studio_id, gen_random_uuid(), 'console', 'a', 'member.change', 'member', md5('m' || s || '-' || n)::uuid
    from size, generate_series(1, people / 5) n;
    set session_replication_role = default;
"""
PLAIN_INDEXES = """
    select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition
    from pg_index i join pg_class t on t.oid = i.indrelid
    where t.relnamespace = 'public'::regnamespace and not i.indisunique"""


@dataclass(frozen=True)
class LargeStudio:
    # Stands in for a connection, and explains every statement.
    recorder: Any
    id: UUID
    locations: list[UUID]

    def access(self, *places: UUID) -> Access:
        return Access(self.id, "lists", frozenset(Scope), places or None)

    def faults(self, ranges: int = 1) -> list[str]:
        """Return what is wrong with the plans since the last call: table scans, long sorts, long scans."""
        plans = list(self.recorder.plans)
        assert plans, "a statement was explained"
        self.recorder.plans.clear()
        return [
            f"{each.mode}: {fault} in {each.statement}"
            for each in plans
            for fault in (*scans(each), *sorts(each, ranges), *long_looks(each, ranges))
        ]

    async def value(self, query: str, *values: Any) -> Any:
        return await self.recorder.connection.fetchval(query, self.id, *values)


async def filled(database_url: str, members: int) -> AsyncIterator[LargeStudio]:
    """Yield a studio with so many members, and close its connection afterwards."""
    session = {**SESSION, "statement_timeout": "600s", "synchronous_commit": "off"}
    connection = await asyncpg.connect(database_url, server_settings=session)
    plain = await connection.fetch(PLAIN_INDEXES)
    # Indexes are rebuilt afterwards: that takes half the time of inserting into them row by row.
    await connection.execute(";".join(f"drop index {index['name']}" for index in plain))
    await connection.execute(FILL.format(members=members))
    await connection.execute(";".join(index["definition"] for index in plain) + "; analyze")
    studio_id = await connection.fetchval("select studio_id from studios where slug = 's0'")
    places = await connection.fetch("select id from locations where studio_id = $1 order by name", studio_id)
    yield LargeStudio(Recorder(connection), studio_id, [each["id"] for each in places])
    await connection.close()


@pytest.fixture(scope="module")
async def large(anyio_backend: object, new_database: Callable[[], str]) -> AsyncIterator[LargeStudio]:
    async for studio in filled(new_database(), MEMBERS):
        yield studio


@pytest.fixture(scope="module")
async def medium(anyio_backend: object, new_database: Callable[[], str]) -> AsyncIterator[LargeStudio]:
    """Yield a studio with a fifth of the members, where that is large enough."""
    async for studio in filled(new_database(), MEMBERS // 5):
        yield studio
