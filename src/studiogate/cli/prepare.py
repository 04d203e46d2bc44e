"""What is done to the database before a service uses it.

`up` and `serve` import this file once the first API process is on its way: its imports take half a second, and that
process runs its own at the same time.
"""

import structlog

from studiogate import settings as configuration
from studiogate.cli import demo
from studiogate.cli.console_link import console_path
from studiogate.cli.context import CommandError
from studiogate.cli.secret_key import check_key
from studiogate.domain.encryption import Sealer
from studiogate.settings import Settings
from studiogate.storage.db import migrate, pool
from studiogate.storage.db.migrate import Migration

log = structlog.get_logger()


def _log_waits(migration: Migration, step: int, problem: str | None) -> None:
    if problem:
        log.warning("migration is tried again", migration=migration.version, step=step, problem=problem)


async def prepare_database(settings: Settings, dsn: str, no_demo: bool) -> tuple[str | None, str]:
    """Migrate the database, and load the demo studio unless it is not wanted; return a key of it and the path of the
    console, with a link that signs in."""
    connection = await pool.connect(dsn)
    try:
        await migrate.migrate(connection, report=_log_waits)
        await check_key(connection, settings)
        key = None if no_demo else await demo.ensure(connection, settings.data_dir)
        return key, await console_path(connection, Sealer(lambda: configuration.secret_keys(settings)))
    finally:
        await connection.close()


async def check_database(settings: Settings, dsn: str) -> None:
    """Refuse to start on a database that is not migrated, or whose secrets this process cannot decrypt."""
    connection = await pool.connect(dsn)
    try:
        if await migrate.pending(connection):
            raise CommandError("The database is not migrated: run `studiogate migrate`.")
        await check_key(connection, settings)
    finally:
        await connection.close()
