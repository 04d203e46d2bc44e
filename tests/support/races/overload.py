"""Overload: the service keeps doing as much as it can, and refuses all other requests at once.

The knee is found with clients that wait for their responses. The overload then is open-loop: requests arrive three
times as fast as they can be answered, whatever the state of earlier ones. Each storm is compared with the load at the
knee just before and after it, because the speed of a machine varies from minute to minute.

What counts as offered is what was sent. The load has a core for itself; the API processes and PostgreSQL have the
others: where they share cores, none of them can be offered three times what it is able to do.
"""

import asyncio
import itertools
import os
import statistics
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from uuid import UUID

import psutil

from bench.service import Service
from tests.support.races.client import TIMEOUT_SECONDS, Call, Client, Request, booking
from tests.support.races.studio import RaceStudio

CLASSES, MEMBERS = 250, 1000  # more pairs than the fastest machine books in all storms together
RAMP = (4, 8, 16, 32, 64, 128)
RAMP_SECONDS = 2.0
LOOKS_AFTERWARDS = 4
FACTOR, ENOUGH = 3.3, 3.0  # the service may become a little faster while the storm is compared with it
MAX_STORMS = 5
MAX_CLIENTS = 900  # so many connections a storm may open; none of its requests waits for one
SESSIONS = (
    "select count(*) from pg_stat_activity where application_name = 'studiogate' and datname = current_database()"
)


@dataclass
class Phase:
    """What came of one phase of load."""

    seconds: float
    calls: list[Call]
    confirmed: int  # in time

    @property
    def goodput(self) -> float:
        return self.confirmed / self.seconds

    @property
    def offered(self) -> float:
        return len(self.calls) / self.seconds

    @property
    def quick(self) -> float:
        """Return the latency of an undisturbed request: the 10th percentile, so that occasional other load on the
        machine does not count."""
        return self.percentile(0.1)

    @property
    def refused(self) -> list[Call]:
        return [call for call in self.calls if call.status is None or call.status >= 400]

    def percentile(self, share: float, calls: list[Call] | None = None) -> float:
        ordered = sorted(call.seconds for call in (self.calls if calls is None else calls))
        return ordered[int(len(ordered) * share)] if ordered else 0.0


@dataclass
class Storm(Phase):
    """Beside it, at the knee, this much was done per second."""

    usual: float

    @property
    def is_overload(self) -> bool:
        return self.offered > ENOUGH * self.usual

    @property
    def kept(self) -> float:
        return self.goodput / self.usual


@dataclass
class ResourcePeak:
    """The most memory and the most sessions that the service had at any moment."""

    memory: int = 0
    sessions: int = 0


@dataclass
class Outcome:
    ramp: dict[int, Phase] = field(default_factory=dict)  # by the number of clients
    storms: list[Storm] = field(default_factory=list)
    quick_before: float = 0.0  # seconds of an undisturbed request
    quick_after: float = 0.0
    calm: ResourcePeak = field(default_factory=ResourcePeak)
    strained: ResourcePeak = field(default_factory=ResourcePeak)

    @property
    def peak(self) -> float:
        """The most that it was seen to do for clients that wait."""
        return max(phase.goodput for phase in self.ramp.values())

    @property
    def knee(self) -> int:
        return min(clients for clients, phase in self.ramp.items() if phase.goodput >= 0.95 * self.peak)

    @property
    def overloads(self) -> list[Storm]:
        """The storms that were three times as much as it can do."""
        return [storm for storm in self.storms if storm.is_overload]

    @property
    def kept(self) -> float:
        """The share of the usual that was left, in the overload that is neither the best nor the worst."""
        return statistics.median(storm.kept for storm in self.overloads) if self.overloads else 0.0

    @property
    def storm(self) -> Phase:
        """All storms together."""
        calls = [call for each in self.storms for call in each.calls]
        return Phase(sum(each.seconds for each in self.storms), calls, sum(each.confirmed for each in self.storms))


class Connection(asyncio.Protocol):
    """A keep-alive connection for one request at a time, which costs a small part of what the service spends on it.
    ``answered`` is called with each response; a request without one has no status."""

    def __init__(self, answered: "Callable[[Connection], None]") -> None:
        self.call: Call | None = None
        self._answered, self._received, self._sent = answered, b"", 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]

    def send(self, call: Call, request: bytes) -> None:
        self.call, self._received, self._sent = call, b"", time.perf_counter()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        head = head.lower()
        if not end or self.call is None or len(body) < int(head.partition(b"content-length: ")[2].split(b"\r")[0]):
            return
        call, self.call = self.call, None
        call.status, call.answer, call.seconds = int(head[9:12]), body, time.perf_counter() - self._sent
        call.says_when = b"\r\nretry-after: " in head
        if b"connection: close" not in head:
            self._answered(self)

    def close(self) -> None:
        self._transport.abort()


class Overload:
    """Bookings of pairs that nobody has booked before: each of them can be confirmed."""

    def __init__(self, race_studio: RaceStudio, service: Service) -> None:
        self._race_studio, self._service = race_studio, service
        self._writer = Client(race_studio.port, race_studio.service_key, race_studio.history)

    async def prepare(self) -> None:
        classes = await self._race_studio.add_classes(CLASSES, MEMBERS)
        members = await self._race_studio.add_members(MEMBERS, paid=None)
        await self._race_studio.connection.execute("analyze classes, members, memberships")  # as after an import
        self._requests = self._each(classes, members)

    def _each(self, classes: list[UUID], members: list[UUID]) -> Iterator[Request]:
        """Adjacent requests share neither class nor member: they compete for connections, not for a row."""
        for first in range(len(members)):
            rotated = itertools.islice(itertools.cycle(members), first, None)
            yield from (booking(class_id, member_id) for class_id, member_id in zip(classes, rotated))  # noqa: B905

    async def waiting(self, clients: int, seconds: float) -> Phase:
        """Each client sends its next request when it has the answer to its last."""
        began, calls = time.monotonic(), list[Call]()

        def send_next(connection: Connection) -> None:
            if time.monotonic() < began + seconds:
                self._send(connection, calls, *self._prepare(next(self._requests)))

        connections = await self._connect(clients, send_next)
        began = time.monotonic()
        for each in connections:
            send_next(each)
        await asyncio.sleep(seconds)
        await self._end(connections)
        return Phase(time.monotonic() - began, calls, sum(call.status == 201 for call in calls))

    async def relentless(self, rate: float, seconds: float) -> Phase:
        """Send ``rate`` requests per second regardless of responses; confirmations after the end do not count."""
        calls, idle = list[Call](), list[Connection]()
        # Partners keep their connections: opening them is no part of the storm, nor is writing what they will send.
        prepared = [self._prepare(next(self._requests)) for _ in range(int(rate * seconds) + 1)]
        connections = await self._connect(MAX_CLIENTS, idle.append)
        idle.extend(connections)
        ends = time.monotonic() + seconds
        while (left := ends - time.monotonic()) > 0:
            for _ in range(min(int((seconds - left) * rate) - len(calls), len(idle))):
                self._send(idle.pop(), calls, *prepared.pop())
            await asyncio.sleep(0.002)
        confirmed = sum(call.status == 201 for call in calls)
        await self._end(connections)
        return Phase(seconds, calls, confirmed)

    def _prepare(self, request: Request) -> tuple[Call, bytes]:
        return Call(request), self._writer.written(request)

    def _send(self, connection: Connection, calls: list[Call], call: Call, written: bytes) -> None:
        calls.append(call)
        self._race_studio.history.calls.append(call)
        connection.send(call, written)

    async def _connect(self, number: int, answered: Callable[[Connection], None]) -> list[Connection]:
        loop, port = asyncio.get_running_loop(), self._race_studio.port
        opening = [loop.create_connection(lambda: Connection(answered), "127.0.0.1", port) for _ in range(number)]
        return [connection for _, connection in await asyncio.gather(*opening)]

    async def _end(self, connections: list[Connection]) -> None:
        """Wait for the last responses, and close the connections."""
        gives_up = time.monotonic() + TIMEOUT_SECONDS
        while any(each.call for each in connections) and time.monotonic() < gives_up:
            await asyncio.sleep(0.01)
        for each in connections:
            each.close()

    async def watched(self, phase: Coroutine[None, None, Phase]) -> tuple[Phase, ResourcePeak]:
        """Run a phase while monitoring the service's processes and sessions."""
        peak, working = ResourcePeak(), asyncio.create_task(phase)
        while not working.done():
            processes = [psutil.Process(pid) for pid in self._service.api_pids()]
            peak.memory = max(peak.memory, sum(each.memory_info().rss for each in processes))
            peak.sessions = max(peak.sessions, await self._race_studio.connection.fetchval(SESSIONS) - 1)
            await asyncio.sleep(0.25)
        return await working, peak


@asynccontextmanager
async def core_for_the_load(race_studio: RaceStudio, service: Service) -> AsyncIterator[None]:
    """Run this process on a core on which neither the API processes nor PostgreSQL run, if there are two."""
    cores = sorted(os.sched_getaffinity(0))
    backend = psutil.Process(await race_studio.connection.fetchval("select pg_backend_pid()"))
    postmaster = backend.parent() or backend
    database = [postmaster, *postmaster.children()]  # those that start later inherit it
    served = [*service.api_pids(), *(each.pid for each in database)]
    if len(cores) > 1:
        _pin(served, cores[:-1])
        _pin([0], cores[-1:])
    try:
        yield
    finally:
        _pin([0, *(each.pid for each in database)], cores)


def _pin(pids: Iterable[int], cores: Sequence[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):  # a session of PostgreSQL that has ended
            os.sched_setaffinity(pid, cores)


async def overloaded(
    race_studio: RaceStudio, service: Service, seconds: float, overloads: int = 3, ramp: tuple[int, ...] = RAMP
) -> Outcome:
    """So many storms, of so many seconds each; and some more where one turned out to be too small for an overload."""
    async with core_for_the_load(race_studio, service):
        return await _overloaded(race_studio, service, (seconds, overloads, ramp))


async def _overloaded(race_studio: RaceStudio, service: Service, size: tuple[float, int, tuple[int, ...]]) -> Outcome:
    seconds, overloads, ramp = size
    load, seen = Overload(race_studio, service), Outcome()
    await load.prepare()
    await load.waiting(4, 1.0)
    seen.quick_before = (await load.waiting(1, RAMP_SECONDS)).quick
    for clients in ramp:
        seen.ramp[clients], seen.calm = await load.watched(load.waiting(clients, RAMP_SECONDS))
    before = await load.waiting(seen.knee, RAMP_SECONDS)
    while len(seen.overloads) < overloads and len(seen.storms) < MAX_STORMS:
        # The service may have become faster since the ramp: plans are made, connections are open.
        rate = FACTOR * max(seen.peak, before.goodput)
        storm, seen.strained = await load.watched(load.relentless(rate, seconds))
        after = await load.waiting(seen.knee, RAMP_SECONDS)
        usual = (before.goodput + after.goodput) / 2
        seen.storms.append(Storm(storm.seconds, storm.calls, storm.confirmed, usual))
        before = after
    seen.quick_after = min([(await load.waiting(1, 1.0)).quick for _ in range(LOOKS_AFTERWARDS)])
    return seen
