"""Change memberships as time passes and payments arrive or fail; announced in the same transaction."""

from collections.abc import Sequence
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.events import EventType
from studiogate.domain.memberships import (
    RENEWALS_AT_ONCE,
    PurchaseStatus,
    advance,
    after_payment,
    choose_price,
    purchase_refusal,
)
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows.announce import changing, tell
from studiogate.storage import memberships
from studiogate.storage.db.pool import Connection
from studiogate.storage.memberships import DueMembership

NOT_FOUND = Refusal(Code.NOT_FOUND)


async def advance_due(connection: Connection, access: Access, members: Sequence[UUID]) -> tuple[int, bool]:
    """Apply what is due to the memberships of members whose rows are locked.

    Must run inside a transaction. Returns how many memberships changed, and whether something is still due.
    """
    due = await memberships.due_memberships(connection, access, members)
    purchases: list[UUID] = []
    async with changing(connection, access, EventType.MEMBERSHIP_UPDATED, *(each.id for each in due)):
        for membership in due:
            purchases += await _advance(connection, access, membership)
    for purchase_id in purchases:
        await tell(connection, access, EventType.PURCHASE_CREATED, purchase_id)
    return len(due), len(purchases) >= RENEWALS_AT_ONCE


async def _advance(connection: Connection, access: Access, membership: DueMembership) -> list[UUID]:
    """Write the present state of one membership; return the purchases of its renewals."""
    price = choose_price(membership.price_id, membership.prices)
    interval = None if price is None else price.interval
    state, made = advance(membership.state, interval, membership.timezone, membership.now)
    await memberships.write_state(connection, access, membership.id, state)
    if price is None or not made:
        return []
    return await memberships.record_renewals(connection, access, membership.id, price.id, made)


async def mark_purchase(
    connection: Connection, access: Access, purchase_id: UUID, status: PurchaseStatus
) -> PurchaseStatus | Refusal:
    """Mark a purchase as paid or failed. The membership that it renews is past_due while a renewal of it is failed."""
    async with connection.transaction():
        if not await memberships.lock_member_of_purchase(connection, access, purchase_id):
            return NOT_FOUND
        purchase = await memberships.find_purchase(connection, access, purchase_id)
        refusal = purchase_refusal(purchase.status, status)
        if refusal is not None:
            return refusal
        async with changing(connection, access, EventType.PURCHASE_UPDATED, purchase_id):
            await memberships.set_purchase_status(connection, access, purchase_id, status.value)
        if purchase.membership_id is not None:
            unpaid = purchase.others_failed or status == PurchaseStatus.FAILED
            await _settle(connection, access, purchase.membership_id, unpaid=unpaid)
        return status


async def _settle(connection: Connection, access: Access, membership_id: UUID, *, unpaid: bool) -> None:
    state = await memberships.read_state(connection, access, membership_id)
    settled = after_payment(state, unpaid=unpaid)
    if settled == state:
        return
    async with changing(connection, access, EventType.MEMBERSHIP_UPDATED, membership_id):
        await memberships.write_state(connection, access, membership_id, settled)
