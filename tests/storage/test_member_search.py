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

pytestmark = pytest.mark.anyio
STUDIO = UUID("00000000-0000-4000-8000-000000000001")
FILL = """
    set session_replication_role = replica;
    insert into members (studio_id, id, first_name, last_name, email, phone)
    select '{studio}', gen_random_uuid(), 'First' || n, 'Last' || 100000 - n, 'person' || n || '@example.com',
           '+1212' || lpad(n::text, 7, '0')
    from generate_series(1, 100000) n;
    analyze members;
    set session_replication_role = origin"""


@pytest.fixture(scope="module")
async def connection(anyio_backend: object, new_database: Callable[[], str]) -> AsyncIterator[asyncpg.Connection]:
    opened = await asyncpg.connect(new_database(), server_settings=SESSION)
    await opened.execute("set statement_timeout = 0")
    await opened.execute(FILL.format(studio=STUDIO))
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
