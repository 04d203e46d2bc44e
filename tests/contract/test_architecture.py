"""The rules of ARCHITECTURE.md that can be checked by parsing the source."""

import ast
import re
import statistics
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import studiogate

PACKAGE = Path(studiogate.__file__).parent
SOURCES = sorted(path for path in PACKAGE.rglob("*.py") if "vendor" not in path.parts)
STORAGE = [path for path in SOURCES if path.relative_to(PACKAGE).parts[0] == "storage"]
Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def where(path: Path, node: ast.AST | None = None) -> str:
    return f"{path.relative_to(PACKAGE)}:{getattr(node, 'lineno', 1)}"


def functions(module: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(module) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def length(function: Function) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


# Sizes and names.


def test_no_file_over_300_lines() -> None:
    assert [where(path) for path in SOURCES if len(path.read_text().splitlines()) > 300] == []


def test_no_function_over_45_lines_and_most_are_short() -> None:
    lengths = {f"{where(path, each)} {each.name}": length(each) for path in SOURCES for each in functions(tree(path))}
    assert {name: lines for name, lines in lengths.items() if lines > 45} == {}
    assert statistics.median(lengths.values()) <= 8


def test_no_attic() -> None:
    attic = {"utils", "util", "helpers", "helper", "common", "base", "misc"}
    names = {part for path in SOURCES for part in path.relative_to(PACKAGE).with_suffix("").parts}
    assert names & attic == set()


def test_no_import_inside_a_function() -> None:
    hidden = {
        path.relative_to(PACKAGE).as_posix()
        for path in SOURCES
        for function in functions(tree(path))
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    # It imports what prepares the database while the first API process starts.
    assert hidden == {"cli/serve.py"}


# The clock.

WALL_CLOCKS = {
    "datetime.now",
    "datetime.utcnow",
    "datetime.today",
    "date.today",
    "time.time",
    "time.time_ns",
    "time.localtime",
    "time.gmtime",
}


def wall_clocks(module: ast.Module) -> list[ast.AST]:
    """Return where the wall clock is referenced, called or not, under whatever name its module was imported."""
    found: list[ast.AST] = []
    known_as = _imported_as(module)
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom) and node.module == "time":
            found += [node for each in node.names if f"time.{each.name}" in WALL_CLOCKS]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
            if f"{known_as.get(owner, owner)}.{node.attr}" in WALL_CLOCKS:
                found.append(node)
    return found


def _imported_as(module: ast.Module) -> dict[str, str]:
    imports = [node for node in ast.walk(module) if isinstance(node, ast.Import | ast.ImportFrom)]
    return {each.asname: each.name for node in imports for each in node.names if each.asname}


def test_only_the_clock_reads_the_wall_clock() -> None:
    found = [where(path, node) for path in SOURCES for node in wall_clocks(tree(path)) if path.name != "clock.py"]
    assert found == []
    assert wall_clocks(tree(PACKAGE / "clock.py")), "the check sees what it looks for"


@pytest.mark.parametrize(
    "source",
    [
        "from datetime import datetime\ndatetime.now()",
        "import datetime\ndatetime.datetime.utcnow()",
        "import datetime as dt\ndt.date.today()",
        "from datetime import datetime as when\nwhen.now(None)",
        "import time\nread = time.time",
        "import time as t\nt.time()",
        "from time import time",
    ],
)
def test_a_wall_clock_is_found(source: str) -> None:
    assert wall_clocks(ast.parse(source))


# SQL.

STATEMENT = re.compile(
    r"\bselect\b(?!\s+(a|an|the)\b)[^.]*?\bfrom\s+\w|\binsert\s+into\s+\w|\bupdate\s+\w+(\s+\w+)?\s+set\s+\w+\s*="
    r"|\bdelete\s+from\s+\w|^\s*((create|drop|alter|truncate)\s+(table|index)|select\s+(exists\b|\w+\())",
    re.IGNORECASE | re.DOTALL,
)


def documentation(module: ast.Module) -> set[ast.AST]:
    """Return the strings that are statements of their own: docstrings, and notes below an attribute."""
    return {
        node.value for node in ast.walk(module) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


def statements(module: ast.Module) -> list[ast.AST]:
    notes = documentation(module)
    return [
        node
        for node in ast.walk(module)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node not in notes
        and STATEMENT.search(node.value)
    ]


def test_no_sql_outside_storage() -> None:
    outside = [path for path in SOURCES if path not in STORAGE]
    assert [where(path, node) for path in outside for node in statements(tree(path))] == []
    assert sum(len(statements(tree(path))) for path in STORAGE) > 40, "the check sees what it looks for"


@pytest.mark.parametrize(
    "text",
    ["select id from members", "SELECT 1 FROM x", "insert into a values (1)", "update a set b = 1", "delete from a"],
)
def test_a_statement_is_found(text: str) -> None:
    assert statements(ast.parse(f"run({text!r})"))


# The access argument of every storage function.

# ``accounts`` is not among the words: an account of staff belongs to several studios (tests/storage/test_tenancy.py).
WORDS = ["studio", "schedule", "catalog", "forms", "leads", "members", "purchases", "bookings", "idempotency", "logos"]
WORDS += ["staff"]
# Operators, housekeeping and the clock: these look up a studio, or read all studios or none. This is the only list.
WITHOUT_ACCESS = {
    ("studio.py", "find_studio"),
    ("studio.py", "any_studio"),
    ("logos.py", "find_logo"),
    ("forms/hosted.py", "find_page_studio"),
    ("forms/hosted.py", "published_test_forms"),
    ("forms/hosted.py", "studios_of_form"),
    ("forms/submit.py", "studios_of_submission"),
    ("bookings/mails.py", "studios_with_news"),
    ("bookings/staff.py", "studios_of"),
    ("bookings/staff.py", "classes_with_expired_waitlist"),
    ("bookings/staff.py", "classes_with_seat_and_waitlist"),
    ("schedule/series.py", "studios_with_due_series"),
}


def storage_functions() -> list[tuple[str, Path, ast.AsyncFunctionDef]]:
    words = [path for path in STORAGE if path.relative_to(PACKAGE / "storage").parts[0].removesuffix(".py") in WORDS]
    return [
        (path.relative_to(PACKAGE / "storage").as_posix(), path, node)
        for path in words
        for node in tree(path).body
        if isinstance(node, ast.AsyncFunctionDef) and not node.name.startswith("_")
    ]


def test_no_storage_function_without_access() -> None:
    named = storage_functions()
    wrong = [
        f"{where(path, function)} {function.name}"
        for name, path, function in named
        if (name, function.name) not in WITHOUT_ACCESS and not _starts_with_access(function)
    ]
    assert wrong == []
    assert len(named) > 30


def _starts_with_access(function: ast.AsyncFunctionDef) -> bool:
    given = [(each.arg, ast.unparse(each.annotation or ast.Constant(None))) for each in function.args.args[:2]]
    return given == [("connection", "Connection"), ("access", "Access")]


def test_the_listed_exceptions_are_needed() -> None:
    """An exception for a function that takes access, or no longer exists, would hide a later one of that name."""
    needed = {(name, each.name) for name, _, each in storage_functions() if not _starts_with_access(each)}
    assert needed == WITHOUT_ACCESS


def test_access_is_used_where_it_is_asked_for() -> None:
    """An unused argument protects nothing."""
    unused = [
        f"{where(path, function)} {function.name}"
        for _, path, function in storage_functions()
        if _starts_with_access(function)
        and not any(isinstance(node, ast.Name) and node.id == "access" for node in ast.walk(function))
    ]
    assert unused == []
