"""Find members whose memberships time has made usable again, before a decision depends on it.

Housekeeping renews memberships and ends pauses, but may be a minute behind, or down. A member must not be refused, nor
be overtaken on a waitlist, because of that.
"""

from uuid import UUID

from studiogate.domain.bookings.entitlement import is_behind
from studiogate.storage.bookings.facts import PeopleSituation


def members_behind(people: PeopleSituation) -> list[UUID]:
    """Return the members with a membership that is usable again once what is due has been applied."""
    members = [*people.members.values(), *(entry.member for entry in people.waiting)]
    return [each.id for each in members if any(is_behind(held, people.now) for held in each.memberships)]
