"""Keep the figures of finished days: list the days that have ended, mark those that events are about, compute them."""

from uuid import UUID

from studiogate.domain.access import system_access
from studiogate.flows.retry import for_each_studio
from studiogate.storage import figures, housekeeping
from studiogate.storage.db.pool import Database


async def keep_figures(database: Database) -> int:
    """Bring every studio's figures up to date; return how many days were computed."""
    async with database.connection() as connection:
        due = await housekeeping.studios_with(connection, "due figures")
    return await for_each_studio(due, lambda studio_id: _keep(database, studio_id))


async def _keep(database: Database, studio_id: UUID) -> int:
    """Each day is a transaction: a studio that is new here has three years of them."""
    access, computed = system_access(studio_id), 0
    async with database.transaction() as connection:
        await figures.list_days(connection, access)
    more = True
    while more:
        async with database.transaction() as connection:
            more = await figures.mark_days(connection, access)
    while True:
        async with database.transaction() as connection:
            if not await figures.compute_day(connection, access):
                return computed
        computed += 1
