"""Check whether the database can serve requests."""

from studiogate.storage.db import failures, migrate
from studiogate.storage.db.pool import Connection, Database

# More than fits into the memory that one statement may use: the server writes a temporary file, as sorting would.
FILL_A_FILE = "select count(*) from generate_series(1, 5000)"
DISK_FULL = "database disk full"


async def is_read_only(connection: Connection) -> bool:
    """Return whether the server accepts no writes: it is a standby, or was set read-only."""
    statement = "select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean"
    return bool(await connection.fetchval(statement))


async def is_standby(connection: Connection) -> bool:
    return bool(await connection.fetchval("select pg_is_in_recovery()"))


async def problem(database: Database) -> str | None:
    """Return in a few words what keeps the database from serving, or None."""
    try:
        async with database.connection() as connection:
            if await is_read_only(connection):
                return "database read-only"
            if await migrate.pending(connection):
                return "migrations pending"
            async with connection.transaction():
                await connection.execute("set local work_mem = '64kB'")
                await connection.execute(FILL_A_FILE)
            return None
    except failures.DatabaseFullError:
        return DISK_FULL
    except failures.ReadOnlyDatabaseError:
        return "database read-only"
    except failures.PoolerError:
        return "connection pooler not configured"
    except (failures.DatabaseUnavailableError, failures.OverloadedError):
        return "database unavailable"
    except migrate.MigrationError:
        return "migrations differ"
