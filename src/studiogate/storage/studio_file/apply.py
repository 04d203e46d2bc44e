"""Write the changes to the tables: a few statements per table, however many rows there are."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import asyncpg

from studiogate.domain.access import Access
from studiogate.storage.db.failures import CONFLICTING, Connection, DatabaseUnavailableError
from studiogate.storage.studio_file.table_types import Limits, Table

STUDIO_COLUMNS = ("name", "slug", "timezone", "logo_url", "primary_color", "currency", "country", "test", "policy")

NEW_FORM_VERSIONS = """
    insert into form_versions (studio_id, form_id, version, fields)
    select $1, f.id, f.version, f.fields from forms f where f.studio_id = $1 and f.id in (select id from change_forms)
    on conflict do nothing"""

# Their definitions were completed when the file was read.
COMPLETED_FORMS = """
    update forms set completed_version = version where studio_id = $1 and id in (select id from change_forms)"""


class ConflictError(Exception):
    """Between our checks and our writes, another transaction wrote something that conflicts with this import."""


@contextmanager
def conflicts() -> Iterator[None]:
    """Replace the driver's exceptions by ours. The checks leave no other reason for a violated constraint."""
    try:
        yield
    except asyncpg.IntegrityConstraintViolationError as error:
        raise ConflictError(error.constraint_name or "") from error
    except CONFLICTING as error:
        raise ConflictError(str(error)) from error
    except (asyncpg.PostgresConnectionError, asyncpg.OperatorInterventionError) as error:
        raise DatabaseUnavailableError(str(error)) from error


async def apply_studio(connection: Connection, access: Access, values: Mapping[str, Any]) -> str:
    """Insert or update the studio; return ``created``, ``updated`` or ``unchanged``."""
    names = ", ".join(STUDIO_COLUMNS)
    places = ", ".join(f"${number}" for number in range(2, len(STUDIO_COLUMNS) + 2))
    given = [access.studio_id, *(values[name] for name in STUDIO_COLUMNS)]
    if not await connection.fetchval("select true from studios where studio_id = $1", access.studio_id):
        await connection.execute(f"insert into studios (studio_id, {names}) values ($1, {places})", *given)
        return "created"
    slug, others = given.pop(2), ", ".join(name for name in STUDIO_COLUMNS if name != "slug")
    places = ", ".join(f"${number}" for number in range(2, len(given) + 1))
    written = await connection.fetchval(
        f"""update studios set ({others}) = ({places})
            where studio_id = $1 and ({others}) is distinct from ({places}) returning true""",
        *given,
    )
    # In a separate statement, for the reason given at _update.
    renamed = await connection.fetchval(
        "update studios set slug = $2 where studio_id = $1 and slug <> $2 returning true", access.studio_id, slug
    )
    return "updated" if written or renamed else "unchanged"


async def tell_the_planner(connection: Connection, tables: Iterable[Table]) -> None:
    """Analyze the tables after an import: until autovacuum does so, a minute later, PostgreSQL may read a whole studio
    to find a row.

    The import is complete by then, so a failure here is ignored.
    """
    with suppress(asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
        for table in tables:
            await connection.execute(f"analyze {table.name}")


async def slug_taken(connection: Connection, access: Access, slug: str) -> bool:
    """Return whether another studio has the slug: slugs are unique among all studios. Operators only."""
    query = "select exists (select from studios where slug = $2 and studio_id <> $1)"
    return bool(await connection.fetchval(query, access.studio_id, slug))


async def apply(connection: Connection, access: Access, table: Table) -> None:
    for statement in _statements(table):
        await connection.execute(statement, access.studio_id)


def _statements(table: Table) -> list[str]:
    vacating = [_vacate(table, column, value) for column, value in table.vacated.items()]
    limits = [statement for each in table.limits for statement in _replace(table, each)]
    versions = [COMPLETED_FORMS, NEW_FORM_VERSIONS] if table.name == "forms" else []
    claiming = [_claim(table)] if table.keys else []
    return [*vacating, _update(table), *claiming, _insert(table), *limits, *versions]


def _vacate(table: Table, column: str, value: str) -> str:
    return f"""
        update {table.name} t set {column} = {value} from {table.change} c
        where t.studio_id = $1 and c.existing and t.id = c.id and t.{column} is distinct from c.{column}"""


def _update(table: Table) -> str:
    """Return the update of existing rows. It runs before the insert: new rows may take values that these give up.

    Neither ``on conflict do update`` nor all columns at once: a statement that names a unique column locks its rows
    as if that column changed, and would block every transaction that references them.
    """
    assigned = {column.quoted: f"c.{column.quoted}" for column in table.stored if column not in table.keys}
    assigned |= {f'"{name}"': value for name, value in table.at_change.items()}
    return f"""
        update {table.name} t set {", ".join(f"{name} = {value}" for name, value in assigned.items())}
        from {table.change} c where t.studio_id = $1 and c.existing and t.id = c.id"""


def _claim(table: Table) -> str:
    """Return the update of unique columns, for rows where they change; all of these have been vacated by then."""
    assigned = ", ".join(f"{column.quoted} = c.{column.quoted}" for column in table.keys)
    kept, given = (", ".join(f"{row}.{column.quoted}" for column in table.keys) for row in "tc")
    return f"""
        update {table.name} t set {assigned} from {table.change} c
        where t.studio_id = $1 and c.existing and t.id = c.id and ({kept}) is distinct from ({given})"""


def _insert(table: Table) -> str:
    filled = {column.quoted: f"c.{column.quoted}" for column in table.stored}
    filled |= {f'"{name}"': value for name, value in table.at_creation.items()}
    return f"""
        insert into {table.name} (studio_id, id, {", ".join(filled)})
        select $1, c.id, {", ".join(filled.values())} from {table.change} c where not c.existing"""


def _replace(table: Table, limits: Limits) -> tuple[str, str]:
    drop = f"""
        delete from {limits.table} o using {table.change} c
        where o.studio_id = $1 and o.{limits.owner} = c.id and o.{limits.reference} <> all (c.{limits.column})"""
    add = f"""
        insert into {limits.table} (studio_id, {limits.owner}, {limits.reference})
        select $1, c.id, unnest(c.{limits.column}) from {table.change} c on conflict do nothing"""
    return drop, add
