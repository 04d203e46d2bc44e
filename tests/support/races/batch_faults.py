"""Random faults inside batches, while a crowd books and cancels one class: each function returns all violations.

A fault is caused by the real thing: the connection is cut or the process killed (-9) at a message of the transaction,
PostgreSQL ends a session or a statement, a second session locks a member and the class against the order, or holds a
member for longer than a statement may take. Partners repeat what was not answered; the checker compares the answers
with the database.
"""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from uuid import UUID

import asyncpg
import psutil

from bench.service import Service
from studiogate.storage.db import pool
from tests.support.batch_proxy import BatchProxy
from tests.support.held_locks import somebody_waits
from tests.support.races.crashes import PROVOKED, Load
from tests.support.races.studio import RaceStudio

CLIENTS = 48
SEATS, MEMBERS = 12, 40
MESSAGES = 12  # a batch has about ten messages after its first one
ANSWERS_BETWEEN = 30

# A session that executes a batch: `query` holds the beginning of its last statement.
IN_A_BATCH = """
    from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null
    and (query like '%pg_try_advisory_xact_lock%' or query like '%bookings%')"""
TERMINATE = f"select pg_terminate_backend(pid) {IN_A_BATCH} order by random() limit 1"
CANCEL = f"select pg_cancel_backend(pid) {IN_A_BATCH} and state = 'active' order by random() limit 1"


@dataclass
class Faults:
    """The faults, each a function that returns once it has struck."""

    race_studio: RaceStudio
    service: Service
    proxy: BatchProxy
    dsn: str
    class_id: UUID
    members: list[UUID]
    caused: Counter[str] = field(default_factory=Counter)

    async def cut(self) -> None:
        """Cut the connection at a random message, before or after PostgreSQL has got it."""
        moment = self.race_studio.random.choice(("before", "after"))
        await self.proxy.strike(self.race_studio.random.randrange(MESSAGES), lambda _: moment).wait()

    async def kill(self) -> None:
        """kill -9 of the API process at a random message."""
        moment, killed = self.race_studio.random.choice(("before", "after")), list[int]()

        def kill(port: int) -> str:
            for pid in self._processes_at(port):
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
            return moment

        while not killed:
            await self.proxy.strike(self.race_studio.random.randrange(MESSAGES), kill).wait()
        await asyncio.to_thread(self.service.wait_until_ready)

    def _processes_at(self, port: int) -> list[int]:
        """Return the API process that has this local port, if it still runs."""
        found = []
        for pid in self.service.api_pids():
            with suppress(psutil.Error):
                if any(each.laddr.port == port for each in psutil.Process(pid).net_connections("tcp")):
                    found.append(pid)
        return found

    async def terminate(self) -> None:
        while not await self.race_studio.connection.fetchval(TERMINATE):
            await asyncio.sleep(0)

    async def cancel(self) -> None:
        while not await self.race_studio.connection.fetchval(CANCEL):
            await asyncio.sleep(0)

    async def deadlock(self) -> None:
        """Lock a member and then the class. The victim is the batch, or this session."""
        deadlock_timeout = self.race_studio.random.choice(("10ms", "20s"))
        async with self._holding_a_member() as session:
            await session.execute(f"set local deadlock_timeout = '{deadlock_timeout}'")
            await somebody_waits(session)
            try:
                await session.execute("select from classes where id = $1 for no key update", self.class_id)
            except asyncpg.DeadlockDetectedError:
                self.caused["deadlocks_lost_by_the_other"] += 1

    async def time_out(self) -> None:
        """Hold a member until a request that needs it has been refused."""
        async with self._holding_a_member() as session:
            await somebody_waits(session)
            since = len(self.race_studio.history.calls)
            while not any(call.code == "overloaded" for call in self.race_studio.history.calls[since:]):
                await asyncio.sleep(0.05)

    @asynccontextmanager
    async def _holding_a_member(self) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
        session = await pool.connect(self.dsn)
        try:
            await session.execute("begin")
            held = self.race_studio.random.choice(self.members)
            await session.execute("select from members where id = $1 for update", held)
            yield session
        finally:
            await session.close()

    def kinds(self) -> list[Callable[[], Awaitable[None]]]:
        return [self.cut, self.kill, self.terminate, self.cancel, self.deadlock, self.time_out]


async def faults_in_batches(
    race_studio: RaceStudio, service: Service, proxy: BatchProxy, dsn: str, rounds: int
) -> tuple[list[str], Counter[str]]:
    """Cause every kind of fault once per round, in random order. Returns the violations, and what was caused."""
    faults = Faults(
        race_studio, service, proxy, dsn, await race_studio.add_class(SEATS), await race_studio.add_members(MEMBERS)
    )
    load = Load(race_studio, [faults.class_id], faults.members)
    async with race_studio.crowd(CLIENTS) as crowd, load.by(crowd):
        for _ in range(rounds):
            for fault in race_studio.random.sample(faults.kinds(), len(faults.kinds())):
                await load.reach(load.answers + race_studio.random.randrange(ANSWERS_BETWEEN))
                await fault()
                faults.caused["faults"] += 1
    faults.caused["requests_hit"] = sum(not call.known for call in race_studio.history.calls)
    return await race_studio.violations(forgiven=PROVOKED), faults.caused
