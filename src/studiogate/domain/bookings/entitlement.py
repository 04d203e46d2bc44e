"""Which membership pays for a booking.

Usable is decided at the moment of booking: from ``started_at`` until the membership's end. A period is half-open:
usable at ``started_at``, no longer at ``current_period_end``; an absent bound is no bound. A cancellation that is
planned for a moment (``cancel_at``) ends it as well, whichever comes first.

A usable membership pays only for classes that start before its end. One that renews itself and has no planned
cancellation has no end in this sense: it pays for any class.

``paused`` is what the status says, until it says otherwise. An active membership whose scheduled pause has begun and
not ended is paused as well, because housekeeping may be a minute behind.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from uuid import UUID

from studiogate.domain.bookings.facts import ClassFacts, MembershipFacts
from studiogate.domain.bookings.instants import instant_text
from studiogate.domain.bookings.states import MembershipStatus
from studiogate.domain.refusals import Code, Refusal

_NEVER = datetime.max.replace(tzinfo=UTC)


def choose_entitlement(
    memberships: Sequence[MembershipFacts], class_: ClassFacts, now: datetime
) -> MembershipFacts | Refusal:
    """Unlimited first, then the credits that end first (no end last); the id decides between equals.

    The four refusals exclude one another. A paused membership is named only when there is no usable one at all.
    """
    usable = [m for m in memberships if is_usable(m, now)]
    if not usable:
        return Refusal(_without_usable(memberships, class_, now))
    fitting = [m for m in usable if covers(m, class_)]
    covering = [m for m in fitting if reaches(m, class_)]
    if not covering:
        return _not_valid(fitting)
    unspent = [m for m in covering if not is_spent(m)]
    return min(unspent, key=_preference) if unspent else Refusal(Code.INSUFFICIENT_CREDITS)


def is_paused(membership: MembershipFacts, now: datetime) -> bool:
    if membership.status != MembershipStatus.ACTIVE:
        return membership.status == MembershipStatus.PAUSED
    starts, ends = membership.pause_starts_at, membership.pause_ends_at
    return starts is not None and starts <= now and (ends is None or now < ends)


def is_usable(membership: MembershipFacts, now: datetime) -> bool:
    if membership.status != MembershipStatus.ACTIVE or is_paused(membership, now):
        return False
    begun = membership.started_at is None or membership.started_at <= now
    end = ends_at(membership)
    return begun and (end is None or now < end)


def ends_at(membership: MembershipFacts) -> datetime | None:
    """The end of the current period, or of the membership where a cancellation is planned before that."""
    ends = [end for end in (membership.current_period_end, membership.cancel_at) if end is not None]
    return min(ends, default=None)


def reaches(membership: MembershipFacts, class_: ClassFacts) -> bool:
    """Whether the membership still runs when the class starts."""
    end = ends_at(membership)
    return end is None or renews_itself(membership) or class_.start_time < end


def renews_itself(membership: MembershipFacts) -> bool:
    return membership.auto_renew and not membership.cancel_at_period_end and membership.cancel_at is None


def covers(membership: MembershipFacts, class_: ClassFacts) -> bool:
    """A limited product covers only classes that have one of its class types (or locations); a class without one
    is outside every limit."""
    return _within(class_.class_type_id, membership.class_type_ids) and _within(
        class_.location_id, membership.location_ids
    )


def is_spent(membership: MembershipFacts) -> bool:
    return membership.credits_remaining is not None and membership.credits_remaining <= 0


def credits_of(membership: MembershipFacts | None) -> int:
    """The credits that one booking takes from it: none from an unlimited membership, none from nobody's."""
    return 0 if membership is None or membership.credits_remaining is None else 1


def _within(value: UUID | None, limit: frozenset[UUID]) -> bool:
    return not limit or value in limit


def _not_valid(fitting: Sequence[MembershipFacts]) -> Refusal:
    """Says when the longest of the fitting memberships ends, where there are any."""
    ends = [end for m in fitting if (end := ends_at(m)) is not None]
    return Refusal(Code.MEMBERSHIP_NOT_VALID_FOR_CLASS, {"membership_ends_at": instant_text(max(ends))} if ends else {})


def _without_usable(memberships: Iterable[MembershipFacts], class_: ClassFacts, now: datetime) -> Code:
    """A fitting one is one that covers the class. Its period does not count: a pause usually moves the end."""
    paused = any(is_paused(m, now) and covers(m, class_) for m in memberships)
    return Code.MEMBERSHIP_PAUSED if paused else Code.NO_ACTIVE_MEMBERSHIP


def _preference(membership: MembershipFacts) -> tuple[bool, datetime, UUID]:
    return membership.credits_remaining is not None, membership.current_period_end or _NEVER, membership.id
