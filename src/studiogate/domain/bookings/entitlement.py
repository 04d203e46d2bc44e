"""Which membership is charged for a booking.

Whether a membership is usable is decided at the time of booking: it is usable from ``started_at`` until its end. The
period is half-open: usable at ``started_at``, no longer at ``current_period_end``; an absent bound is no bound. A
cancellation planned for an instant (``cancel_at``) ends it as well, whichever comes first.

A usable membership is charged only for classes that start before its end. One that renews automatically and has no
planned cancellation has no end in this sense: it can be charged for any class.

A membership is paused while its status is ``paused``. An active membership whose scheduled pause has begun and not
ended counts as paused too, because housekeeping may be a minute behind. One that ``is_behind`` is brought up to date
before anything is decided on it."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Protocol
from uuid import UUID

from studiogate.domain.bookings.facts import ClassFacts, MembershipFacts
from studiogate.domain.bookings.states import MembershipStatus
from studiogate.domain.instants import instant_text
from studiogate.domain.refusals import Code, Refusal

_NEVER = datetime.max.replace(tzinfo=UTC)


class Limits(Protocol):
    """The limits of a product, or of a membership of it; empty ones are no limits."""

    @property
    def class_type_ids(self) -> Collection[UUID]: ...

    @property
    def location_ids(self) -> Collection[UUID]: ...


class Limited(Protocol):
    """The properties of a class to which a product can be limited."""

    @property
    def class_type_id(self) -> UUID | None: ...

    @property
    def location_id(self) -> UUID | None: ...


def choose_entitlement(
    memberships: Sequence[MembershipFacts], class_: ClassFacts, now: datetime
) -> MembershipFacts | Refusal:
    """Return the membership to charge: unlimited first, then the credits that expire first (no end last), then by id.
    The four refusals are mutually exclusive. A paused membership is reported only if there is no usable one at all."""
    usable = [m for m in memberships if is_usable(m, now)]
    if not usable:
        # The period is ignored: a pause usually moves its end.
        paused = any(is_paused(m, now) and covers(m, class_) for m in memberships)
        return Refusal(Code.MEMBERSHIP_PAUSED if paused else Code.NO_ACTIVE_MEMBERSHIP)
    fitting = [m for m in usable if covers(m, class_)]
    covering = [m for m in fitting if reaches(m, class_)]
    if not covering:
        ends = [end for m in fitting if (end := ends_at(m)) is not None]
        details = {"membership_ends_at": instant_text(max(ends))} if ends else {}
        return Refusal(Code.MEMBERSHIP_NOT_VALID_FOR_CLASS, details)
    unspent = [m for m in covering if not is_spent(m)]
    if not unspent:
        return Refusal(Code.INSUFFICIENT_CREDITS)
    return min(unspent, key=lambda m: (m.credits_remaining is not None, m.current_period_end or _NEVER, m.id))


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


def is_behind(membership: MembershipFacts, now: datetime) -> bool:
    """Return whether the membership is usable once what is due is applied: a renewal, or the end of its pause."""
    if membership.status == MembershipStatus.PAUSED:
        return membership.pause_ends_at is not None and membership.pause_ends_at <= now
    end, cancelled = membership.current_period_end, membership.cancel_at
    if membership.status != MembershipStatus.ACTIVE or end is None or end > now:
        return False
    return _renews(membership) and (cancelled is None or now < cancelled)


def ends_at(membership: MembershipFacts) -> datetime | None:
    """Return the end of the current period, or the planned cancellation if it is earlier; None if there is neither."""
    ends = [end for end in (membership.current_period_end, membership.cancel_at) if end is not None]
    return min(ends, default=None)


def reaches(membership: MembershipFacts, class_: ClassFacts) -> bool:
    end = ends_at(membership)
    has_no_end = _renews(membership) and membership.cancel_at is None
    return end is None or has_no_end or class_.start_time < end


def _renews(membership: MembershipFacts) -> bool:
    """Return whether the end of the period begins the next one, until a planned cancellation."""
    return membership.auto_renew and not membership.cancel_at_period_end


def covers(limits: Limits, class_: Limited) -> bool:
    """Return whether the product's limits include the class. A product limited to class types (or locations) covers
    only classes with one of them; a class without any is not covered."""
    return _within(class_.class_type_id, limits.class_type_ids) and _within(class_.location_id, limits.location_ids)


def is_spent(membership: MembershipFacts) -> bool:
    return membership.credits_remaining is not None and membership.credits_remaining <= 0


def credits_of(membership: MembershipFacts | None) -> int:
    """Return the credits that one booking takes: none with an unlimited membership or without any."""
    return 0 if membership is None or membership.credits_remaining is None else 1


def _within(value: UUID | None, limit: Collection[UUID]) -> bool:
    return not limit or value in limit
