"""Load rows of the file into temporary tables, in batches, as they are read."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.storage.db.pool import Connection
from studiogate.storage.studio_file.table_types import Table
from studiogate.storage.studio_file.tables import TABLES

# Rows that could not be read: a reference to one of them is not reported as another fault.
FAULTY = "stage_faulty"


async def prepare(connection: Connection) -> None:
    for table in TABLES:
        columns = ", ".join(f"{column.quoted} {column.type}" for column in table.columns)
        await connection.execute(
            f"""create temp table {table.stage} (n integer, place text, id uuid, {columns}) on commit drop;
                create temp table {table.change} (like {table.stage}, existing boolean) on commit drop"""
        )
    await connection.execute(f"create temp table {FAULTY} (table_name text, id uuid) on commit drop")


async def stage(
    connection: Connection, _access: Access, table: Table, rows: Iterable[tuple[int, str, dict[str, Any]]]
) -> None:
    """Load rows, each as (number in the file, place, values), into the staging table."""
    names = ["n", "place", "id", *(column.name for column in table.columns)]
    records = [(n, place, *(values[name] for name in names[2:])) for n, place, values in rows]
    await connection.copy_records_to_table(table.stage, records=records, columns=names)


async def stage_faulty(connection: Connection, _access: Access, ids: Sequence[tuple[str, UUID | str]]) -> None:
    await connection.copy_records_to_table(FAULTY, records=ids)


async def finish(connection: Connection) -> None:
    """Analyze the staging tables: autovacuum does not process temporary tables."""
    await connection.execute("; ".join(f"analyze {table.stage}" for table in TABLES))


async def counted(connection: Connection, table: Table) -> tuple[int, int, int]:
    """Return how many rows of the file are new, changed and unchanged."""
    row = await connection.fetchrow(
        f"""select (select count(*) from {table.stage}) as staged, count(*) filter (where not existing) as created,
                   count(*) filter (where existing) as updated from {table.change}"""
    )
    if row is None:
        raise AssertionError("an aggregate has one row")
    return row["created"], row["updated"], row["staged"] - row["created"] - row["updated"]
