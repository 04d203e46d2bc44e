"""Purchases, and sales of memberships: read, write and lock them."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from studiogate.domain.access import Access
from studiogate.domain.memberships import MembershipState
from studiogate.domain.paging import Page, PageRequest
from studiogate.domain.purchases import Paid, PurchaseLine
from studiogate.domain.refusals import Refusal
from studiogate.storage.db.pool import Connection, TransactionConflictError
from studiogate.storage.db.statement import Statement
from studiogate.storage.paging import Filter, read_page
from studiogate.storage.resources import PURCHASE

STATE = MembershipState._fields
INSERT_MEMBERSHIP = f"""
    insert into memberships (studio_id, id, member_id, product_id, price_id, {", ".join(STATE)})
    values ($1, $2, $3, $4, $5, {", ".join(f"${number}" for number in range(6, 6 + len(STATE)))})"""


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
    # Retiring a product or replacing a price waits for the sales that run, and the other way round.
    statement = "select id from products where studio_id = $1 and id = $2 for share"
    await connection.execute(statement, access.studio_id, product_id)


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
    statement = "insert into sales (studio_id, membership_id, purchase_id, price_id) values ($1, $2, $3, $4)"
    await connection.execute(statement, access.studio_id, membership_id, purchase_id, price_id)


INSERT = Statement("""
    insert into purchases (studio_id, id, member_id, location_id, product_id, product_key, product_type, quantity,
                           amount_total, currency, status, paid_by)
    values (:studio, :id, :member_id, :location_id, :product_id, :product_key, :product_type, :quantity, :amount_total,
            :currency, :status, :paid_by)""")

# $3 is the permitted locations, null for unrestricted staff. A purchase's member changes only by a merge of duplicates.
LOCK_MEMBER = """
    select m.id from members m where m.studio_id = $1 and m.id = (
        select u.member_id from purchases u
        where u.studio_id = $1 and u.id = $2 and ($3::uuid[] is null or u.location_id = any($3)))
    for no key update"""
HAS_PURCHASE = """
    select exists (select from purchases u
                   where u.studio_id = $1 and u.id = $2 and ($3::uuid[] is null or u.location_id = any($3)))"""


class NewPurchase(NamedTuple):
    id: UUID
    member_id: UUID
    location_id: UUID | None
    line: PurchaseLine


class FoundPurchase(NamedTuple):
    """``membership_id`` is the membership that the purchase pays for, if it pays for one."""

    paid: Paid
    membership_id: UUID | None
    others_failed: bool


async def list_purchases(
    connection: Connection, access: Access, page: PageRequest, member_id: str | None, updated_after: datetime | None
) -> Page | Refusal:
    filters = [] if member_id is None else [Filter("u.member_id = {}", member_id)]
    return await read_page(connection, access, PURCHASE, page, filters=filters, updated_after=updated_after)


async def insert(connection: Connection, access: Access, purchase: NewPurchase) -> None:
    await INSERT.rows(
        connection,
        studio=access.studio_id,
        id=purchase.id,
        member_id=purchase.member_id,
        location_id=purchase.location_id,
        **purchase.line._asdict(),
    )


async def lock_member_of(connection: Connection, access: Access, purchase_id: UUID) -> bool:
    """Lock the purchase's member; return False if there is no such purchase at the permitted locations."""
    arguments = (access.studio_id, purchase_id, access.location_ids)
    locked = await connection.fetchval(LOCK_MEMBER, *arguments)
    if locked is None and await connection.fetchval(HAS_PURCHASE, *arguments):
        raise TransactionConflictError("the purchase's member was merged into another one")
    return locked is not None


async def find(connection: Connection, access: Access, purchase_id: UUID) -> FoundPurchase:
    # The membership that a purchase pays for, by its sale or a renewal (an imported purchase may be both), and whether
    # another payment for it has failed.
    statement = """
        select u.status, u.product_type, u.amount_total, u.currency, u.refunded_amount, u.paid_by,
               paid.membership_id, exists (
                   select from (select r.purchase_id from renewals r
                                where r.studio_id = $1 and r.membership_id = paid.membership_id
                                union all
                                select s.purchase_id from sales s
                                where s.studio_id = $1 and s.membership_id = paid.membership_id) other
                   join purchases unpaid on unpaid.studio_id = $1 and unpaid.id = other.purchase_id
                   where other.purchase_id <> u.id and unpaid.status = 'failed') as others_failed
        from purchases u left join lateral (
            select r.membership_id from renewals r where r.studio_id = $1 and r.purchase_id = u.id
            union all select s.membership_id from sales s where s.studio_id = $1 and s.purchase_id = u.id
            limit 1) paid on true
        where u.studio_id = $1 and u.id = $2"""
    (row,) = await connection.fetch(statement, access.studio_id, purchase_id)
    return FoundPurchase(Paid(*row[:6]), row["membership_id"], row["others_failed"])


async def write_paid(connection: Connection, access: Access, purchase_id: UUID, paid: Paid) -> None:
    """Store what a payment, a refund or a waiver changed."""
    statement = """
        update purchases set status = $3, refunded_amount = $4, paid_by = $5 where studio_id = $1 and id = $2"""
    values = (paid.status, paid.refunded_amount, paid.paid_by)
    await connection.execute(statement, access.studio_id, purchase_id, *values)
