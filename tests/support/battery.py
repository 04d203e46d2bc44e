"""The battery as a pytest plugin: sizes, parts, seeds, counts of what each test tried, and the summary table.

A test of the battery belongs to one part (`make battery PART=overload` runs that part alone). Its random choices come
from one seed, which the table shows and `SEED=…` reuses. It reports what it tried to its ``tally``.

Of many tests that are alike (mutants, kills), `make test` runs a sample, another one each day, and `make battery` all.
"""

import json
import os
import platform
import random
import secrets
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count as counting
from pathlib import Path
from typing import Any

import pytest

from bench.processes import MachineTime, measured_commit

PARTS = (
    "seats",
    "credits",
    "keys",
    "waitlist",
    "model",
    "workers",
    "postgres",
    "disconnects",
    "drain",
    "upgrades",
    "webhooks",
    "receivers",
    "leaks",
    "pagination",
    "overload",
    "backup",
    "rotation",
    "abuse",
    "staff",
    "faults",
    "ha",
    "mutants",
)
CASES = pytest.StashKey[dict[str, "counting[int]"]]()  # how many cases of a sampled test were collected
WORST = ("failed", "skipped", "passed")
MAX_SECONDS = 3600


def battery(part: str) -> list[pytest.MarkDecorator]:
    """Return the marks of a test that runs only in `make battery`."""
    if part not in PARTS:
        raise ValueError(f"{part} is no part of the battery")
    return [pytest.mark.battery(part), pytest.mark.timeout(MAX_SECONDS)]


def sized(small: int, full: int, part: str, unit: str) -> pytest.MarkDecorator:
    """Parametrize ``size``: small in `make test`, full in `make battery`. ``unit`` names what the size counts."""
    counted = pytest.mark.unit(unit)
    sizes = [pytest.param(small, marks=counted), pytest.param(full, marks=[*battery(part), counted])]
    return pytest.mark.parametrize("size", sizes)


def sampled(share: int, part: str) -> pytest.MarkDecorator:
    """Run one of so many cases of a test in `make test`, each of them once in so many days; all in `make battery`."""
    return pytest.mark.sampled(share, part)


def sized_in_batches(small: int, full: int, part: str, unit: str) -> pytest.MarkDecorator:
    """Do the same, and parametrize ``largest_batch``: as shipped in `make test`; 1, 2 and 64 in `make battery`."""
    counted = pytest.mark.unit(unit)
    full_sizes = [pytest.param(full, batch, marks=[*battery(part), counted]) for batch in (1, 2, 64)]
    return pytest.mark.parametrize(("size", "largest_batch"), [pytest.param(small, 64, marks=counted), *full_sizes])


@dataclass
class Tally:
    """What one test tried: counts are summed, of each measurement the last value is kept."""

    seed: int
    name: str
    counts: dict[str, int] = field(default_factory=dict)
    measured: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._seeds = random.Random(f"{self.seed} {self.name}")

    def new_seed(self) -> int:
        """Return this test's next seed, derived from the seed of the run."""
        return self._seeds.randrange(2**32)

    def add(self, **counts: int) -> None:
        for name, count in counts.items():
            self.counts[name] = self.counts.get(name, 0) + count

    def measure(self, **values: str) -> None:
        self.measured.update(values)


@dataclass
class Records:
    """The outcome of every test of this run, by its name."""

    tests: dict[str, dict[str, Any]] = field(default_factory=dict)

    def note(self, report: pytest.TestReport) -> None:
        row = self.tests.setdefault(report.nodeid, {"result": "passed", "seconds": 0.0})
        row["seconds"] = round(row["seconds"] + report.duration, 1)
        row["result"] = min(row["result"], report.outcome, key=WORST.index)
        noted: list[Any] = [value for name, value in report.user_properties if name == "battery"]
        row.update(noted[0] if noted else {})

    def of_the_battery(self) -> list[tuple[str, dict[str, Any]]]:
        found = [(name, row) for name, row in self.tests.items() if row.get("part")]
        return sorted(found, key=lambda each: PARTS.index(each[1]["part"]))

    def by_folder(self) -> list[tuple[str, float]]:
        """Return how many seconds the tests of each folder took, most first."""
        total: dict[str, float] = defaultdict(float)
        for name, row in self.tests.items():
            total[name.partition("::")[0].rpartition("/")[0]] += row["seconds"]
        return sorted(total.items(), key=lambda each: -each[1])

    def keep(self, path: Path, what: str, seed: int, stolen: float) -> None:
        """Append this run to the earlier ones: a failed run stays on record when a later one passes. ``stolen`` is the
        share of the CPU time that other guests of the host took."""
        runs = json.loads(path.read_text())["runs"] if path.exists() else []
        path.parent.mkdir(parents=True, exist_ok=True)
        tests = dict(sorted(self.tests.items()))
        at = f"{datetime.now(UTC):%Y-%m-%d %H:%M}"
        where = {"commit": measured_commit(), "machine": machine(), "stolen": round(stolen, 3)}
        runs.append({"at": at, "what": what, "seed": seed, **where, "tests": tests})
        path.write_text(json.dumps({"runs": runs}, indent=1) + "\n")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("battery")
    group.addoption("--part", choices=PARTS, help="only this part of the battery")
    group.addoption("--seed", type=int, default=None, help="the seed of an earlier run")
    group.addoption("--day", type=int, default=None, help="the day (a number) whose sample of the mutants runs")
    group.addoption("--record", type=Path, metavar="FILE", help="keep every test's outcome in this file")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.seed is None:
        config.option.seed = secrets.randbits(32)
    if config.option.day is None:
        config.option.day = datetime.now(UTC).toordinal()
    config.pluginmanager.register(Recorder(config), "battery-recorder")


def pytest_report_header(config: pytest.Config) -> str:
    return f"seed {config.option.seed}, day {config.option.day}"


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let the battery have what is not in the sample of the day."""
    mark, options = item.get_closest_marker("sampled"), item.config.option
    if mark is None or part_of(item) is not None:
        return
    share, part = mark.args
    number = next(item.config.stash.setdefault(CASES, defaultdict(counting))[item.nodeid.partition("[")[0]])
    if options.markexpr == "battery" or options.part or (number + options.day) % share:
        for each in battery(part):
            item.add_marker(each)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the full sizes unless they are requested: by `-m battery`, or by `--part`."""
    part = config.option.part
    if part is None and "battery" in config.option.markexpr:
        return
    left = [item for item in items if part_of(item) != part]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if part_of(item) == part]


def part_of(item: pytest.Item) -> str | None:
    mark = item.get_closest_marker("battery")
    return mark.args[0] if mark else None


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Tally:
    item = request.node
    new = Tally(request.config.option.seed, item.nodeid)
    unit = item.get_closest_marker("unit")
    if unit is not None:
        new.add(**{unit.args[0]: item.callspec.params["size"]})
    print(f"\n{item.nodeid}: seed {new.seed}")
    row = {"part": part_of(item), "seed": new.seed, "counts": new.counts, "measured": new.measured}
    # The report at the end of the test reads this, including everything added to the tally by then.
    item.user_properties.append(("battery", row))
    return new


class Recorder:
    """Collects the outcome of every test; writes the table and the file at the end of the run."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        # The processes of a parallel run report to the one that started them, which writes the file.
        self._file: Path | None = None if hasattr(config, "workerinput") else config.option.record
        self._records, self._began = Records(), MachineTime.now()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._records.note(report)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._file is not None:
            stolen = self._began.stolen_since()
            self._records.keep(self._file, what_ran(self._config), self._config.option.seed, stolen)
        if self._config.option.durations:
            terminalreporter.section("seconds of all test processes, by folder")
            for folder, seconds in self._records.by_folder():
                terminalreporter.write_line(f"{seconds:7.1f}  {folder}")
            terminalreporter.write_line(pytest_report_header(self._config))
        if found := self._records.of_the_battery():
            terminalreporter.section("battery")
            for line in table(found):
                terminalreporter.write_line(line)


def what_ran(config: pytest.Config) -> str:
    """The name of a run on the reliability page."""
    if config.option.part is not None:
        return f"battery, part {config.option.part}"
    return "everyday tests" if "not battery" in config.option.markexpr else "battery"


def table(rows: list[tuple[str, dict[str, Any]]]) -> list[str]:
    cells = [("part", "test", "seed", "seconds", "result", "tried")]
    cells += [
        (row["part"], name.rpartition("::")[2], str(row["seed"]), f"{row['seconds']:.0f}", row["result"], tried(row))
        for name, row in rows
    ]
    widths = [max(len(line[column]) for line in cells) for column in range(5)]
    total = sum(row["seconds"] for _, row in rows)
    lines = ["  ".join([*map(str.ljust, line[:5], widths), line[5]]) for line in cells]
    return [*lines, f"{len(rows)} tests in {total / 60:.1f} minutes"]


def tried(row: dict[str, Any]) -> str:
    """The counts and measurements of one test, in one line."""
    counts = [f"{count:,} {name.replace('_', ' ')}" for name, count in row.get("counts", {}).items()]
    measured = [f"{name.replace('_', ' ')} {value}" for name, value in row.get("measured", {}).items()]
    return ", ".join([*counts, *measured])


def machine() -> str:
    """Describe the machine of the measurements, without its name or address."""
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    cpu = models[0] if models else platform.machine()
    return f"{os.cpu_count()} cores ({cpu}), {platform.system()}, Python {platform.python_version()}"
