"""Schema migrations: plain SQL in dbmate's format, applied once each, in order, under an advisory lock.

A migration runs beside processes of the release before. Lines ``-- migrate:step`` divide it into transactions, each of
which takes one kind of lock, on one table if possible: a transaction that locks a table and then needs another lock
can deadlock with bookings. A step that cannot get its lock in half a second gives way to the requests that wait behind
it and is tried again; PostgreSQL looks for deadlocks after a second only, so none of them is chosen as the victim.

Nothing blocks writers while it reads a whole table. A step that creates an index ``concurrently``, which no transaction
can, does so before its transaction, unless the table is empty. A change of many rows is limited to some of them and
follows a line ``-- migrate:repeat``: it is repeated, each time in its own transaction, until it changes no row.

An applied migration must never change: its checksum is stored and compared. The lines that divide it do not count.

Processes of earlier releases work on a newer schema: a migration only expands it, unless its line ``-- migrate:needs
0141`` says which migration a process must know at least. From its first step on, older processes are not ready.
"""

import asyncio
import hashlib
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import NamedTuple

import asyncpg

from studiogate import clock
from studiogate.storage.db.pool import Connection

LOCK = 7_311_925_002_117_402  # an arbitrary number of our own: one migrator at a time per database
ONE_AT_A_TIME = "select pg_advisory_xact_lock($1)"
# Release 0.1.0 refuses every migration that it does not know, so its table holds its own ones, and those that it cannot
# work with. The others are recorded in a second table.
FIRST_RELEASE = "0022"
FIRST_TABLE, SECOND_TABLE = "schema_migrations", "schema_migrations_since"
COLUMNS = "version text primary key, checksum text not null, applied_at timestamptz not null default now()"
TABLES = f"""
    create table if not exists {FIRST_TABLE} ({COLUMNS});
    alter table {FIRST_TABLE} add column if not exists needs text;
    create table if not exists {SECOND_TABLE} ({COLUMNS}, needs text)"""
UP, DOWN = "-- migrate:up", "-- migrate:down"
NEEDS = re.compile(r"^-- migrate:needs (?P<version>\d{4})$", re.MULTILINE)
DIVIDER = re.compile(r"^-- migrate:(step|repeat)\n", re.MULTILINE)
INDEX = re.compile(r"^create (?:unique )?index concurrently (?P<name>\w+)\s+on (?P<table>\w+)", re.MULTILINE)
TIMEOUTS = "set local lock_timeout = '500ms'; set local statement_timeout = '10min'"
# A concurrent build waits for earlier transactions, and takes as long as the table is large, without blocking anybody.
PATIENT, AS_BEFORE = "set lock_timeout = 0; set statement_timeout = 0", "reset lock_timeout; reset statement_timeout"
IS_VALID = "select indisvalid from pg_index where indexrelid = to_regclass($1)"
IS_BEING_BUILT = "select exists (select from pg_stat_progress_create_index where relid = to_regclass($1))"
TRIED_FOR_SECONDS = 120.0
PAUSE_SECONDS = 0.25
REPORT_SECONDS = 5.0
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
    def needs(self) -> str:
        """Return the migration that a process must know at least to work once this one is applied."""
        found = NEEDS.search(self.sql)
        return FIRST_RELEASE if found is None else found["version"]

    @property
    def table(self) -> str:
        return SECOND_TABLE if self.needs <= FIRST_RELEASE < self.version else FIRST_TABLE

    @property
    def steps(self) -> list[Step]:
        first, *others = DIVIDER.split(self.sql)
        steps = [Step(first), *(Step(sql, kind == "repeat") for kind, sql in zip(*[iter(others)] * 2, strict=True))]
        return [step for step in steps if step.sql]


@dataclass(slots=True)
class Progress:
    """What is reported of each step before it is tried, and every few seconds while it runs."""

    migration: Migration
    number: int  # of this migration, among ``total``
    total: int
    step: int
    problem: str | None = None  # why the last attempt failed
    rows: int = 0  # that a repeated step has changed
    began: float = field(default_factory=clock.monotonic)
    advanced: float = field(default_factory=clock.monotonic)

    @property
    def seconds(self) -> int:
        return int(clock.monotonic() - self.began)

    def advance(self, rows: int) -> None:
        self.problem, self.rows, self.advanced = None, self.rows + rows, clock.monotonic()


Report = Callable[[Progress], None]


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
    """Return migrations of which a step is not applied; raise if an applied one has changed, or if one that is unknown
    here needs a newer release."""
    recorded = await recorded_migrations(connection)
    known = {migration.version: migration for migration in migrations()}
    for version, row in recorded.items():
        migration = known.get(version.partition(".")[0])
        if migration is None and (row.needs is None or row.needs > max(known)):
            raise MigrationError(
                f"The database has migration {version}, with which this release does not work: upgrade Studiogate."
            )
        if migration is not None and "." not in version and migration.checksum != row.checksum:
            raise _changed(version)
    return [migration for version, migration in known.items() if version not in recorded]


async def migrate(
    connection: Connection, only: Collection[str] | None = None, report: Report = lambda _: None
) -> list[Migration]:
    """Apply pending migrations, or ``only`` these versions, step by step; return those that were completed here."""
    async with connection.transaction():
        await connection.execute(ONE_AT_A_TIME, LOCK)
        await connection.execute(TABLES)
    todo = [each for each in await pending(connection) if only is None or each.version in only]
    applied, last = [], False
    for number, migration in enumerate(todo, 1):
        for step in range(1, len(migration.steps) + 1):
            progress = Progress(migration, number, len(todo), step)
            reporting = asyncio.create_task(_report_periodically(progress, report))
            try:
                last = await _apply_patiently(connection, progress, report)
            finally:
                reporting.cancel()
        if last:  # not if another process did so
            applied.append(migration)
    return applied


async def _report_periodically(progress: Progress, report: Report) -> None:
    while True:
        await asyncio.sleep(REPORT_SECONDS)
        report(progress)


async def _apply_patiently(connection: Connection, progress: Progress, report: Report) -> bool:
    """Apply a step, again and again while its locks are taken; give up where nothing advances for too long."""
    while progress.problem is None or clock.monotonic() < progress.advanced + TRIED_FOR_SECONDS:
        report(progress)
        try:
            await _prepare(connection, progress)
            return await _apply_step(connection, progress.migration, progress.step)
        except LOCKED as error:
            progress.problem = str(error)
        await asyncio.sleep(PAUSE_SECONDS)
    raise MigrationError(
        f"Step {progress.step} of migration {progress.migration.version} got no lock within {TRIED_FOR_SECONDS:.0f} s: "
        f"{progress.problem}. What was done is kept. End the transactions that hold the lock (pg_stat_activity lists "
        "them), then run `studiogate migrate` again."
    )


async def _prepare(connection: Connection, progress: Progress) -> None:
    """Do what the transaction of a step must not do, because it would keep locks for too long."""
    step = progress.migration.steps[progress.step - 1]
    if (index := step.built) is not None:
        await _build_index(connection, progress, step.sql, *index.group("name", "table"))
    while step.repeats:
        async with connection.transaction():
            await connection.execute(TIMEOUTS)
            status = await connection.execute(step.sql)
        if (rows := int(status.split()[-1])) == 0:
            break
        progress.advance(rows)


async def _build_index(connection: Connection, progress: Progress, sql: str, name: str, table: str) -> None:
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
            progress.advance(0)
        except asyncpg.DuplicateTableError:  # another process began at the same moment
            continue
        finally:
            await connection.execute(AS_BEFORE)


async def _apply_step(connection: Connection, migration: Migration, number: int) -> bool:
    """Apply a step; return False if another process did so first. The lock belongs to the transaction and not to the
    session: behind a connection pooler, two transactions need not share a session.

    Until the last step is done, a row records each: its version is the migration's with the number of the step."""
    version, steps, table = migration.version, migration.steps, migration.table
    sql, index = steps[number - 1].sql, steps[number - 1].built
    async with connection.transaction():
        await connection.execute(ONE_AT_A_TIME, LOCK)
        rows = await recorded_migrations(connection)
        if version in rows:
            return False
        if (done := rows.get(f"{version}.{number}")) is not None:
            if done.checksum != _checksum(sql):
                raise _changed(version)
            return False
        await connection.execute(TIMEOUTS)
        if index is None:
            await connection.execute(sql)
        elif not await connection.fetchval(IS_VALID, index["name"]):
            await connection.execute(sql.replace(" concurrently ", " "))
        if number == len(steps):
            await connection.execute(f"delete from {table} where version like $1", f"{version}.%")
            row = version, migration.checksum
        else:
            row = f"{version}.{number}", _checksum(sql)
        insert = f"insert into {table} (version, checksum, needs) values ($1, $2, $3)"
        await connection.execute(insert, *row, migration.needs)
    return True


def _changed(version: str) -> MigrationError:
    return MigrationError(f"Migration {version} has changed since it was applied: restore the released file.")


class Recorded(NamedTuple):
    checksum: str
    needs: str | None  # None: nobody knows, so only who knows the migration works with it


async def recorded_migrations(connection: Connection) -> dict[str, Recorded]:
    """Return the applied migrations and steps by version."""
    exists = "select to_regclass($1) is not null"
    if not await connection.fetchval(exists, FIRST_TABLE):
        return {}
    statement = f"select version, checksum, to_jsonb(each) ->> 'needs' as needs from {FIRST_TABLE} each"
    if await connection.fetchval(exists, SECOND_TABLE):
        statement += f" union all select version, checksum, needs from {SECOND_TABLE}"
    rows = await connection.fetch(f"{statement} order by version")
    return {row["version"]: Recorded(row["checksum"], row["needs"]) for row in rows}
