"""Compare this checkout with another one on the same machine: both services run, and are measured in turns."""

import os
import subprocess
import sys
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import dataset
from bench.measure import Effort, Measurement, Server
from bench.results import P50, P99, THROUGHPUT, Results
from bench.run import create_database
from bench.scenarios import Scenario, scenarios
from bench.service import ROOT, Service
from bench.superuser import grant_to_tests
from studiogate.server.postgres.embedded import running_postgres

WINDOW_SECONDS = 3.0
WORKERS = (1, 2)
THIS, OTHER = "this", "other"
PREPARE = """
import asyncio, sys
from bench import dataset
print(asyncio.run(dataset.prepare(sys.argv[1], dataset.Size(*map(int, sys.argv[2:])))))"""


def compare(other: Path, only: Collection[str], effort: Effort, size: dataset.Size) -> Results:
    """Measure the rows of these parts, or with these words in their names, of both checkouts."""
    results = Results()
    with TemporaryDirectory(prefix="studiogate-bench-") as folder, running_postgres(Path(folder)) as postgres:
        grant_to_tests(postgres)
        measurement = Measurement(postgres, effort, lambda text: print(text, flush=True))
        with ExitStack() as stack:
            servers = []
            for name, root in ((THIS, ROOT), (OTHER, other.resolve())):
                create_database(postgres, name)
                dsn = postgres.dsn(name)
                key = _prepare(root, dsn, size)
                for workers in WORKERS:
                    environment = {"STUDIOGATE_RATE_LIMIT": "1000000"}
                    service = Service(dsn, workers=workers, environment=environment, wait=False, root=root)
                    servers.append(Server(_label(name, workers), stack.enter_context(service), key, name))
            for server in servers:
                server.service.wait_until_ready()
            for scenario in _chosen(only, size):
                results.add(measurement.measure(scenario, servers))
    return results


def table(results: Results) -> str:
    """Return for each row and number of workers the rates of both, and this one's figures relative to the other's."""
    return "\n".join(_lines(results))


def _lines(results: Results) -> Iterator[str]:
    yield f"{'':32}{'workers':>8}{OTHER:>8}{THIS:>8}{'rate':>8}{'p50':>6}{'p99':>6}"
    for row in results.scenarios():
        for workers in WORKERS:
            ours, theirs = _label(THIS, workers), _label(OTHER, workers)
            rates = [results.find(row, by, THROUGHPUT) or 0.0 for by in (theirs, ours)]
            ratios = [results.ratio(row, ours, theirs, measure) or 0.0 for measure in (THROUGHPUT, P50, P99)]
            yield f"{row:32}{workers:8}{rates[0]:8.0f}{rates[1]:8.0f}{ratios[0]:8.2f}{ratios[1]:6.2f}{ratios[2]:6.2f}"


def _label(name: str, workers: int) -> str:
    return f"{name}, {workers}"


def _chosen(only: Collection[str], size: dataset.Size) -> list[Scenario]:
    return [each for each in scenarios(size) if any(word == each.part or word in each.name.lower() for word in only)]


def _prepare(root: Path, dsn: str, size: dataset.Size) -> str:
    """Let a checkout migrate a database and fill it; return the key of the studio."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(root / "src")])}
    command = [sys.executable, "-c", PREPARE, dsn, *map(str, (size.classes, size.members, size.per_class))]
    done = subprocess.run(command, env=environment, cwd=root, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()
