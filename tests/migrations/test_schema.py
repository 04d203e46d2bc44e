"""The schema built by the migrations equals the one in storage/db/schema.sql."""

from importlib import resources

import asyncpg
import pytest

from tests.support.databases import with_database

pytestmark = pytest.mark.anyio

CATALOG = {
    "columns": """
        select table_name, column_name, data_type, domain_name, is_nullable, column_default, generation_expression
        from information_schema.columns where table_schema = 'public' order by 1, 2""",
    "constraints": """
        select conrelid::regclass::text, contypid::regtype::text, conname, pg_get_constraintdef(oid) from pg_constraint
        where connamespace = 'public'::regnamespace and contype <> 'n' order by 1, 2, 3""",
    "indexes": "select tablename, indexname, indexdef from pg_indexes where schemaname = 'public' order by 1, 2",
    "triggers": """
        select tgrelid::regclass::text, tgname, pg_get_triggerdef(oid) from pg_trigger
        where not tgisinternal order by 1, 2""",
    "functions": """
        select proname, pg_get_functiondef(oid) from pg_proc where pronamespace = 'public'::regnamespace order by 1""",
}


async def _catalog(url: str) -> dict[str, list[tuple[object, ...]]]:
    connection = await asyncpg.connect(url)
    try:
        return {name: [tuple(row) for row in await connection.fetch(query)] for name, query in CATALOG.items()}
    finally:
        await connection.close()


async def test_a_fresh_schema_equals_the_migrated_one(server_url: str, database_url: str) -> None:
    name = "studiogate_fresh_schema"
    admin = await asyncpg.connect(server_url)
    await admin.execute(f"drop database if exists {name} with (force)")
    await admin.execute(f"create database {name}")
    fresh_url = with_database(server_url, name)
    fresh = await asyncpg.connect(fresh_url)
    await fresh.execute((resources.files("studiogate.storage.db") / "schema.sql").read_text())
    await fresh.close()
    built, shown = await _catalog(database_url), await _catalog(fresh_url)
    await admin.execute(f"drop database {name} with (force)")
    await admin.close()
    for kind in CATALOG:
        assert shown[kind] == built[kind], f"{kind} differ: run `make schema`"


async def test_every_state_set_is_held_by_a_check(connection: asyncpg.Connection) -> None:
    """An unknown state cannot be stored: its table or its domain forbids it. The status of a response is no state."""
    checked = await connection.fetch(
        "select conrelid::regclass::text as name from pg_constraint where contype = 'c'"
        " and pg_get_constraintdef(oid) like '%status%' union"
        " select d.table_name from information_schema.column_domain_usage d"
        " join pg_constraint c on c.contypid = d.domain_name::regtype and c.contype = 'c'"
        " where d.column_name = 'status'"
    )
    with_status = await connection.fetch(
        "select table_name as name from information_schema.columns where table_schema = 'public'"
        " and column_name = 'status' and table_name not in ('idempotency_keys', 'request_log')"
    )
    assert {row["name"] for row in with_status} <= {row["name"] for row in checked}
