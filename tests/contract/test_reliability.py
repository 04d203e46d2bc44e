"""The reliability page names only tests that exist, and all tests that it should."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench.processes import measured_commit
from tests.support.battery import PARTS, Records
from tests.support.promises import PROMISES, named_tests
from tests.support.reliability import PAGE, page

ROOT = Path(__file__).parent.parent.parent
# Tests that verify other tests, and those of the mutants.
CHECKS = re.compile(r"_noticed$")


def defined_in(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    functions = [
        node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return [function for function in functions if function.name.startswith("test_")]


@pytest.mark.parametrize("name", named_tests())
def test_every_named_test_exists(name: str) -> None:
    path, _, function = name.partition("::")
    assert function in {each.name for each in defined_in(ROOT / path)}


def test_every_test_of_the_battery_is_named() -> None:
    """By the promise that it tries to break."""
    missing = [
        f"{path.relative_to(ROOT)}::{test.name}"
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for test in defined_in(path)
        if is_battery(test) and not CHECKS.search(test.name)
    ]
    assert [name for name in missing if name not in named_tests()] == []


def is_battery(test: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(re.search(r"\b(sized|battery)\(", ast.unparse(each)) for each in test.decorator_list)


def test_the_page_is_that_of_these_promises() -> None:
    """`make reliability` writes it anew."""
    text = PAGE.read_text()
    written = re.findall(r"^\*\*(.+)\*\*$", text, re.MULTILINE)
    assert written == [promise.words for promises in PROMISES.values() for promise in promises]
    shown = re.findall(r"^\| `(.+?)` \|", text, re.MULTILINE)
    assert shown == [name for promises in PROMISES.values() for promise in promises for name in promise.tests]


def run_of(commit: str, seed: int, result: str, **row: object) -> dict[str, object]:
    tests = {"tests/races/test_races.py::test_last_seats[300]": {"result": result, **row}}
    where = {"commit": commit, "machine": "2 cores", "stolen": 0.125}
    return {"at": "2026-01-01 10:00", "what": "battery", "seed": seed, **where, "tests": tests}


def test_a_page_shows_every_run_of_the_last_commit() -> None:
    full = {"part": "seats", "counts": {"duels": 300}}
    earlier = run_of("aaaa", 6, "failed", **full)
    runs = [run_of("bbbb", 7, "failed", **full), run_of("bbbb", 8, "passed", **full), run_of("bbbb", 9, "passed")]
    written = page({"runs": [earlier, *runs]})
    assert "Commit bbbb, on 2 cores." in written
    assert "| 1 | 2026-01-01 10:00 | battery | 7 | 12% | 1 | 1 |" in written
    assert "| 3 | 2026-01-01 10:00 | battery | 9 | 12% | 1 | 0 |" in written
    assert "| 6 |" not in written
    assert "| `races/test_races.py::test_last_seats` | 300 duels | failed in run 1, passed in run 2 |" in written
    assert "| `races/test_races.py::test_full_classes` | 0 cases | not run |" in written


def test_a_page_begins_with_the_results_of_the_promises() -> None:
    written = page({"runs": [run_of("bbbb", 7, "passed")]})
    never_oversold, no_seat_is_lost = PROMISES["Booking"][:2]
    results = written.partition("## Booking")[0]
    assert f"| {never_oversold.words} | {len(never_oversold.tests) - 1} of {len(never_oversold.tests)} tests" in results
    assert f"| {no_seat_is_lost.words} | 1 of 1 tests: not run |" in results


def test_a_failed_run_stays_on_record(tmp_path: Path) -> None:
    kept = tmp_path / "record.json"
    for seed, result in ((1, "failed"), (2, "passed")):
        Records({"tests/x.py::test_x": {"result": result}}).keep(kept, "battery", seed, 0.0)
    runs = json.loads(kept.read_text())["runs"]
    assert all(run["commit"] == measured_commit() for run in runs)
    assert [(run["seed"], run["tests"]["tests/x.py::test_x"]["result"]) for run in runs] == [
        (1, "failed"),
        (2, "passed"),
    ]


def test_a_parallel_run_is_recorded_once(tmp_path: Path) -> None:
    file = tmp_path / "record.json"
    options = ["-n", "2", "-p", "no:cacheprovider", "--record", str(file), "tests/domain/test_ids.py"]
    subprocess.run([sys.executable, "-m", "pytest", *options], check=True, cwd=ROOT, capture_output=True)
    (run,) = json.loads(file.read_text())["runs"]
    assert {each["result"] for each in run["tests"].values()} == {"passed"}


def test_every_part_has_a_test_and_is_documented() -> None:
    everything = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    assert [part for part in PARTS if f'"{part}"' not in everything] == []
    documented = (ROOT / "CONTRIBUTING.md").read_text()
    assert [part for part in PARTS if f"`{part}`" not in documented] == []
