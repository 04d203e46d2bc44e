"""Being woken by PostgreSQL: one connection of its own that listens, and opens again when it is lost.

A bell, not a message: whoever is woken looks into the tables, and looks there now and then without a bell too.
"""

import asyncio
import contextlib
from collections.abc import Callable
from uuid import UUID

import asyncpg
import structlog

from studiogate.storage.database import CONNECT_SECONDS, UNAVAILABLE, Connection
from studiogate.storage.events import CHANNEL

AGAIN_SECONDS = 1.0
SESSION = {"application_name": "studiogate-listener", "timezone": "UTC"}
log = structlog.get_logger()


class Listener:
    """Calls ``heard`` with a studio's id whenever events of the studio got their numbers."""

    def __init__(self, dsn: str, heard: Callable[[UUID], None]) -> None:
        self._dsn = dsn
        self._heard = heard
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._listen_forever())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    async def _listen_forever(self) -> None:
        while True:
            try:
                await self._listen()
            except (*UNAVAILABLE, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError) as error:
                log.warning("not listening for events", problem=type(error).__name__)
            await asyncio.sleep(AGAIN_SECONDS)

    async def _listen(self) -> None:
        lost = asyncio.Event()
        connection: Connection = await asyncpg.connect(self._dsn, timeout=CONNECT_SECONDS, server_settings=SESSION)
        try:
            connection.add_termination_listener(lambda _: lost.set())
            await connection.add_listener(CHANNEL, lambda _connection, _pid, _channel, studio: self._hear(studio))
            await lost.wait()
        finally:
            connection.terminate()

    def _hear(self, studio_id: object) -> None:
        self._heard(UUID(str(studio_id)))
