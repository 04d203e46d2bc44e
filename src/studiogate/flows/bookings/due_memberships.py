"""Apply what time has made due to memberships before a decision depends on it.

Housekeeping renews memberships and ends pauses, but may be a minute behind, or down. A member must not be refused, nor
be overtaken on a waitlist, because of that.
"""

from collections.abc import Sequence
from uuid import UUID

from studiogate.domain.access import Access, system_access
from studiogate.domain.bookings.entitlement import is_behind
from studiogate.flows import memberships
from studiogate.storage.bookings.facts import PeopleSituation
from studiogate.storage.db.pool import Connection


def members_behind(people: PeopleSituation) -> list[UUID]:
    """Return the members with a membership that is usable again once what is due has been applied."""
    members = [*people.members.values(), *(entry.member for entry in people.waiting)]
    return [each.id for each in members if any(is_behind(held, people.now) for held in each.memberships)]


async def apply(connection: Connection, access: Access, member_ids: Sequence[UUID]) -> None:
    """Bring the memberships of locked members up to date. Must run inside a transaction."""
    more = True
    while more:
        _, more = await memberships.advance_due(connection, system_access(access.studio_id), member_ids)
