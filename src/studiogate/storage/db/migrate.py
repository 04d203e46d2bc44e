"""Schema migrations: plain SQL in dbmate's format, applied once each, in order, under an advisory lock.

A migration runs beside processes of the release before. Lines ``-- migrate:step`` divide it into transactions, each of
which takes one kind of lock, on one table if possible: a transaction that locks a table and then needs another lock
can deadlock with bookings. A step that cannot get its lock in half a second gives way to the requests that wait behind
it and is tried again; PostgreSQL looks for deadlocks after a second only, so none of them is chosen as the victim.

Nothing blocks writers while it reads a whole table. A step that creates an index ``concurrently``, which no transaction
can, does so before its transaction, unless the table is empty. A change of many rows is limited to some of them and
follows a line ``-- migrate:repeat``: it is repeated, each time in its own transaction, until it changes no row.

An applied migration must never change: its checksum is stored and compared. The lines that divide it do not count.
"""

import asyncio
import hashlib
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import NamedTuple

import asyncpg

from studiogate import clock
from studiogate.storage.db.pool import Connection

LOCK = 7_311_925_002_117_402  # an arbitrary number of our own: one migrator at a time per database
ONE_AT_A_TIME = "select pg_advisory_xact_lock($1)"
UP, DOWN = "-- migrate:up", "-- migrate:down"
DIVIDER = re.compile(r"^-- migrate:(step|repeat)\n", re.MULTILINE)
INDEX = re.compile(r"^create (?:unique )?index concurrently (?P<name>\w+)\s+on (?P<table>\w+)", re.MULTILINE)
TIMEOUTS = "set local lock_timeout = '500ms'; set local statement_timeout = '10min'"
# A concurrent build waits for earlier transactions without blocking anybody.
PATIENT, AS_BEFORE = (
    "set lock_timeout = 0; set statement_timeout = '10min'",
    "reset lock_timeout; reset statement_timeout",
)
IS_VALID = "select indisvalid from pg_index where indexrelid = to_regclass($1)"
IS_BEING_BUILT = "select exists (select from pg_stat_progress_create_index where relid = to_regclass($1))"
TRIED_FOR_SECONDS = 120.0
PAUSE_SECONDS = 0.25
LOCKED = (asyncpg.DeadlockDetectedError, asyncpg.LockNotAvailableError)


class MigrationError(Exception):
    """The database's migration history does not match ours, or a migration cannot get its locks."""


class Step(NamedTuple):
    sql: str
    repeats: bool = False

    @property
    def built(self) -> re.Match[str] | None:
        """Return the name and the table of the index that the step builds concurrently, if it does."""
        return INDEX.search(self.sql)


@dataclass(frozen=True, slots=True)
class Migration:
    version: str
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        return _checksum(DIVIDER.sub("", self.sql))

    @property
    def steps(self) -> list[Step]:
        first, *others = DIVIDER.split(self.sql)
        steps = [Step(first), *(Step(sql, kind == "repeat") for kind, sql in zip(*[iter(others)] * 2, strict=True))]
        return [step for step in steps if step.sql]


# What is reported of each step before it is tried: its migration, its number, and why the last attempt failed.
Report = Callable[[Migration, int, str | None], None]


def _report_nothing(_migration: Migration, _step: int, _problem: str | None) -> None:
    pass


@cache  # Called by every /readyz, also in a process that can no longer read the files.
def migrations() -> list[Migration]:
    folder = resources.files("studiogate.storage.db") / "migrations"
    files = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".sql")), key=lambda entry: entry.name)
    texts = [entry.read_text().split(UP, 1)[1].split(DOWN, 1)[0].strip() for entry in files]
    names = [entry.name.removesuffix(".sql").split("_", 1) for entry in files]
    return [Migration(version, name, text) for (version, name), text in zip(names, texts, strict=True)]


def _checksum(sql: str) -> str:
    return hashlib.sha256(sql.encode()).hexdigest()


async def pending(connection: Connection) -> list[Migration]:
    """Return migrations of which a step is not applied; raise if an applied one is unknown here or has changed."""
    applied = {version: checksum for version, checksum in (await _recorded(connection)).items() if "." not in version}
    known = {migration.version: migration for migration in migrations()}
    for version, checksum in applied.items():
        if version not in known:
            raise MigrationError(
                f"The database has migration {version}, which this Studiogate does not know: upgrade Studiogate."
            )
        if known[version].checksum != checksum:
            raise _changed(version)
    return [migration for version, migration in known.items() if version not in applied]


async def migrate(
    connection: Connection, only: Collection[str] | None = None, report: Report = _report_nothing
) -> list[Migration]:
    """Apply pending migrations, or ``only`` these versions, step by step; return those that were completed here."""
    async with connection.transaction():
        await connection.execute(ONE_AT_A_TIME, LOCK)
        await connection.execute(
            "create table if not exists schema_migrations"
            " (version text primary key, checksum text not null, applied_at timestamptz not null default now())"
        )
    todo = [each for each in await pending(connection) if only is None or each.version in only]
    return [migration for migration in todo if await _apply(connection, migration, report)]


async def _apply(connection: Connection, migration: Migration, report: Report) -> bool:
    """Apply the steps of a migration; return whether this process applied the last one."""
    last = False
    for number in range(1, len(migration.steps) + 1):
        last = await _apply_patiently(connection, migration, number, report)
    return last


async def _apply_patiently(connection: Connection, migration: Migration, number: int, report: Report) -> bool:
    """Apply a step, again and again while its locks are taken."""
    problem, end = None, clock.monotonic() + TRIED_FOR_SECONDS
    while problem is None or clock.monotonic() < end:
        report(migration, number, problem)
        try:
            await _prepare(connection, migration.steps[number - 1])
            return await _apply_step(connection, migration, number)
        except LOCKED as error:
            problem = str(error)
        await asyncio.sleep(PAUSE_SECONDS)
    raise MigrationError(
        f"Step {number} of migration {migration.version} got no lock within {TRIED_FOR_SECONDS:.0f} s: {problem}. The "
        "steps before it are kept. End the transactions that hold the lock (pg_stat_activity lists them), then run "
        "`studiogate migrate` again."
    )


async def _prepare(connection: Connection, step: Step) -> None:
    """Do what the transaction of a step must not do, because it would keep locks for too long."""
    if (index := step.built) is not None:
        await _build_index(connection, step.sql, index["name"], index["table"])
    while step.repeats:
        async with connection.transaction():
            await connection.execute(TIMEOUTS)
            status = await connection.execute(step.sql)
        if status.endswith(" 0"):
            break


async def _build_index(connection: Connection, sql: str, name: str, table: str) -> None:
    """Build an index, unless it is there or its table is empty. What a failed attempt left behind is dropped first."""
    while not await connection.fetchval(IS_VALID, name):
        if await connection.fetchval(IS_BEING_BUILT, table):  # by another process
            await asyncio.sleep(PAUSE_SECONDS)
            continue
        is_left_behind = await connection.fetchval("select to_regclass($1) is not null", name)
        if not is_left_behind and not await connection.fetchval(f"select exists (select from {table})"):
            break
        await connection.execute(PATIENT)
        try:
            if is_left_behind:
                await connection.execute(f"drop index concurrently if exists {name}")
            await connection.execute(sql)
        except asyncpg.DuplicateTableError:  # another process began at the same moment
            continue
        finally:
            await connection.execute(AS_BEFORE)


async def _apply_step(connection: Connection, migration: Migration, number: int) -> bool:
    """Apply a step; return False if another process did so first. The lock belongs to the transaction and not to the
    session: behind a connection pooler, two transactions need not share a session.

    Until the last step is done, a row records each: its version is the migration's with the number of the step."""
    version, steps = migration.version, migration.steps
    sql, index = steps[number - 1].sql, steps[number - 1].built
    async with connection.transaction():
        await connection.execute(ONE_AT_A_TIME, LOCK)
        rows = await _recorded(connection)
        if version in rows or (done := rows.get(f"{version}.{number}")) == _checksum(sql):
            return False
        if done is not None:
            raise _changed(version)
        await connection.execute(TIMEOUTS)
        if index is None:
            await connection.execute(sql)
        elif not await connection.fetchval(IS_VALID, index["name"]):
            await connection.execute(sql.replace(" concurrently ", " "))
        if number == len(steps):
            await connection.execute("delete from schema_migrations where version like $1", f"{version}.%")
            row = version, migration.checksum
        else:
            row = f"{version}.{number}", _checksum(sql)
        await connection.execute("insert into schema_migrations (version, checksum) values ($1, $2)", *row)
    return True


def _changed(version: str) -> MigrationError:
    return MigrationError(f"Migration {version} has changed since it was applied: restore the released file.")


async def _recorded(connection: Connection) -> dict[str, str]:
    if await connection.fetchval("select to_regclass('schema_migrations')") is None:
        return {}
    rows = await connection.fetch("select version, checksum from schema_migrations order by version")
    return {row["version"]: row["checksum"] for row in rows}
