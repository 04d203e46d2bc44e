"""Change memberships as time passes and as staff decide; announced in the same transaction."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access, system_access
from studiogate.domain.events import EventType
from studiogate.domain.memberships import MembershipState, advance, choose_price, is_due
from studiogate.flows.changes import changing, emit_event
from studiogate.storage import memberships
from studiogate.storage.db.pool import Connection
from studiogate.storage.memberships import DueMembership


class _Written(NamedTuple):
    """The purchases of the renewals of one membership, and whether more is due than was applied at once."""

    purchases: list[UUID]
    still_due: bool


async def advance_due(connection: Connection, access: Access, members: Sequence[UUID]) -> tuple[int, bool]:
    """Apply what is due to the memberships of members whose rows are locked.

    Must run inside a transaction. Returns how many memberships changed, and whether something is still due.
    """
    due = await memberships.due_memberships(connection, access, members)
    async with changing(connection, access, EventType.MEMBERSHIP_UPDATED, *(each.id for each in due)):
        written = [await _advance(connection, access, membership) for membership in due]
    for each in written:
        await _announce_purchases(connection, access, each)
    return len(due), any(each.still_due for each in written)


async def catch_up(connection: Connection, access: Access, member_ids: Sequence[UUID]) -> None:
    """Apply all that is due to the memberships of locked members before a decision depends on it. Must run inside a
    transaction."""
    more = True
    while more:
        _, more = await advance_due(connection, system_access(access.studio_id), member_ids)


async def write_change(
    connection: Connection, access: Access, membership: DueMembership, state: MembershipState
) -> None:
    """Write the state that staff chose for a membership, and what it makes due, such as the renewal of a period that
    ran out during a pause. Must run inside a transaction that has locked the member."""
    async with changing(connection, access, EventType.MEMBERSHIP_UPDATED, membership.id):
        written = await _advance(connection, access, membership._replace(state=state))
    await _announce_purchases(connection, access, written)


async def _announce_purchases(connection: Connection, access: Access, written: _Written) -> None:
    for purchase_id in written.purchases:
        await emit_event(connection, access, EventType.PURCHASE_CREATED, purchase_id)


async def _advance(connection: Connection, access: Access, membership: DueMembership) -> _Written:
    """Write the present state of one membership."""
    price = choose_price(membership.price_id, membership.prices)
    interval = None if price is None else price.interval
    state, made = advance(membership.state, interval, membership.timezone, membership.now)
    await memberships.write_state(connection, access, membership.id, state)
    still_due = is_due(state, interval, membership.timezone, membership.now)
    if price is None or not made:
        return _Written([], still_due)
    return _Written(await memberships.record_renewals(connection, access, membership.id, price.id, made), still_due)
