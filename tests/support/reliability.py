"""Write docs/reliability.md from the recorded results of the battery and the everyday tests (`make reliability`).

python -m tests.support.reliability RECORD     writes the page
python -m tests.support.reliability --tests    prints the tests that the page needs, for pytest
"""

import json
import sys
from pathlib import Path
from typing import Any

from tests.support.battery import WORST, tried
from tests.support.promises import PROMISES, Promise, named_tests

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
NOT_RUN = "not run"
HEAD = """# What is promised, and how it was tried

Made by `make reliability` from what the tests recorded: not written by hand. It has the runs of one commit, failed ones
included. Every promise names the tests that try to break it. `make battery` runs those with counts at full size; the
others run in every `make test`. Each race has its mutant: the same test must fail on a service with one mistake in it,
and that is a test as well.

"""
RUNS = """
## The runs

"Stolen" is the share of the CPU time that other guests of the machine's host took: what depends on speed is worth
little above some 10 %.

| run | when (UTC) | what | seed | stolen | tests | failed |
|---|---|---|---|---|---|---|
"""
Row = dict[str, Any]
Run = dict[str, Any]


def page(record: dict[str, Any]) -> str:
    """Return the page of the commit that was tested last: the results, then the tests per promise, then the runs."""
    runs: list[Run] = [run for run in record["runs"] if commit_of(run) == commit_of(record["runs"][-1])]
    machines = " and ".join(dict.fromkeys(run["machine"] for run in runs))
    lines = [f"Commit {commit_of(runs[-1])}, on {machines}.\n\n| promise | result |\n|---|---|\n"]
    everything = [promise for promises in PROMISES.values() for promise in promises]
    lines += [f"| {promise.words} | {result_of_promise(promise, runs)} |\n" for promise in everything]
    for group, promises in PROMISES.items():
        lines.append(f"\n## {group}\n")
        for promise in promises:
            lines += [f"\n**{promise.words}**\n", "\n| test | tried | result |\n|---|---|---|\n"]
            lines += [line(name, runs) for name in promise.tests]
    return HEAD + "".join([*lines, RUNS, *rows_of_runs(runs)])


def commit_of(run: Run) -> str:
    return str(run.get("commit", "unknown"))


def rows_of_runs(runs: list[Run]) -> list[str]:
    lines = []
    for number, run in enumerate(runs, 1):
        results = [row["result"] for row in run["tests"].values()]
        stolen = f"{run['stolen']:.0%}" if "stolen" in run else "not measured"
        cells = (number, run["at"], run["what"], run["seed"], stolen, len(results), results.count("failed"))
        lines.append(f"| {' | '.join(map(str, cells))} |\n")
    return lines


def result_of_promise(promise: Promise, runs: list[Run]) -> str:
    """Return how many of a promise's tests passed in every run, and what became of the others."""
    results = [result_of(found) if (found := runs_of(name, runs)) else NOT_RUN for name in promise.tests]
    others = {result: results.count(result) for result in dict.fromkeys(results) if result != "passed"}
    if not others:
        return "passed"
    return ", ".join(f"{count} of {len(results)} tests: {result}" for result, count in others.items())


def line(name: str, runs: list[Run]) -> str:
    """Return the table row of a test; the counts are those of the last run, the results those of all runs."""
    found = runs_of(name, runs)
    if not found:
        return f"| `{name}` | 0 cases | {NOT_RUN} |\n"
    return f"| `{name}` | {summary_of(found[max(found)])} | {result_of(found)} |\n"


def runs_of(name: str, runs: list[Run]) -> dict[int, list[Row]]:
    """Return the rows of a test by the number of the run: those of full size if there are any, else all."""
    found = {number: rows_of(name, run) for number, run in enumerate(runs, 1)}
    if any(row.get("part") for rows in found.values() for row in rows):
        found = {number: [row for row in rows if row.get("part")] for number, rows in found.items()}
    return {number: rows for number, rows in found.items() if rows}


def rows_of(name: str, run: Run) -> list[Row]:
    return [row for node, row in run["tests"].items() if node.partition("[")[0] == f"tests/{name}"]


def result_of(found: dict[int, list[Row]]) -> str:
    """Return the result if all runs agree, otherwise the runs per result."""
    results: dict[int, str] = {
        number: min((row["result"] for row in rows), key=WORST.index) for number, rows in found.items()
    }
    if len(set(results.values())) == 1:
        return next(iter(results.values()))
    by_result = {result: [number for number in results if results[number] == result] for result in WORST}
    return ", ".join(
        f"{result} in run {', '.join(map(str, numbers))}" for result, numbers in by_result.items() if numbers
    )


def summary_of(rows: list[Row]) -> str:
    """Return the counts summed over all variants of a test, and each measurement."""
    counts: dict[str, int] = {}
    measured: dict[str, str] = {}
    for row in rows:
        for unit, count in row.get("counts", {}).items():
            counts[unit] = counts.get(unit, 0) + count
        measured.update(row.get("measured", {}))
    said = tried({"counts": counts, "measured": measured})
    cases = f"{len(rows)} case{'s' if len(rows) != 1 else ''}"
    return f"{said} ({cases})" if said and len(rows) > 1 else said or cases


def main() -> None:
    if sys.argv[1:] == ["--tests"]:
        print("\n".join(named_tests()))
        return
    PAGE.write_text(page(json.loads(Path(sys.argv[1]).read_text())))


if __name__ == "__main__":
    main()
