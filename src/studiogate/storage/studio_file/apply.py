"""Write the changes to the tables: a few statements per table, however many rows there are."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

import asyncpg

from studiogate.domain.access import Access
from studiogate.storage.db.failures import CONFLICTING, Connection, DatabaseUnavailableError
from studiogate.storage.studio_file.table_types import Limits, Table
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
    """Analyze the tables after an import: until autovacuum does so, a minute later, PostgreSQL may read a whole studio
    to find a row.

    The import is complete by then, so a failure here is ignored.
    """
    with suppress(asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
        for table in tables:
            await connection.execute(f"analyze {table.name}")


async def apply(connection: Connection, access: Access, table: Table) -> None:
    for statement in _statements(table):
        await connection.execute(statement, access.studio_id)


def _statements(table: Table) -> list[str]:
    vacating = [_vacate(table, column, value) for column, value in table.vacated.items()]
    limits = [statement for each in table.limits for statement in _replace(table, each)]
    counts = [LOWERED_COUNTS] if table.name == "classes" else []
    versions = {"forms": [COMPLETED_FORMS], "form_versions": [NEW_FORM_VERSIONS]}.get(table.name, [])
    claiming = [_claim(table)] if table.keys else []
    updating = [] if table.append_only else [*counts, *vacating, _update(table), *claiming]
    grants = [FORGOTTEN_GRANTS] if table.name == "credit_ledger" else []
    return [*updating, *grants, _insert(table), *limits, *versions]


def _vacate(table: Table, column: str, value: str) -> str:
    return f"""
        update {table.name} t set {column} = {value} from {table.change} c
        where t.studio_id = $1 and c.existing and t.id = c.id and t.{column} is distinct from c.{column}"""


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


def _replace(table: Table, limits: Limits) -> tuple[str, str]:
    drop = f"""
        delete from {limits.table} o using {table.change} c
        where o.studio_id = $1 and o.{limits.owner} = c.id and o.{limits.reference} <> all (c.{limits.column})"""
    add = f"""
        insert into {limits.table} (studio_id, {limits.owner}, {limits.reference})
        select $1, c.id, unnest(c.{limits.column}) from {table.change} c on conflict do nothing"""
    return drop, add
