"""Sales: the membership, its purchase, and the link between them."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from studiogate.domain.access import Access
from studiogate.domain.memberships import MembershipState
from studiogate.storage.db.pool import Connection

STATE = MembershipState._fields
INSERT_MEMBERSHIP = f"""
    insert into memberships (studio_id, id, member_id, product_id, price_id, {", ".join(STATE)})
    values ($1, $2, $3, $4, $5, {", ".join(f"${number}" for number in range(6, 6 + len(STATE)))})"""

# Retiring a product or replacing a price waits for the sales that run, and the other way round.
LOCK_PRODUCT = "select id from products where studio_id = $1 and id = $2 for share"


class NewMembership(NamedTuple):
    id: UUID
    member_id: UUID
    product_id: UUID
    # None if it does not renew at this price.
    price_id: UUID | None
    state: MembershipState


async def lock_member(connection: Connection, access: Access, member_id: UUID) -> bool:
    """Lock a member; return False if there is none, or none any more because the member was erased."""
    statement = "select id from members where studio_id = $1 and id = $2 and erased_at is null for no key update"
    return await connection.fetchval(statement, access.studio_id, member_id) is not None


async def lock_product(connection: Connection, access: Access, product_id: UUID) -> None:
    """Keep a product and its prices as they are until the transaction ends."""
    await connection.execute(LOCK_PRODUCT, access.studio_id, product_id)


async def clock(connection: Connection, access: Access) -> tuple[ZoneInfo, datetime]:
    """Return the studio's timezone and the time, to be read once the locks are held."""
    statement = "select timezone, clock_timestamp() as now from studios where studio_id = $1"
    (row,) = await connection.fetch(statement, access.studio_id)
    return ZoneInfo(row["timezone"]), row["now"]


async def insert_membership(connection: Connection, access: Access, membership: NewMembership) -> None:
    """Insert a membership. The database writes the ledger line of its credits."""
    await connection.execute(INSERT_MEMBERSHIP, access.studio_id, *membership[:4], *membership.state)


async def record(
    connection: Connection, access: Access, membership_id: UUID, purchase_id: UUID, price_id: UUID
) -> None:
    """Record by which purchase, and at which price, a membership was sold."""
    await connection.execute(
        "insert into sales (studio_id, membership_id, purchase_id, price_id) values ($1, $2, $3, $4)",
        access.studio_id,
        membership_id,
        purchase_id,
        price_id,
    )
