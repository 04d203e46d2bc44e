"""Whether the database can serve."""

from studiogate.storage import migrate
from studiogate.storage.database import Database, DatabaseUnavailableError, OverloadedError


async def problem(database: Database) -> str | None:
    """What keeps the database from serving, in a word, or None."""
    try:
        async with database.connection() as connection:
            return "migrations pending" if await migrate.pending(connection) else None
    except (DatabaseUnavailableError, OverloadedError):
        return "database unavailable"
    except migrate.MigrationError:
        return "migrations differ"
