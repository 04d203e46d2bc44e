"""The results of a run: figures with their units, the machine, and their JSON format."""

import json
import os
import platform
import statistics
import subprocess
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from bench.processes import measured_commit
from studiogate.server.postgres import programs

FOLDER = Path(__file__).parent / "results"
THROUGHPUT, P50, P99 = "throughput", "p50", "p99"
SERVER_CPU, POSTGRES_CPU = "server CPU", "PostgreSQL CPU"
UNITS = {
    THROUGHPUT: "requests/s",
    P50: "ms",
    P99: "ms",
    SERVER_CPU: "ms per request",
    POSTGRES_CPU: "ms per request",
}


@dataclass(frozen=True)
class Figure:
    """A measured value ``of`` a request ``by`` a competitor. Of several rounds, the value is their median."""

    of: str
    by: str
    measure: str
    unit: str
    rounds: tuple[float, ...]

    @property
    def value(self) -> float:
        return statistics.median(self.rounds)

    @property
    def noise(self) -> float:
        """Return the spread of the rounds, as a fraction of the value."""
        return (max(self.rounds) - min(self.rounds)) / self.value if self.value else 0.0

    @property
    def name(self) -> tuple[str, str, str]:
        return self.of, self.by, self.measure


def _machine() -> dict[str, Any]:
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "memory": f"{psutil.virtual_memory().total / 1e9:.0f} GB",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "postgres": _postgres_version(),
        "load_before": round(os.getloadavg()[0], 2),
    }


def _cpu_model() -> str:
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.exists() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


def _postgres_version() -> str:
    program = programs.installation() / "bin" / "postgres"
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    return done.stdout.split()[-1]


@dataclass
class Results:
    workers: int = 2
    studios: int = 200
    requests_for_memory: int = 50_000
    date: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    commit: str = field(default_factory=measured_commit)
    machine: dict[str, Any] = field(default_factory=_machine)
    seconds: float = 0.0
    stolen: float = 0.0  # the share of the CPU time that other guests of the host took
    repeated: int = 0  # windows that were disturbed
    figures: list[Figure] = field(default_factory=list)

    def add(self, figures: Iterable[Figure]) -> None:
        self.figures += figures

    def scenarios(self) -> list[str]:
        """Return the names of the scenarios, in the order in which they were measured."""
        return list(dict.fromkeys(each.of for each in self.figures if each.measure == SERVER_CPU))

    def find(self, of: str, by: str, measure: str) -> float | None:
        return next((each.value for each in self.figures if each.name == (of, by, measure)), None)

    def ratio(self, of: str, by: str, other: str, *measures: str) -> float | None:
        """Return the median of the ratios of the single rounds: within a round conditions are similar, while the speed
        of the machine varies from minute to minute. Several measures are summed."""
        mine, its = self._rounds(of, by, measures), self._rounds(of, other, measures)
        if not mine or not its:
            return None
        return statistics.median(one / another for one, another in zip(mine, its, strict=True))

    def _rounds(self, of: str, by: str, measures: Iterable[str]) -> list[float]:
        names = [(of, by, measure) for measure in measures]
        return [
            sum(values) for values in zip(*(each.rounds for each in self.figures if each.name in names), strict=True)
        ]

    def as_json(self) -> str:
        figures = [{**asdict(each), "value": each.value} for each in self.figures]
        return json.dumps({**asdict(self), "figures": figures}, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Results":
        read = {"commit": "unknown", **json.loads(text)}
        figures = [
            Figure(each["of"], each["by"], each["measure"], each["unit"], tuple(each["rounds"]))
            for each in read.pop("figures")
        ]
        return cls(**read, figures=figures)
