"""Write the changes to the tables: a few statements per table, however many rows there are."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

import asyncpg

from studiogate.domain.access import Access
from studiogate.domain.fields.schedule import STUDIO
from studiogate.storage.db.failures import CONFLICTING, DatabaseUnavailableError
from studiogate.storage.db.pool import Connection
from studiogate.storage.studio_file.table_types import Table
from studiogate.storage.studio_file.tables import FORMS

# Bookings of the same file may reduce the count to a lower capacity: it is counted again at the end. By itself, because
# the counts are not among the fields that raise a revision.
LOWERED_COUNTS = """
    update classes t set booked_count = c.capacity from change_classes c
    where t.studio_id = $1 and c.existing and t.id = c.id and t.booked_count > c.capacity"""

NEW_FORM_VERSIONS = """
    insert into form_versions (studio_id, form_id, version, fields)
    select $1, f.id, f.version, f.fields from forms f where f.studio_id = $1 and f.id in (select id from change_forms)
    on conflict do nothing"""

# The database writes what a new membership is granted; a file with its ledger has that line too.
FORGOTTEN_GRANTS = """
    delete from credit_ledger l where l.studio_id = $1 and l.reason = 'granted'
        and l.membership_id in (select membership_id from change_credit_ledger)"""

# Definitions of the file were completed when it was read; a form whose definition it does not give is what it was.
_WHOLE = FORMS.section.bit("fields", "settings")
COMPLETED_FORMS = f"""
    update forms t set completed_version = t.version from change_forms c
    where t.studio_id = $1 and t.id = c.id
        and (not c.existing or c.given & {_WHOLE} = {_WHOLE} or t.completed_version = t.version - 1)"""


# A price that is limited to other locations leaves its product for some keys: nothing else says that this has changed.
MOVED_PRICES = """
    update products d set active = d.active from change_prices c
    where d.studio_id = $1 and d.id = c.product_id and c.existing and c.location_ids is distinct from array(
        select o.location_id from price_locations o where o.studio_id = $1 and o.price_id = c.id order by 1)"""


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


async def analyze_tables(connection: Connection, tables: Iterable[Table]) -> None:
    """Analyze the tables after an import: until autovacuum does so, PostgreSQL may read a whole studio to find a row.
    The import is complete by then, so a failure here is ignored."""
    with suppress(asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
        for table in tables:
            await connection.execute(f"analyze {table.name}")


async def apply(connection: Connection, access: Access, table: Table) -> None:
    for statement in _statements(table):
        await connection.execute(statement, access.studio_id)


# What a table needs besides, before its rows are updated, before new ones are inserted, and at the end.
FIRST = {"classes": LOWERED_COUNTS, "prices": MOVED_PRICES}
BEFORE_INSERT = {"credit_ledger": FORGOTTEN_GRANTS}
LAST = {"forms": COMPLETED_FORMS, "form_versions": NEW_FORM_VERSIONS}


def _statements(table: Table) -> Iterator[str]:
    if table.name in FIRST:
        yield FIRST[table.name]
    if not table.append_only:
        for column, value in table.vacated.items():
            yield f"""
                update {table.name} t set {column} = {value} from {table.change} c
                where t.studio_id = $1 and c.existing and t.id = c.id and t.{column} is distinct from c.{column}"""
        yield _update(table)
        if table.keys:
            yield _claim(table)
    if table.name in BEFORE_INSERT:
        yield BEFORE_INSERT[table.name]
    yield _insert(table)
    for limits in table.limits:
        yield f"""
            delete from {limits.table} o using {table.change} c
            where o.studio_id = $1 and o.{limits.owner} = c.id and o.{limits.reference} <> all (c.{limits.column})"""
        yield f"""
            insert into {limits.table} (studio_id, {limits.owner}, {limits.reference})
            select $1, c.id, unnest(c.{limits.column}) from {table.change} c on conflict do nothing"""
    if table.name in LAST:
        yield LAST[table.name]


def _update(table: Table) -> str:
    """Return the update of existing rows. It runs before the insert: new rows may take values that these give up.

    Neither ``on conflict do update`` nor all columns at once: a statement that names a unique column locks its rows
    as if that column changed, and would block every transaction that references them.
    """
    own = [column for column in table.patched if column.stored and column not in table.keys]
    assigned = {column.quoted: f"c.{column.quoted}" for column in own}
    if table.limits:  # a change of these alone must raise the revision too
        assigned["revision"] = "t.revision + 1"
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
    filled |= {"revision": "coalesce(c.revision, 1)"} if table.revised else {}
    filled |= {"id": "c.id"} if table.identity is None else {}
    return f"""
        insert into {table.name} (studio_id, {", ".join(filled)})
        select $1, {", ".join(filled.values())} from {table.change} c where not c.existing
        {"on conflict do nothing" if table.append_only else ""}"""


# The logo is in a separate table.
STUDIO_COLUMNS = tuple(each.name for each in STUDIO.fields if each.name not in ("id", "logo", "created_at", "revision"))
# Read from the file as JSON text.
DOCUMENTS = ("policy", "mail_switches")
OTHER_COLUMNS = tuple(name for name in STUDIO_COLUMNS if name != "slug")

_PLACES = ", ".join(f"${number}" for number, _ in enumerate(STUDIO_COLUMNS, 4))
INSERT_STUDIO = f"""
    insert into studios (studio_id, created_at, revision, {", ".join(STUDIO_COLUMNS)})
    values ($1, coalesce($2, now()), coalesce($3, 1), {_PLACES})"""

# $2: the columns that the file gives. The slug by itself, for the reason given at ``apply._update``.
_WANTED = ", ".join(
    f"case when '{name}' = any($2::text[]) then ${number} else {name} end"
    for number, name in enumerate(OTHER_COLUMNS, 3)
)
CHANGE_STUDIO = f"""
    update studios set ({", ".join(OTHER_COLUMNS)}) = ({_WANTED})
    where studio_id = $1 and ({", ".join(OTHER_COLUMNS)}) is distinct from ({_WANTED}) returning true"""
RENAME = "update studios set slug = $2 where studio_id = $1 and slug <> $2 returning true"


async def read_studio(connection: Connection, access: Access) -> dict[str, object] | None:
    """Return the stored row by column, or None if there is no such studio."""
    row = await connection.fetchval("select to_jsonb(s)::text from studios s where s.studio_id = $1", access.studio_id)
    return None if row is None else dict(json.loads(row))


async def insert_studio(connection: Connection, access: Access, values: Mapping[str, object]) -> None:
    await connection.execute(
        INSERT_STUDIO, access.studio_id, values["created_at"], values["revision"], *map(values.get, STUDIO_COLUMNS)
    )


async def change_studio(connection: Connection, access: Access, given: Mapping[str, object]) -> bool:
    """Set the given columns; return whether that changed anything."""
    changed = await connection.fetchval(CHANGE_STUDIO, access.studio_id, list(given), *map(given.get, OTHER_COLUMNS))
    renamed = "slug" in given and await connection.fetchval(RENAME, access.studio_id, given["slug"])
    return bool(changed or renamed)


async def slug_taken(connection: Connection, access: Access, slug: str) -> bool:
    """Return whether another studio has the slug: slugs are unique among all studios. Operators only."""
    query = "select exists (select from studios where slug = $2 and studio_id <> $1)"
    return bool(await connection.fetchval(query, access.studio_id, slug))
