"""Migrations run once each, in order, in one process at a time; a migration that was changed is refused."""

import asyncio

import asyncpg
import pytest

from studiogate.storage.db import migrate
from studiogate.storage.db.migrate import MigrationError
from tests.support.databases import with_database
from tests.support.seed import insert, seed_studio

pytestmark = pytest.mark.anyio


@pytest.fixture
async def empty_database(server_url: str, request: pytest.FixtureRequest) -> str:
    name = f"studiogate_migrate_{abs(hash(request.node.name)) % 10**9}"
    connection = await asyncpg.connect(server_url)
    await connection.execute(f"drop database if exists {name} with (force)")
    await connection.execute(f"create database {name}")
    await connection.close()
    return with_database(server_url, name)


async def test_applies_each_migration_once(empty_database: str) -> None:
    connection = await asyncpg.connect(empty_database)
    applied = await migrate.migrate(connection)
    assert [each.version for each in applied] == [each.version for each in migrate.migrations()]
    assert await migrate.migrate(connection) == []
    assert await migrate.pending(connection) == []
    await connection.close()


async def test_two_migrators_at_once_apply_everything_once(empty_database: str) -> None:
    connections = [await asyncpg.connect(empty_database) for _ in range(3)]
    applied = await asyncio.gather(*(migrate.migrate(each) for each in connections))
    versions = [each.version for each in migrate.migrations()]
    assert sorted(each.version for shared in applied for each in shared) == versions, "each by one of them"
    order = await connections[0].fetch(
        "select * from schema_migrations union all select * from schema_migrations_since order by applied_at"
    )
    assert [row["version"] for row in order] == versions
    for each in connections:
        await each.close()


async def test_a_filled_database_keeps_its_rows_and_its_rules(
    empty_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Starts before states became domains: existing rows stay, and values that were refused are still refused."""
    every, connection = migrate.migrations(), await asyncpg.connect(empty_database)
    with monkeypatch.context() as before:
        before.setattr(migrate, "migrations", lambda: [each for each in every if each.version <= "0020"])
        await migrate.migrate(connection)
    await seed_studio(connection)
    tables = ("bookings", "classes", "memberships", "events")
    rows = {table: await connection.fetch(f"select * from {table} order by id") for table in tables}
    assert all(rows.values())
    await migrate.migrate(connection)
    for table, before_it in rows.items():
        columns = ", ".join(before_it[0].keys())  # later migrations add columns
        assert before_it == await connection.fetch(f"select {columns} from {table} order by id")
    for change in (
        "update bookings set status = 'paid'",
        "update bookings set credits_taken = 2",
        "update classes set status = 'full'",
        "update classes set spot_selection_mode = 'never'",
        "update classes set policy = '[]'",
        "update classes set booked_count = -1",
        "update classes set booked_count = capacity + 1",
        "update memberships set status = 'gone'",
        "update events set sequence = 0",
    ):
        with pytest.raises(asyncpg.CheckViolationError):
            await connection.execute(change)
    await connection.close()


async def test_a_changed_migration_is_refused(connection: asyncpg.Connection) -> None:
    await connection.execute("update schema_migrations set checksum = 'other' where version = '0001'")
    with pytest.raises(MigrationError, match="0001 has changed"):
        await migrate.pending(connection)


async def test_a_failing_migration_leaves_nothing(empty_database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = migrate.Migration("9000", "broken", "create table half (id integer); select 1/0")
    monkeypatch.setattr(migrate, "migrations", lambda: [broken])
    connection = await asyncpg.connect(empty_database)
    with pytest.raises(asyncpg.DivisionByZeroError):
        await migrate.migrate(connection)
    assert await connection.fetchval("select to_regclass('half')") is None
    assert await migrate.pending(connection) == [broken]
    await connection.close()


async def test_old_submissions_are_verified_only_where_they_cannot_be_a_stranger_s(
    empty_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    every, connection = migrate.migrations(), await asyncpg.connect(empty_database)
    with monkeypatch.context() as before:
        before.setattr(migrate, "migrations", lambda: [each for each in every if each.version < "0027"])
        await migrate.migrate(connection)
    studio = await seed_studio(connection)
    member, (open_form, linked_form, _) = studio.first("member"), studio.ids["form"]
    await connection.execute("""update forms set settings = '{"require_auth": true}' where id = $1""", linked_form)
    submissions = {}
    for name, form, status in (("typed", open_form, "pending"), ("by link", linked_form, "pending"),
                               ("confirmed", open_form, "confirmed")):  # fmt: skip
        submissions[name] = await insert(
            connection,
            "form_submissions",
            studio_id=studio.studio_id,
            form_id=form,
            form_version=1,
            submitter_email="m@example.com",
            member_id=member,
            status=status,
        )
    sized = {"field_key": "q", "filename": "a", "content_type": "text/plain", "sha256": b"x" * 32}
    for number in range(3):
        await insert(
            connection,
            "form_uploads",
            studio_id=studio.studio_id,
            form_id=open_form,
            size=100,
            stored_name=f"{number:032x}",
            **sized,
        )
    await migrate.migrate(connection)
    rows = await connection.fetch("select id, verified, member_id from form_submissions")
    found = {row["id"]: (row["verified"], row["member_id"]) for row in rows}
    assert found[submissions["typed"]] == (False, None)
    assert found[submissions["by link"]] == found[submissions["confirmed"]] == (True, member)
    for table in ("studio_upload_usage", "form_upload_usage"):
        assert [tuple(row) for row in await connection.fetch(f"select files, bytes from {table}")] == [(3, 300)]
    await connection.close()
