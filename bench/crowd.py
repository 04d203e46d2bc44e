"""Measure a crowd: thousands of requests at once for the few seats of one class, and who else notices.

Every request of the crowd has a connection of its own, and all are sent before the first answer is read. Bystanders, in
a process of their own, read other classes of the studio one request after another: first alone, then beside the crowd.
"""

import itertools
import multiprocessing
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import NamedTuple

from bench import labels, load
from bench.dataset import NEW_CROWD, SEATS
from bench.measure import Measurement, Server
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

    def wrong(self, statuses: Mapping[int, int]) -> int:
        """Return how many answers are not as expected."""
        return self.size - sum(min(count, statuses.get(status, 0)) for status, count in self.expected.items())

    def requests(self, first: int, service_key: str) -> list[bytes]:
        numbers, class_name = range(first, first + self.size), f"crowd1-{first}"
        return [booking(n, class_name, join_waitlist=self.joins_waitlist).raw(service_key) for n in numbers]


@dataclass(frozen=True)
class Bystanders:
    """A process that reads classes from each ``start`` to the next ``stop``."""

    pipe: "Connection[str, float]"

    def during(self, action: Callable[[], object]) -> float:
        """Return how long a read takes on average while the action runs, in seconds."""
        self.pipe.send("start")
        action()
        self.pipe.send("stop")
        return self.pipe.recv()


class Rush(NamedTuple):
    """One crowd: how many answers were not as promised, when the last one came, and how much slower bystanders read."""

    wrong_answers: float
    last_answer: float
    slowdown: float


def measure(measurement: Measurement, server: Server, reads: Scenario, crowd: Crowd) -> list[Figure]:
    with _bystanders(server, reads) as bystanders:
        rushes = [_rush(measurement, server, crowd, bystanders) for _ in range(ROUNDS)]
    wrong_answers, last_answers, slowdowns = zip(*rushes, strict=True)
    return [
        Figure(crowd.name, labels.STUDIOGATE, labels.WRONG_ANSWERS, "answers", (sum(wrong_answers),)),
        Figure(crowd.name, labels.STUDIOGATE, labels.LAST_ANSWER, "s", last_answers),
        Figure(crowd.name, labels.STUDIOGATE, labels.BYSTANDERS, "times slower", slowdowns),
    ]


def _rush(measurement: Measurement, server: Server, crowd: Crowd, bystanders: Bystanders) -> Rush:
    first = measurement.provide(NEW_CROWD, server.database, crowd.size)
    requests = crowd.requests(first, server.service_key)
    alone = bystanders.during(lambda: time.sleep(ALONE_SECONDS))
    outcomes: list[load.Outcome] = []
    beside = bystanders.during(lambda: outcomes.append(load.run(server.service.port, requests, crowd.size)))
    (outcome,) = outcomes
    server.served += crowd.size
    return Rush(crowd.wrong(outcome.statuses), max(outcome.latencies), beside / alone)


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
