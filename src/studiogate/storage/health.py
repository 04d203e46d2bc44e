"""Whether the database can serve."""

from studiogate.storage import migrate
from studiogate.storage.database import (
    Connection,
    Database,
    DatabaseUnavailableError,
    OverloadedError,
    PoolerError,
    ReadOnlyDatabaseError,
)

READ_ONLY = "select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean"


async def is_read_only(connection: Connection) -> bool:
    """Whether the server takes no writes: a standby, or one that was set read-only."""
    answer: bool = await connection.fetchval(READ_ONLY)
    return answer


async def is_standby(connection: Connection) -> bool:
    answer: bool = await connection.fetchval("select pg_is_in_recovery()")
    return answer


async def problem(database: Database) -> str | None:
    """What keeps the database from serving, in a few words, or None."""
    try:
        async with database.connection() as connection:
            if await is_read_only(connection):
                return "database read-only"
            return "migrations pending" if await migrate.pending(connection) else None
    except ReadOnlyDatabaseError:
        return "database read-only"
    except PoolerError:
        return "connection pooler not configured"
    except (DatabaseUnavailableError, OverloadedError):
        return "database unavailable"
    except migrate.MigrationError:
        return "migrations differ"
