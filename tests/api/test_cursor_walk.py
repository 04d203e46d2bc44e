"""A cursor walk is complete and free of duplicates while four writers run."""

import asyncio
import itertools
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from tests.support.battery import Tally, sized
from tests.support.direct_client import ask
from tests.support.partner_api import PartnerApi, open_partner_api
from tests.support.seed import Studio, issue_key, seed_studio

pytestmark = pytest.mark.anyio

ROWS = 500
LIMIT = 7
_numbers = itertools.count(1)
FILL = """
    insert into classes (studio_id, id, title, location_id, start_time, end_time, capacity)
    select '{studio}'::uuid, gen_random_uuid(), 'c', ('{{{places}}}'::uuid[])[1 + n % 2], t, t + interval '1 hour', 10
    from generate_series(1, {rows}) n, lateral (select now() + (n % 100) * interval '1 hour') x(t);

    insert into members (studio_id, id, first_name, last_name, email, created_at)
    select '{studio}'::uuid, gen_random_uuid(), 'm', 'm', 'm' || n || '@walk.example',
           now() - (n % 100) * interval '1 hour'
    from generate_series(1, {rows}) n;

    insert into leads (studio_id, id, email, created_at)
    select '{studio}'::uuid, gen_random_uuid(), 'l' || n || '@walk.example', now() - (n % 100) * interval '1 hour'
    from generate_series(1, {rows}) n;

    insert into bookings (studio_id, id, class_id, member_id, location_id, start_time, end_time, status, created_at)
    select '{studio}'::uuid, gen_random_uuid(), c.id, m.id, c.location_id, c.start_time, c.end_time, 'confirmed',
           m.created_at
    from (select *, row_number() over (order by id) as n from classes where studio_id = '{studio}') c
    join (select *, row_number() over (order by id) as n from members where studio_id = '{studio}') m using (n)
    on conflict do nothing"""

# The writers' statements: each takes the studio and a random number, and affects different rows every time.
INSERT = {
    "classes": """
        insert into classes (studio_id, id, title, location_id, start_time, end_time, capacity)
        select studio_id, gen_random_uuid(), 'new', location_id, start_time + ($2 % 5) * interval '1 minute',
               end_time + ($2 % 5) * interval '1 minute', 10
        from classes where studio_id = $1 offset $2 % 400 limit 1""",
    "members": """
        insert into members (studio_id, id, first_name, last_name, created_at)
        select studio_id, gen_random_uuid(), 'new', 'new', case when $2 % 2 = 0 then now() else created_at end
        from members where studio_id = $1 offset $2 % 400 limit 1""",
    "leads": """
        insert into leads (studio_id, id, email, created_at)
        select studio_id, gen_random_uuid(), gen_random_uuid() || '@new.example',
               case when $2 % 2 = 0 then now() else created_at end
        from leads where studio_id = $1 offset $2 % 400 limit 1""",
    "bookings": """
        insert into bookings (studio_id, id, class_id, member_id, location_id, start_time, end_time, status, created_at)
        select b.studio_id, gen_random_uuid(), b.class_id, m.id, b.location_id, b.start_time, b.end_time, 'cancelled',
               case when $2 % 2 = 0 then now() else b.created_at end
        from (select * from bookings where studio_id = $1 offset $2 % 400 limit 1) b,
             (select id from members where studio_id = $1 offset $2 / 7 % 400 limit 1) m""",
}
CHANGE = {
    "classes": "status = case when status = 'cancelled' then 'scheduled' else 'cancelled' end",
    "members": "role = case when role = 'member' then 'user' else 'member' end, email = null",
    "leads": "status = case when status = 'new' then 'lost' else 'new' end, metadata = metadata || '{\"a\": 1}'",
    "bookings": "status = case status when 'confirmed' then 'checked_in' else 'cancelled' end, class_spot_id = null",
}
UPDATE = "update {0} set {1} where studio_id = $1 and id in (select id from {0} where studio_id = $1 {2} limit 5)"


@dataclass
class WalkStudio:
    api: PartnerApi
    studio: Studio
    url: str
    keys: dict[str, str]


@pytest.fixture(scope="module")
async def walk_api(anyio_backend: object, new_database: Callable[[], str]) -> AsyncIterator[tuple[str, PartnerApi]]:
    url = new_database()
    async for api in open_partner_api(url, rate_limit=0):
        yield url, api


@pytest.fixture
def size() -> int:
    """The number of rows of each kind."""
    return ROWS


@pytest.fixture
async def walk_studio(walk_api: tuple[str, PartnerApi], size: int) -> WalkStudio:
    """A separate studio for each test."""
    url, api = walk_api
    studio = await seed_studio(api.connection, f"walk-{next(_numbers)}")
    places = ",".join(map(str, studio.ids["location"]))
    await api.connection.execute(FILL.format(studio=studio.studio_id, places=places, rows=size))
    keys = {"all": await issue_key(api.connection, studio)}
    keys["both places"] = await issue_key(api.connection, studio, locations=studio.ids["location"])
    keys["one place"] = await issue_key(api.connection, studio, locations=studio.ids["location"][:1])
    return WalkStudio(api, studio, url, keys)


@asynccontextmanager
async def writers(walk_studio: WalkStudio, table: str, spared: Sequence[UUID] = ()) -> AsyncIterator[list[int]]:
    """Run four writers: two insert rows, two change existing rows except the spared ones."""
    done = [0, 0, 0, 0]
    spare = f"and id <> all('{{{','.join(map(str, spared))}}}') " if spared else ""
    changes = [UPDATE.format(table, CHANGE[table], spare + order) for order in ("order by id", "order by updated_at")]

    async def write(number: int, statement: str) -> None:
        connection = await asyncpg.connect(walk_studio.url)
        dice = random.Random(number)
        try:
            while True:
                values = [walk_studio.studio.studio_id, dice.randrange(10**6)][: 1 + ("$2" in statement)]
                await _whatever_happens(connection.execute(statement, *values))
                done[number] += 1
        finally:
            await connection.close()

    statements = [INSERT[table], INSERT[table], *changes]
    tasks = [asyncio.create_task(write(number, each)) for number, each in enumerate(statements)]
    while not all(done):
        await asyncio.sleep(0.005)
        assert not any(task.done() for task in tasks), [task.exception() for task in tasks if task.done()]
    try:
        yield done
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _whatever_happens(statement: Awaitable[Any]) -> None:
    """Ignore a deadlock between two writers and a duplicate booking: one of the two writers then does nothing."""
    try:
        await statement
    except (asyncpg.DeadlockDetectedError, asyncpg.UniqueViolationError):
        await asyncio.sleep(0)


async def walk(walk_studio: WalkStudio, path: str, key: str, **query: Any) -> list[str]:
    ids: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        answer = await ask(
            walk_studio.api.app, "GET", path, walk_studio.keys[key], query={"limit": LIMIT, **query, **cursor}
        )
        assert answer.status == 200, answer.body
        page = answer.json()
        ids += [row["id"] for row in page["data"]]
        if not page["has_more"]:
            return ids
        cursor = {"cursor": page["next_cursor"]}


WALKS = [
    ("/classes", "classes", "all"),
    ("/bookings", "bookings", "all"),
    ("/leads", "leads", "all"),
    ("/members", "members", "all"),
    ("/classes", "classes", "both places"),
    ("/bookings", "bookings", "both places"),
    ("/bookings", "bookings", "one place"),
]


@sized(ROWS, 10 * ROWS, "pagination", "rows")
@pytest.mark.parametrize(("path", "table", "key"), WALKS)
async def test_every_row_exactly_once(
    walk_studio: WalkStudio, tally: Tally, path: str, table: str, key: str, size: int
) -> None:
    """A row that existed before the walk is returned once; a row that was added meanwhile, at most once."""
    before = set(await walk(walk_studio, path, key))
    assert len(before) >= (size if key != "one place" else size // 2)
    async with writers(walk_studio, table) as done:
        at_start = sum(done)
        found = await walk(walk_studio, path, key)
        written = sum(done) - at_start
        assert written > 20, "the writers did not get to write"
    tally.add(pages=len(found) // LIMIT + 1, writes_meanwhile=written)
    assert len(found) == len(set(found)), "a row came twice"
    assert before - set(found) == set(), "a row was lost"


@pytest.mark.parametrize("key", ["all", "both places"])
@pytest.mark.parametrize(
    ("path", "table", "query"),
    [
        ("/bookings", "bookings", {"status": "confirmed"}),
        ("/bookings", "bookings", {"updated_after": "2020-01-01T00:00:00Z"}),
        ("/classes", "classes", {"status": "scheduled"}),
    ],
)
async def test_every_row_that_matches_throughout(
    walk_studio: WalkStudio, path: str, table: str, query: dict[str, str], key: str
) -> None:
    """Cursors fall on rows that stop matching the filter; every row that keeps matching is returned once."""
    before = await walk(walk_studio, path, key, **query)
    stable = before[::3]
    async with writers(walk_studio, table, [UUID(each) for each in stable]):
        found = await walk(walk_studio, path, key, **query)
    assert len(found) == len(set(found))
    assert set(stable) - set(found) == set()


async def test_the_writers_would_break_a_walk_by_offset(walk_studio: WalkStudio) -> None:
    """Prove that the tests above can fail: with the same writers, pages by offset lose or repeat rows."""
    statement = "select id from leads where studio_id = $1 order by created_at desc, id desc limit $2 offset $3"
    found: list[UUID] = []
    async with writers(walk_studio, "leads"):
        for offset in range(0, ROWS, LIMIT):
            rows = await walk_studio.api.connection.fetch(statement, walk_studio.studio.studio_id, LIMIT, offset)
            found += [row["id"] for row in rows]
    assert len(found) != len(set(found))


MOVED = "update classes set start_time = start_time + $2, end_time = end_time + $2 where id = $1"


@pytest.mark.parametrize("by", [timedelta(days=365), timedelta(days=-365)])
async def test_a_cursor_follows_its_class(walk_studio: WalkStudio, by: timedelta) -> None:
    """Decision 12: the walk continues from the new position of the class that ended the page."""
    first = (await ask(walk_studio.api.app, "GET", "/classes", walk_studio.keys["all"], query={"limit": LIMIT})).json()
    await walk_studio.api.connection.execute(MOVED, UUID(first["next_cursor"]), by)
    now = await walk(walk_studio, "/classes", "all")
    rest = await walk(walk_studio, "/classes", "all", cursor=first["next_cursor"])
    assert rest == now[now.index(first["next_cursor"]) + 1 :]


async def test_a_walk_by_time_misses_no_class_that_is_moved(walk_studio: WalkStudio) -> None:
    """As the introduction advises: use the last row's time as the next request's bound, and skip known ids."""
    before = set(await walk(walk_studio, "/classes", "all"))
    found: dict[str, None] = {}
    query: dict[str, Any] = {"limit": 100}
    while True:
        page = (await ask(walk_studio.api.app, "GET", "/classes", walk_studio.keys["all"], query=query)).json()
        found |= dict.fromkeys(row["id"] for row in page["data"])
        if not page["has_more"]:
            break
        # The last class of each page is moved before the next page is read.
        await walk_studio.api.connection.execute(MOVED, UUID(page["data"][-1]["id"]), timedelta(days=365))
        assert page["data"][-1]["start_time"] > query.get("starts_after", ""), "a page holds more than one time"
        query["starts_after"] = page["data"][-1]["start_time"]
    assert before - found.keys() == set()
