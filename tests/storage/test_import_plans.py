"""An import asks whether ids belong to other studios once per table, however many rows and studios there are."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from studiogate.storage.db.pool import SESSION
from studiogate.storage.studio_file import checks
from studiogate.storage.studio_file.table_types import Table
from studiogate.storage.studio_file.tables import TABLE_BY_NAME, TABLES

pytestmark = pytest.mark.anyio
STUDIOS, ROWS, NEW_ROWS = 40, 100, 2_000
FILL = f"""
    set session_replication_role = replica;
    insert into members (studio_id, id, first_name, last_name, email)
    select md5(s::text)::uuid, md5(s || '-' || n)::uuid, 'A', 'B', s || '-' || n || '@example.com'
    from generate_series(1, {STUDIOS}) s, generate_series(1, {ROWS}) n;
    analyze members;
    create temp table {{change}} (n bigint, place text, id uuid, existing boolean);
    insert into {{change}}
    select n, format('members[%s]', n - 1), case n when 7 then md5('3-5')::uuid else gen_random_uuid() end, false
    from generate_series(1, {NEW_ROWS}) n;
    analyze {{change}}"""


def query(table: Table) -> str:
    (found,) = (each for each in checks._queries([table]) if "another studio" in each)
    return found


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for each in plan.get("Plans", []):
        yield from nodes(each)


async def test_keys_of_other_studios_are_read_once(database_url: str) -> None:
    table = TABLE_BY_NAME["members"]
    connection = await asyncpg.connect(database_url, server_settings=SESSION)
    try:
        await connection.execute(FILL.format(change=table.change))
        await connection.execute("vacuum analyze members")
        asked = query(table)
        found = await connection.fetch(asked, uuid4())
        assert [tuple(row)[:2] for row in found] == [(7, "members[6].id")]
        explained = await connection.fetchval(f"explain (analyze, timing off, format json) {asked}", uuid4())
        read = [each for each in nodes(json.loads(explained)[0]["Plan"]) if each.get("Relation Name") == "members"]
        assert [each["Actual Loops"] for each in read] == [1], "one pass over the keys, not one per row"
    finally:
        await connection.close()


def test_every_table_with_ids_is_checked() -> None:
    for table in TABLES:
        if table.identity is None:
            assert "exists" not in query(table)
