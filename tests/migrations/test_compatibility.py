"""Processes of earlier releases work on a newer schema, except where a migration says that they do not."""

import re

import asyncpg
import pytest

from studiogate.storage.db import health, migrate
from studiogate.storage.db.migrate import FIRST_RELEASE, Migration, MigrationError
from studiogate.storage.db.pool import Database
from tests.support.releases import RELEASES

pytestmark = pytest.mark.anyio

KNOWN = migrate.migrations()[-1].version
EXPANDS = Migration("9000", "expands", "alter table leads add column nickname text;")
CONTRACTS = f"-- migrate:needs {KNOWN}\nalter table leads drop column nickname;"
# What takes something away, with its name.
CONTRACTING = re.compile(
    r"\b(?:drop (?:table|column|view|function|type|domain)|rename column|alter table(?= \w+ rename to )"
    r"|alter column(?= \w+ (?:set not null|drop default|type |set data type )))"
    r" (?:if exists )?(?P<name>\w+)"
)
BREAKS = "-- migrate:needs 9000\nalter table leads rename column email to address;"


async def upgraded(connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch, *later: Migration) -> None:
    """Apply the migrations of a later release; afterwards this process knows its own again."""
    with monkeypatch.context() as release:
        every = [*migrate.migrations(), *later]
        release.setattr(migrate, "migrations", lambda: every)
        applied = await migrate.migrate(connection)
    assert applied == list(later)


async def problem_on(url: str) -> str | None:
    database = Database(url, 1)
    try:
        return await health.problem(database)
    finally:
        await database.close()


async def test_a_process_is_ready_on_a_newer_schema_that_names_it(
    database_url: str, connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    await upgraded(connection, monkeypatch, EXPANDS, Migration("9001", "contracts", CONTRACTS))
    assert await migrate.pending(connection) == []
    assert await migrate.migrate(connection) == [], "the release before may be started again"
    assert await problem_on(database_url) is None


async def test_a_process_is_not_ready_once_a_migration_needs_a_later_one(
    database_url: str, connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    await upgraded(connection, monkeypatch, EXPANDS, Migration("9001", "breaks", BREAKS))
    assert await problem_on(database_url) == "migrations differ"
    with pytest.raises(MigrationError, match="migration 9001, with which this release does not work: upgrade"):
        await migrate.migrate(connection)


async def test_a_step_of_such_a_migration_is_enough(
    database_url: str, connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = Migration("9001", "half", f"{BREAKS}\n-- migrate:step\nselect 1/0;")
    with pytest.raises(asyncpg.DivisionByZeroError):
        await upgraded(connection, monkeypatch, EXPANDS, half)
    assert await problem_on(database_url) == "migrations differ"


async def test_a_row_that_names_nothing_fits_nobody_else(database_url: str, connection: asyncpg.Connection) -> None:
    """The development versions before 0.2.0 wrote such rows."""
    await connection.execute("insert into schema_migrations (version, checksum) values ('9999', 'x')")
    assert await problem_on(database_url) == "migrations differ"


async def test_the_first_release_sees_only_what_it_cannot_work_with(
    connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It compares all rows of its table with the migrations that it knows."""
    seen = "select version from schema_migrations order by version"
    its_own = [each.version for each in migrate.migrations() if each.version <= FIRST_RELEASE]
    assert [row["version"] for row in await connection.fetch(seen)] == its_own
    await upgraded(connection, monkeypatch, EXPANDS, Migration("9001", "contracts", CONTRACTS))
    assert [row["version"] for row in await connection.fetch(seen)] == [*its_own, "9001"]


def contracted(migration: Migration, released: str) -> list[str]:
    """Return what a migration takes away of a released schema without saying since when no release uses it."""
    text = " ".join(migration.sql.split())
    names = [each["name"] for each in CONTRACTING.finditer(text)]
    return [] if migration.needs > FIRST_RELEASE else [name for name in names if re.search(rf"\b{name}\b", released)]


def test_migrations_only_expand_what_is_released() -> None:
    """What a release uses is taken away by the second one after it at the earliest, with `-- migrate:needs` and the
    last migration of the first release that does without."""
    last = RELEASES[-1].last_migration
    released = "\n".join(each.sql for each in migrate.migrations() if each.version <= last)
    for migration in migrate.migrations():
        if migration.version > last:
            assert contracted(migration, released) == [], f"{migration.version}: say which migration it needs"
            assert migration.needs <= last, f"{migration.version}: release {RELEASES[-1].version} could not run beside"


@pytest.mark.parametrize(
    ("sql", "name"),
    [
        ("alter table leads drop column phone;", "phone"),
        ("alter table leads\n    drop column if exists phone;", "phone"),
        ("alter table leads rename column phone to mobile;", "phone"),
        ("alter table leads rename to prospects;", "leads"),
        ("alter table leads alter column phone set not null;", "phone"),
        ("alter table leads alter column status drop default;", "status"),
        ("alter table leads alter column phone type integer;", "phone"),
        ("drop table leads;", "leads"),
        ("drop function touch;", "touch"),
    ],
)
def test_what_takes_something_away_is_found(sql: str, name: str) -> None:
    released = "create table leads (phone text, status text default 'new'); create function touch()"
    assert contracted(Migration("9000", "bare", sql), released) == [name]
    assert contracted(Migration("9000", "declared", f"-- migrate:needs 0141\n{sql}"), released) == []
    assert contracted(Migration("9000", "since", sql), "create table other ()") == []
