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


# Transactions.

DRIVERS_TRANSACTIONS = {
    "cli/prepare.py": "the demo studio is loaded by one command, which says what is known if the database is lost",
    "flows/backup.py": "reads only",
    "flows/staff_flow.py": "is always taken back",
    "flows/studio_file/load.py": "a savepoint",
    "flows/studio_file/files.py": "reads only",
    "storage/db/health.py": "writes no rows",
    "storage/db/migrate.py": "a migration is applied again if it was not committed",
    "storage/db/failures.py": "the one that says when an outcome is unknown",
}


def test_a_flow_commits_in_a_transaction_that_says_when_its_outcome_is_unknown() -> None:
    own = {path.relative_to(PACKAGE).as_posix() for path in SOURCES if "connection.transaction(" in path.read_text()}
    assert own == set(DRIVERS_TRANSACTIONS)


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


# Nine parameters can be read by their numbers; a statement with more names them (``storage/db/statement.py``). Numbers
# that are generated from a list of columns, together with their values, are not literals.
TENTH = re.compile(r"\$[1-9][0-9]")


def numbered_beyond_nine(module: ast.Module) -> list[ast.AST]:
    return [
        node
        for node in ast.walk(module)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and TENTH.search(node.value)
    ]


def test_a_statement_numbers_at_most_nine_parameters() -> None:
    assert [where(path, node) for path in STORAGE for node in numbered_beyond_nine(tree(path))] == []


@pytest.mark.parametrize("text", ["'values ($9, $10)'", "f'select {columns}, $12::uuid[]'", "announced('wire', '$15')"])
def test_a_tenth_parameter_is_found(text: str) -> None:
    assert numbered_beyond_nine(ast.parse(f"X = {text}"))
    assert not numbered_beyond_nine(ast.parse("X = 'values ($1, $9, :name)'"))


# The access argument of every storage function.

# Functions that take no access, by the reason. This is the only list.
WITHOUT_ACCESS = {
    "they find the studio that an access is made for, by a slug, an id or a key": {
        "forms/hosted.py": ["find_page_studio", "published_test_forms"],
        "keys.py": ["find_credential", "studio_of_credential"],
        "operator_lists.py": ["studios_of"],
        "console.py": ["read_mark"],
        "studio.py": ["any_studio", "find_logo", "find_studio"],
    },
    "they find the studios with work that is due; each is then worked on with an access": {
        "bookings/staff.py": ["classes_with_expired_waitlist", "classes_with_seat_and_waitlist"],
        "housekeeping.py": ["studios_with"],
        "webhooks/endpoints.py": ["failing_too_long"],
    },
    "they maintain, measure or list the rows of all studios, for the worker and for operators": {
        "event_numbering.py": ["oldest_unnumbered"],
        "keys.py": ["list_credentials", "record_use"],
        "operator_lists.py": ["studios"],
        "queue_metrics.py": ["mail_trouble", "measure"],
        "webhooks/claims.py": ["oldest_due"],
        "webhooks/endpoints.py": ["sweep_deleted"],
    },
    "they work on the whole database or no rows: backups, the doctor, the secret key, settings": {
        "backup.py": [
            "analyze",
            "copy_in",
            "copy_out",
            "create_database",
            "create_derived",
            "drop_database",
            "lift_timeouts",
            "newest_proven",
            "record_proof",
            "remove_derived",
            "sequences",
            "set_sequence",
            "table_count",
            "tables",
            "upload_exists",
            "uploads",
        ],
        "mails.py": ["note_worker", "silence", "worker_sends"],
        "studio_file/apply.py": ["analyze_tables"],
        "doctor.py": ["log_settings", "server_clock", "server_version", "violations"],
        "secret_key.py": [
            "endpoint_secrets",
            "key_fingerprint",
            "link_secrets",
            "lock_link_secret",
            "replace_fingerprint",
            "sealed_answers",
            "studios_with_unsealed_links",
            "write_answers",
            "write_endpoint_secrets",
            "write_first",
            "write_link_secrets",
        ],
    },
    # tests/storage/test_tenancy.py
    "an account of staff belongs to several studios, and signs in before it chooses one": {
        "accounts/accounts.py": [
            "beyond",
            "confirm_second_factor",
            "find",
            "find_or_add",
            "forget",
            "list_accounts",
            "lock",
            "read",
            "sealed_secrets",
            "set_disabled",
            "set_name",
            "set_password",
            "set_second_factor",
            "studios",
            "use_step",
            "write_secrets",
        ],
        "accounts/attempts.py": ["add", "count", "remove"],
        "accounts/links.py": ["add", "find", "queue_reset", "use_all"],
        "accounts/sessions.py": [
            "add",
            "choose_studio",
            "end",
            "find",
            "is_known_device",
            "last_studio",
            "list_sessions",
            "note_password",
            "note_use",
            "replace_token",
        ],
        "console.py": ["lock_set_up", "own_studios"],
    },
    "they read and write temporary tables, which only this transaction sees": {
        "csv_import.py": [
            "counts",
            "decide",
            "finish_staging",
            "give_up",
            "judge",
            "mark_faults",
            "prepare",
            "stage",
            "verdicts",
        ],
        "studio_file/changes.py": ["leave_out_history"],
        "studio_file/emails.py": ["changed_emails"],
        "studio_file/effects.py": ["new_series", "prepare", "series_to_follow"],
        "studio_file/stage.py": [
            "analyze_changes",
            "analyze_rows",
            "completed_rows",
            "counted",
            "ids_of",
            "leave_out",
            "new_files",
            "prepare",
            "stage",
            "stage_faulty",
        ],
    },
}
LISTED = [
    (name, function) for files in WITHOUT_ACCESS.values() for name, listed in files.items() for function in listed
]


def storage_functions() -> list[tuple[str, Path, ast.AsyncFunctionDef]]:
    """Return the public functions of storage, without those of ``db``, which know no rows of a studio."""
    words = [path for path in STORAGE if path.relative_to(PACKAGE / "storage").parts[0] != "db"]
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
        if (name, function.name) not in LISTED and not _starts_with_access(function)
    ]
    assert wrong == []
    assert len(named) > 300


def _starts_with_access(function: ast.AsyncFunctionDef) -> bool:
    given = [(each.arg, ast.unparse(each.annotation or ast.Constant(None))) for each in function.args.args[:2]]
    return given == [("connection", "Connection"), ("access", "Access")]


def test_the_listed_exceptions_are_needed() -> None:
    """An exception for a function that takes access, or no longer exists, would hide a later one of that name."""
    needed = [(name, each.name) for name, _, each in storage_functions() if not _starts_with_access(each)]
    assert sorted(LISTED) == sorted(needed)


def test_access_is_used_where_it_is_asked_for() -> None:
    """An unused argument protects nothing."""
    unused = [
        f"{where(path, function)} {function.name}"
        for _, path, function in storage_functions()
        if _starts_with_access(function)
        and not any(isinstance(node, ast.Name) and node.id == "access" for node in ast.walk(function))
    ]
    assert unused == []


# Any in annotations.

# May only be lowered: a new annotation says what it means, or another one is made more precise.
MAX_ANY = 256


def annotations(module: ast.Module) -> Iterator[ast.AST]:
    """Return the annotations of a module: of arguments, results and variables, and the values of type aliases."""
    for node in ast.walk(module):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            yield node.annotation
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
            yield node.returns
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias" and node.value is not None:
            yield node.value


def count_any(module: ast.Module) -> int:
    names = [node for annotation in annotations(module) for node in ast.walk(annotation) if isinstance(node, ast.Name)]
    return sum(name.id == "Any" for name in names)


def test_any_becomes_rarer() -> None:
    assert sum(count_any(tree(path)) for path in SOURCES) <= MAX_ANY


def test_every_any_of_an_annotation_is_counted() -> None:
    source = "def f(a: Any, *b: list[Any], **c: Any) -> dict[str, Any]:\n    d: Any = 1\nX: TypeAlias = Sequence[Any]\n"
    assert count_any(ast.parse(source + "e = Any\n")) == 6


# From the endpoint to storage, without the rules in ``domain``; docs/locking.md describes it.
ROAD_OF_A_BOOKING = (
    "api/resources/bookings/write.py",
    "api/framework/idempotency.py",
    *(f"flows/bookings/{name}.py" for name in ("scheduler", "executor", "class_state", "book", "cancel", "promote")),
    "flows/idempotency.py",
    *(f"storage/bookings/{name}.py" for name in ("lock", "facts", "create", "cancel", "read")),
    "storage/idempotency.py",
)


def test_the_road_of_a_booking_is_short() -> None:
    assert len(ROAD_OF_A_BOOKING) <= 15
    assert sum(len((PACKAGE / path).read_text().splitlines()) for path in ROAD_OF_A_BOOKING) <= 3000
