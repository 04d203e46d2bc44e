"""Every partner read uses an index: no table scan and no sort of more than a few pages, with any set of filters.

The statements are intercepted before they reach PostgreSQL and explained with their own values, once with a custom
plan and once with the generic plan that a long-lived connection ends up with.
"""

import itertools
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from uuid import UUID

import asyncpg
import pytest

from studiogate.domain.access import Access, Scope
from studiogate.domain.bookings.states import BookingStatus
from studiogate.domain.paging import PageRequest
from studiogate.domain.schedule.series import Days
from studiogate.flows.bookings import previews
from studiogate.flows.bookings.book import BookClass
from studiogate.storage import catalog, class_clock, keys, leads, members, people, purchases, resources, studio
from studiogate.storage.bookings import lock, read, roster, staff
from studiogate.storage.db.pool import SESSION, Connection
from studiogate.storage.forms import save as forms
from studiogate.storage.paging import read_one
from studiogate.storage.schedule import classes, copy_week, day, week
from studiogate.storage.schedule import read as schedule

pytestmark = pytest.mark.anyio

LIMIT = 50
NOW = datetime(2026, 6, 1, tzinfo=UTC)
# Tables that never have more than a few rows: a sequential scan is the best plan.
TINY = {"studios", "locations"}
# How many pages of rows may be sorted and read per range; with more, the cost grows with the studio.
SORTED, LOOKED_AT = 5, 10

FILL = """
    set session_replication_role = replica;
    -- Hundreds of studios with a timetable of their own: what is small in one studio is not small in the table.
    insert into class_types (studio_id, id, name)
    select md5('other' || s)::uuid, gen_random_uuid(), 't' from generate_series(1, 2500) s, generate_series(1, 10);
    insert into instructors (studio_id, id, name)
    select md5('other' || s)::uuid, gen_random_uuid(), 't' from generate_series(1, 500) s, generate_series(1, 10);
    insert into rooms (studio_id, id, location_id, name, capacity)
    select md5('other' || s)::uuid, gen_random_uuid(), gen_random_uuid(), 'r', 1
    from generate_series(1, 500) s, generate_series(1, 10);
    insert into products (studio_id, id, key, name, product_type)
    select md5('other' || s)::uuid, gen_random_uuid(), 'k' || n, 'n', 'package'
    from generate_series(1, 500) s, generate_series(1, 10) n;
    insert into prices (studio_id, id, product_id, amount, currency, price_type)
    select studio_id, gen_random_uuid(), id, 10, 'USD', 'one_time' from products;
    insert into product_locations select studio_id, id, gen_random_uuid() from products;
    insert into price_locations select studio_id, id, gen_random_uuid() from prices;
    insert into product_class_types select studio_id, id, gen_random_uuid() from products;
    insert into forms (studio_id, id, title, slug)
    select md5('other' || s)::uuid, gen_random_uuid(), 'f', 'f' || n
    from generate_series(1, 500) s, generate_series(1, 5) n;

    insert into studios (studio_id, name, slug, timezone, currency, country)
    select md5('s' || s)::uuid, 's' || s, 's' || s, 'UTC', 'USD', 'US' from generate_series(0, 19) s;

    create temp table size as select md5('s' || s)::uuid as studio_id, s, case s when 0 then 100 else 1 end as times
    from generate_series(0, 19) s;
    create temp table at as select studio_id, times, l, md5('l' || s || '-' || l)::uuid as id, s
    from size, generate_series(0, 4) l;

    insert into locations (studio_id, id, name, city, state, timezone)
    select studio_id, id, 'l', 'c', 's', 'UTC' from at;
    insert into rooms (studio_id, id, location_id, name, capacity)
    select studio_id, md5('r' || s || '-' || l || '-' || n)::uuid, id, 'r', 10 from at, generate_series(1, 3) n;
    insert into room_spots (studio_id, id, room_id, label)
    select studio_id, gen_random_uuid(), id, 'p' || n from rooms join size using (studio_id), generate_series(1, 10) n;
    insert into class_types (studio_id, id, name)
    select studio_id, md5('t' || s || '-' || n)::uuid, 't' from size, generate_series(1, 10) n;
    insert into instructors (studio_id, id, name, active)
    select studio_id, gen_random_uuid(), 'i', n % 4 <> 0 from size, generate_series(1, 40) n;

    insert into classes (studio_id, id, title, class_type_id, location_id, room_id, start_time, end_time, capacity,
                         status, spot_selection_mode, created_at, updated_at)
    select studio_id, md5('c' || s || '-' || n)::uuid, 'class', md5('t' || s || '-' || 1 + n % 10)::uuid,
           case when n % 6 < 5 then md5('l' || s || '-' || n % 6)::uuid end,
           case when n % 6 < 5 then md5('r' || s || '-' || n % 6 || '-' || 1 + n % 3)::uuid end,
           t, t + interval '1 hour', 20, case when n % 50 = 0 then 'cancelled' else 'scheduled' end,
           case when n % 2 = 0 then 'optional' end, '{now}'::timestamptz - interval '400 days',
           '{now}'::timestamptz - (n % 400) * interval '1 day'
    from size, generate_series(1, 200 * times) n,
         lateral (select now() + (n - 100 * times) * interval '20 minutes' * 100 / times) x(t);

    insert into members (studio_id, id, first_name, last_name, email, created_at, updated_at)
    select studio_id, md5('m' || s || '-' || n)::uuid, 'm', 'm', 'm' || n || '@x.example', t,
           case when n % 100 = 0 then '{now}'::timestamptz - interval '1 day' else t end
    from size, generate_series(1, 200 * times) n,
         lateral (select '{now}'::timestamptz - n * interval '1 hour' * 100 / times) x(t);
    insert into leads (studio_id, id, email, created_at, updated_at)
    select studio_id, md5('e' || id)::uuid, email, created_at, updated_at from members;
    insert into purchases (studio_id, id, member_id, product_key, product_type, location_id, created_at, updated_at)
    select m.studio_id, md5('u' || m.id)::uuid, m.id, 'k', 'package', at.id, created_at, updated_at
    from members m left join at
        on at.studio_id = m.studio_id and at.l = ('x' || substr(m.id::text, 1, 4))::bit(16)::integer % 6;

    insert into products (studio_id, id, key, name, product_type, active)
    select studio_id, md5('d' || s || '-' || n)::uuid, 'k' || n, 'n', 'package', n % 10 <> 0
    from size, generate_series(1, 40) n;
    insert into prices (studio_id, id, product_id, amount, currency, price_type)
    select studio_id, gen_random_uuid(), id, 10, 'USD', 'one_time' from products join size using (studio_id),
         generate_series(1, 2);
    insert into product_locations select d.studio_id, d.id, at.id from products d join at using (studio_id)
    where at.l = 0 and d.key like '%5';
    insert into price_locations select p.studio_id, p.id, at.id from prices p join at using (studio_id)
    where at.l = 0 and p.id::text < '4';
    insert into memberships (studio_id, id, member_id, product_id, status, created_at)
    select m.studio_id, gen_random_uuid(), m.id, md5('d' || s || '-1')::uuid, 'active', m.created_at
    from members m join size using (studio_id);

    insert into bookings (studio_id, id, class_id, member_id, location_id, start_time, end_time, status, created_at,
                          updated_at)
    select c.studio_id, md5('b' || s || '-' || n)::uuid, c.id,
           md5('m' || s || '-' || 1 + (n * 7 + n / 777) % (200 * times))::uuid, c.location_id, c.start_time, c.end_time,
           case when n % 10 < 5 then 'confirmed' when n % 10 < 8 then 'cancelled' when n % 10 = 8 then 'checked_in'
                when n % 20 = 9 then 'no_show' else 'waitlisted' end,
           t, case when n % 100 = 0 then '{now}'::timestamptz - interval '1 day' else t end
    from size, generate_series(1, 500 * times) n, lateral (select md5('c' || s || '-' || 1 + n % (200 * times))::uuid,
         '{now}'::timestamptz - n * interval '30 minutes' * 100 / times) x(class_id, t), classes c
    where c.studio_id = size.studio_id and c.id = x.class_id
    on conflict do nothing;
    insert into waitlist_entries (studio_id, id, class_id, member_id, booking_id, location_id, position, status,
                                  created_at, updated_at)
    select studio_id, md5('w' || id)::uuid, class_id, member_id, id, location_id,
           case when status = 'waitlisted' then 1 end,
           case when status = 'waitlisted' then 'waiting' when status = 'cancelled' then 'cancelled'
                else 'converted' end,
           created_at, updated_at
    from bookings where status in ('waitlisted', 'cancelled', 'checked_in');
    insert into booking_cancellations
    select studio_id, md5('k' || id)::uuid, id, member_id, created_at, 'standard', false, false, 0, 0, null, '{{}}'
    from bookings where status = 'cancelled';

    insert into events (studio_id, id, sequence, type, subject, scopes, place, object, previous_attributes)
    select studio_id, md5('v' || id)::uuid, row_number() over (partition by studio_id order by created_at, id),
           'booking.created', id, '{{bookings:read}}', coalesce(location_id, studio_id),
           json_build_object('class_id', class_id), '{{}}'
    from bookings;
    insert into audit_log (studio_id, id, channel, actor_name, action, subject_type, subject_id)
    select studio_id, md5('a' || id)::uuid, 'console', 'desk', 'booking.check_in', 'booking', id
    from bookings where status = 'checked_in';

    insert into forms (studio_id, id, title, slug, status)
    select studio_id, md5('f' || s || '-' || n)::uuid, 'f', 'f' || n,
           case when n % 2 = 0 then 'published' else 'draft' end
    from size, generate_series(1, 4 * times) n;
    insert into form_submissions (studio_id, id, form_id, form_version, submitter_email, created_at, updated_at)
    select studio_id, md5('n' || s || '-' || n)::uuid, md5('f' || s || '-' || 1 + n % 4)::uuid, 1, 'x@x.example', t, t
    from size, generate_series(1, 100 * times) n,
         lateral (select '{now}'::timestamptz - n * interval '1 hour' * 100 / times) x(t);
    insert into credentials (studio_id, id, name, scopes, created_by)
    select studio_id, substr(md5(studio_id::text || n), 1, 8), 'k', '{{leads:read}}', 'me'
    from size, generate_series(1, 5 * times) n on conflict do nothing;
    insert into credential_secrets (studio_id, credential_id, secret_hash)
    select studio_id, id, sha256(id::bytea) from credentials;
    set session_replication_role = default;
"""


@dataclass
class Explained:
    statement: str
    mode: str
    plan: dict[str, Any]


@dataclass
class Recorder:
    """Stands in for a connection: explains a statement in both modes, then runs it."""

    connection: Any
    plans: list[Explained] = field(default_factory=list)

    @property
    def as_connection(self) -> Connection:
        """This recorder, typed as what it stands in for."""
        return cast(Connection, self)

    async def fetchval(self, statement: str, *values: Any) -> Any:
        await self._explain(statement, values)
        return await self.connection.fetchval(statement, *values)

    async def fetchrow(self, statement: str, *values: Any) -> Any:
        await self._explain(statement, values)
        return await self.connection.fetchrow(statement, *values)

    async def fetch(self, statement: str, *values: Any) -> Any:
        await self._explain(statement, values)
        return await self.connection.fetch(statement, *values)

    async def _explain(self, statement: str, values: tuple[Any, ...]) -> None:
        await self.connection.execute(f"prepare explained as {statement}")
        given = f"({', '.join(map(_literal, values))})" if values else ""
        for mode in ("force_custom_plan", "force_generic_plan"):
            await self.connection.execute(f"set plan_cache_mode = {mode}")
            text = await self.connection.fetchval(
                f"explain (analyze, timing off, format json) execute explained{given}"
            )
            self.plans.append(Explained(statement, mode, json.loads(text)[0]["Plan"]))
        await self.connection.execute("deallocate explained; reset plan_cache_mode")


def _literal(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool | int):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return "'{" + ",".join(map(str, value)) + "}'"
    return "'" + str(value).replace("'", "''") + "'"


def nodes(plan: dict[str, Any], parents: tuple[dict[str, Any], ...] = ()) -> Iterator[tuple[dict[str, Any], Any]]:
    yield plan, parents
    for child in plan.get("Plans", ()):
        yield from nodes(child, (plan, *parents))


def rows(node: dict[str, Any]) -> float:
    """Return the number of rows that a node produced, over all its loops."""
    return float(node["Actual Rows"]) * float(node["Actual Loops"])


def looked_at(node: dict[str, Any]) -> float:
    """Return the number of rows that a scan read, including those it filtered out."""
    thrown = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
    return rows(node) + float(thrown) * float(node["Actual Loops"])


def scans(explained: Explained) -> list[str]:
    """Return the sequential scans of a plan."""
    found = [node for node, _ in nodes(explained.plan) if node["Node Type"] == "Seq Scan"]
    return [f"seq scan of {node['Relation Name']}" for node in found if node["Relation Name"] not in TINY]


def sorts(explained: Explained, ranges: int) -> list[str]:
    """Return the sorts of more than a few pages."""
    found = [rows(node["Plans"][0]) for node, _ in nodes(explained.plan) if node["Node Type"] == "Sort"]
    return [f"sort of {count:.0f} rows" for count in found if count > SORTED * (LIMIT + 1) * ranges]


def long_looks(explained: Explained, ranges: int) -> list[str]:
    """Return the scans that read far more rows than they return, with or without an index."""
    found = [
        (node.get("Index Name") or node["Relation Name"], looked_at(node))
        for node, _ in nodes(explained.plan)
        if "Scan" in node["Node Type"] and ("Index Name" in node or "Relation Name" in node)
    ]
    return [
        f"{name} looks at {count:.0f} rows"
        for name, count in found
        if count > LOOKED_AT * (LIMIT + 1) * ranges and name not in TINY
    ]


@dataclass(frozen=True)
class Large:
    recorder: Recorder
    studio_id: UUID
    locations: list[UUID]

    def access(self, restricted: int) -> Access:
        places = tuple(self.locations[:restricted]) if restricted else None
        return Access(self.studio_id, "plans", frozenset(Scope), places)

    async def row(self, table: str, where: str = "true", order: str = "created_at") -> Any:
        """Return a row from the middle of the large studio's rows."""
        return await self.recorder.connection.fetchrow(
            f"select * from {table} where studio_id = $1 and {where} order by {order}, 1, 2 offset "
            f"(select count(*) / 2 from {table} where studio_id = $1 and {where}) limit 1",
            self.studio_id,
        )


async def _fill(connection: Any) -> None:
    """Fill the tables and rebuild their indexes afterwards: that takes half the time of inserting row by row."""
    plain = await connection.fetch(
        "select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index i"
        " join pg_class t on t.oid = i.indrelid where t.relnamespace = 'public'::regnamespace"
        " and not i.indisunique"
    )
    await connection.execute(";".join(f"drop index {index['name']}" for index in plain))
    await connection.execute(FILL.format(now=NOW))
    await connection.execute(";".join(index["definition"] for index in plain) + "; analyze")


@pytest.fixture(scope="module")
async def large(anyio_backend: object, new_database: Callable[[], str]) -> AsyncIterator[Large]:
    session = {**SESSION, "statement_timeout": "60s", "synchronous_commit": "off"}
    connection = await asyncpg.connect(new_database(), server_settings=session)
    await _fill(connection)
    studio_id = await connection.fetchval("select studio_id from studios where slug = 's0'")
    places = await connection.fetch("select id from locations where studio_id = $1 order by id", studio_id)
    yield Large(Recorder(connection), studio_id, [each["id"] for each in places])
    await connection.close()


async def test_the_fill_is_large(large: Large) -> None:
    for table, least in (("classes", 20_000), ("bookings", 40_000), ("members", 20_000), ("form_submissions", 10_000)):
        count = f"select count(*) from {table} where studio_id = $1"
        assert await large.recorder.connection.fetchval(count, large.studio_id) >= least


# The reads: every list with every combination of filters, restricted and not, from the start and from the middle.

LATELY, LONG_AGO = NOW - timedelta(days=2), NOW - timedelta(days=3000)


def choices(**options: list[Any]) -> Iterator[dict[str, Any]]:
    for values in itertools.product(*options.values()):
        yield dict(zip(options, values, strict=True))


def named(filters: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in filters.items() if value is not None) or "everything"


async def explain(
    large: Large,
    what: str,
    function: Any,
    cursor: Any,
    *arguments: Any,
    ranges: int = 1,
    changes: bool = False,
    changed: int = 0,
) -> list[str]:
    """Return the faults of one list with these filters, for an unrestricted key and for one with three locations.

    With ``changes`` the bound is the number of changes, which the partner chooses: only table scans are faults.
    ``changed`` is that number if it is known: this many rows may be read and sorted.
    """
    found = []
    for restricted, start in itertools.product((0, 3), (None, cursor)):
        large.recorder.plans.clear()
        page = PageRequest(None if start is None else str(start), LIMIT)
        await function(large.recorder, large.access(restricted), page, *arguments)
        width = max(ranges * restricted or 1, changed // (LIMIT + 1) + 1)
        for explained in large.recorder.plans:
            place = f"{'restricted' if restricted else 'all'}, {'from a cursor' if start else 'from the start'}"
            wrong = scans(explained)
            if not changes:
                wrong += sorts(explained, width) + long_looks(explained, width)
            found += [f"{what}, {place}, {explained.mode}: {each}" for each in wrong]
    return found


async def test_the_schedule(large: Large) -> None:
    room, class_type = await large.row("rooms"), await large.row("class_types")
    instructor = await large.row("instructors", "active")
    found = []
    for since in (None, LATELY, LONG_AGO):
        changes = since is not None
        found += await explain(large, "locations", studio.list_locations, large.locations[1], since, changes=changes)
        for location in (None, large.locations[0]):
            found += await explain(large, "rooms", schedule.list_rooms, room["id"], location, since, changes=changes)
        found += await explain(
            large, "class types", schedule.list_class_types, class_type["id"], since, changes=changes
        )
        found += await explain(
            large, "instructors", schedule.list_instructors, instructor["id"], since, changes=changes
        )
    chosen = await large.row("classes", "room_id is not null and spot_selection_mode is not null", "start_time")
    spot = await large.recorder.connection.fetchval("select id from room_spots where room_id = $1", chosen["room_id"])
    found += await explain(large, "spots", schedule.list_spots, spot, chosen["id"])
    assert found == []


async def test_classes(large: Large) -> None:
    class_id = (await large.row("classes", "location_id is not null", "start_time"))["id"]
    now = await large.recorder.connection.fetchval("select now()")
    shapes = choices(
        starts_after=[None, now],
        starts_before=[None, now + timedelta(days=7)],
        location_id=[None, str(large.locations[0])],
        status=[None, *schedule.CLASS_STATUS_FILTERS],
    )
    found = []
    for filters in shapes:
        found += await explain(large, named(filters), schedule.list_classes, class_id, schedule.ClassFilters(**filters))
    assert found == []


BOOKINGS = [
    (read.list_bookings, "bookings", ["confirmed", "waitlisted"]),
    (read.list_waitlist, "waitlist_entries", ["waiting", "offered"]),
]


@pytest.mark.parametrize(("function", "table", "statuses"), BOOKINGS, ids=["bookings", "waitlist"])
async def test_bookings(large: Large, function: Any, table: str, statuses: list[str]) -> None:
    row = await large.row(table, "location_id is not null")
    shapes = choices(
        class_id=[None, str(row["class_id"])], member_id=[None, str(row["member_id"])], status=[None, *statuses]
    )
    found = []
    for filters in shapes:
        wanted = read.BookingFilters(**filters)
        found += await explain(large, named(filters), function, row["id"], wanted, ranges=len(BookingStatus))
    assert found == []


async def test_people_and_purchases(large: Large) -> None:
    member, purchase = await large.row("members"), await large.row("purchases", "location_id is not null")
    lead, membership = await large.row("leads"), await large.row("memberships")
    found = []
    for email in (None, member["email"]):
        found += await explain(large, f"members {email}", members.list_members, member["id"], email, None)
        found += await explain(large, f"leads {email}", leads.list_leads, lead["id"], email, None)
    for member_id in (None, purchase["member_id"]):
        found += await explain(
            large, f"purchases of {member_id}", purchases.list_purchases, purchase["id"], member_id, None
        )
    found += await explain(
        large, "memberships", members.list_memberships, membership["id"], membership["member_id"], None
    )
    assert found == []


async def test_catalog_and_forms(large: Large) -> None:
    product, form = await large.row("products", "active"), await large.row("forms", "status = 'published'")
    submission = await large.row("form_submissions")
    found = []
    for flag in (True, False):
        found += await explain(large, f"products {flag}", catalog.list_products, product["id"], flag)
        found += await explain(large, f"forms {flag}", forms.list_forms, form["id"], flag)
    found += await explain(large, "submissions", forms.list_submissions, submission["id"], submission["form_id"], None)
    assert found == []


def changing(large: Large, since: datetime) -> list[tuple[str, str, Any, tuple[Any, ...]]]:
    return [
        ("bookings", "location_id is not null", read.list_bookings, (read.BookingFilters(updated_after=since),)),
        (
            "waitlist_entries",
            "location_id is not null",
            read.list_waitlist,
            (read.BookingFilters(updated_after=since),),
        ),
        ("purchases", "location_id is not null", purchases.list_purchases, (None, since)),
        ("members", "true", members.list_members, (None, since)),
        ("leads", "true", leads.list_leads, (None, since)),
    ]


async def test_changes_need_no_whole_table(large: Large) -> None:
    found = []
    for since in (LATELY, LONG_AGO):
        for table, where, function, arguments in changing(large, since):
            row = await large.row(table, where)
            found += await explain(large, f"{table} since {since}", function, row["id"], *arguments, changes=True)
        class_id = (await large.row("classes", "location_id is not null", "start_time"))["id"]
        wanted = schedule.ClassFilters(updated_after=since)
        found += await explain(large, f"classes since {since}", schedule.list_classes, class_id, wanted, changes=True)
    assert found == []


async def test_recent_changes_are_found_without_reading_the_past(large: Large) -> None:
    """A partner's poll every minute: a few hundred changes among tens of thousands of rows."""
    found = []
    for table, where, function, arguments in changing(large, LATELY):
        row = await large.row(table, where)
        query = f"select count(*) from {table} where updated_at >= $1"
        changed = await large.recorder.connection.fetchval(query, LATELY)
        found += await explain(large, table, function, row["id"], *arguments, ranges=5, changed=changed)
    assert found == []


async def test_single_rows(large: Large) -> None:
    """One row by its id, for an unrestricted key and a restricted one."""
    kept = (
        studio.LOCATION,
        schedule.ROOM,
        schedule.CLASS_TYPE,
        schedule.INSTRUCTOR,
        catalog.PRODUCT,
        *(resources.BOOKING, resources.CLASS, resources.LEAD, resources.MEMBER, resources.MEMBERSHIP),
        *(resources.PURCHASE, resources.WAITLIST_ENTRY),
    )
    found = []
    for restricted in (0, 3):
        access, recorder = large.access(restricted), large.recorder
        recorder.plans.clear()
        connection = recorder.as_connection
        await studio.read_studio(connection, access, "https://studio.example")
        for resource in kept:
            await read_one(connection, access, resource, (await large.row(resource.table))["id"])
        await forms.read_form(connection, access, str((await large.row("forms"))["id"]))
        submission = await large.row("form_submissions")
        await forms.read_submission(connection, access, str(submission["form_id"]), str(submission["id"]))
        cancelled = await large.row("booking_cancellations", order="cancelled_at")
        assert await read.read_cancellation(connection, access, str(cancelled["booking_id"])) or restricted
        found += [f"{each.statement} {fault}" for each in recorder.plans for fault in scans(each) + long_looks(each, 1)]
    assert found == []


async def test_what_a_booking_looks_at(large: Large) -> None:
    """The reads of the booking flow, and the lookup of a key: one row each, by an index."""
    recorder, access = large.recorder, large.access(0)
    recorder.plans.clear()
    connection = recorder.as_connection
    booking = await large.row("bookings", "status = 'confirmed' and start_time > now()")
    wanted = BookClass(booking["class_id"], booking["member_id"])
    assert isinstance(await previews.validate_booking(connection, access, wanted), dict)
    assert isinstance(await previews.preview_cancellation(connection, access, str(booking["id"])), str)
    async with recorder.connection.transaction():
        await lock.lock_class(connection, access, booking["class_id"])
        given = ([booking["member_id"]], [booking["class_id"]], 100)
        await recorder.fetch(people.LOCK_MEMBERS, large.studio_id, *given)
    credential = await recorder.connection.fetchval("select id from credentials order by md5(id) limit 1")
    assert await keys.find_credential(connection, credential) is not None
    assert len(recorder.plans) >= 10
    assert [f"{each.statement} {fault}" for each in recorder.plans for fault in scans(each) + long_looks(each, 1)] == []


async def test_the_week_of_the_console(large: Large) -> None:
    """The reads of the screen Schedule look at a week of one location, however many classes and bookings there are."""
    recorder, now = large.recorder, await large.recorder.connection.fetchval("select now()")
    between, days = (now, now + timedelta(days=7)), Days(now.date(), now.date() + timedelta(days=6))
    booking = await large.row("bookings", "status = 'confirmed' and start_time > now()")
    instructor, place = await large.row("instructors", "active"), large.locations[0]
    found = []
    for restricted in (0, 3):
        access, connection = large.access(restricted), recorder.as_connection
        recorder.plans.clear()
        assert len(await week.read_classes(connection, access, place, between)) > 50
        await week.read_classes(connection, access, place, between, instructor["id"])
        await week.read_elsewhere(connection, access, place, between, [instructor["id"]])
        await week.read_closures(connection, access, place, days)
        await week.read_choices(connection, access, place)
        await copy_week.read_classes(connection, access, place, between, 501)
        await copy_week.read_existing(connection, access, place, between)
        await classes.read_class(connection, access, booking["class_id"])
        await classes.list_series(connection, access, place, now.date())
        await classes.read_seats(connection, access, [booking["class_id"]])
        await staff.read_holders(connection, access, booking["class_id"])
        await staff.other_bookings(connection, access, booking["class_id"], between)
        found += [
            f"{each.statement} {each.mode} {fault}"
            for each in recorder.plans
            for fault in scans(each) + sorts(each, 1) + long_looks(each, 1)
        ]


async def test_what_the_front_desk_reads(large: Large) -> None:
    """A day's classes, the people, the spots and the history of a class, and the classes that changed."""
    found = []
    chosen = await large.row("classes", "location_id is not null and spot_selection_mode is not null", "start_time")
    begins = chosen["start_time"]
    for restricted in (0, 3):
        access, recorder = (
            large.access(restricted).within([chosen["location_id"]] if restricted else None),
            large.recorder,
        )
        recorder.plans.clear()
        connection = recorder.as_connection
        for location_id in (None, chosen["location_id"]):
            assert await day.classes_between(connection, access, begins, begins + timedelta(days=1), location_id)
        assert await day.find_class(connection, access, chosen["id"]) is not None
        assert await day.spots_of_class(connection, access, chosen["id"])
        await day.free_spots(connection, access, chosen["id"])
        await roster.seats_of_class(connection, access, chosen["id"], begins)
        await roster.waiting_for_class(connection, access, chosen["id"], begins)
        placed = await roster.placed_bookings(connection, access, chosen["id"])
        await roster.actions_on(connection, access, [chosen["id"], *(each.id for each in placed)])
        await class_clock.changed_since(connection, access, 0)
        assert len(recorder.plans) >= 20
        found += [f"{each.statement} {fault}" for each in recorder.plans for fault in scans(each) + long_looks(each, 1)]
    assert found == []


async def test_the_check_finds_a_missing_index(large: Large) -> None:
    """Verifies the checks: without its index a list is scanned or sorted, and that is reported."""
    lead, connection = await large.row("leads"), large.recorder.connection
    async with connection.transaction():
        await connection.execute("drop index leads_list")
        without = await explain(large, "leads", leads.list_leads, lead["id"], None, None)
        await connection.execute("rollback; begin")
    assert any("sort" in each for each in without)
    assert any("looks at" in each or "seq scan" in each for each in without)
