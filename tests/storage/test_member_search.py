"""Finding members reads a few rows of a studio with 100,000 members."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from studiogate.domain.access import operator_access
from studiogate.storage import member_search
from studiogate.storage.db.pool import SESSION
from studiogate.storage.member_list import MemberFilters

pytestmark = pytest.mark.anyio
STUDIO = UUID("00000000-0000-4000-8000-000000000001")
FILL = """
    set session_replication_role = replica;
    insert into members (studio_id, id, first_name, last_name, email, phone)
    select '{studio}', gen_random_uuid(), 'First' || n, 'Last' || {people} - n, 'person' || n || '@example.com',
           '+1212' || lpad(n::text, 7, '0')
    from generate_series(1, {people}) n;
    analyze members;
    set session_replication_role = origin"""


@pytest.fixture(scope="module")
async def connection(anyio_backend: object, new_database: Callable[[], str]) -> AsyncIterator[asyncpg.Connection]:
    opened = await asyncpg.connect(new_database(), server_settings=SESSION)
    await opened.execute("set statement_timeout = 0")
    await opened.execute(FILL.format(studio=STUDIO, people=100_000))
    yield opened
    await opened.close()


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for each in plan.get("Plans", ()):
        yield from nodes(each)


def rows_read(plan: dict[str, Any]) -> int:
    """Return how many rows of tables a plan read, those it then dropped included."""
    scans = [each for each in nodes(plan) if each.get("Relation Name") == "members"]
    assert scans
    return sum((each["Actual Rows"] + each.get("Rows Removed by Filter", 0)) * each["Actual Loops"] for each in scans)


@pytest.mark.parametrize(
    ("word", "digits", "found"),
    [("first7777", None, 11), ("LAST22223", None, 1), ("person77777@", None, 1), ("2120077777", "7777700212", 1)],
)
async def test_a_search_reads_what_it_finds(
    connection: asyncpg.Connection, word: str, digits: str | None, found: int
) -> None:
    arguments = (STUDIO, 100, word, digits, [word])
    explained = await connection.fetchval(
        f"explain (analyze, timing off, format json) {member_search.BY_WORDS}", *arguments
    )
    plan = json.loads(explained)[0]["Plan"]
    assert plan["Actual Rows"] == found
    assert rows_read(plan) <= 3 * found
    text = word if digits is None else "(212) 007-7777"
    rows = await member_search.find(connection, operator_access(STUDIO), text, 100)
    assert len(rows) == found


async def test_other_studios_are_not_read(connection: asyncpg.Connection) -> None:
    assert list(await member_search.find(connection, operator_access(UUID(int=2)), "first7777", 100)) == []


SIMILAR = [
    ("Lucai", "Lucía Gómez"),
    ("gomes", "Lucía Gómez"),
    ("Ferrnte", "Ada Ferrante"),
    ("ferrantee", "Ada Ferrante"),
    ("Fwrrante", "Ada Ferrante"),
    ("lucai gomes", "Lucía Gómez"),
    ("Lucai gom", "Lucía Gómez"),
    ("lu gomes", "Lucía Gómez"),
    ("obrien", "Tom O\u2019Brien"),
    ("van der Brg", "Jo van der Berg"),
    ("jo anne", "Jo-Ann Lee"),
    ("frrnte", None),
    ("Ruiz", None),
]
PEOPLE = (("Lucía", "Gómez"), ("Ada", "Ferrante"), ("Tom", "O\u2019Brien"), ("Jo", "van der Berg"), ("Jo-Ann", "Lee"))
OTHER = UUID("00000000-0000-4000-8000-000000000003")
INSERT = "insert into members (studio_id, id, first_name, last_name) values ($1, gen_random_uuid(), $2, $3)"


async def found(connection: asyncpg.Connection, text: str, studio: UUID = OTHER, limit: int = 20) -> list[str]:
    page = await member_search.search(connection, operator_access(studio), text, MemberFilters(), (None, limit))
    return [each["name"] for each in page.rows]


@pytest.fixture(scope="module")
async def small(connection: asyncpg.Connection) -> asyncpg.Connection:
    """Yield the large studio's database with a second studio, in which few people are."""
    await connection.execute("set session_replication_role = replica")
    for person in PEOPLE:
        await connection.execute(INSERT, OTHER, *person)
    await connection.execute("set session_replication_role = origin")
    return connection


@pytest.mark.parametrize(("text", "name"), SIMILAR)
async def test_one_wrong_letter_in_each_word_is_forgiven(
    small: asyncpg.Connection, text: str, name: str | None
) -> None:
    assert await found(small, text) == ([] if name is None else [name])
    assert await found(small, text, UUID(int=2)) == [], "another studio"


async def test_names_as_they_are_written_come_first(small: asyncpg.Connection) -> None:
    transaction = small.transaction()
    await transaction.start()
    await small.execute("set local session_replication_role = replica")
    for first, last in (("Mario", "Adams"), ("Maria", "Young"), ("Marja", "Bell")):
        await small.execute(INSERT, OTHER, first, last)
    everybody = ["Maria Young", "Mario Adams", "Marja Bell"]
    for limit in (1, 2, 3, 4):
        assert await found(small, "Maria", limit=limit) == everybody[:limit]
    erased = "update members set erased_at = now() where studio_id = $1 and first_name = 'Mario'"
    await small.execute(erased, OTHER)
    assert "Mario Adams" not in await found(small, "Maria")
    await transaction.rollback()


READ = """
    select sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) from pg_stat_xact_user_tables where relname = 'members'"""


async def test_a_plan_that_was_made_without_members_reads_few_of_many(new_database: Callable[[], str]) -> None:
    connection = await asyncpg.connect(new_database(), server_settings=SESSION)
    texts = ("Frst7777", "lsat22223", "first77 lsat9992", "Frst777 last9222", "Frst7777 lsat92223 third")
    for text in texts:
        await found(connection, text, STUDIO)
    await connection.execute("set statement_timeout = 0")
    await connection.execute(FILL.format(studio=STUDIO, people=10_000).replace("analyze members", "select"))
    async with connection.transaction():
        for text in texts:
            before = await connection.fetchval(READ)
            await found(connection, text, STUDIO)
            assert await connection.fetchval(READ) - before < 1000, text
    await connection.close()
