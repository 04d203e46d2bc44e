"""0057, 0075: every change of a row's own fields raises its revision, and nothing else does."""

import asyncpg
import pytest

from tests.support.studio_files import load_well, small_studio, submission, uid

pytestmark = pytest.mark.anyio

Connection = asyncpg.Connection
# Tables with a revision, and what is no field of the row itself.
COUNTS = {"classes": {"booked_count", "waitlist_count", "announced_status", "detached"}, "forms": {"completed_version"}}
COUNTS |= {"class_series": {"generated_until"}}
NEVER = {"studio_id", "id", "revision", "updated_at"}
# A statement for each type of column that changes any value.
OTHER = {
    "text": "coalesce({0}, '') || 'x'",
    "boolean": "not coalesce({0}, false)",
    "integer": "coalesce({0}, 0) + 1",
    "double precision": "coalesce({0}, 0) + 1",
    "numeric": "coalesce({0}, 0) + 1",
    "timestamp with time zone": "coalesce({0}, now()) - interval '1 minute'",
    "jsonb": "case jsonb_typeof({0}) when 'array' then {0} || '1' else coalesce({0}, '{{}}') || '{{\"x\": 1}}' end",
    "date": "coalesce({0}, date '2030-01-01') + 1",
    "time without time zone": "{0} + interval '1 minute'",
    "ARRAY": "{0} || 'x'::text",
}
NUMBERS = {"weekdays": "{0} || 1"}
COLUMNS = """
    select c.table_name, c.column_name, c.data_type from information_schema.columns c
    where c.table_schema = 'public' and c.is_generated = 'NEVER' and c.table_name in (
        select table_name from information_schema.columns where table_schema = 'public' and column_name = 'revision')
    order by 1, 2"""

DAYS = {"first_date": "2030-01-07", "last_date": "2030-01-20"}
SCHEDULE = {
    "series": [
        {"id": uid("series"), "title": "S", "location_id": uid("north", "location", 0), "capacity": 5}
        | {"weekdays": ["monday"], "local_start": "18:00", "minutes": 60, **DAYS}
    ],
    "closures": [{"id": uid("closure"), "mode": "skip", "reason": "R", **DAYS}],
}


async def test_every_own_field_raises_the_revision(connection: Connection) -> None:
    """Constraints are off, so that any value can be written; references and states are covered by their types."""
    document = {**small_studio(), "submissions": [{**submission(), "files": [], "form_version": None}]}
    await load_well(connection, {**document, **SCHEDULE})
    checked: dict[str, int] = {}
    await connection.execute("set session_replication_role = origin")
    for table, column, type_ in await connection.fetch(COLUMNS):
        if (
            column in NEVER | COUNTS.get(table, set()) or type_ not in OTHER or table == "form_drafts"
        ):  # raised by who saves it
            continue
        changed = NUMBERS.get(column, OTHER[type_]).format(f'"{column}"')
        raised = await raised_by(connection, table, f'"{column}" = {changed}')
        if raised is not None:
            assert raised == 1, (table, column)
            checked[table] = checked.get(table, 0) + 1
    assert len(checked) == 18
    assert sum(checked.values()) > 80


async def raised_by(connection: Connection, table: str, assignment: str) -> int | None:
    """Return by how much an update of one row raises its revision, or None if a constraint forbids the update."""
    transaction = connection.transaction()
    await transaction.start()
    try:
        where = f"ctid = (select min(ctid) from {table})"
        before = await connection.fetchval(f"select revision from {table} where {where}")
        after = await connection.fetchval(f"update {table} set {assignment} where {where} returning revision")
    except asyncpg.IntegrityConstraintViolationError:
        return None
    finally:
        await transaction.rollback()
    return int(after - before)


@pytest.mark.parametrize(
    ("table", "assignment"),
    [
        ("classes", "booked_count = booked_count - 1"),
        ("classes", "waitlist_count = waitlist_count + 1"),
        ("classes", "announced_status = 'completed'"),
        ("bookings", "updated_at = now()"),
        ("members", "first_name = first_name"),
        ("locations", "name = name"),
        ("forms", "completed_version = null"),
    ],
)
async def test_what_is_no_change_of_the_row_raises_nothing(connection: Connection, table: str, assignment: str) -> None:
    await load_well(connection, small_studio())
    where = "id = $1"
    row_id = {"classes": uid("north", "class", 1), "members": uid("north", "member", 0)}.get(table)
    row_id = row_id or await connection.fetchval(f"select id::text from {table} limit 1")
    await connection.execute(f"update {table} set {assignment} where {where}", row_id)
    assert await connection.fetchval(f"select revision from {table} where {where}", row_id) == 1
