"""What a policy would have made of the bookings of the last weeks: how many cancellations were late, how many bookings
came before booking opens or after it closes."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from studiogate.domain.bookings.policy import Policy

LOOKS_BACK = timedelta(days=90)
# Any start will do: only the times before it count.
_START = datetime(2026, 1, 1, tzinfo=UTC)


class LeadTimes(NamedTuple):
    """How long before the start each cancellation and each booking was made, in seconds, of classes that have these
    rules from the studio. ``is_cut``: there were more than were read, the newest."""

    cancelled: Sequence[int]
    booked: Sequence[int]
    is_cut: bool


class Effects(NamedTuple):
    late: int
    too_early: int
    too_late: int


def effects_of(policy: Policy, leads: LeadTimes) -> Effects:
    cutoff, opens, closes = (
        policy.cancellation_cutoff_at(_START),
        policy.booking_opens_at(_START),
        policy.booking_closes_at(_START),
    )
    booked = [_START - timedelta(seconds=each) for each in leads.booked]
    return Effects(
        late=sum(_START - timedelta(seconds=each) > cutoff for each in leads.cancelled),
        too_early=0 if opens is None else sum(each < opens for each in booked),
        too_late=sum(each >= closes for each in booked),
    )
