"""What payments of an import mean for the memberships that they pay for, as when staff mark a purchase."""

from studiogate.domain.access import Access
from studiogate.domain.audit import changed_fields
from studiogate.domain.memberships import MembershipState, after_payment
from studiogate.storage import audit, memberships
from studiogate.storage.audit import Entry, Subject
from studiogate.storage.db.pool import Connection
from studiogate.storage.studio_file import payment_effects

ACTION = "membership.change"


async def settle(connection: Connection, access: Access) -> int:
    """Make memberships past_due whose purchase the import marks as failed, and usable again those of which none is
    failed any more; return how many changed. Their events follow with those of the import's own rows."""
    settled = 0
    async for batch in payment_effects.paid_memberships(connection, access):
        states = {each.id: (each.state, after_payment(each.state, unpaid=each.unpaid)) for each in batch}
        changed = {membership_id: after for membership_id, (before, after) in states.items() if before != after}
        await memberships.write_statuses(connection, access, changed)
        entries = [
            Entry(ACTION, Subject("membership", membership_id), _changes(states[membership_id][0], after))
            for membership_id, after in changed.items()
        ]
        await audit.add_many(connection, access, entries)
        settled += len(changed)
    return settled


def _changes(before: MembershipState, after: MembershipState) -> dict[str, object]:
    return changed_fields("membership", before._asdict(), after._asdict())
