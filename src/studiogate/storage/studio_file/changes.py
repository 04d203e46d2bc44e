"""Find the rows of the file that differ from the stored ones, and lock what must not change meanwhile.

Only rows that differ are locked and written: a row that equals the file's when it is compared is done, and later
changes to it count as made after the import. Bookings continue in every class that the file does not change.

Locks are taken in the same order as everywhere, each kind by id: the studio, classes, members, memberships, forms.
Everything that a running booking can hold is locked before anything is written, so the two cannot deadlock.
"""

from studiogate.domain.access import Access
from studiogate.storage.db.pool import Connection
from studiogate.storage.studio_file.table_types import Table
from studiogate.storage.studio_file.tables import BOOKINGS, CLASSES, MEMBERS, MEMBERSHIPS, TABLES

# An arbitrary number of our own, which no other advisory lock uses.
IMPORTS = 7_311_925

# The tables for which the locks are taken: compared again once they are held.
LOCKED = (MEMBERS, MEMBERSHIPS, CLASSES, BOOKINGS)

CLASSES_TO_LOCK = """
    select k.id from classes k where k.studio_id = $1 and k.id in (
        select id from change_classes union select class_id from change_bookings)
    order by k.id for no key update"""

MEMBERS_TO_LOCK = """
    select m.id from members m where m.studio_id = $1 and m.id in (
        select id from change_members union select member_id from change_memberships
        union select member_id from change_bookings)
    order by m.id for no key update"""

MEMBERSHIPS_TO_LOCK = """
    select s.id from memberships s where s.studio_id = $1 and s.id in (
        select id from change_memberships union select membership_id from change_bookings)
    order by s.id for no key update"""

# A submission locks the form and then the submitter's email; an import does the same.
FORMS_TO_LOCK = """
    select f.id from forms f where f.studio_id = $1 and f.id in (select id from change_forms)
    order by f.id for no key update"""


async def lock_studio(connection: Connection, access: Access) -> None:
    """Allow one import per studio at a time, also for a studio that does not exist yet.

    ``no key update``: rows that reference the studio can still be inserted meanwhile.
    """
    await connection.execute("select pg_advisory_xact_lock($1, hashtext($2::text))", IMPORTS, str(access.studio_id))
    await connection.execute("select from studios where studio_id = $1 for no key update", access.studio_id)


async def find_changes(connection: Connection, access: Access) -> None:
    for table in TABLES:
        await connection.execute(_differing(table), access.studio_id)
    for statement in (CLASSES_TO_LOCK, MEMBERS_TO_LOCK, MEMBERSHIPS_TO_LOCK, FORMS_TO_LOCK):
        await connection.execute(statement, access.studio_id)
    for table in LOCKED:
        await _look_again(connection, access, table)
    await connection.execute("; ".join(f"analyze {table.change}" for table in TABLES))


async def _look_again(connection: Connection, access: Access, table: Table) -> None:
    """Compare the rows again with the locks held, because they may have changed while we waited for the locks."""
    await connection.execute(
        f"""create temp table again on commit drop as select id from {table.change};
            truncate {table.change}; analyze again"""
    )
    await connection.execute(f"{_differing(table)} and s.id in (select id from again)", access.studio_id)
    await connection.execute("drop table again")


def _differing(table: Table) -> str:
    names = ", ".join(column.quoted for column in table.columns)
    wanted = ", ".join(column.wanted for column in table.columns)
    file = ", ".join(column.compared.format(f"({column.wanted})") for column in table.columns)
    kept = ", ".join(column.compared.format(f"t.{column.quoted}") for column in table.columns)
    return f"""
        insert into {table.change} (n, place, id, existing, {names})
        select s.n, s.place, s.id, t.id is not null, {wanted}
        from {table.stage} s left join {table.kept} t on t.studio_id = $1 and t.id = s.id {table.joins}
        where (t.id is null or ({file}) is distinct from ({kept}))"""
