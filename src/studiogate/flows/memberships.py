"""Memberships: what is due as time passes, and what staff do with one: pause, resume, cancel, renewal, credits."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from studiogate.domain import membership_changes as rules
from studiogate.domain.access import Access, system_access
from studiogate.domain.events import EventType
from studiogate.domain.membership_changes import Pause
from studiogate.domain.memberships import MembershipState, advance, choose_price, is_due
from studiogate.domain.refusals import NOT_FOUND, Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.changes import audited, changing, emit_event
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage import memberships
from studiogate.storage.audit import Subject
from studiogate.storage.db.pool import Connection


class _Written(NamedTuple):
    """The purchases of the renewals of one membership, and whether more is due than was applied at once."""

    purchases: list[UUID]
    still_due: bool


async def advance_due(connection: Connection, access: Access, members: Sequence[UUID]) -> tuple[int, bool]:
    """Apply what is due to the memberships of members whose rows are locked. Must run inside a transaction. Returns how
    many memberships changed, and whether something is still due."""
    due = await memberships.due_memberships(connection, access, members)
    async with changing(connection, access, EventType.MEMBERSHIP_UPDATED, *(each.id for each in due)):
        written = [await _advance(connection, access, membership) for membership in due]
    for purchase_id in (purchase_id for each in written for purchase_id in each.purchases):
        await emit_event(connection, access, EventType.PURCHASE_CREATED, purchase_id)
    return len(due), any(each.still_due for each in written)


async def catch_up(connection: Connection, access: Access, member_ids: Sequence[UUID]) -> None:
    """Apply all that is due to the memberships of locked members. Must run inside a transaction."""
    more = True
    while more:
        _, more = await advance_due(connection, system_access(access.studio_id), member_ids)


async def _advance(connection: Connection, access: Access, membership: memberships.DueMembership) -> _Written:
    """Write the present state of one membership."""
    price = choose_price(membership.price_id, membership.prices)
    interval = None if price is None else price.interval
    state, made = advance(membership.state, interval, membership.timezone, membership.now)
    await memberships.write_state(connection, access, membership.id, state)
    still_due = is_due(state, interval, membership.timezone, membership.now)
    if price is None or not made:
        return _Written([], still_due)
    return _Written(await memberships.record_renewals(connection, access, membership.id, price.id, made), still_due)


Decision = Callable[[memberships.DueMembership], MembershipState | Refusal]


class _Change(NamedTuple):
    """What is done to which membership, and why, for the audit log."""

    membership_id: UUID
    action: str
    reason: str | None = None


@staff_flow(Permission.SALES)
async def pause(connection: Connection, access: Access, membership_id: UUID, asked: Pause) -> MembershipState | Refusal:
    """Pause a membership now or later. Its bookings stay; new ones are refused while it is paused."""
    change = _Change(membership_id, "membership.pause", asked.reason)
    return await _apply(connection, access, change, lambda found: rules.pause(found.state, asked, found.now))


@staff_flow(Permission.SALES)
async def resume(
    connection: Connection, access: Access, membership_id: UUID, at: datetime | None = None
) -> MembershipState | Refusal:
    """End a pause now or at a time, or withdraw a planned one. A period that ran out meanwhile is renewed."""
    change = _Change(membership_id, "membership.resume")
    return await _apply(connection, access, change, lambda found: rules.resume(found.state, at, found.now))


@staff_flow(Permission.SALES)
async def cancel(
    connection: Connection, access: Access, membership_id: UUID, reason: str | None = None, *, at_period_end: bool
) -> MembershipState | Refusal:
    """Cancel a membership now or at the end of its period. Its bookings stay."""
    change = _Change(membership_id, "membership.cancel", reason)
    return await _apply(
        connection,
        access,
        change,
        lambda found: rules.cancel(found.state, reason, found.now, at_period_end=at_period_end),
    )


@staff_flow(Permission.SALES)
async def uncancel(connection: Connection, access: Access, membership_id: UUID) -> MembershipState | Refusal:
    """Withdraw a planned cancellation."""
    change = _Change(membership_id, "membership.uncancel")
    return await _apply(connection, access, change, lambda found: rules.uncancel(found.state))


@staff_flow(Permission.SALES)
async def set_renewal(
    connection: Connection, access: Access, membership_id: UUID, auto_renew: bool
) -> MembershipState | Refusal:
    """Switch the automatic renewal of a membership on or off."""

    def decide(found: memberships.DueMembership) -> MembershipState | Refusal:
        has_price = choose_price(found.price_id, found.prices) is not None
        return rules.set_renewal(found.state, auto_renew, has_price=has_price)

    return await _apply(connection, access, _Change(membership_id, "membership.renewal"), decide)


@staff_flow(Permission.SALES)
async def adjust_credits(
    connection: Connection, access: Access, membership_id: UUID, change: int, reason: str
) -> MembershipState | Refusal:
    """Change a membership's credits, with a line in the ledger. The sweep promotes those who can pay now."""
    done = await _apply(
        connection,
        access,
        _Change(membership_id, "membership.credits", reason),
        lambda found: rules.adjust_credits(found.state, change, reason),
    )
    if not isinstance(done, Refusal):
        await memberships.add_ledger_line(connection, access, membership_id, change, "adjusted")
    return done


async def _apply(
    connection: Connection, access: Access, change: _Change, decide: Decision
) -> MembershipState | Refusal:
    """Lock the member, let the clock's changes happen first, then decide and write."""
    if (member_id := await memberships.lock_member_of(connection, access, change.membership_id)) is None:
        return NOT_FOUND
    await catch_up(connection, access, [member_id])
    found = await memberships.find_membership(connection, access, change.membership_id)
    decided = decide(found)
    if isinstance(decided, Refusal) or decided == found.state:
        return decided
    async with audited(connection, access, change.action, Subject("membership", found.id), change.reason):
        async with changing(connection, access, EventType.MEMBERSHIP_UPDATED, found.id):
            # It may make more due, such as the renewal of a period that ran out during a pause.
            written = await _advance(connection, access, found._replace(state=decided))
        for purchase_id in written.purchases:
            await emit_event(connection, access, EventType.PURCHASE_CREATED, purchase_id)
    return await memberships.read_state(connection, access, found.id)
