"""The rows of a backup: all our tables by COPY, independent of the server's version. Operators only, all studios."""

from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from asyncpg.exceptions import InsufficientPrivilegeError

from studiogate.storage.db import migrate
from studiogate.storage.db.pool import Connection

UPLOADS = "form_uploads"

TABLES = """
    select c.relname::text as name,
           array(select a.attname::text from pg_attribute a where a.attrelid = c.oid and a.attnum > 0
                 and not a.attisdropped and a.attgenerated = '' order by a.attnum) as columns,
           array(select distinct r.relname::text from pg_constraint f join pg_class r on r.oid = f.confrelid
                 where f.conrelid = c.oid and f.contype = 'f' and f.confrelid <> c.oid) as parents
    from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') order by c.relname"""


PROVEN = "select taken_at from proven_backup"
PROVE = """
    insert into proven_backup (taken_at, proven_at) values ($1, now())
    on conflict (only_row) do update set taken_at = excluded.taken_at, proven_at = excluded.proven_at
    where proven_backup.taken_at < excluded.taken_at"""


class Table(NamedTuple):
    name: str
    columns: list[str]


class Upload(NamedTuple):
    """A file; ``id`` is null for a picture."""

    studio_id: UUID
    id: UUID | None
    stored_name: str
    place: str | None


class UnorderedTablesError(Exception):
    """Tables with circular foreign keys cannot be restored one after the other."""


class NoDatabaseError(Exception):
    """The role may not create databases."""


async def tables(connection: Connection) -> list[Table]:
    """Return all tables, each after those that it references, without the migration history."""
    rows = await connection.fetch(TABLES)
    remaining = {row["name"]: (Table(row["name"], row["columns"]), set(row["parents"])) for row in rows}
    for history in (migrate.FIRST_TABLE, migrate.SECOND_TABLE):
        remaining.pop(history, None)
    ordered: list[Table] = []
    while remaining:
        free = [table for table, parents in remaining.values() if not parents & remaining.keys()]
        if not free:
            raise UnorderedTablesError(", ".join(remaining))
        ordered += free
        for table in free:
            del remaining[table.name]
    return ordered


async def table_count(connection: Connection) -> int:
    return len(await connection.fetch(TABLES))


async def sequences(connection: Connection) -> dict[str, int]:
    statement = """
        select sequencename::text as name, last_value from pg_sequences
        where schemaname = 'public' and last_value is not null"""
    return {row["name"]: row["last_value"] for row in await connection.fetch(statement)}


async def set_sequence(connection: Connection, name: str, value: int) -> None:
    await connection.execute("select setval(format('public.%I', $1::text)::regclass, $2)", name, value)


async def uploads(connection: Connection) -> list[Upload]:
    # An earlier schema has no places.
    rows = await connection.fetch(
        f"""select studio_id, id, stored_name, to_jsonb(u) ->> 'place' from {UPLOADS} u
            union all select studio_id, null, name, to_jsonb(p) ->> 'place' from pictures p
            order by studio_id, id, stored_name"""
    )
    return [Upload(*row) for row in rows]


async def upload_exists(connection: Connection, upload: Upload) -> bool:
    statement = f"select exists (select from {UPLOADS} where studio_id = $1 and id = $2)"
    return bool(await connection.fetchval(statement, upload.studio_id, upload.id))


async def copy_out(
    connection: Connection, table: Table, without: Sequence[UUID], write: Callable[[bytes], Coroutine[Any, Any, None]]
) -> None:
    """Write a table's rows in COPY's text format, except those whose ids are in ``without``."""
    columns = ", ".join(map(_quoted, table.columns))
    statement = f"select {columns} from public.{_quoted(table.name)}"
    if without:
        await connection.copy_from_query(f"{statement} where id <> all($1::uuid[])", list(without), output=write)
    else:
        await connection.copy_from_query(statement, output=write)


async def copy_in(connection: Connection, table: Table, chunks: AsyncIterator[bytes]) -> None:
    """Load what ``copy_out`` wrote, with our triggers disabled: what they would add is in the backup."""
    name = f"public.{_quoted(table.name)}"
    await connection.execute(f"alter table {name} disable trigger user")
    await connection.copy_to_table(table.name, schema_name="public", columns=table.columns, source=chunks)
    await connection.execute(f"alter table {name} enable trigger user")


async def remove_derived(connection: Connection) -> list[str]:
    """Remove foreign keys and indexes from empty tables; return the statements that create them anew, indexes first.
    Checked and built for whole tables, they cost a fraction of what they cost row by row."""
    # Indexes of constraints stay: foreign keys and the order of rows need them.
    statement = """
    select format('drop index %s', i.indexrelid::regclass) as removal, pg_get_indexdef(i.indexrelid) as definition,
           1 as part
    from pg_index i join pg_class t on t.oid = i.indrelid
    where t.relnamespace = 'public'::regnamespace and t.relkind = 'r'
      and not exists (select from pg_constraint k where k.conindid = i.indexrelid)
    union all
    select format('alter table %s drop constraint %I', k.conrelid::regclass, k.conname),
           format('alter table %s add constraint %I %s', k.conrelid::regclass, k.conname, pg_get_constraintdef(k.oid)),
           2
    from pg_constraint k where k.connamespace = 'public'::regnamespace and k.contype = 'f'
    order by part, definition"""
    rows = await connection.fetch(statement)
    for row in rows:
        await connection.execute(row["removal"])
    return [row["definition"] for row in rows]


async def create_derived(connection: Connection, definition: str) -> None:
    await connection.execute(definition)


async def lift_timeouts(connection: Connection) -> None:
    """Disable timeouts for the rest of the transaction: those of the migrations are not meant for loading all rows."""
    await connection.execute("set local lock_timeout = 0; set local statement_timeout = 0")


async def analyze(connection: Connection) -> None:
    await connection.execute("analyze")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


async def newest_proven(connection: Connection) -> datetime | None:
    """Return when the newest backup was taken of which is known that it can be restored."""
    taken_at: datetime | None = await connection.fetchval(PROVEN)
    return taken_at


async def record_proof(connection: Connection, taken_at: datetime) -> None:
    await connection.execute(PROVE, taken_at)


async def create_database(connection: Connection, name: str) -> None:
    await drop_database(connection, name)
    try:
        await connection.execute(f'create database "{name}"')
    except InsufficientPrivilegeError as error:
        raise NoDatabaseError(str(error)) from None


async def drop_database(connection: Connection, name: str) -> None:
    await connection.execute(f'drop database if exists "{name}" with (force)')
