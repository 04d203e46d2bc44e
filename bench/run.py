"""One benchmark run: build the datasets, start all competitors at once, measure part by part."""

import asyncio
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench import console, crowd, dataset, events, held, imports, labels, lifecycle, processes
from bench.measure import Competitor, Effort, Limit, Measurement, Server
from bench.results import Results
from bench.scenarios import Scenario, scenarios
from bench.service import API_MODULE, Service
from bench.superuser import grant_to_tests
from studiogate.server.postgres.embedded import EmbeddedPostgres, running_postgres
from studiogate.storage.db import pool

ROWS = ("reads", "bookings", "people", "day")
PARTS = (*ROWS, "apart", "held", "crowd", "growth", "memory", "start", "events", "console", "import")
ALONE, CROWDED = "studiogate", "crowded"


@dataclass(frozen=True)
class Plan:
    """What to measure, for how long, and on how much data."""

    parts: Sequence[str] = PARTS
    effort: Effort = field(default_factory=Effort)
    workers: int = 2
    size: dataset.Size = field(default_factory=dataset.Size)
    studios: int = 200
    crowd: int = 2000
    held_rounds: int = 5
    requests_for_memory: int = 50_000
    events: int = 1000
    console_size: dataset.Size = console.LARGE
    console_effort: console.Effort = field(default_factory=console.Effort)
    imported: tuple[int, int] = (100_000, 50_000)  # members and classes

    @property
    def needs_servers(self) -> bool:
        return any(part not in ("start", "events", "console", "import") for part in self.parts)


QUICK = Plan(
    effort=Effort(rounds=1, window_seconds=0.0, warming_up=16),
    workers=1,
    size=dataset.Size(classes=250, members=20),
    studios=3,
    crowd=40,
    held_rounds=1,
    requests_for_memory=500,
    events=2,
    console_size=dataset.Size(classes=250, members=20),
    console_effort=console.Effort(rounds=1, requests=2, warming_up=1),
    imported=(300, 100),
)


class Run:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._started = time.perf_counter()
        self._scenarios = scenarios(plan.size)
        self.results = Results(plan.workers, plan.studios, plan.requests_for_memory)

    def __call__(self) -> Results:
        before = processes.MachineTime.now()
        if "start" in self._plan.parts:
            self.results.add(lifecycle.start_times())
            self._report_progress("measured the start")
        folder = tempfile.TemporaryDirectory(prefix="studiogate-bench-")
        with folder, running_postgres(Path(folder.name)) as postgres:
            grant_to_tests(postgres)
            if self._plan.needs_servers:
                self._measure_servers(postgres)
            if "events" in self._plan.parts:
                create_database(postgres, "deliveries")
                self.results.add([events.deliveries(postgres.dsn("deliveries"), self._plan.events)])
                self._report_progress("measured the deliveries of events")
            if "console" in self._plan.parts:
                create_database(postgres, "pages")
                plan = (self._plan.console_size, self._plan.console_effort)
                self.results.add(console.measure(postgres.dsn("pages"), *plan))
                self._report_progress("measured the console's pages")
            if "import" in self._plan.parts:
                self._measure_imports(postgres, Path(folder.name))
        self.results.stolen = round(before.stolen_since(), 3)
        self.results.seconds = round(time.perf_counter() - self._started, 1)
        return self.results

    def _report_progress(self, text: str) -> None:
        print(f"[{time.perf_counter() - self._started:4.0f} s] {text}", flush=True)

    def _measure_servers(self, postgres: EmbeddedPostgres) -> None:
        key = asyncio.run(dataset.prepare(postgres.dsn(), self._plan.size))
        self._report_progress("filled the database")
        if "growth" in self._plan.parts:
            create_database(postgres, CROWDED, template=ALONE)
            asyncio.run(dataset.surround(postgres.dsn(CROWDED), self._plan.studios, self._plan.size))
            self._report_progress(f"filled the database of {self._plan.studios} studios")
        measurement = Measurement(postgres, self._plan.effort, self._report_progress)
        with self._servers(postgres, key) as servers:
            self._report_progress(f"started {len(servers)} servers")
            self._measure_scenarios(measurement, [*servers.values(), Limit(postgres)])
            if "apart" in self._plan.parts and len(processes.cores()) > 1:
                self._measure_apart(measurement, servers)
            if "held" in self._plan.parts:
                self._measure_held(measurement, servers[labels.studiogate(self._plan.workers)])
            if "crowd" in self._plan.parts:
                self._measure_crowds(measurement, servers[labels.studiogate(self._plan.workers)])
            if "memory" in self._plan.parts:
                self._measure_memory(measurement, servers[labels.studiogate(1)])
        self.results.repeated = measurement.repeated

    def _measure_imports(self, postgres: EmbeddedPostgres, folder: Path) -> None:
        create_database(postgres, imports.DATABASE)
        for figure in imports.measure(postgres, folder, *self._plan.imported):
            self.results.add([figure])
            self._report_progress(f"{figure.of}: {figure.value:.1f} {figure.unit} ({figure.measure})")

    def _measure_scenarios(self, measurement: Measurement, competitors: Sequence[Competitor]) -> None:
        for scenario in self._scenarios:
            wanted = [each for each in competitors if self._is_wanted(scenario, each)]
            if wanted:
                self.results.add(measurement.measure(scenario, wanted))

    def _measure_apart(self, measurement: Measurement, servers: dict[str, Server]) -> None:
        """Measure one and several workers again while the client has a core to itself."""
        counts = sorted({1, self._plan.workers})
        competitors = [replace(servers[labels.studiogate(count)], label=labels.apart(count)) for count in counts]
        pids = [pid for each in competitors for pid in each.pids()]
        with processes.kept_apart([*pids, *processes.postgres_pids(measurement.postgres.cluster)]):
            for scenario in self._scenarios:
                self.results.add(measurement.measure(scenario, competitors))

    def _measure_held(self, measurement: Measurement, server: Server) -> None:
        self.results.add(held.measure(measurement, server, self._plan.held_rounds))
        self._report_progress("measured bookings beside a class that is held")

    def _measure_crowds(self, measurement: Measurement, server: Server) -> None:
        reads = next(each for each in self._scenarios if each.name == labels.ONE_CLASS)
        for joins_waitlist in (False, True):
            self.results.add(crowd.measure(measurement, server, reads, crowd.Crowd(self._plan.crowd, joins_waitlist)))
        self._report_progress(f"measured crowds of {self._plan.crowd}")

    def _measure_memory(self, measurement: Measurement, server: Server) -> None:
        self.results.add([lifecycle.memory(measurement, server, self._scenarios, self._plan.requests_for_memory)])
        self._report_progress("measured the memory")

    def _is_wanted(self, scenario: Scenario, competitor: Competitor) -> bool:
        """Return whether to measure this pair. Growth compares a request on both databases; other parts use one."""
        grown = (labels.studiogate(1), labels.crowded(self._plan.studios))
        compares_growth = "growth" in self._plan.parts and competitor.label in grown
        return compares_growth or (scenario.part in self._plan.parts and competitor.database == ALONE)

    @contextmanager
    def _servers(self, postgres: EmbeddedPostgres, key: str) -> Iterator[dict[str, Server]]:
        """Start all servers and yield them by label; each is idle while others are measured."""
        environment = {"STUDIOGATE_RATE_LIMIT": "1000000"}
        with ExitStack() as stack:
            servers = []
            for label, workers, module, database_name in self._line_up():
                address = postgres.dsn(database_name)
                service = Service(address, workers=workers, api_module=module, environment=environment, wait=False)
                servers.append(Server(label, stack.enter_context(service), key, database_name))
            for server in servers:
                server.service.wait_until_ready()
            yield {server.label: server for server in servers}
            for server in servers:
                server.service.terminate()  # all of them, before waiting for the first one

    def _line_up(self) -> Iterator[tuple[str, int, str, str]]:
        """Yield the label, workers, program and database of each server."""
        most = self._plan.workers
        for count in sorted({1, most}):
            yield labels.studiogate(count), count, API_MODULE, ALONE
            yield labels.baseline(count), count, "bench.baseline", ALONE
        yield labels.textbook(most), most, "bench.textbook", ALONE
        if "growth" in self._plan.parts:
            yield labels.crowded(self._plan.studios), 1, API_MODULE, CROWDED


def create_database(postgres: EmbeddedPostgres, name: str, template: str = "template1") -> None:
    async def create() -> None:
        connection = await pool.connect(postgres.dsn("postgres"))
        await connection.execute(f"create database {name} template {template}")
        await connection.close()

    asyncio.run(create())
