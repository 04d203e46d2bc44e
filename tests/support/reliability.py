"""Write docs/reliability.md from the recorded results of the battery and the everyday tests (`make reliability`).

python -m tests.support.reliability RECORD     writes the page
python -m tests.support.reliability --tests    prints the tests that the page needs, for pytest
"""

import json
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

from tests.support.battery import WORST, tried
from tests.support.promises import PROMISES, named_tests

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
HEAD = """# What is promised, and how it was tried

Made by `make reliability` from what the tests recorded: not written by hand. Every promise names the tests that try to
break it. `make battery` runs those with counts at full size; the others run in every `make test`. Each race has its
mutant: the same test must fail on a service with one mistake in it, and that is a test as well. "Stolen" is the share
of the CPU time that other guests of the machine's host took: what depends on speed is worth little above some 10 %.

"""
Row = dict[str, Any]
Run = dict[str, Any]


def page(record: dict[str, Any]) -> str:
    runs: list[Run] = record["runs"]
    lines = [f"Tried on {machines_of(runs)}, in these runs, failed ones included:\n\n", *table_of_runs(runs)]
    for group, promises in PROMISES.items():
        lines.append(f"\n## {group}\n")
        for promise in promises:
            lines += [f"\n**{promise.words}**\n", "\n| test | tried | result |\n|---|---|---|\n"]
            lines += [line(name, runs) for name in promise.tests]
    return HEAD + "".join(lines)


def machines_of(runs: list[Run]) -> str:
    """Return the machine of the runs; if there are several, each with its runs."""
    numbered = enumerate(runs, 1)
    spans = [(name, [number for number, _ in of]) for name, of in groupby(numbered, lambda each: each[1]["machine"])]
    if len(spans) == 1:
        return str(spans[0][0])
    return " and ".join(f"{name} ({_span(numbers)})" for name, numbers in spans)


def _span(numbers: list[int]) -> str:
    return f"run {numbers[0]}" if len(numbers) == 1 else f"runs {numbers[0]} to {numbers[-1]}"


def table_of_runs(runs: list[Run]) -> list[str]:
    lines = ["| run | when (UTC) | what | seed | stolen | tests | failed |\n|---|---|---|---|---|---|---|\n"]
    for number, run in enumerate(runs, 1):
        results = [row["result"] for row in run["tests"].values()]
        stolen = f"{run['stolen']:.0%}" if "stolen" in run else "not measured"
        cells = (number, run["at"], run["what"], run["seed"], stolen, len(results), results.count("failed"))
        lines.append(f"| {' | '.join(map(str, cells))} |\n")
    return lines


def line(name: str, runs: list[Run]) -> str:
    """Return the table row of a test: its full-size runs if there are any, otherwise its everyday runs; the counts are
    those of the last run, the results those of all runs."""
    found = {number: rows_of(name, run) for number, run in enumerate(runs, 1)}
    if any(row.get("part") for rows in found.values() for row in rows):
        found = {number: [row for row in rows if row.get("part")] for number, rows in found.items()}
    found = {number: rows for number, rows in found.items() if rows}
    if not found:
        return f"| `{name}` | 0 cases | not run |\n"
    return f"| `{name}` | {summary_of(found[max(found)])} | {result_of(found)} |\n"


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
