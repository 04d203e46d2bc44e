"""Writes docs/reliability.md from what the battery and the everyday tests have recorded (`make reliability`).

python -m tests.reliability RECORD     writes the page
python -m tests.reliability --tests    names the tests that the page needs, for pytest
"""

import json
import sys
from pathlib import Path
from typing import Any

from tests.battery import WORST, tried
from tests.promises import PROMISES, named_tests

PAGE = Path(__file__).parent.parent / "docs" / "reliability.md"
HEAD = """# What is promised, and how it was tried

Made by `make reliability` from what the tests recorded: not written by hand. Every promise names the tests that try to
break it. `make battery` runs those with counts at full size; the others run in every `make test`. Each race has its
mutant: the same test must fail on a service with one mistake in it, and that is a test as well.

"""
Rows = dict[str, dict[str, Any]]


def page(record: dict[str, Any]) -> str:
    names = set(named_tests())
    dates = sorted({row["at"] for node, row in record["tests"].items() if node.partition("[")[0] in names})
    lines = [f"Tried {' to '.join(dict.fromkeys((dates[0], dates[-1])))} on {record['machine']}.\n"]
    for group, promises in PROMISES.items():
        lines.append(f"\n## {group}\n")
        for promise in promises:
            lines += [f"\n**{promise.words}**\n", "\n| test | tried | result |\n|---|---|---|\n"]
            lines += [line(name, record["tests"]) for name in promise.tests]
    return HEAD + "".join(lines)


def line(name: str, tests: Rows) -> str:
    """One test: at full size where it ran so, else as it is every day."""
    runs = [row for node, row in tests.items() if node.partition("[")[0] == f"tests/{name}"]
    full = [row for row in runs if row.get("part")] or runs
    result = min((row["result"] for row in full), key=WORST.index) if full else "not run"
    return f"| `{name}` | {told(full)} | {result} |\n"


def told(rows: list[dict[str, Any]]) -> str:
    """The counts of all variants of a test together; of measurements each."""
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
