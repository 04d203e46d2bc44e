"""Number committed events, which puts them into the log and creates their deliveries."""

import asyncio
from uuid import UUID

import structlog

from studiogate.domain.access import Access, operator_access, system_access
from studiogate.domain.events import EventType
from studiogate.flows.changes import record
from studiogate.flows.retry import for_each_studio_with
from studiogate.storage import class_availability, event_numbering, events, mails
from studiogate.storage.db.failures import transaction_on
from studiogate.storage.db.pool import Connection, Database

# The pause between two rounds for a busy studio, so that many commits share one round.
PAUSE_SECONDS = 0.1
log = structlog.get_logger()


async def number_studio(database: Database, access: Access) -> int:
    """Number the committed events of a studio and return how many; each batch commits with its deliveries."""
    total = 0
    while True:
        async with database.transaction() as connection:
            numbered = await event_numbering.number(connection, access)
        total += numbered
        if numbered < event_numbering.NUMBERED_AT_ONCE:
            return total


async def number_all(database: Database) -> int:
    """Number the events of all studios whose process died between the commit and the numbering; return how many."""

    async def number(studio_id: UUID) -> int:
        return await number_studio(database, operator_access(studio_id))

    return await for_each_studio_with(database, "unnumbered events", number)


async def announce_availability(database: Database) -> int:
    """Announce the classes of all studios whose counts have changed; return how many."""

    async def announce(studio_id: UUID) -> int:
        access = system_access(studio_id)
        async with database.transaction() as connection:
            await event_numbering.lock_head(connection, access)
            if announced := await class_availability.announce(connection, access):
                await event_numbering.number(connection, access)
        return announced

    return await for_each_studio_with(database, "uncompared events", announce)


async def trigger(connection: Connection, access: Access, type_: EventType) -> UUID | None:
    """Emit a sample event about the newest resource of its kind and return that one's id; None if there is none."""
    async with transaction_on(connection):
        await mails.silence(connection)
        row_id = await events.newest(connection, access, type_)
        if row_id is not None:
            await events.emit(connection, access, type_, events.Change(row_id))
            await record(connection, access, "event.trigger", type_.partition(".")[0], row_id)
        return row_id


class Sequencer:
    """Numbers events right after a commit, in one round at a time per studio, however many commits ask for one."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._rounds: dict[UUID, asyncio.Task[None]] = {}
        self._asked: set[UUID] = set()

    def kick(self, studio_id: UUID) -> None:
        """Ask for a round after a commit of this studio. Returns at once; after a failure the worker numbers them."""
        self._asked.add(studio_id)
        if studio_id not in self._rounds:
            self._rounds[studio_id] = asyncio.create_task(self._run(studio_id))

    async def settled(self) -> None:
        await asyncio.gather(*self._rounds.values())

    async def _run(self, studio_id: UUID) -> None:
        access = operator_access(studio_id)
        try:
            while studio_id in self._asked:
                self._asked.discard(studio_id)
                await self._number(access)
                await asyncio.sleep(PAUSE_SECONDS)
        finally:
            self._rounds.pop(studio_id, None)

    async def _number(self, access: Access) -> None:
        try:
            async with self._database.connection() as connection:
                waiting = await event_numbering.any_unnumbered(connection, access)
            if waiting:
                await number_studio(self._database, access)
        except Exception as error:
            log.warning("events not numbered yet", problem=type(error).__name__)
