"""CSV imports in the database: rows are staged, matched with the stored ones by set, and get their verdicts.

Temporary tables hold the rows, so that memory does not grow with the file: ``csv_rows`` is the file, ``csv_decisions``
what becomes of each row. They are dropped with the transaction. In every statement $1 is the studio.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import NamedTuple

from studiogate.domain.access import Access
from studiogate.domain.csv_import.cells import Named
from studiogate.domain.csv_import.kinds import KINDS, Kind
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.studio_file.tables import TABLE_OF_SECTION

BATCH = 2_000

# What an erasure leaves of an external id: a digest, by which the person is recognized in a later file and skipped.
ERASED_ID = "'erased:' || encode(sha256(convert_to($1::uuid::text || {source} || {external_id}, 'UTF8')), 'hex')"
# Whether a row that was imported before (t) is still there: an erased person must not come back with the next file.
PRESENT = {
    "members": "t.id is not null and t.erased_at is null",
    "leads": "t.id is not null and t.email not like t.id::text || '@%'",
}


def _facts(kind: Kind) -> str:
    """Return the facts of every row (``domain.csv_import.matching.Facts``), in the order of the file. Rows that already
    have a verdict do not count as rows that share an id or a key."""
    table = TABLE_OF_SECTION[kind.section].name
    same_key = f"o.{kind.key} = r.key" if kind.key else "false"
    first_name = "o.first_name" if "first_name" in kind.fields else "null::text"
    return f"""
        select r.n, r.line, r.external_id, r.key, r.member, r.member_email, r.row, r.verdict, r."column", r.reason,
               coalesce(x.row_id, y.row_id)::text as known_id,
               {PRESENT.get(kind.name, "t.id is not null")} as known_exists,
               (select e.external_id from external_ids e where e.studio_id = $1 and e.row_id = x.row_id
                and e.source = $2 and e.kind = $3 order by e.created_at, e.external_id limit 1) as known_own_id,
               o.id::text as owner_id, {first_name} as owner_name,
               (select e.external_id from external_ids e where e.studio_id = $1 and e.row_id = o.id and e.source = $2
                and e.kind = $3 order by e.external_id limit 1) as owner_external_id,
               w.first_line, w.key_rows, w.key_line, q.id::text as member_id, p.id::text as email_member_id
        from csv_rows r
        join (select n, first_value(line) over (partition by verdict is null, external_id order by n) as first_line,
                     count(*) over (partition by verdict is null, key) as key_rows,
                     first_value(line) over (partition by verdict is null, key order by n) as key_line
              from csv_rows) w on w.n = r.n
        left join external_ids x
            on x.studio_id = $1 and x.source = $2 and x.kind = $3 and x.external_id = r.external_id
        left join external_ids y on y.studio_id = $1 and y.source = $2 and y.kind = $3
            and y.external_id = {ERASED_ID.format(source="$2", external_id="r.external_id")}
        left join {table} t on t.studio_id = $1 and t.id = coalesce(x.row_id, y.row_id)
        left join {table} o on o.studio_id = $1 and {same_key}
        left join external_ids m
            on m.studio_id = $1 and m.source = $2 and m.kind = 'members' and m.external_id = r.member
        left join members q on q.studio_id = $1 and q.id = m.row_id
        left join members p on p.studio_id = $1 and p.email = r.member_email
        order by r.n"""


FACTS = {name: _facts(kind) for name, kind in KINDS.items()}

# The import has found the rows that differ. A product's price is part of the same row of the file.
JUDGE = """
    update csv_decisions d set verdict = j.verdict
    from (select r.n, case when c.id is null and p.id is null then 'unchanged' when not c.existing then 'created'
                           else 'updated' end as verdict
          from csv_decisions r
          left join {change} c on c.id = r.row_id left join change_prices p on p.product_id = r.row_id
          where r.verdict is null) j
    where d.n = j.n"""
MARK = """
    update csv_decisions d set verdict = 'fault', "column" = f."column", reason = f.reason
    from unnest($1::integer[], $2::text[], $3::text[]) f(line, "column", reason)
    where d.line = f.line and d.verdict is null"""
GIVE_UP = """
    update csv_decisions set verdict = 'skipped', reason = $1 where verdict is null"""
KEEP_IDS = """
    insert into external_ids (studio_id, source, kind, external_id, row_id)
    select $1, $2, $3, external_id, row_id from csv_decisions
    where external_id is not null and verdict in ('created', 'updated', 'unchanged')
    on conflict (studio_id, source, kind, external_id) do nothing"""


class Staged(NamedTuple):
    """A row of the file. ``row`` is its fields as JSON; a row that cannot be imported has a verdict already."""

    n: int
    line: int
    external_id: str | None
    key: str | None
    member: str | None
    member_email: str | None
    row: str
    verdict: str | None
    column: str
    reason: str


class Decided(NamedTuple):
    """What is to become of a row. One that is imported gets its verdict from the import."""

    n: int
    line: int
    external_id: str | None
    row_id: str | None
    verdict: str | None
    column: str
    reason: str


async def prepare(connection: Connection) -> None:
    statement = """
    create temp table csv_rows (
        n integer primary key, line integer, external_id text, key text, member text, member_email text, row text,
        verdict text, "column" text, reason text) on commit drop;
    create temp table csv_decisions (
        n integer primary key, line integer, external_id text, row_id uuid, verdict text, "column" text, reason text)
        on commit drop"""
    await connection.execute(statement)


async def stage(connection: Connection, rows: Sequence[Staged]) -> None:
    await connection.copy_records_to_table("csv_rows", records=rows, columns=Staged._fields)


async def finish_staging(connection: Connection) -> None:
    """Analyze the staged rows: autovacuum does not process temporary tables."""
    await connection.execute("analyze csv_rows")


async def facts(connection: Connection, access: Access, kind: str, source: str) -> AsyncIterator[Sequence[Record]]:
    """Yield the facts of all rows, in batches. Other statements may run between two batches."""
    cursor = await connection.cursor(FACTS[kind], access.studio_id, source, kind)
    while rows := await cursor.fetch(BATCH):
        yield rows


async def decide(connection: Connection, rows: Iterable[Decided]) -> None:
    await connection.copy_records_to_table("csv_decisions", records=rows, columns=Decided._fields)


async def judge(connection: Connection, kind: str) -> None:
    """Give their verdicts to the rows that were imported. Must run in the transaction of the import."""
    await connection.execute(JUDGE.format(change=TABLE_OF_SECTION[KINDS[kind].section].change))


async def mark_faults(connection: Connection, faults: Sequence[tuple[int, str, str]]) -> None:
    """Mark rows as faults, each as (line, column, reason); the first fault of a row counts."""
    first = {line: (column, reason) for line, column, reason in reversed(faults)}
    columns, reasons = [each[0] for each in first.values()], [each[1] for each in first.values()]
    await connection.execute("analyze csv_decisions")
    await connection.execute(MARK, list(first), columns, reasons)


async def give_up(connection: Connection, reason: str) -> None:
    await connection.execute(GIVE_UP, reason)


async def keep_external_ids(connection: Connection, access: Access, kind: str, source: str) -> None:
    await connection.execute(KEEP_IDS, access.studio_id, source, kind)


async def verdicts(connection: Connection) -> AsyncIterator[Sequence[Record]]:
    """Yield the verdict of every row, in batches, in the order of the file."""
    cursor = await connection.cursor(
        'select line, external_id, verdict, row_id, "column", reason from csv_decisions order by n'
    )
    while rows := await cursor.fetch(BATCH):
        yield rows


async def counts(connection: Connection) -> dict[str, int]:
    rows = await connection.fetch("select verdict, count(*) as rows from csv_decisions group by verdict")
    return {row["verdict"]: row["rows"] for row in rows}


async def named_rows(connection: Connection, access: Access, source: str) -> list[Named]:
    """Return what the rows of a file may name: locations, rooms, class types, instructors and products."""
    statement = """
        select 'location' as kind, id::text, array[name] as names, null as location_id, timezone
        from locations where studio_id = $1
        union all select 'room', id::text, array[name], location_id::text, null from rooms where studio_id = $1
        union all select 'class_type', id::text, array[name], null, null from class_types where studio_id = $1
        union all select 'instructor', id::text, array[name], null, null from instructors where studio_id = $1
        union all select 'product', d.id::text, array[d.key, d.name] || array(
            select e.external_id from external_ids e
            where e.studio_id = $1 and e.row_id = d.id and e.source = $2 and e.kind = 'products'), null, null
        from products d where d.studio_id = $1"""
    return [Named(*row) for row in await connection.fetch(statement, access.studio_id, source)]
