"""Load rows of the file into temporary tables, in batches, as they are read."""

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.fields import Rule
from studiogate.domain.studio_file.rows import GIVEN
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.studio_file.table_types import Table
from studiogate.storage.studio_file.tables import TABLES

# Rows that could not be read: a reference to one of them is not reported as another fault.
FAULTY = "stage_faulty"
# A picture that the studio knows is stored; several rows of the file can have the same.
NEW_PICTURES = """
    select distinct on (c.picture) c.n, c.place || '.picture' as place, c.picture
    from (select n, place, picture from change_class_types union all select n, place, picture from change_instructors) c
    where c.picture is not null
        and not exists (select from pictures p where p.studio_id = $1 and p.name = c.picture)
    order by c.picture, c.n"""
PREFETCH = 1_000
NEW_FILES = "select n, place, id, size, sha256, stored_name from change_form_uploads where not existing order by n"


async def prepare(connection: Connection) -> None:
    for table in TABLES:
        columns = ", ".join(f"{column.quoted} {column.type}" for column in table.columns)
        statement = f"""create temp table {table.stage}
                    (n integer, place text, id uuid, given bigint, revision integer, {columns}) on commit drop;
                create temp table {table.change} (like {table.stage}, existing boolean) on commit drop"""
        await connection.execute(statement)
    await connection.execute(f"create temp table {FAULTY} (table_name text, id uuid) on commit drop")


async def stage(connection: Connection, table: Table, rows: Iterable[tuple[int, str, dict[str, object]]]) -> None:
    """Load rows, each as (number in the file, place, values), into the staging table."""
    names = ["id", GIVEN, "revision", *(column.name for column in table.columns)]
    records = [(n, place, *map(values.get, names)) for n, place, values in rows]
    await connection.copy_records_to_table(table.stage, records=records, columns=["n", "place", *names])


async def stage_faulty(connection: Connection, ids: Sequence[tuple[str, UUID | str]]) -> None:
    await connection.copy_records_to_table(FAULTY, records=ids)


async def analyze_rows(connection: Connection) -> None:
    """Analyze the staging tables: autovacuum does not process temporary tables. The empty ones too: PostgreSQL expects
    many rows in a table that was never analyzed."""
    await connection.execute("; ".join(f"analyze {table.stage}" for table in TABLES))


async def analyze_changes(connection: Connection) -> None:
    """Do the same for the changes that were found."""
    await connection.execute("; ".join(f"analyze {table.change}" for table in TABLES))


async def leave_out(connection: Connection, tables: Iterable[Table], places: Iterable[str]) -> None:
    """Remove the rows at these places, with those nested in them, from the file and its changes."""
    faulty = list(places)
    for name in (name for table in tables for name in (table.stage, table.change)):
        await connection.execute(f"delete from {name} where split_part(place, '.', 1) = any($1::text[])", faulty)


async def counted(connection: Connection, table: Table) -> tuple[int, int, int]:
    """Return how many rows of the file are new, changed and unchanged."""
    (row,) = await connection.fetch(
        f"""select (select count(*) from {table.stage}) as staged, count(*) filter (where not existing) as created,
                   count(*) filter (where existing) as updated from {table.change}"""
    )
    return row["created"], row["updated"], row["staged"] - row["created"] - row["updated"]


async def completed_rows(connection: Connection, table: Table, rule: Rule) -> AsyncIterator[Record]:
    """Yield the changed rows that the file gives only in part, with every value that the rule needs."""
    needs = table.section.bit(*rule.needs)
    names = ", ".join(f'"{name}"' for name in rule.needs)
    statement = f"select n, place, {names} from {table.change} where given & {needs} <> {needs} order by n"
    async for row in connection.cursor(statement, prefetch=PREFETCH):
        yield row


async def ids_of(connection: Connection, table: Table, *, existing: bool, at_most: int) -> AsyncIterator[list[UUID]]:
    """Yield the ids of new rows, or of changed ones, in batches and in the order of the file."""
    statement = f"select id from {table.change} where existing = $1 order by n"
    cursor = await connection.cursor(statement, existing)
    while rows := await cursor.fetch(at_most):
        yield [row["id"] for row in rows]


class NewFile(NamedTuple):
    n: int
    place: str
    id: UUID
    size: int
    sha256: bytes
    stored_name: str


class NewPicture(NamedTuple):
    n: int
    place: str
    name: str


async def new_pictures(connection: Connection, access: Access) -> AsyncIterator[NewPicture]:
    """Yield the pictures that the studio does not have yet."""
    async for row in connection.cursor(NEW_PICTURES, access.studio_id, prefetch=100):
        yield NewPicture(*row)


async def new_files(connection: Connection) -> AsyncIterator[NewFile]:
    """Yield the files that are not in the studio yet, in the order of the studio file."""
    async for row in connection.cursor(NEW_FILES, prefetch=100):
        yield NewFile(*row)
