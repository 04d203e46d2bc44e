"""Schema migrations: plain SQL in dbmate's format, applied once each, in order, under an advisory lock.

An applied migration must never change: its checksum is stored and compared.
"""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from importlib import resources

from studiogate.storage.db.pool import Connection

LOCK = 7_311_925_002_117_402  # an arbitrary number of our own: one migrator at a time per database
ONE_AT_A_TIME = "select pg_advisory_xact_lock($1)"
UP, DOWN = "-- migrate:up", "-- migrate:down"


class MigrationError(Exception):
    """The database's migration history does not match ours."""


@dataclass(frozen=True, slots=True)
class Migration:
    version: str
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


@cache  # Called by every /readyz, also in a process that can no longer read the files.
def migrations() -> list[Migration]:
    folder = resources.files("studiogate.storage.db") / "migrations"
    files = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".sql")), key=lambda entry: entry.name)
    return [_read(entry.name, entry.read_text()) for entry in files]


def _read(filename: str, text: str) -> Migration:
    version, name = filename.removesuffix(".sql").split("_", 1)
    up = text.split(UP, 1)[1].split(DOWN, 1)[0]
    return Migration(version, name, up.strip())


async def pending(connection: Connection) -> list[Migration]:
    """Return migrations that are not applied yet; raise if an applied migration is unknown here or has changed."""
    applied = await _applied(connection)
    known = {migration.version: migration for migration in migrations()}
    for version, checksum in applied.items():
        if version not in known:
            raise MigrationError(
                f"The database has migration {version}, which this Studiogate does not know: upgrade Studiogate."
            )
        if known[version].checksum != checksum:
            raise MigrationError(f"Migration {version} has changed since it was applied: restore the released file.")
    return [migration for version, migration in known.items() if version not in applied]


async def migrate(connection: Connection, only: Collection[str] | None = None) -> list[Migration]:
    """Apply pending migrations, each in its own transaction; return those that were applied.

    ``only`` are the versions to apply, for a backup of an earlier schema.
    """
    async with connection.transaction():
        await connection.execute(ONE_AT_A_TIME, LOCK)
        await connection.execute(
            "create table if not exists schema_migrations"
            " (version text primary key, checksum text not null, applied_at timestamptz not null default now())"
        )
    todo = [each for each in await pending(connection) if only is None or each.version in only]
    return [migration for migration in todo if await _apply(connection, migration)]


async def _apply(connection: Connection, migration: Migration) -> bool:
    """Apply a migration; return False if another process did so first. The lock belongs to the transaction and not to
    the session: behind a connection pooler, two transactions need not share a session."""
    async with connection.transaction():
        await connection.execute(ONE_AT_A_TIME, LOCK)
        if migration.version in await _applied(connection):
            return False
        # A migration that cannot get its lock fails instead of making every request queue behind it.
        await connection.execute("set local lock_timeout = '5s'; set local statement_timeout = '10min'")
        await connection.execute(migration.sql)
        await connection.execute(
            "insert into schema_migrations (version, checksum) values ($1, $2)", migration.version, migration.checksum
        )
    return True


async def _applied(connection: Connection) -> dict[str, str]:
    if await connection.fetchval("select to_regclass('schema_migrations')") is None:
        return {}
    rows = await connection.fetch("select version, checksum from schema_migrations order by version")
    return {row["version"]: row["checksum"] for row in rows}
