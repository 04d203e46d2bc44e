"""Nobody overtakes waiting members: bookings, cancellations and capacity changes at once.

All members are eligible all the time, so a free seat while somebody waits is a violation at any moment.
"""

import asyncio
from contextlib import AsyncExitStack
from uuid import UUID

from studiogate.storage.db import pool
from tests.support.background import beside
from tests.support.races import checker, scenarios
from tests.support.races.crashes import Load
from tests.support.races.studio import RaceStudio

CLASSES, MEMBERS, CLIENTS = 4, 12, 16
MAX_SEATS = 6
ANSWERS_A_ROUND = 250
STOLEN = """
    select id from classes
    where studio_id = $1 and id = any($2) and booked_count < capacity and waitlist_count > 0"""


async def overtaking(race_studio: RaceStudio, dsn: str, rounds: int) -> tuple[list[str], dict[str, int]]:
    """Everything that is not as promised; and what was seen."""
    wrong: list[str] = []
    looks = 0
    async with AsyncExitStack() as stack:
        operator, observer = [await _connected(stack, dsn) for _ in range(2)]
        for _ in range(rounds):
            # New ones each round: nobody may run out of credits, or passing them over would be right.
            classes, members = await race_studio.add_classes(CLASSES, 1), await race_studio.add_members(MEMBERS)
            enough = asyncio.Event()
            async with beside(_watch(observer, race_studio, classes, enough), enough.set) as watching:
                await _storm(race_studio, operator, classes, members)
            stolen, looked = watching.result()
            wrong, looks = wrong + stolen, looks + looked
    rows = await checker.everything(race_studio.connection, race_studio.studio_id)
    wrong += checker.overtakings(rows)
    promoted = sum(row["promoted_at"] is not None for row in rows["waitlist_entries"])
    seen = {"joined": len(rows["waitlist_entries"]), "promoted": promoted, "states_looked_at": looks}
    return wrong + await race_studio.violations(), seen


async def _connected(stack: AsyncExitStack, dsn: str) -> pool.Connection:
    connection = await pool.connect(dsn)
    stack.push_async_callback(connection.close)
    return connection


async def _storm(race_studio: RaceStudio, operator: pool.Connection, classes: list[UUID], members: list[UUID]) -> None:
    load, enough = Load(race_studio, classes, members), asyncio.Event()
    moving = scenarios.change_capacities(race_studio, operator, classes, enough, MAX_SEATS)
    async with beside(moving, enough.set), race_studio.crowd(CLIENTS) as crowd, load.by(crowd):
        await load.reach(ANSWERS_A_ROUND)


async def _watch(
    observer: pool.Connection, race_studio: RaceStudio, classes: list[UUID], enough: asyncio.Event
) -> tuple[list[str], int]:
    """Read the committed state repeatedly."""
    wrong: list[str] = []
    looks = 0
    while not enough.is_set():
        rows = await observer.fetch(STOLEN, race_studio.studio_id, classes)
        wrong += [f"class {row['id']}: a free seat beside a waitlist" for row in rows]
        looks += 1
        await asyncio.sleep(0.001)
    return wrong, looks
