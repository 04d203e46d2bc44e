"""Which rows of the file differ from what is kept, and the locks that hold the rest still.

Only rows that differ are locked and written: a row that is as the file says at the moment of looking is done, and
what happens to it afterwards happened afterwards. Bookings go on in every class that the file does not change.

Locks are taken in the house's order, each kind by id: the studio, classes, members, memberships, forms.
Everything that a running booking can hold is locked before anything is written, so the two cannot wait for each other
in a circle.
"""

from studiogate.domain.access import Access
from studiogate.storage.database import Connection
from studiogate.storage.studio_file.shapes import Table
from studiogate.storage.studio_file.tables import BOOKINGS, CLASSES, MEMBERS, MEMBERSHIPS, TABLES

# An arbitrary number of our own, which no other advisory lock uses.
IMPORTS = 7_311_925

# What the locks are taken for: looked at again once they are held.
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

# Whoever submits a form locks it and then the submitter's email: so does an import.
FORMS_TO_LOCK = """
    select f.id from forms f where f.studio_id = $1 and f.id in (select id from change_forms)
    order by f.id for no key update"""


async def lock_studio(connection: Connection, access: Access) -> None:
    """One import of a studio at a time, also of one that does not exist yet.

    ``no key update``: rows that refer to the studio can still be made meanwhile.
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
    """With the locks held: what the first look saw may have changed while we waited for them."""
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
