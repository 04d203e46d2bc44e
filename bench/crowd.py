"""Measure a crowd: thousands of requests at once for the few seats of one class, and who else notices.

Every request of the crowd has a connection of its own, and all are sent before the first answer is read. Bystanders, in
a process of their own, read other classes of the studio one request after another: first alone, then beside the crowd.
"""

import itertools
import multiprocessing
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection

from bench import labels, load
from bench.dataset import NEW_CROWD, SEATS
from bench.measuring import Measuring, Server
from bench.results import Figure
from bench.scenarios import Scenario, booking

ROUNDS = 3
READERS = 2  # connections of the bystanders
ALONE_SECONDS = 3.0
BOOKED, REFUSED = 201, 409


@dataclass(frozen=True)
class Crowd:
    size: int
    joins_waitlist: bool

    @property
    def name(self) -> str:
        return labels.CROWD_WAITS if self.joins_waitlist else labels.CROWD

    @property
    def expected(self) -> dict[int, int]:
        """The number of answers of each status."""
        return {BOOKED: self.size} if self.joins_waitlist else {BOOKED: SEATS, REFUSED: self.size - SEATS}

    def requests(self, first: int, service_key: str) -> list[bytes]:
        numbers, class_name = range(first, first + self.size), f"crowd1-{first}"
        return [booking(n, class_name, join_waitlist=self.joins_waitlist).raw(service_key) for n in numbers]


@dataclass(frozen=True)
class Bystanders:
    """A process that reads classes while it is told to."""

    pipe: "Connection[str, float]"

    def during(self, action: Callable[[], object]) -> float:
        """Return how long a read takes on average while the action runs, in seconds."""
        self.pipe.send("start")
        action()
        self.pipe.send("stop")
        return self.pipe.recv()


def measure(measuring: Measuring, server: Server, reads: Scenario, crowd: Crowd) -> list[Figure]:
    """Measure when the last request of a crowd is answered, and how much slower the bystanders' reads are meanwhile."""
    last_answers, slowdowns = [], []
    with _bystanders(server, reads) as bystanders:
        for _ in range(ROUNDS):
            first = measuring.provide(NEW_CROWD, server.database, crowd.size)
            requests = crowd.requests(first, server.service_key)
            alone = bystanders.during(lambda: time.sleep(ALONE_SECONDS))
            slowdowns.append(bystanders.during(lambda: last_answers.append(_rush(server, crowd, requests))) / alone)  # noqa: B023  called at once
    return [
        Figure(crowd.name, labels.STUDIOGATE, labels.LAST_ANSWER, "s", tuple(last_answers)),
        Figure(crowd.name, labels.STUDIOGATE, labels.BYSTANDERS, "times slower", tuple(slowdowns)),
    ]


def _rush(server: Server, crowd: Crowd, requests: Sequence[bytes]) -> float:
    """Send a crowd; return how long its last answer took."""
    return max(server.send(crowd.name, requests, crowd.size, crowd.expected).latencies)


@contextmanager
def _bystanders(server: Server, reads: Scenario) -> Iterator[Bystanders]:
    requests = [reads.make(number).raw(server.service_key) for number in range(100)]
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_read, args=(theirs, server.service.port, requests))
    process.start()
    theirs.close()
    ours.recv()  # it has started
    try:
        yield Bystanders(ours)
    finally:
        ours.close()
        process.join()


def _read(pipe: "Connection[float, str]", port: int, requests: Sequence[bytes]) -> None:
    """Read from each ``start`` to the next ``stop``; end when the other side does."""
    pipe.send(0.0)
    while True:
        try:
            pipe.recv()
        except EOFError:
            return
        until_stopped = itertools.takewhile(lambda _: not pipe.poll(), itertools.cycle(requests))
        outcome = load.run(port, until_stopped, READERS)
        pipe.recv()
        pipe.send(statistics.fmean(outcome.latencies))
