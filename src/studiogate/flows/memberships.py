"""Change memberships as time passes and as staff decide; announced in the same transaction."""

from collections.abc import Sequence
from uuid import UUID

from studiogate.domain.access import Access, system_access
from studiogate.domain.events import EventType
from studiogate.domain.memberships import RENEWALS_AT_ONCE, MembershipState, advance, choose_price
from studiogate.flows.announce import changing, emit_event
from studiogate.storage import memberships
from studiogate.storage.db.pool import Connection
from studiogate.storage.memberships import DueMembership


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
        await emit_event(connection, access, EventType.PURCHASE_CREATED, purchase_id)
    return len(due), len(purchases) >= RENEWALS_AT_ONCE


async def catch_up(connection: Connection, access: Access, member_id: UUID) -> None:
    """Apply what is due to a locked member's memberships before staff change one of them."""
    await advance_due(connection, system_access(access.studio_id), [member_id])


async def write_change(
    connection: Connection, access: Access, membership: DueMembership, state: MembershipState
) -> None:
    """Write the state that staff chose for a membership, and what it makes due, such as the renewal of a period that
    ran out during a pause. Must run inside a transaction that has locked the member."""
    async with changing(connection, access, EventType.MEMBERSHIP_UPDATED, membership.id):
        purchases = await _advance(connection, access, membership._replace(state=state))
    for purchase_id in purchases:
        await emit_event(connection, access, EventType.PURCHASE_CREATED, purchase_id)


async def _advance(connection: Connection, access: Access, membership: DueMembership) -> list[UUID]:
    """Write the present state of one membership; return the purchases of its renewals."""
    price = choose_price(membership.price_id, membership.prices)
    interval = None if price is None else price.interval
    state, made = advance(membership.state, interval, membership.timezone, membership.now)
    await memberships.write_state(connection, access, membership.id, state)
    if price is None or not made:
        return []
    return await memberships.record_renewals(connection, access, membership.id, price.id, made)
