"""SQL is built from constants only, and the check that says so sees what it looks for."""

import ast
from pathlib import Path

import pytest

import studiogate
from tests.support.sql_origin import DESCRIPTIONS, EXECUTORS, Module, SourceTree

PACKAGE = Path(studiogate.__file__).parent
# The only list of exceptions: (file, what), with the reason.
EXCEPTIONS = {
    # The text of our own .sql files, read from the installed package, and the names in it of an index and its table.
    ("storage/db/migrate.py", "Migration"),
    ("storage/db/migrate.py", "executed"),
    # The database's own tables and columns, quoted; a restore takes only those that exist.
    ("flows/backup.py", "Table"),
    ("storage/backup.py", "Table"),
    # Queries over the tables of a studio file, made by storage/studio_file/diff.py from their descriptions alone.
    # Columns that follow from the fields of domain/fields, which are made at import.
    ("storage/studio_file/table_types.py", "Column"),
    ("storage/studio_file/tables.py", "Table"),
    ("storage/audit.py", "executed"),
    ("storage/studio_file/diff.py", "executed"),
    # Where events keep what they are about, and the wire columns of a class, which are made at import.
    ("storage/class_availability.py", "Statement"),
    # Indexes and foreign keys of our own schema, as PostgreSQL itself defines them.
    ("storage/backup.py", "executed"),
    # How long a transaction waits for locks: one of the constants of flows/bookings/executor.py.
    ("storage/db/pool.py", "executed"),
}


@pytest.fixture(scope="module")
def sources() -> SourceTree:
    return SourceTree.read(PACKAGE)


def test_sql_is_built_from_constants_only(sources: SourceTree) -> None:
    found = [each for each in sources.faults() if (each.path, each.why.split(":")[0]) not in EXCEPTIONS]
    assert found == []


def test_the_check_sees_all_sources(sources: SourceTree) -> None:
    calls = {name: len(sources.calls.get(name, ())) for name in (*EXECUTORS, *DESCRIPTIONS)}
    assert sum(calls[name] for name in EXECUTORS) > 140
    assert [name for name in DESCRIPTIONS if not calls[name]] == [], "a description that nobody makes"
    needed = {(each.path, each.why.split(":")[0]) for each in sources.faults()}
    assert needed == EXCEPTIONS


def test_no_constant_is_bound_anew(sources: SourceTree) -> None:
    """What a module binds at import stays what it is."""
    assert [
        module.path for module in sources.modules for node in ast.walk(module.tree) if isinstance(node, ast.Global)
    ] == []


AROUND = """
from studiogate.storage.paging import Filter, OneOf, Parent, Resource
TABLES = {"a": "leads", "b": "members"}
COLUMNS = ("id", "email")
WHERE = "email = $1"

class Wanted: ...

async def read(connection, access: Access, name: str, wanted: dict[str, str], *fields: str, page: Page):
    BODY

def composed(text: str) -> str:
    return f"select 1 from {text}"

async def ordered(connection, order: str):
    await connection.fetch(f"select id from leads order by {order}")

async def caller(connection, request):
    CALL
"""


def faults(body: str = "pass", call: str = "pass", path: str = "storage/planted.py") -> list[str]:
    source = AROUND.replace("BODY", body).replace("CALL", call)
    return [each.why for each in SourceTree([Module(path, ast.parse(source))]).faults()]


@pytest.mark.parametrize(
    "body",
    [
        "await connection.fetch(f'select x from {name}')",
        "await connection.fetch('select x from ' + name)",
        "await connection.fetch('select x from {}'.format(name))",
        "await connection.fetch('select x from %s' % name)",
        "await connection.fetch(TABLES.get(name, name))",
        "await connection.fetchval(name)",
        "await connection.execute(f'set local x = {page.limit}')",
        "text = f'select x from t order by {name}'\n    await connection.fetch(text)",
        "text = 'select x from t '\n    text += name\n    await connection.fetch(text)",
        "for each in fields:\n        await connection.fetch(f'select {each} from t')",
        "await connection.fetch(', '.join(fields))",
        "await connection.fetch(', '.join(each for each in wanted))",
        "await connection.fetch('select ' + (name if name in COLUMNS else 'id'))",
        "row = await connection.fetchrow('select t from x')\n    await connection.fetch(f'select x from {row[0]}')",
        "await connection.fetch(composed(name))",
        "await connection.fetch((lambda: name)())",
        "await connection.fetch(f'select {access.studio_id}')",
        "filters = [Filter(f'c.{key} = {{}}', value) for key, value in wanted.items()]",
        "Filter(name, 1)",
        "Parent(exists=name, id=1)",
        "OneOf(name, [1])",
        "OneOf('id', [1], type=name)",
        "Resource('leads', 'l', name)",
        "each = Filter('x = {}', name)\n    await connection.fetch(each.value)",
        "run = connection.fetch\n    await run(name)",
        "async for row in connection.cursor(name): pass",
        "await connection.copy_records_to_table(name, records=[])",
        "with open(name) as file:\n        await connection.execute(file.read())",
    ],
)
def test_a_text_that_holds_a_value_is_found(body: str) -> None:
    found = faults(body, call="await ordered(connection, 'id')")
    assert len(found) == 1, found


@pytest.mark.parametrize(
    "call",
    [
        "await ordered(connection, request.order)",
        "await ordered(connection, order=request)",
        "await ordered(*request)",
        "await ordered(connection, **request)",
        "await ordered(connection, 'id'); await request.later(ordered)",
        "pass",
    ],
)
def test_a_value_given_by_a_caller_is_found(call: str) -> None:
    assert len(faults(call=call)) == 1


@pytest.mark.parametrize(
    "body",
    [
        "await connection.fetch('select 1', name)",
        "await connection.fetch(f'select id from {TABLES[name]} where {WHERE}', name)",
        "await connection.fetch(composed(TABLES['a']))",
        "text = 'select ' + ', '.join(COLUMNS)\n    await connection.fetch(text if name else WHERE, name)",
        "for each in COLUMNS:\n        await connection.fetch(f'select {each} from leads')",
        "Filter('x = {}', name, of_the_list=True)",
    ],
)
def test_constants_pass(body: str) -> None:
    assert faults(body, call="await ordered(connection, 'id')") == []


def test_a_connection_is_watched_outside_storage_too() -> None:
    body = "await connection.fetch(name)\n    await self._connection.fetch(name)\n    await route.execute(name)"
    assert len(faults(body, "await ordered(connection, 'id')", path="api/planted.py")) == 2
