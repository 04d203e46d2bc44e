"""The performance targets, and whether a run meets them."""

from collections.abc import Iterator
from dataclasses import dataclass

from bench import imports, labels
from bench.labels import CANCEL, FIFTY, HOT, MANY, OF_A_MEMBER, ONE_CLASS, TWO_HUNDRED
from bench.results import POSTGRES_CPU, SERVER_CPU, THROUGHPUT, Results

OF_THE_BASELINE = {ONE_CLASS: 0.5, FIFTY: 0.6, TWO_HUNDRED: 0.6, OF_A_MEMBER: 0.6, MANY: 0.7, HOT: 0.7, CANCEL: 0.7}
OF_THE_LIMIT = {MANY: 0.30, HOT: 2.0}
TIMES_THE_TEXTBOOK = {ONE_CLASS: 3.0, FIFTY: 3.0, MANY: 3.0, HOT: 3.0}
TIMES_THE_BASELINES_CPU = {ONE_CLASS: 2.2, FIFTY: 1.9}
GROWTH = 1.3
MEGABYTES, WARM_SECONDS, DELIVERIES, LIVE_SECONDS = 130.0, 2.0, 300.0, 2.0
CROWD_SECONDS, BYSTANDERS_SLOWER = {labels.CROWD: 3.0, labels.CROWD_WAITS: 4.0}, 2.0
TO_ONE_WORKER, OTHER_CLASSES = 0.9, 1.5
PAGES = (labels.TODAY, labels.CLASS_PAGE, labels.SCHEDULE, labels.MEMBERS)
OF_A_PAGE = ((labels.PAGE_CPU, 25.0, "ms"), (labels.PAGE_BYTES, 60.0, "KB"), (labels.PAGE_ZIPPED, 12.0, "KB"))
IMPORT_SECONDS, IMPORT_MEGABYTES = 60.0, 150.0


@dataclass(frozen=True)
class Target:
    what: str
    value: float
    bound: float
    unit: str = ""
    at_least: bool = True

    @property
    def met(self) -> bool:
        return self.value >= self.bound if self.at_least else self.value <= self.bound


def of_the_baseline(results: Results, scenario: str, workers: int | None = None) -> float | None:
    count = workers or results.workers
    return results.ratio(scenario, labels.studiogate(count), labels.baseline(count), THROUGHPUT)


def of_the_limit(results: Results, scenario: str) -> float | None:
    return results.ratio(scenario, labels.studiogate(results.workers), labels.LIMIT, THROUGHPUT)


def times_the_textbook(results: Results, scenario: str) -> float | None:
    ours, others = labels.studiogate(results.workers), labels.textbook(results.workers)
    return results.ratio(scenario, ours, others, THROUGHPUT)


def times_the_baselines_cpu(results: Results, scenario: str) -> float | None:
    return results.ratio(scenario, labels.studiogate(1), labels.baseline(1), SERVER_CPU)


def growth(results: Results, scenario: str) -> float | None:
    """Return the CPU time of a request, PostgreSQL's included, with many studios divided by that with one."""
    among, alone = labels.crowded(results.studios), labels.studiogate(1)
    return results.ratio(scenario, among, alone, SERVER_CPU, POSTGRES_CPU)


def to_one_worker(results: Results, scenario: str) -> float | None:
    """Return the throughput of several workers divided by that of one, while the client has a core to itself."""
    return results.ratio(scenario, labels.apart(results.workers), labels.apart(1), THROUGHPUT)


def targets(results: Results) -> list[Target]:
    """Return the targets for which this run has figures."""
    return [*_ratios(results), *_alone(results), *_pages(results)]


def _ratios(results: Results) -> Iterator[Target]:
    tables = (
        ("throughput of the baseline's", OF_THE_BASELINE, of_the_baseline, True),
        ("throughput of the limit's", OF_THE_LIMIT, of_the_limit, True),
        ("throughput of the textbook's", TIMES_THE_TEXTBOOK, times_the_textbook, True),
        ("throughput of one worker's", dict.fromkeys(results.scenarios(), TO_ONE_WORKER), to_one_worker, True),
        ("CPU of the baseline's", TIMES_THE_BASELINES_CPU, times_the_baselines_cpu, False),
        ("CPU among many studios", dict.fromkeys(results.scenarios(), GROWTH), growth, False),
    )
    for what, bounds, ratio, at_least in tables:
        for scenario, bound in bounds.items():
            value = ratio(results, scenario)
            if value is not None:
                yield Target(f"{scenario}: {what}", value, bound, at_least=at_least)


def _alone(results: Results) -> Iterator[Target]:
    wanted = (
        *(
            (crowd, measure, bound, unit, False)
            for crowd, seconds in CROWD_SECONDS.items()
            for measure, bound, unit in (
                (labels.WRONG_ANSWERS, 0.0, ""),
                (labels.LAST_ANSWER, seconds, "s"),
                (labels.BYSTANDERS, BYSTANDERS_SLOWER, "x"),
            )
        ),
        (labels.HELD, labels.OTHER_CLASSES, OTHER_CLASSES, "x", False),
        (labels.MEMORY, labels.MEMORY, MEGABYTES, "MB", False),
        (labels.START, labels.WARM, WARM_SECONDS, "s", False),
        (labels.DELIVERIES, THROUGHPUT, DELIVERIES, "/s", True),
        (labels.LIVE, labels.LIVE, LIVE_SECONDS, "s", False),
        *((each, labels.SECONDS, IMPORT_SECONDS, "s", False) for each in imports.STEPS),
        *((each, labels.MEMORY, IMPORT_MEGABYTES, "MB", False) for each in imports.STEPS),
    )
    for of, measure, bound, unit, at_least in wanted:
        value = results.find(of, labels.STUDIOGATE, measure)
        if value is not None:
            yield Target(of if of == measure else f"{of}: {measure}", value, bound, unit, at_least)


def _pages(results: Results) -> Iterator[Target]:
    for page in PAGES:
        for measure, bound, unit in OF_A_PAGE:
            value = results.find(page, labels.STUDIOGATE, measure)
            if value is not None:
                yield Target(f"{page}: {measure}", value, bound, unit, at_least=False)
