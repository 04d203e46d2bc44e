"""Memberships that the file's payments concern: a purchase of their sale or a renewal becomes failed, or no longer is.

``affected_memberships`` has them with the purchases that the file changes.
"""

from collections.abc import AsyncIterator
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.fields.catalog import PurchaseStatus
from studiogate.domain.memberships import MembershipState
from studiogate.storage.db.pool import Connection
from studiogate.storage.memberships import STATE, read_row

BATCH = 500

PREPARE = "create temp table affected_memberships (id uuid, purchase_id uuid) on commit drop"

PAID_FOR = """
    insert into affected_memberships
    select r.membership_id, c.id from change_purchases c
    join renewals r on r.studio_id = $1 and r.purchase_id = c.id where c.existing
    union
    select s.membership_id, c.id from change_purchases c
    join sales s on s.studio_id = $1 and s.purchase_id = c.id where c.existing"""

UNCONCERNED = f"""
    delete from affected_memberships a where not exists (
        select from change_purchases c join purchases u on u.studio_id = $1 and u.id = c.id
        where c.id = a.purchase_id
            and ((c.status = '{PurchaseStatus.FAILED}') is true) <> ((u.status = '{PurchaseStatus.FAILED}') is true))"""

# Whether a membership is unpaid is read from all of its purchases, those that the file does not name included.
PAYMENTS = f"""
    select s.id, {STATE}, exists (
        select from (select r.purchase_id from renewals r where r.studio_id = $1 and r.membership_id = s.id
                     union all
                     select o.purchase_id from sales o where o.studio_id = $1 and o.membership_id = s.id) paid
        join purchases u on u.studio_id = $1 and u.id = paid.purchase_id
        where u.status = '{PurchaseStatus.FAILED}') as unpaid
    from memberships s
    where s.studio_id = $1 and s.id = any($2::uuid[])"""


class PaidMembership(NamedTuple):
    """A membership and whether one of its purchases is failed."""

    id: UUID
    state: MembershipState
    unpaid: bool


async def prepare(connection: Connection) -> None:
    await connection.execute(PREPARE)


async def find(connection: Connection, access: Access) -> None:
    """Find the memberships of all changed purchases, so that they can be locked."""
    await connection.execute(PAID_FOR, access.studio_id)
    await connection.execute("analyze affected_memberships")


async def leave_out_unconcerned(connection: Connection, access: Access) -> None:
    """Keep those of which a purchase becomes failed or no longer is. Must run with the locks held, before the purchases
    are written."""
    await connection.execute(UNCONCERNED, access.studio_id)
    await connection.execute("analyze affected_memberships")


async def paid_memberships(connection: Connection, access: Access) -> AsyncIterator[list[PaidMembership]]:
    """Yield the memberships that the import's payments concern, in batches. Must run once these are written."""
    ids = await connection.fetch("select distinct id from affected_memberships order by id")
    for start in range(0, len(ids), BATCH):
        batch = [row["id"] for row in ids[start : start + BATCH]]
        rows = await connection.fetch(PAYMENTS, access.studio_id, batch)
        yield [PaidMembership(row["id"], read_row(row), row["unpaid"]) for row in rows]
