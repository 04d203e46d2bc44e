"""Crashes, cut connections and shutdowns under load: each function returns all violations of the promises."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from math import inf
from uuid import UUID

from bench.service import Service, wait_for
from studiogate.domain.access import Access
from studiogate.server import supervisor
from studiogate.server.postgres.embedded import EmbeddedPostgres
from studiogate.storage import idempotency
from studiogate.storage.db import pool
from tests.support.background import beside
from tests.support.deadlines import LONG
from tests.support.races.client import PREFIX, Call, Client, Crowd, Request, booking, cancellation
from tests.support.races.studio import RaceStudio

CLIENTS = 8
ANSWERS_BEFORE = 40
ANSWERS_AFTER = 60
BACK_SECONDS = 10.0
LOCK_SECONDS = 3.0
FILLING_TRIES = 3
PROVOKED = ("overloaded", "database_unavailable")


class Load:
    """An endless stream of bookings and cancellations, until ``end`` is called; counts the responses."""

    def __init__(self, race_studio: RaceStudio, classes: list[UUID], members: list[UUID]) -> None:
        self._race_studio = race_studio
        self._pairs = [(class_id, member_id) for class_id in classes for member_id in members]
        self._made: list[str] = []
        self.answers = 0
        self._enough = False

    def requests(self) -> Iterator[Request]:
        choose = self._race_studio.random
        while not self._enough:
            if self._made and choose.random() < 0.3:
                yield cancellation(self._made.pop(choose.randrange(len(self._made))))
            yield booking(*choose.choice(self._pairs), join_waitlist=choose.random() < 0.5)

    def end(self) -> None:
        self._enough = True

    def by(self, crowd: Crowd) -> AbstractAsyncContextManager["asyncio.Task[None]"]:
        """Let the crowd send the requests during the block."""
        return beside(crowd.work_off(self.requests(), self.note), self.end)

    def note(self, call: Call) -> None:
        self.answers += call.known
        if call.status == 201:
            self._made.append(call.json["id"])

    async def reach(self, answers: int) -> None:
        await until(lambda: self.answers >= answers, LONG, f"the load stopped at {self.answers} of {answers} answers")


async def until(condition: Callable[[], bool], seconds: float, otherwise: Callable[[], str] | str) -> None:
    """Run `wait_for` without blocking the event loop."""
    await asyncio.to_thread(wait_for, condition, seconds, otherwise)


async def _under_load(race_studio: RaceStudio, blow: Callable[[], Awaitable[list[str]]]) -> list[str]:
    load = Load(race_studio, await race_studio.add_classes(6, 8), await race_studio.add_members(20))
    async with race_studio.crowd(CLIENTS) as crowd, load.by(crowd):
        await load.reach(ANSWERS_BEFORE + race_studio.random.randrange(20))
        wrong = await blow()
        await load.reach(load.answers + ANSWERS_AFTER)
    return wrong


async def killed_worker(race_studio: RaceStudio, service: Service, rounds: int) -> list[str]:
    """kill -9 of an API process under load: another one replaces it, nothing acknowledged is lost."""
    wrong = []

    async def kill() -> list[str]:
        os.kill(race_studio.random.choice(service.api_pids()), signal.SIGKILL)
        return []

    for _ in range(rounds):
        wrong += await _under_load(race_studio, kill)
        await asyncio.to_thread(service.wait_until_ready)
        wrong += await race_studio.violations(forgiven=PROVOKED)
        if wrong:
            break
    return wrong


def _postmaster(postgres: EmbeddedPostgres) -> int:
    """Return the id of the server's process; 0 while it has written none."""
    with suppress(FileNotFoundError, ValueError):
        return int((postgres.cluster / "postmaster.pid").read_text().split("\n")[0])
    return 0


async def killed_postmaster(
    race_studio: RaceStudio, service: Service, postgres: EmbeddedPostgres, rounds: int, back_within: float = inf
) -> list[str]:
    """kill -9 of PostgreSQL under load: the service restarts it and answers again, with the same processes."""
    wrong = []

    async def kill() -> list[str]:
        before = service.api_pids()
        killed = _postmaster(postgres)
        os.kill(killed, signal.SIGKILL)
        await until(lambda: not postgres.running() or _postmaster(postgres) != killed, LONG, "PostgreSQL lives on")
        await until(postgres.running, LONG, "PostgreSQL did not come back")
        there = time.monotonic()
        answers = f"{PREFIX}/classes?limit=1"
        await until(lambda: service.answers(answers, race_studio.service_key), LONG, "the service did not come back")
        took = time.monotonic() - there
        late = [f"answered {took:.1f} s after PostgreSQL"] if took > back_within else []
        return late + ([] if service.api_pids() == before else ["the API processes were started again"])

    for _ in range(rounds):
        wrong += await _under_load(race_studio, kill)
        race_studio.connection = await pool.connect(postgres.dsn())
        wrong += await race_studio.violations(forgiven=PROVOKED)
        if wrong:
            break
    return wrong


async def cut_storm(race_studio: RaceStudio, pool_size: int, requests: int, attempts: int = 5) -> list[str]:
    """Clients that disconnect mid-request: no transaction stays open, and every connection of the pool still works.

    A slow machine may need several attempts to fill the pool before lock waits time out. A leaked connection stays
    leaked, so then no attempt succeeds."""
    classes, members = await race_studio.add_classes(5, 10), await race_studio.add_members(30)
    wanted = [
        booking(race_studio.random.choice(classes), race_studio.random.choice(members), join_waitlist=True)
        for _ in range(requests)
    ]
    gate = asyncio.Semaphore(32)
    await asyncio.gather(*(_cut(race_studio, request, gate) for request in wanted))
    wrong = [] if await _nothing_open(race_studio) else ["transactions stay open"]
    unfilled: list[str] = []
    for _ in range(attempts):
        unfilled, refused = await _fill_the_pool(race_studio, pool_size)
        wanted += refused
        if not unfilled:
            break
    wrong += unfilled
    if wrong:  # without a connection, repeated requests would never be answered
        return wrong
    async with race_studio.crowd(CLIENTS) as crowd:
        await crowd.work_off(wanted)
    # Shortly after a storm, some requests may still be refused with a Retry-After.
    return wrong + await race_studio.violations(forgiven=("overloaded",))


async def _cut(race_studio: RaceStudio, request: Request, gate: asyncio.Semaphore) -> None:
    """Send part or all of a request, and close or reset the connection, at once or a moment later."""
    client = Client(race_studio.port, race_studio.service_key, race_studio.history)
    raw = client.written(request)
    async with gate:
        _, writer = await client.connect()
        writer.write(raw if race_studio.random.random() < 0.7 else raw[: race_studio.random.randrange(len(raw))])
        await writer.drain()
        await asyncio.sleep(race_studio.random.choice((0, 0, 0.002, 0.01)))
        if race_studio.random.random() < 0.5:
            writer.close()
        else:
            client.close()


OPEN = "select count(*) from pg_stat_activity where application_name = 'studiogate' and datname = current_database()"


async def _counted(
    race_studio: RaceStudio, condition: str, wanted: Callable[[int], bool], seconds: float = LONG
) -> bool:
    """Wait until the wanted number of other sessions meet the condition."""
    deadline = asyncio.get_running_loop().time() + seconds
    while asyncio.get_running_loop().time() < deadline:
        # Within a transaction, PostgreSQL would keep returning the same statistics snapshot.
        await race_studio.connection.execute("select pg_stat_clear_snapshot()")
        if wanted(await race_studio.connection.fetchval(f"{OPEN} and pid <> pg_backend_pid() and {condition}")):
            return True
        await asyncio.sleep(0.02)
    return False


async def _nothing_open(race_studio: RaceStudio) -> bool:
    return await _counted(race_studio, "xact_start is not null", lambda count: count == 0)


async def _fill_the_pool(race_studio: RaceStudio, pool_size: int) -> tuple[list[str], list[Request]]:
    """Send as many bookings as the pool has connections, block all of them by their keys, then release these. A machine
    that is too slow to block all of them before the first one's lock timeout gets another try.

    Return what is wrong, and the requests that were refused with a Retry-After and must be repeated."""
    wrong, refused = list[str](), list[Request]()
    for _ in range(FILLING_TRIES):
        async with BlockedBookings(race_studio, pool_size) as held:
            waiting = await held.all_wait()
            calls = await held.let_go()
        refused += [call.request for call in calls if not call.known]
        if waiting and all(held.right(call) for call in calls):
            return [], refused
        wrong.append(f"a pool of {pool_size} gave {[call.outcome for call in calls]}")
    return wrong, refused


class BlockedBookings:
    """Bookings that the service has accepted, each with a key that we hold: each waits for its key with a connection,
    while what waits for a class needs none."""

    def __init__(self, race_studio: RaceStudio, size: int) -> None:
        self._race_studio, self._size = race_studio, size
        self._crowd = Crowd(race_studio.port, race_studio.service_key, race_studio.history, size)

    async def __aenter__(self) -> "BlockedBookings":
        classes = await self._race_studio.add_classes(self._size, 1)
        members = await self._race_studio.add_members(self._size)
        self._transaction = self._race_studio.connection.transaction()
        await self._transaction.start()
        requests = [booking(*each) for each in zip(classes, members, strict=True)]
        credential_id = self._race_studio.service_key.split("_")[2]
        for request in requests:
            await idempotency.claim(self._race_studio.connection, self._access(credential_id), request.key)
        await self._crowd.__aenter__()
        self._since = time.monotonic()
        pairs = zip(self._crowd.clients, requests, strict=True)
        self._sending = [asyncio.create_task(client.send(request)) for client, request in pairs]
        return self

    def _access(self, credential_id: str) -> Access:
        return Access(self._race_studio.studio_id, credential_id, frozenset(), None)

    async def all_wait(self) -> bool:
        return await _counted(
            self._race_studio, "wait_event_type = 'Lock'", lambda count: count == self._size, LOCK_SECONDS
        )

    async def let_go(self) -> list[Call]:
        await self._transaction.rollback()
        self._seconds = time.monotonic() - self._since
        return await asyncio.gather(*self._sending)

    def right(self, call: Call) -> bool:
        """Return whether it was confirmed, or refused as retryable because we held its key beyond the lock timeout."""
        return call.outcome == "confirmed" or (
            call.outcome in ("overloaded", "idempotency_in_progress") and self._seconds > LOCK_SECONDS
        )

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*self._sending, return_exceptions=True)
        await self._crowd.__aexit__()


@asynccontextmanager
async def _all_blocked(race_studio: RaceStudio, size: int) -> AsyncIterator[BlockedBookings]:
    """Bookings that all wait at once. They wait for 3 s at most, so that a slow machine may need another try."""
    for _ in range(FILLING_TRIES):
        async with BlockedBookings(race_studio, size) as held:
            if await held.all_wait():
                yield held
                return
            await held.let_go()
    raise AssertionError("the accepted requests did not wait")


async def drained(race_studio: RaceStudio, service: Service, accepted: int = 4) -> list[str]:
    """SIGTERM under load: accepted requests are answered, others leave no trace, no new connection is accepted, and
    all processes end well within the drain limit."""
    # Many classes, so that the load itself hardly ever waits for a lock.
    load = Load(race_studio, await race_studio.add_classes(40, 8), await race_studio.add_members(60))
    async with race_studio.crowd(CLIENTS) as crowd, beside(_send_until_refused(crowd, load), lambda: None):
        await load.reach(ANSWERS_BEFORE)
        async with _all_blocked(race_studio, accepted) as held:
            asked = time.monotonic()
            service.terminate()
            await until(service.refuses, LONG, "new connections are taken in while it drains")
            wrong = [f"accepted, then {call.outcome}" for call in await held.let_go() if not held.right(call)]
    status = await asyncio.to_thread(service.stop)
    took = time.monotonic() - asked
    wrong += [] if status == 0 else [f"exit status {status}\n{service.log_tail()}"]
    wrong += [] if took < supervisor.DRAIN_SECONDS else [f"drained for {took:.1f} s"]
    return wrong + await _traces(race_studio) + await race_studio.violations(unanswered=True, forgiven=("overloaded",))


async def _send_until_refused(crowd: Crowd, load: Load) -> None:
    remaining = load.requests()

    async def one(client: Client) -> None:
        for request in remaining:
            call = await client.send(request)
            load.note(call)
            if call.status is None:
                return

    await asyncio.gather(*(one(client) for client in crowd.clients))


async def _traces(race_studio: RaceStudio) -> list[str]:
    rows = await race_studio.fetch("select key from idempotency_keys where studio_id = $1")
    kept = {row["key"] for row in rows}
    return [
        f"{key}: was done but not answered"
        for key, calls in race_studio.history.by_key().items()
        if key in kept and not any(call.known for call in calls)
    ]
