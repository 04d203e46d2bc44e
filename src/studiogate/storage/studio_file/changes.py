"""Find the rows of the file that differ from the stored ones, and lock what must not change meanwhile.

Only rows that differ are locked and written: a row that equals the file's when it is compared is done, and later
changes to it count as made after the import. Bookings continue in every class that the file does not change.

Locks are taken in the same order as everywhere, each kind by id: the studio, the rows of the schedule, series, classes,
members, memberships, forms, emails, then all others. Everything that a running booking can hold is locked before
anything is written, so the two cannot deadlock.
"""

from collections.abc import Sequence

from studiogate.domain.access import Access
from studiogate.storage.db.pool import Connection
from studiogate.storage.studio_file import effects, emails, stage
from studiogate.storage.studio_file import tables as described
from studiogate.storage.studio_file.table_types import Table

# An arbitrary number of our own, which no other advisory lock uses.
IMPORTS = 7_311_925

SCHEDULE = (described.LOCATIONS, described.ROOMS, described.CLASS_TYPES, described.INSTRUCTORS, described.CLOSURES)

SERIES_TO_LOCK = """
    select s.id from class_series s where s.studio_id = $1 and s.id in (select id from affected_series)
    order by s.id for no key update"""

CLASSES_TO_LOCK = """
    select k.id from classes k where k.studio_id = $1 and k.id in (
        select id from change_classes union select class_id from change_bookings union select id from affected_classes)
    order by k.id for no key update"""

# Waiting members of a class may be promoted if it becomes larger or a booking changes. The classes of a changed series
# are moved or cancelled with all of their bookings. A failed payment makes its membership past_due.
MEMBERS_TO_LOCK = """
    select m.id from members m where m.studio_id = $1 and m.id in (
        select id from change_members union select member_id from change_memberships
        union select member_id from change_bookings
        union select w.member_id from waitlist_entries w where w.studio_id = $1 and w.status = 'waiting'
            and w.class_id in (
                select c.id from change_classes c join classes k on k.studio_id = $1 and k.id = c.id
                where c.capacity > k.capacity
                union select class_id from change_bookings where existing)
        union select b.member_id from bookings b where b.studio_id = $1 and b.status <> 'cancelled'
            and b.class_id in (select id from affected_classes where not inherits)
        union select s.member_id from memberships s
            where s.studio_id = $1 and s.id in (select id from affected_memberships))
    order by m.id for no key update"""

MEMBERSHIPS_TO_LOCK = """
    select s.id from memberships s where s.studio_id = $1 and s.id in (
        select id from change_memberships union select membership_id from change_bookings
        union select id from affected_memberships)
    order by s.id for no key update"""

# A sale holds its product's row, so that none is made at a price while the import changes it.
PRODUCTS_TO_LOCK = """
    select d.id from products d where d.studio_id = $1 and d.id in (
        select id from change_products where existing union select product_id from change_prices where existing)
    order by d.id for no key update"""

LEADS_TO_LOCK = f"""
    select l.id from leads l where l.studio_id = $1 and l.id in (
        select id from change_leads where existing union {emails.LEADS})
    order by l.id for no key update"""

# Locked by separate statements, before all others.
FIRST = (
    *(*SCHEDULE, described.SERIES, described.CLASSES, described.MEMBERS, described.MEMBERSHIPS),
    *(described.FORMS, described.PRODUCTS, described.LEADS),
)


async def lock_studio(connection: Connection, access: Access) -> None:
    """Allow one import per studio at a time, also for a studio that does not exist yet. ``no key update``: rows that
    reference the studio can still be inserted meanwhile."""
    await connection.execute("select pg_advisory_xact_lock($1, hashtext($2::text))", IMPORTS, str(access.studio_id))
    await connection.execute("select from studios where studio_id = $1 for no key update", access.studio_id)


async def find_new(connection: Connection, access: Access, tables: Sequence[Table]) -> None:
    """Find what a new studio gets from these tables of the file: everything."""
    for table in tables:
        await connection.execute(_differing(table), access.studio_id)
    await emails.lock_emails(connection, access)
    await stage.analyze_changes(connection)
    await emails.link_submissions(connection, access)


async def find_changes(
    connection: Connection, access: Access, tables: Sequence[Table], *, policy_changes: bool
) -> None:
    """Find the changes of these tables, and of the studio's own policy, and lock what they affect."""
    for table in tables:
        await connection.execute(_differing(table), access.studio_id)
    await effects.find(connection, access, policy_changes=policy_changes)
    await _lock(connection, access, tables)
    # Compare the rows again with the locks held, because they may have changed while we waited for the locks.
    for table in tables:
        await connection.execute(
            f"""create temp table again on commit drop as select id from {table.change};
                truncate {table.change}; analyze again"""
        )
        await connection.execute(f"{_differing(table)} and s.id in (select id from again)", access.studio_id)
        await connection.execute("drop table again")
    await stage.analyze_changes(connection)
    await effects.leave_out_unconcerned(connection, access)
    await emails.link_submissions(connection, access)


async def _lock(connection: Connection, access: Access, tables: Sequence[Table]) -> None:
    for table in SCHEDULE:
        if table in tables:
            await connection.execute(_rows_to_lock(table), access.studio_id)
    for statement in (
        SERIES_TO_LOCK,
        CLASSES_TO_LOCK,
        MEMBERS_TO_LOCK,
        MEMBERSHIPS_TO_LOCK,
        _rows_to_lock(described.FORMS),
    ):
        await connection.execute(statement, access.studio_id)
    # A submission locks the form and then the submitter's email; an import does the same.
    await emails.lock_emails(connection, access)
    for statement in (PRODUCTS_TO_LOCK, LEADS_TO_LOCK):
        await connection.execute(statement, access.studio_id)
    for table in tables:
        if table not in FIRST and not table.append_only:
            await connection.execute(_rows_to_lock(table), access.studio_id)


def _rows_to_lock(table: Table) -> str:
    return f"""
        select t.id from {table.name} t
        where t.studio_id = $1 and t.id in (select id from {table.change} where existing)
        order by t.id for no key update"""


def _differing(table: Table) -> str:
    names = ", ".join(column.quoted for column in table.columns)
    wanted = ", ".join(table.wanted(column) for column in table.columns)
    file = ", ".join(column.compared.format(f"({table.wanted(column)})") for column in table.patched)
    kept = ", ".join(column.compared.format(f"t.{column.quoted}") for column in table.patched)
    differs = "false" if table.append_only else f"({file}) is distinct from ({kept})"
    return f"""
        insert into {table.change} (n, place, id, given, revision, existing, {names})
        select s.n, s.place, s.id, s.given, s.revision, t.id is not null, {wanted}
        from {table.stage} s left join {table.kept} t on t.studio_id = $1 and t.id = s.id {table.joins}
        where (t.id is null or {differs})"""


async def leave_out_history(connection: Connection, tables: Sequence[Table]) -> dict[str, int]:
    """Empty the changes of history, which an existing studio has of its own; return how many new rows are lost."""
    lost = {}
    for table in tables:
        if table.history:
            lost[table.title] = int(await connection.fetchval(f"select count(*) from {table.change}"))
            await connection.execute(f"truncate {table.change}")
        elif past := [f"{each.quoted} = {each.without_history}" for each in table.columns if each.without_history]:
            await connection.execute(f"update {table.change} set {', '.join(past)} where not existing")
    return {section: count for section, count in lost.items() if count}
