"""Lists: order, pages, limits, every filter alone and combined, and invalid cursors."""

import itertools
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.support.direct_client import DirectResponse, ask
from tests.support.partner_api import PartnerApi, open_partner_api
from tests.support.seed import Studio, insert, issue_key, seed_studio

pytestmark = pytest.mark.anyio

NOBODY = "00000000-0000-4000-8000-000000000000"
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
PLACES = 3


@dataclass
class ListStudio:
    """A studio with three locations and a few dozen rows of each kind, inserted in no particular order."""

    api: PartnerApi
    studio: Studio
    locations: list[UUID]
    now: datetime
    keys: dict[str, str] = field(default_factory=dict)

    async def get(self, path: str, query: Mapping[str, Any] | None = None, key: str = "all") -> DirectResponse:
        return await ask(self.api.app, "GET", path, self.keys[key], query=query)

    async def ids(self, path: str, query: Mapping[str, Any] | None = None, key: str = "all") -> list[str]:
        answer = await self.get(path, {"limit": 200, **(query or {})}, key)
        assert answer.status == 200, answer.body
        return [row["id"] for row in answer.json()["data"]]

    async def expected(self, sql: str, *values: Any) -> list[str]:
        rows = await self.api.connection.fetch(sql, self.studio.studio_id, *values)
        return [str(row["id"]) for row in rows]


FILL = """
    insert into classes (studio_id, id, title, location_id, start_time, end_time, capacity, status, created_at)
    select '{studio}'::uuid, gen_random_uuid(), 'class ' || n, ('{{{places}}}'::uuid[])[1 + n % 4], t,
           t + interval '1 hour', 10,
           case when n % 5 = 0 then 'cancelled' else 'scheduled' end, '{long_ago}'::timestamptz
    from generate_series(1, 60) n,
         lateral (select '{now}'::timestamptz + ((n * 7 % 30) - 15) * interval '20 minutes') x(t);

    insert into members (studio_id, id, first_name, last_name, email, created_at, updated_at)
    select '{studio}'::uuid, gen_random_uuid(), 'm', n::text, 'm' || n || '@many.example', t, t
    from generate_series(1, 60) n, lateral (select '{long_ago}'::timestamptz + (n * 7 % 20) * interval '1 hour') x(t);

    insert into leads (studio_id, id, email, created_at, updated_at)
    select '{studio}'::uuid, gen_random_uuid(), 'l' || n || '@many.example', t, t
    from generate_series(1, 60) n, lateral (select '{long_ago}'::timestamptz + (n * 7 % 20) * interval '1 hour') x(t);

    insert into purchases (studio_id, id, member_id, product_key, product_type, location_id, created_at, updated_at)
    select '{studio}'::uuid, gen_random_uuid(), m.id, 'pack', 'package', ('{{{places}}}'::uuid[])[1 + m.n % 4],
           m.created_at, m.created_at
    from (select id, created_at, row_number() over (order by id) as n from members where studio_id = '{studio}'
          and email like '%@many.example') m;

    insert into bookings (studio_id, id, class_id, member_id, location_id, start_time, end_time, status, created_at,
                          updated_at)
    select '{studio}'::uuid, gen_random_uuid(), c.id, m.id, c.location_id, c.start_time, c.end_time,
           ('{{cancelled,confirmed,waitlisted,checked_in,no_show}}'::text[])[1 + (c.n + m.n / 20) % 5],
           m.created_at + (c.n % 3) * interval '1 hour', m.created_at + (c.n % 3) * interval '1 hour'
    from (select *, row_number() over (order by start_time, id) as n from classes where studio_id = '{studio}') c
    join (select *, row_number() over (order by id) as n from members where studio_id = '{studio}'
          and email like '%@many.example') m on (c.n + m.n) % 20 = 0;

    insert into waitlist_entries (studio_id, id, class_id, member_id, booking_id, location_id, position, status,
                                  created_at, updated_at)
    select '{studio}'::uuid, gen_random_uuid(), class_id, member_id, id, location_id, null,
           case when n % 2 = 0 then 'converted' else 'expired' end, created_at, updated_at
    from (select *, row_number() over (order by id) as n from bookings where studio_id = '{studio}'
          and booking_source is null) b
    where n % 2 = 0 or n % 3 = 0
"""


@pytest.fixture(scope="module")
async def list_studio(anyio_backend: object, new_database: Callable[[], str]) -> AsyncIterator[ListStudio]:
    async for api in open_partner_api(new_database(), rate_limit=0):
        connection = api.connection
        studio = await seed_studio(connection, "many")
        third = await insert(
            connection, "locations", studio_id=studio.studio_id, name="c", city="c", state="c", timezone="UTC"
        )
        locations = [*studio.ids["location"], third]
        now = await connection.fetchval("select now()")
        places = ",".join([*(str(each) for each in locations), "null"])
        await connection.execute(FILL.format(studio=studio.studio_id, places=places, now=now, long_ago=LONG_AGO))
        list_studio = ListStudio(api, studio, locations, now)
        list_studio.keys["all"] = await issue_key(connection, studio)
        for number in range(PLACES):
            list_studio.keys[f"place {number}"] = await issue_key(connection, studio, locations=[locations[number]])
        list_studio.keys["two places"] = await issue_key(connection, studio, locations=locations[:2])
        list_studio.keys["all places"] = await issue_key(connection, studio, locations=locations)
        yield list_studio


# Order.

NEWEST_FIRST = {
    "/locations": "locations",
    "/rooms": "rooms",
    "/class-types": "class_types",
    "/leads": "leads",
    "/members": "members",
    "/purchases": "purchases",
    "/bookings": "bookings",
    "/waitlist": "waitlist_entries",
}


@pytest.mark.parametrize(("path", "table"), NEWEST_FIRST.items())
async def test_newest_first(list_studio: ListStudio, path: str, table: str) -> None:
    expected = await list_studio.expected(
        f"select id from {table} where studio_id = $1 order by created_at desc, id desc"
    )
    assert len(expected) > 0
    assert await walk(list_studio, path, 50) == expected


async def test_classes_by_their_start(list_studio: ListStudio) -> None:
    expected = await list_studio.expected("select id from classes where studio_id = $1 order by start_time, id")
    assert await walk(list_studio, "/classes", 50) == expected
    ties = await list_studio.api.connection.fetchval("select count(*) - count(distinct start_time) from classes")
    assert ties > 10, "many classes start together, so the id decides"


async def walk(list_studio: ListStudio, path: str, limit: int, key: str = "all", **query: Any) -> list[str]:
    """Return the ids of all pages of a list, and assert that every page but the last is full."""
    ids: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        answer = await list_studio.get(path, {"limit": limit, **query, **cursor}, key)
        assert answer.status == 200, answer.body
        page = answer.json()
        assert page["object"] == "list"
        ids += [row["id"] for row in page["data"]]
        if not page["has_more"]:
            assert page["next_cursor"] is None
            return ids
        assert len(page["data"]) == limit
        assert page["next_cursor"] == page["data"][-1]["id"]
        cursor = {"cursor": page["next_cursor"]}


# Pages.


@pytest.mark.parametrize("path", ["/classes", "/bookings", "/waitlist", "/leads", "/members", "/purchases"])
async def test_fifty_by_default(list_studio: ListStudio, path: str) -> None:
    page = (await list_studio.get(path)).json()
    assert len(page["data"]) == 50
    assert page["has_more"] is True
    assert page["next_cursor"] == page["data"][-1]["id"]


UNPAGED = {
    "/locations": "insert into locations (studio_id, id, name, city, state, timezone) {} 'x', 'x', 'x', 'UTC'",
    "/class-types": "insert into class_types (studio_id, id, name) {} 'x'",
    "/instructors": "insert into instructors (studio_id, id, name) {} 'x'",
    "/forms": "insert into forms (studio_id, id, title, slug, status) {} 'x', 'x' || n, 'published'",
    "/rooms": "insert into rooms (studio_id, id, location_id, name, capacity) {} "
    "(select id from locations l where l.studio_id = $1 limit 1), 'x', 1",
    "/members/{}/memberships": "insert into memberships (studio_id, id, member_id, product_id, status) {} "
    "(select id from members m where m.studio_id = $1 order by id limit 1), "
    "(select id from products p where p.studio_id = $1 limit 1), 'active'",
    "/classes/{}/spots": "insert into room_spots (studio_id, id, room_id, label) {} "
    "(select room_id from classes c where c.studio_id = $1 and room_id is not null order by id limit 1), 'x' || n",
}
PAGED = {
    "/products": "insert into products (studio_id, id, key, name, product_type) {} 'x' || n, 'x', 'package'",
    "/forms/{}/submissions": "insert into form_submissions (studio_id, id, form_id, form_version, submitter_email) {} "
    "(select form_id from form_versions f where f.studio_id = $1 order by 1 limit 1), 1, 'x@example.com'",
}
DEFAULTS = [*((path, fill, 200) for path, fill in UNPAGED.items()), *((path, fill, 50) for path, fill in PAGED.items())]
PARENTS = {
    "/members/{}/memberships": "select id from members where studio_id = $1 order by id limit 1",
    "/classes/{}/spots": "select id from classes where studio_id = $1 and room_id is not null order by id limit 1",
    "/forms/{}/submissions": "select form_id from form_versions where studio_id = $1 order by 1 limit 1",
}


@pytest.fixture(scope="module")
async def full(anyio_backend: object, new_database: Callable[[], str]) -> AsyncIterator[ListStudio]:
    """A studio with 250 rows per list."""
    async for api in open_partner_api(new_database(), rate_limit=0):
        studio = await seed_studio(api.connection, "full")
        for fill in [*UNPAGED.values(), *PAGED.values()]:
            statement = fill.format("select $1, gen_random_uuid(),") + " from generate_series(1, 250) n"
            await api.connection.execute(statement, studio.studio_id)
        key = await issue_key(api.connection, studio)
        yield ListStudio(api, studio, studio.ids["location"], LONG_AGO, {"all": key})


@pytest.mark.parametrize(("path", "fill", "default"), DEFAULTS, ids=[each[0] for each in DEFAULTS])
async def test_default_limits(full: ListStudio, path: str, fill: str, default: int) -> None:
    """200 where the partner of a small studio wants all rows in one call, otherwise 50."""
    if path in PARENTS:
        path = path.format(await full.api.connection.fetchval(PARENTS[path], full.studio.studio_id))
    page = (await full.get(path)).json()
    assert len(page["data"]) == default
    assert page["has_more"] is True
    ids = await walk(full, path, 90)
    assert len(ids) == len(set(ids)) >= 250


@pytest.mark.parametrize("limit", [1, 2, 199, 200])
async def test_limits_in_bounds(list_studio: ListStudio, limit: int) -> None:
    page = (await list_studio.get("/bookings", {"limit": limit})).json()
    total = len(await walk(list_studio, "/bookings", 200))
    assert len(page["data"]) == min(limit, total)
    assert page["has_more"] is (total > limit)


@pytest.mark.parametrize("limit", ["0", "201", "-1", "+5", "1.0", "1e1", "", " 5", "\uff15", "1_0", "9999999999", "x"])
@pytest.mark.parametrize("path", ["/bookings", "/locations"])
async def test_limits_out_of_bounds(list_studio: ListStudio, path: str, limit: str) -> None:
    answer = await list_studio.get(path, {"limit": limit})
    assert (answer.status, answer.code) == (422, "validation_error")
    assert answer.json()["detail"][0]["loc"] == ["query", "limit"]


async def test_page_boundaries(list_studio: ListStudio) -> None:
    """Exactly one page, one row less, one row more."""
    class_id = await list_studio.api.connection.fetchval(
        "select class_id from bookings group by 1 order by count(*) desc"
    )
    for path, query in (("/bookings", {"class_id": class_id}), ("/locations", {}), ("/class-types", {})):
        total = len(await walk(list_studio, path, 200, **query))
        exact = (await list_studio.get(path, {**query, "limit": total})).json()
        assert (len(exact["data"]), exact["has_more"], exact["next_cursor"]) == (total, False, None)
        more = (await list_studio.get(path, {**query, "limit": total + 1})).json()
        assert more == exact
        if total > 1:
            less = (await list_studio.get(path, {**query, "limit": total - 1})).json()
            assert (len(less["data"]), less["has_more"]) == (total - 1, True)
            assert less["next_cursor"] == less["data"][-1]["id"]
            last = (await list_studio.get(path, {**query, "limit": total - 1, "cursor": less["next_cursor"]})).json()
            assert (len(last["data"]), last["has_more"], last["next_cursor"]) == (1, False, None)
        after = (await list_studio.get(path, {**query, "cursor": exact["data"][-1]["id"]})).json()
        assert after == {"object": "list", "data": [], "has_more": False, "next_cursor": None}


@pytest.mark.parametrize("limit", [3, 7, 59, 200])
@pytest.mark.parametrize("path", ["/classes", "/bookings", "/waitlist", "/leads", "/members", "/purchases"])
async def test_every_page_size_walks_the_same_list(list_studio: ListStudio, path: str, limit: int) -> None:
    assert await walk(list_studio, path, limit) == await walk(list_studio, path, 200)


async def test_one_row_per_page(list_studio: ListStudio) -> None:
    assert await walk(list_studio, "/leads", 1) == await walk(list_studio, "/leads", 200)


# Restricted keys: pages merged from several locations.

LOCATED = {"/classes": "classes", "/bookings": "bookings", "/waitlist": "waitlist_entries", "/purchases": "purchases"}
HELD = {"place 0": [0], "place 2": [2], "two places": [0, 1], "all places": [0, 1, 2]}


@pytest.mark.parametrize("key", HELD)
@pytest.mark.parametrize(("path", "table"), LOCATED.items())
async def test_restricted_pages_are_merged_in_order(list_studio: ListStudio, path: str, table: str, key: str) -> None:
    order = "start_time, id" if table == "classes" else "created_at desc, id desc"
    own = [list_studio.locations[number] for number in HELD[key]]
    expected = await list_studio.expected(
        f"select id from {table} where studio_id = $1 and location_id = any($2) order by {order}", own
    )
    assert await walk(list_studio, path, 7, key) == expected
    assert expected


@pytest.mark.parametrize("key", ["two places", "all places"])
async def test_restricted_and_filtered_pages_are_merged_in_order(list_studio: ListStudio, key: str) -> None:
    own = [list_studio.locations[number] for number in HELD[key]]
    everything = await list_studio.api.connection.fetch(
        "select * from bookings where studio_id = $1 and location_id = any($2) order by created_at desc, id desc",
        list_studio.studio.studio_id,
        own,
    )
    for status in ("confirmed", "cancelled", "waitlisted"):
        expected = [str(row["id"]) for row in everything if row["status"] == status]
        assert await walk(list_studio, "/bookings", 7, key, status=status) == expected
    since = everything[len(everything) // 2]["updated_at"]
    expected = [str(row["id"]) for row in everything if row["updated_at"] >= since]
    assert await walk(list_studio, "/bookings", 7, key, updated_after=since.isoformat()) == expected
    for member in {row["member_id"] for row in everything[:5]}:
        expected = [str(row["id"]) for row in everything if row["member_id"] == member]
        assert await walk(list_studio, "/bookings", 2, key, member_id=member) == expected


async def test_a_location_filter_narrows_a_restricted_key(list_studio: ListStudio) -> None:
    for number in (0, 1):
        location = list_studio.locations[number]
        expected = await walk(list_studio, "/classes", 200, f"place {number}")
        assert await walk(list_studio, "/classes", 7, "two places", location_id=location) == expected
        assert await walk(list_studio, "/classes", 7, "all", location_id=location) == expected


async def test_a_location_named_twice_on_a_key_counts_once(list_studio: ListStudio) -> None:
    key = await issue_key(
        list_studio.api.connection,
        list_studio.studio,
        locations=[list_studio.locations[0], list_studio.locations[1], list_studio.locations[0]],
    )
    list_studio.keys["twice"] = key
    for path in [*LOCATED, "/rooms"]:
        assert await list_studio.ids(path, key="twice") == await list_studio.ids(path, key="two places"), path


# Filters on classes.

STATUSES = ("scheduled", "in_progress", "completed", "cancelled")


async def test_a_class_s_status_follows_the_clock(list_studio: ListStudio) -> None:
    """The filter and the field agree, and every class has exactly one status."""
    everything = await walk(list_studio, "/classes", 200)
    by_status = {status: await walk(list_studio, "/classes", 7, status=status) for status in STATUSES}
    assert sorted(itertools.chain(*by_status.values())) == sorted(everything)
    assert all(by_status.values())
    for status, ids in by_status.items():
        page = (await list_studio.get("/classes", {"status": status, "limit": 200})).json()["data"]
        assert {row["status"] for row in page} == {status}
        assert [row["id"] for row in page] == ids
        assert ids == [each for each in everything if each in set(ids)], "in the list's own order"


async def test_the_week_long_class_is_in_progress(list_studio: ListStudio) -> None:
    """The longest possible class, shortly before its end, and classes that start or end around now."""
    connection, now = list_studio.api.connection, await list_studio.api.connection.fetchval("select now()")
    hour, soon = timedelta(hours=1), timedelta(minutes=10)
    spans = {
        "long": (now - timedelta(days=7) + soon, now + soon, "in_progress"),
        "ended": (now - hour, now, "completed"),
        "begun": (now, now + hour, "in_progress"),
        "soon": (now + soon, now + hour, "scheduled"),
        "cancelled": (now - soon, now + hour, "cancelled"),
    }
    for name, (start, end, status) in spans.items():
        class_id = await insert(
            connection,
            "classes",
            studio_id=list_studio.studio.studio_id,
            title=name,
            start_time=start,
            end_time=end,
            capacity=1,
            status="cancelled" if status == "cancelled" else "scheduled",
        )
        assert (await list_studio.get(f"/classes/{class_id}")).json()["status"] == status, name
        for asked in STATUSES:
            found = str(class_id) in await list_studio.ids("/classes", {"status": asked})
            assert found is (asked == status), (name, asked)
        await connection.execute("delete from classes where id = $1", class_id)


async def test_start_times_are_inclusive_and_exclusive(list_studio: ListStudio) -> None:
    starts = await list_studio.api.connection.fetch(
        "select id, start_time from classes where studio_id = $1 order by start_time, id", list_studio.studio.studio_id
    )
    instant = starts[len(starts) // 2]["start_time"]
    text = instant.isoformat()
    after = [str(row["id"]) for row in starts if row["start_time"] >= instant]
    before = [str(row["id"]) for row in starts if row["start_time"] < instant]
    assert after
    assert before
    assert await walk(list_studio, "/classes", 7, starts_after=text) == after
    assert await walk(list_studio, "/classes", 7, starts_before=text) == before
    assert await list_studio.ids("/classes", {"starts_after": text, "starts_before": text}) == []
    later = (instant + timedelta(microseconds=1)).isoformat()
    exactly = await list_studio.ids("/classes", {"starts_after": text, "starts_before": later})
    assert exactly == [str(row["id"]) for row in starts if row["start_time"] == instant]
    assert exactly
    # The same instant with another offset, also with a plus sign that arrived as a space.
    elsewhere = (instant + timedelta(hours=5, minutes=30)).strftime("%Y-%m-%dT%H:%M:%S.%f") + "+05:30"
    assert await list_studio.ids("/classes", {"starts_after": elsewhere}) == after
    assert await list_studio.ids("/classes", {"starts_after": elsewhere.replace("+", " ")}) == after


async def test_start_times_the_wrong_way_round(list_studio: ListStudio) -> None:
    query = {"starts_after": "2030-01-02T00:00:00Z", "starts_before": "2030-01-01T00:00:00Z"}
    answer = await list_studio.get("/classes", query)
    assert (answer.status, answer.code) == (422, "validation_error")


@pytest.mark.parametrize("key", ["all", "two places", "place 0"])
async def test_class_filters_together(list_studio: ListStudio, key: str) -> None:
    """Every combination of filters returns the intersection of the single ones, in the list's order."""
    filters = {
        "starts_after": (list_studio.now - timedelta(hours=3)).isoformat(),
        "starts_before": (list_studio.now + timedelta(hours=3)).isoformat(),
        "location_id": str(list_studio.locations[0]),
        "status": "scheduled",
        "updated_after": (list_studio.now - timedelta(days=1)).isoformat(),
    }
    await assert_intersections(list_studio, "/classes", filters, key)


@pytest.mark.parametrize("key", ["all", "two places", "place 0"])
@pytest.mark.parametrize(("path", "status"), [("/bookings", "confirmed"), ("/waitlist", "converted")])
async def test_booking_filters_together(list_studio: ListStudio, path: str, status: str, key: str) -> None:
    row = (await list_studio.get(path, {"status": status}, key)).json()["data"][3]
    booking = await list_studio.api.connection.fetchrow(
        "select * from bookings where id = $1", UUID(row.get("booking_id", row["id"]))
    )
    assert booking is not None
    filters = {
        "class_id": str(booking["class_id"]),
        "member_id": str(booking["member_id"]),
        "status": status,
        "updated_after": booking["updated_at"].isoformat(),
    }
    await assert_intersections(list_studio, path, filters, key)


async def assert_intersections(list_studio: ListStudio, path: str, filters: Mapping[str, Any], key: str) -> None:
    everything = await walk(list_studio, path, 200, key)
    alone = {name: set(await walk(list_studio, path, 200, key, **{name: value})) for name, value in filters.items()}
    assert all(len(found) > 0 for found in alone.values()), {name: len(found) for name, found in alone.items()}
    for count in range(1, len(filters) + 1):
        for names in itertools.combinations(filters, count):
            expected = [each for each in everything if all(each in alone[name] for name in names)]
            found = await walk(list_studio, path, 7, key, **{name: filters[name] for name in names})
            assert found == expected, names


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/classes", STATUSES),
        ("/bookings", ("waitlisted", "confirmed", "checked_in", "no_show", "cancelled")),
        ("/waitlist", ("waiting", "offered", "converted", "expired", "cancelled")),
    ],
)
async def test_an_unknown_status_names_the_known_ones(
    list_studio: ListStudio, path: str, allowed: tuple[str, ...]
) -> None:
    for status in ("nonsense", "Confirmed", "", " cancelled"):
        answer = await list_studio.get(path, {"status": status})
        assert (answer.status, answer.code) == (422, "validation_error")
        assert all(each in answer.json()["detail"][0]["msg"] for each in allowed)
    for status in allowed:
        assert (await list_studio.get(path, {"status": status})).status == 200


# Email.


@pytest.mark.parametrize("path", ["/members", "/leads"])
async def test_an_email_is_compared_in_normal_form(list_studio: ListStudio, path: str) -> None:
    table, connection = path[1:], list_studio.api.connection
    person = {"first_name": "F", "last_name": "B"} if table == "members" else {}
    row_id = await insert(connection, table, studio_id=list_studio.studio.studio_id, email="foo@bar.example", **person)
    app, key = list_studio.api.app, list_studio.keys["all"]
    for text in (" Foo@BAR.example", "foo@bar.example", "FOO@bar.EXAMPLE ", "\uff46oo@bar.example"):
        answer = await ask(app, "GET", path, key, query={"email": text})
        assert [row["id"] for row in answer.json()["data"]] == [str(row_id)], text
    for text in ("fo.o@bar.example", "foo+x@bar.example", "bar@foo.example"):
        assert (await ask(app, "GET", path, key, query={"email": text})).json()["data"] == []
    for text in ("", "foo", "foo@", "@bar.example", "foo@bar@baz.example", "%"):
        assert (await ask(app, "GET", path, key, query={"email": text})).status == 422, text
    await connection.execute(f"delete from {table} where id = $1", row_id)


async def test_an_email_as_it_stands_in_an_address(list_studio: ListStudio) -> None:
    """Percent-encoded, with a leading space, as a careless client sends it."""
    member = await list_studio.api.connection.fetchrow("select id, email from members where email = 'm7@many.example'")
    assert member is not None
    answer = await list_studio.api.get("/members?email=%20M7%40MANY.example", list_studio.keys["all"])
    assert [row["id"] for row in answer.json()["data"]] == [str(member["id"])]


# Changed rows.

CHANGING = {
    "/classes": "classes",
    "/members": "members",
    "/leads": "leads",
    "/purchases": "purchases",
    "/bookings": "bookings",
    "/waitlist": "waitlist_entries",
}


@pytest.mark.parametrize("key", ["all", "two places"])
@pytest.mark.parametrize(("path", "table"), CHANGING.items())
async def test_updated_after_is_inclusive(list_studio: ListStudio, path: str, table: str, key: str) -> None:
    """Updated rows and new rows are returned, each once, in the list's order."""
    connection = list_studio.api.connection
    everything = await walk(list_studio, path, 200, key)
    touched = everything[3::9]
    await connection.execute(
        f"update {table} set updated_at = updated_at where studio_id = $1 and id = any($2::uuid[])",
        list_studio.studio.studio_id,
        touched,
    )
    changes = {
        str(row["id"]): row["updated_at"]
        for row in await connection.fetch(
            f"select id, updated_at from {table} where studio_id = $1", list_studio.studio.studio_id
        )
    }
    for instant in (changes[touched[0]], changes[everything[0]], changes[everything[-1]]):
        for moment in (instant, instant + timedelta(microseconds=1)):
            expected = [each for each in everything if changes[each] >= moment]
            assert await walk(list_studio, path, 7, key, updated_after=moment.isoformat()) == expected
    assert await list_studio.ids(path, {"updated_after": "2100-01-01T00:00:00Z"}, key) == []


async def test_updated_after_on_the_lists_of_a_parent(list_studio: ListStudio) -> None:
    connection = list_studio.api.connection
    for path, table in (
        (f"/members/{list_studio.studio.first('member')}/memberships", "memberships"),
        (f"/forms/{list_studio.studio.first('form')}/submissions", "form_submissions"),
    ):
        row_id = (await list_studio.ids(path))[0]
        changed = await connection.fetchval(f"select updated_at from {table} where id = $1", UUID(row_id))
        later = changed + timedelta(microseconds=1)
        assert await list_studio.ids(path, {"updated_after": changed.isoformat()}) == [row_id]
        assert await list_studio.ids(path, {"updated_after": later.isoformat()}) == []


# Catalog and forms.


async def test_products_are_active_unless_asked(list_studio: ListStudio) -> None:
    connection = list_studio.api.connection
    idle = str(
        await insert(
            connection,
            "products",
            studio_id=list_studio.studio.studio_id,
            key="idle",
            name="idle",
            product_type="package",
            active=False,
        )
    )
    active = await list_studio.ids("/products")
    assert active
    assert idle not in active
    assert await list_studio.ids("/products", {"active": "true"}) == active
    assert await list_studio.ids("/products", {"active": "false"}) == [idle]
    assert (await list_studio.get(f"/products/{idle}")).json()["active"] is False
    for wrong in ("1", "yes", "TRUE", "", "null"):
        assert (await list_studio.get("/products", {"active": wrong})).status == 422


async def test_inactive_instructors_are_read_but_not_listed(list_studio: ListStudio) -> None:
    active, idle = (str(each) for each in list_studio.studio.ids["instructor"])
    assert await list_studio.ids("/instructors") == [active]
    assert (await list_studio.get(f"/instructors/{idle}")).json()["active"] is False
    assert (await list_studio.get(f"/instructors/{active}")).json()["active"] is True
    foreign = await list_studio.get(f"/instructors/{uuid4()}")
    assert (foreign.status, foreign.json()["error"]["param"]) == (404, "instructor_id")


async def test_drafts_only_when_asked_for(list_studio: ListStudio) -> None:
    published, draft, archived = (str(each) for each in list_studio.studio.ids["form"])
    assert await list_studio.ids("/forms") == [published]
    assert await list_studio.ids("/forms", {"include_drafts": "false"}) == [published]
    assert await list_studio.ids("/forms", {"include_drafts": "true"}) == [archived, draft, published]


# Filters that find nothing.


@pytest.mark.parametrize(
    ("path", "name"),
    [("/bookings", "class_id"), ("/bookings", "member_id"), ("/waitlist", "class_id"), ("/purchases", "member_id")],
)
async def test_filters_that_find_nothing(list_studio: ListStudio, path: str, name: str) -> None:
    assert await list_studio.ids(path, {name: uuid4()}) == []
    upper = {name: str(list_studio.studio.first(name.removesuffix("_id"))).upper()}
    assert await list_studio.ids(path, upper) != [], "upper case is accepted"
    for wrong in ("", "nonsense", "{" + str(uuid4()) + "}", uuid4().hex, f"urn:uuid:{uuid4()}"):
        assert (await list_studio.get(path, {name: wrong})).status == 422


# Cursors.


async def test_a_cursor_whose_row_left_the_filter_still_works(list_studio: ListStudio) -> None:
    connection = list_studio.api.connection
    cases = [
        (
            "/bookings",
            {"status": "confirmed"},
            "update bookings set status = $2 where id = $1",
            "cancelled",
            "confirmed",
        ),
        ("/classes", {"status": "cancelled"}, "update classes set status = $2 where id = $1", "scheduled", "cancelled"),
        ("/products", {"active": "true"}, "update products set active = $2 where id = $1", False, True),
    ]
    for path, query, statement, out, back in cases:
        expected = await walk(list_studio, path, 200, **query)
        page = (await list_studio.get(path, {**query, "limit": 2})).json()
        last = UUID(page["next_cursor"])
        await connection.execute(statement, last, out)
        rest = await list_studio.ids(path, {**query, "cursor": last})
        assert [row["id"] for row in page["data"]] + rest == expected, path
        await connection.execute(statement, last, back)


async def test_a_cursor_of_another_list_is_none(list_studio: ListStudio) -> None:
    paths = ["/locations", "/rooms", "/class-types", "/instructors", "/classes", "/products", "/forms", "/leads"]
    paths += ["/members", "/bookings", "/waitlist", "/purchases"]
    first = {path: (await list_studio.ids(path))[0] for path in paths}
    for path, other in itertools.product(paths, paths):
        answer = await list_studio.get(path, {"cursor": first[other]})
        assert answer.status == (200 if path == other else 400), (path, other)
        assert path == other or answer.code == "invalid_cursor"


async def test_a_cursor_of_another_parent_is_none(list_studio: ListStudio) -> None:
    parents = {
        "/members/{}/memberships": list_studio.studio.ids["member"],
        "/forms/{}/submissions": list_studio.studio.ids["form"],
        "/classes/{}/spots": list_studio.studio.ids["class"][:2],
    }
    for path, (one, other, *_) in parents.items():
        own, foreign = (await list_studio.ids(path.format(one)))[0], (await list_studio.ids(path.format(other)))[0]
        assert (await list_studio.get(path.format(one), {"cursor": own})).status == 200
        assert (await list_studio.get(path.format(one), {"cursor": foreign})).code == "invalid_cursor", path


@pytest.mark.parametrize("cursor", ["", " ", "nonsense", "0", NOBODY, NOBODY.replace("-", ""), f"{{{NOBODY}}}", "%00"])
@pytest.mark.parametrize("path", ["/classes", "/locations", "/bookings"])
async def test_what_is_no_cursor(list_studio: ListStudio, path: str, cursor: str) -> None:
    answer = await list_studio.get(path, {"cursor": cursor})
    assert (answer.status, answer.code) == (400, "invalid_cursor")
    assert answer.json()["error"]["param"] == "cursor"


async def test_a_cursor_in_upper_case_is_the_same_cursor(list_studio: ListStudio) -> None:
    cursor = (await list_studio.ids("/members"))[4]
    assert await list_studio.ids("/members", {"cursor": cursor.upper()}) == await list_studio.ids(
        "/members", {"cursor": cursor}
    )


async def test_unknown_parents_do_not_exist(list_studio: ListStudio) -> None:
    for path in ("/members/{}/memberships", "/forms/{}/submissions", "/classes/{}/spots"):
        assert (await list_studio.get(path.format(uuid4()))).code == "not_found"


async def test_a_class_without_chosen_spots_has_none(list_studio: ListStudio) -> None:
    assert await list_studio.ids(f"/classes/{list_studio.studio.ids['class'][2]}/spots") == []
