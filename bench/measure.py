"""Measure one scenario with several competitors, which alternate, so that a disturbance affects all of them."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

from bench import dataset, labels, limit, load, processes
from bench.request import STATUS
from bench.results import P50, P99, POSTGRES_CPU, SERVER_CPU, THROUGHPUT, UNITS, Figure
from bench.scenarios import Scenario
from bench.service import Service
from bench.transactions import transaction_for
from studiogate.flows.events import number_all
from studiogate.server.postgres.embedded import EmbeddedPostgres
from studiogate.storage.db import pool as database

Each = TypeVar("Each")
FIRST_NUMBER = 1_000_000
TRIES = 3  # of a window


class DisturbedError(Exception):
    """Some requests of a window were not answered as expected, so its figures mean nothing."""


def order_in_round(competitors: Sequence[Each], number: int) -> list[Each]:
    """Return the order of the competitors in a round. Each has every place, and follows every other one, about equally
    often (a Williams Latin square), so that work left over in PostgreSQL does not always slow the same competitor."""
    count = len(competitors)
    zigzag = [place // 2 if place % 2 == 0 else count - 1 - place // 2 for place in range(count)]
    order = [competitors[(place + number) % count] for place in zigzag]
    return order[::-1] if count % 2 and number % 2 else order


@dataclass(frozen=True)
class Effort:
    """How long to measure. A window is the time of one competitor in a round."""

    rounds: int = 7
    window_seconds: float = 0.5
    warming_up: int = 160


class Competitor(Protocol):
    """A program that can serve the requests of a scenario. ``database`` is the name of the database that it uses."""

    @property
    def label(self) -> str: ...
    @property
    def database(self) -> str: ...

    def pids(self) -> Sequence[int]:
        """Return the processes whose CPU time counts as the server's."""

    def can(self, scenario: Scenario) -> bool: ...

    def least(self, scenario: Scenario) -> int:
        """Return the smallest number of requests that gives meaningful figures."""

    def play(self, scenario: Scenario, first: int, count: int) -> load.Outcome:
        """Send ``count`` requests, numbered from ``first``."""


@dataclass
class Server:
    """A competitor that speaks HTTP."""

    label: str
    service: Service
    service_key: str
    database: str
    served: int = 0

    def pids(self) -> Sequence[int]:
        return self.service.api_pids()

    def can(self, scenario: Scenario) -> bool:
        return scenario.in_textbook or labels.kind(self.label) != labels.TEXTBOOK

    def least(self, scenario: Scenario) -> int:
        return scenario.connections

    def play(self, scenario: Scenario, first: int, count: int) -> load.Outcome:
        requests = [scenario.make(number) for number in range(first, first + count)]
        expected = Counter(STATUS[each.method] for each in requests)
        return self.send(
            scenario.name, [each.raw(self.service_key) for each in requests], scenario.connections, expected
        )

    def send(self, name: str, requests: Sequence[bytes], connections: int, expected: dict[int, int]) -> load.Outcome:
        """Send requests; raise DisturbedError unless they get the expected number of answers of each status."""
        try:
            outcome = load.run(self.service.port, requests, connections)
        except ConnectionError as error:
            raise DisturbedError(f"{self.label}, {name}: {error}\n{self.service.log_tail()}") from error
        if outcome.statuses != expected:
            raise DisturbedError(f"{self.label}, {name}: {outcome.statuses}\n{self.service.log_tail()}")
        self.served += len(requests)
        return outcome


@dataclass
class Limit:
    """pgbench, which speaks to PostgreSQL directly."""

    postgres: EmbeddedPostgres
    label: str = labels.LIMIT
    database: str = "studiogate"

    def pids(self) -> Sequence[int]:
        return ()

    def can(self, scenario: Scenario) -> bool:
        return bool(scenario.given)

    def least(self, scenario: Scenario) -> int:
        return limit.least(scenario.connections)

    def play(self, scenario: Scenario, first: int, count: int) -> load.Outcome:
        script = limit.Script(transaction_for(scenario.make(first)), scenario.numbers, scenario.given)
        return limit.run(self.postgres, script, clients=scenario.connections, first=first, count=count)


@dataclass
class Measurement:
    postgres: EmbeddedPostgres
    effort: Effort
    report_progress: Callable[[str], None]
    repeated: int = 0  # windows
    _next: int = FIRST_NUMBER

    def measure(self, scenario: Scenario, competitors: Sequence[Competitor]) -> list[Figure]:
        able = [each for each in competitors if each.can(scenario)]
        rates = {each.label: self.play(scenario, each, self.effort.warming_up).throughput for each in able}
        rounds: dict[tuple[str, str], list[float]] = {}
        for number in range(self.effort.rounds):
            for each in order_in_round(able, number):
                found = self.undisturbed(partial(self._window, scenario, each, rates[each.label]))
                rates[each.label] = found[THROUGHPUT]
                for measure, value in found.items():
                    rounds.setdefault((each.label, measure), []).append(value)
        figures = [
            Figure(scenario.name, label, measure, UNITS[measure], tuple(values))
            for (label, measure), values in rounds.items()
        ]
        speeds = [f"{each.by} {each.value:.0f}/s" for each in figures if each.measure == THROUGHPUT]
        self.report_progress(f"{scenario.name}: {', '.join(speeds)}")
        return figures

    def undisturbed(self, window: Callable[[], Each]) -> Each:
        """Measure a window, and again if it was disturbed, as by a machine that stood still for seconds. The report
        says how often; a fault of the service shows in every try, and ends the run."""
        for _ in range(TRIES - 1):
            try:
                return window()
            except DisturbedError as error:
                self.repeated += 1
                self.report_progress(f"repeats a window: {error}")
        return window()

    def _window(self, scenario: Scenario, competitor: Competitor, rate: float) -> dict[str, float]:
        seconds, connections = self.effort.window_seconds, scenario.connections
        wanted = max(int(rate * seconds), competitor.least(scenario) if seconds else 0)
        count = max(wanted // connections, 2) * connections
        first = self.numbers(scenario, competitor.database, count)
        asyncio.run(self._settle(competitor.database))
        server, postgres = self._spent(competitor)
        outcome = competitor.play(scenario, first, count)
        server_after, postgres_after = self._spent(competitor)
        return {
            THROUGHPUT: outcome.throughput,
            P50: outcome.percentile(0.5) * 1000,
            P99: outcome.percentile(0.99) * 1000,
            SERVER_CPU: (server_after - server) / count * 1000,
            POSTGRES_CPU: (postgres_after - postgres) / count * 1000,
        }

    def play(self, scenario: Scenario, competitor: Competitor, count: int) -> load.Outcome:
        return competitor.play(scenario, self.numbers(scenario, competitor.database, count), count)

    def numbers(self, scenario: Scenario, database_name: str, count: int) -> int:
        """Reserve unused request numbers, insert the rows that their requests need, and return the first number."""
        return self.provide(scenario.needs, database_name, count)

    def provide(self, needs: str, database_name: str, count: int) -> int:
        first, self._next = self._next, self._next + count
        if needs:
            asyncio.run(self._provide(needs, database_name, first, first + count - 1))
        return first

    async def _provide(self, needs: str, database_name: str, first: int, last: int) -> None:
        connection = await database.connect(self.postgres.dsn(database_name))
        await dataset.fill(connection, needs, first=first, last=last)
        await connection.close()

    async def _settle(self, database_name: str) -> None:
        """Number the remaining events: pgbench numbers none, and the next competitor would have to do it."""
        pool = database.Database(self.postgres.dsn(database_name), 1)
        await number_all(pool)
        await pool.close()

    def _spent(self, competitor: Competitor) -> tuple[float, float]:
        return processes.cpu_seconds(competitor.pids()), processes.postgres_cpu_seconds(self.postgres.cluster)
