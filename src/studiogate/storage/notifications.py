"""Receive PostgreSQL notifications on a dedicated connection, which is reopened when it is lost.

A notification is a signal, not a message: its receivers read the tables, and also poll them now and then without one.
"""

import asyncio
import contextlib
from collections.abc import Callable
from uuid import UUID

import asyncpg
import structlog

from studiogate.storage.db.failures import UNAVAILABLE
from studiogate.storage.db.health import is_read_only
from studiogate.storage.db.pool import DatabaseUnavailableError
from studiogate.storage.db.servers import Servers
from studiogate.storage.event_numbering import CHANNEL

AGAIN_SECONDS = 1.0
# A listener sends nothing, so only a probe shows that its server hangs or is no longer the primary.
PROBE_SECONDS = 15.0
PROBE_ANSWER_SECONDS = 5.0
MAX_WAITING = 1_000
SESSION = {"application_name": "studiogate-listener", "timezone": "UTC"}
log = structlog.get_logger()


class Listener:
    """Calls ``heard`` with a studio's id whenever events of the studio have been numbered."""

    def __init__(self, dsn: str, heard: Callable[[UUID], None]) -> None:
        self._servers = Servers(dsn)
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
            except (*UNAVAILABLE, DatabaseUnavailableError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                log.warning("not listening for events", problem=type(error).__name__)
            await asyncio.sleep(AGAIN_SECONDS)

    async def _listen(self) -> None:
        lost = asyncio.Event()
        connection = await self._servers.connect(SESSION)
        try:
            connection.add_termination_listener(lambda _: lost.set())
            async with asyncio.timeout(PROBE_ANSWER_SECONDS):
                await connection.add_listener(CHANNEL, lambda *heard: self._heard(UUID(str(heard[3]))))
            while not await _happens(lost, PROBE_SECONDS):
                async with asyncio.timeout(PROBE_ANSWER_SECONDS):
                    if await is_read_only(connection):
                        return
        finally:
            connection.terminate()


async def _happens(event: asyncio.Event, within: float) -> bool:
    try:
        async with asyncio.timeout(within):
            return await event.wait()
    except TimeoutError:
        return False


class EventListeners:
    """Readers that wait for a studio's next event. Listening starts with the first reader."""

    def __init__(self, dsn: str) -> None:
        self._listener = Listener(dsn, self._wake)
        self._waiting: dict[UUID, set[asyncio.Future[None]]] = {}
        self._count = 0
        self._closed = False

    async def wait(self, studio_id: UUID, seconds: float) -> bool:
        """Return True after a notification or when the time is up, False if too many wait or the process is ending."""
        if self._closed or self._count >= MAX_WAITING:
            return False
        self._listener.start()
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(studio_id, set()).add(waiter)
        self._count += 1
        try:
            async with asyncio.timeout(seconds):
                await waiter
        except TimeoutError:
            pass
        finally:
            self._count -= 1
            waiting = self._waiting[studio_id]
            waiting.discard(waiter)
            if not waiting:
                del self._waiting[studio_id]
        return not self._closed

    def _wake(self, studio_id: UUID) -> None:
        for waiter in self._waiting.get(studio_id, ()):
            if not waiter.done():
                waiter.set_result(None)

    def release_all(self) -> None:
        """End all waits, because the process is shutting down."""
        self._closed = True
        for studio_id in list(self._waiting):
            self._wake(studio_id)

    async def close(self) -> None:
        self.release_all()
        await self._listener.close()
