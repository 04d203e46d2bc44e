"""The reliability page names only tests that exist, and all tests that it should."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

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


def test_a_page_shows_counts_and_every_run() -> None:
    name = "tests/races/test_races.py::test_last_seats"
    full = {"part": "seats", "counts": {"duels": 300}}
    runs = [
        {
            "at": "2026-01-01 10:00",
            "what": "battery",
            "seed": 7,
            "machine": "2 cores",
            "tests": {f"{name}[300]": {"result": "failed", **full}},
        },
        {
            "at": "2026-01-02 10:00",
            "what": "battery",
            "seed": 8,
            "machine": "2 cores",
            "stolen": 0.125,
            "tests": {f"{name}[300]": {"result": "passed", **full}},
        },
        {
            "at": "2026-01-02 11:00",
            "what": "everyday tests",
            "seed": 9,
            "machine": "4 cores",
            "tests": {f"{name}[15]": {"result": "passed"}},
        },
    ]
    assert "Tried on 2 cores, in these runs" in page({"runs": runs[:2]})
    written = page({"runs": runs})
    assert "Tried on 2 cores (runs 1 to 2) and 4 cores (run 3), in these runs" in written
    assert "| 1 | 2026-01-01 10:00 | battery | 7 | not measured | 1 | 1 |" in written
    assert "| 2 | 2026-01-02 10:00 | battery | 8 | 12% | 1 | 0 |" in written
    assert "| `races/test_races.py::test_last_seats` | 300 duels | failed in run 1, passed in run 2 |" in written
    assert "| `races/test_races.py::test_full_classes` | 0 cases | not run |" in written


def test_a_failed_run_stays_on_record(tmp_path: Path) -> None:
    kept = tmp_path / "record.json"
    for seed, result in ((1, "failed"), (2, "passed")):
        Records({"tests/x.py::test_x": {"result": result}}).keep(kept, "battery", seed, 0.0)
    runs = json.loads(kept.read_text())["runs"]
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
