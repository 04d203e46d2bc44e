"""The changes into the tables, one statement a table."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import asyncpg

from studiogate.domain.access import Access
from studiogate.storage.database import CONFLICTING, Connection, DatabaseUnavailableError
from studiogate.storage.studio_file.shapes import Limits, Table

STUDIO_COLUMNS = ("name", "slug", "timezone", "logo_url", "primary_color", "currency", "country", "test", "policy")

NEW_FORM_VERSIONS = """
    insert into form_versions (studio_id, form_id, version, fields)
    select $1, f.id, f.version, f.fields from forms f where f.studio_id = $1 and f.id in (select id from change_forms)
    on conflict do nothing"""


class ConflictError(Exception):
    """Somebody else wrote, between our checks and our writing, what this import cannot go together with."""


@contextmanager
def conflicts() -> Iterator[None]:
    """Turns the driver's exceptions into ours. The checks leave no other reason for a violated constraint."""
    try:
        yield
    except asyncpg.IntegrityConstraintViolationError as error:
        raise ConflictError(error.constraint_name or "") from error
    except CONFLICTING as error:
        raise ConflictError(str(error)) from error
    except (asyncpg.PostgresConnectionError, asyncpg.OperatorInterventionError) as error:
        raise DatabaseUnavailableError(str(error)) from error


async def apply_studio(connection: Connection, access: Access, values: Mapping[str, Any]) -> str:
    """``created``, ``updated`` or ``unchanged``."""
    names = ", ".join(STUDIO_COLUMNS)
    places = ", ".join(f"${number}" for number in range(2, len(STUDIO_COLUMNS) + 2))
    assigned = ", ".join(f"{name} = excluded.{name}" for name in STUDIO_COLUMNS)
    kept = ", ".join(f"studios.{name}" for name in STUDIO_COLUMNS)
    given = ", ".join(f"excluded.{name}" for name in STUDIO_COLUMNS)
    existed = await connection.fetchval("select true from studios where studio_id = $1", access.studio_id)
    statement = f"""
        insert into studios (studio_id, {names}) values ($1, {places})
        on conflict (studio_id) do update set {assigned} where ({kept}) is distinct from ({given})
        returning true"""
    written = await connection.fetchval(statement, access.studio_id, *(values[name] for name in STUDIO_COLUMNS))
    return "unchanged" if not written else "updated" if existed else "created"


async def slug_taken(connection: Connection, access: Access, slug: str) -> bool:
    """Operators only: slugs are unique among all studios."""
    query = "select exists (select from studios where slug = $2 and studio_id <> $1)"
    return bool(await connection.fetchval(query, access.studio_id, slug))


async def apply(connection: Connection, access: Access, table: Table) -> None:
    for statement in _statements(table):
        await connection.execute(statement, access.studio_id)


def _statements(table: Table) -> list[str]:
    vacating = [_vacate(table, column, value) for column, value in table.vacated.items()]
    limits = [statement for each in table.limits for statement in _replace(table, each)]
    versions = [NEW_FORM_VERSIONS] if table.name == "forms" else []
    return [*vacating, _upsert(table), *limits, *versions]


def _vacate(table: Table, column: str, value: str) -> str:
    return f"""
        update {table.name} t set {column} = {value} from {table.change} c
        where t.studio_id = $1 and c.existing and t.id = c.id and t.{column} is distinct from c.{column}"""


def _upsert(table: Table) -> str:
    columns = table.stored
    names = ", ".join(column.quoted for column in columns)
    made = {f'"{name}"': value for name, value in table.at_creation.items()}
    assigned = {column.quoted: f"excluded.{column.quoted}" for column in columns}
    assigned |= {f'"{name}"': value for name, value in table.at_change.items()}
    kept = ", ".join(column.compared.format(f"{table.name}.{column.quoted}") for column in columns)
    given = ", ".join(column.compared.format(f"excluded.{column.quoted}") for column in columns)
    return f"""
        insert into {table.name} (studio_id, id, {", ".join([names, *made])})
        select $1, c.id, {", ".join([*(f"c.{column.quoted}" for column in columns), *made.values()])}
        from {table.change} c order by {table.order}
        on conflict (studio_id, id) do update set {", ".join(f"{name} = {value}" for name, value in assigned.items())}
        where ({kept}) is distinct from ({given})"""


def _replace(table: Table, limits: Limits) -> tuple[str, str]:
    drop = f"""
        delete from {limits.table} o using {table.change} c
        where o.studio_id = $1 and o.{limits.owner} = c.id and o.{limits.reference} <> all (c.{limits.column})"""
    add = f"""
        insert into {limits.table} (studio_id, {limits.owner}, {limits.reference})
        select $1, c.id, unnest(c.{limits.column}) from {table.change} c on conflict do nothing"""
    return drop, add
