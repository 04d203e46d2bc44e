"""How time and payments change a membership: pauses, the end of a period, renewal.

- A pause begins at ``pause_starts_at`` and ends at ``pause_ends_at``. A paused membership is neither renewed nor ended
  by the end of its period. If the period of a renewing membership ends during the pause, the next period begins when
  the pause ends: members are not billed for time that they could not use. The same holds for a pause that passed
  during an outage.
- A membership becomes ``cancelled`` at ``cancel_at``, even while paused, and with ``cancel_at_period_end`` at
  ``current_period_end``.
- At ``current_period_end`` a membership with ``auto_renew`` is renewed: the next period follows without a gap, credits
  are reset to ``credits_granted``, and a pending purchase of the price is created. After an outage every missed period
  is renewed, each with its own purchase. Without ``auto_renew`` the membership becomes ``expired``.
- The price is the one stored on the membership, else the product's default active recurring price, else its oldest
  active recurring price; it is stored for later renewals. A membership without any recurring price cannot renew and
  becomes ``expired``.
- Without ``credits_granted``, and on an unlimited membership, a renewal leaves ``credits_remaining`` unchanged.
- While the purchase of a renewal is ``failed`` the membership is ``past_due``: not usable, and not renewed again. A
  cancellation, or without ``auto_renew`` the end of the period, still ends it. Once none of its purchases is failed,
  the membership returns to its previous status and the missed periods are renewed.
- Periods follow the calendar and the clock of the studio's timezone. A month after 31 January is the last day of
  February, and the next month ends on 31 March: periods are counted from the start of the membership if the current
  period is a whole number of intervals after it, else from the current period.

Every change increments ``state_version``."""

from calendar import monthrange
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple, TypeAlias
from uuid import UUID

from studiogate.domain.bookings.states import MembershipStatus

LIVE_STATUSES = (MembershipStatus.ACTIVE, MembershipStatus.PAUSED, MembershipStatus.PAST_DUE)

# Which of a member's memberships a list shows: one with the first of these statuses, else one that has ended.
STATUS_DISPLAY_ORDER = (
    MembershipStatus.ACTIVE,
    MembershipStatus.PAST_DUE,
    MembershipStatus.PAUSED,
    MembershipStatus.PENDING,
)

# Maximum number of changes, such as missed periods, per transaction; housekeeping continues with the rest immediately.
RENEWALS_AT_ONCE = 100


class Interval(StrEnum):
    """The billing interval of a recurring price."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"


_Step: TypeAlias = "Callable[[], tuple[MembershipState, Renewal | None]]"
DAYS: Mapping[Interval, int] = MappingProxyType({Interval.DAY: 1, Interval.WEEK: 7})


class MembershipState(NamedTuple):
    """The part of a membership that time and payments change."""

    status: MembershipStatus
    state_version: int
    auto_renew: bool
    started_at: datetime | None = None
    current_period_start: datetime | None = None
    current_period_end: datetime | None = None
    paused_at: datetime | None = None
    pause_starts_at: datetime | None = None
    pause_ends_at: datetime | None = None
    pause_reason: str | None = None
    cancel_at_period_end: bool = False
    cancel_at: datetime | None = None
    cancelled_at: datetime | None = None
    ended_at: datetime | None = None
    credits_granted: int | None = None
    credits_remaining: int | None = None
    cancellation_reason: str | None = None


class RecurringPrice(NamedTuple):
    id: UUID
    interval: Interval
    default: bool
    active: bool
    created_at: datetime


class Renewal(NamedTuple):
    """An automatically started period; ``credits_change`` is None if the renewal does not reset credits."""

    period_start: datetime
    period_end: datetime
    credits_change: int | None


class Advanced(NamedTuple):
    """The state of a membership after time has passed, and the renewals that occurred."""

    state: MembershipState
    renewals: tuple[Renewal, ...] = ()


def advance(state: MembershipState, interval: Interval | None, zone: tzinfo, now: datetime) -> Advanced:
    """Apply every change due by ``now``, up to ``RENEWALS_AT_ONCE``; ``interval`` is that of the renewal price."""
    renewals: list[Renewal] = []
    for _ in range(RENEWALS_AT_ONCE):
        following = _next(state, interval, zone, now)
        if following is None:
            break
        state, renewal = following
        renewals += [renewal] if renewal else []
    return Advanced(state, tuple(renewals))


def is_due(state: MembershipState, interval: Interval | None, zone: tzinfo, now: datetime) -> bool:
    return _next(state, interval, zone, now) is not None


def choose_price(kept: UUID | None, prices: Iterable[RecurringPrice]) -> RecurringPrice | None:
    """Return the renewal price: the one stored on the membership, else the product's current default or oldest."""
    found = list(prices)
    own = next((price for price in found if price.id == kept), None)
    if own is not None:
        return own
    offered = [price for price in found if price.active]
    return min(offered, key=lambda price: (not price.default, price.created_at, price.id), default=None)


def after_payment(state: MembershipState, *, unpaid: bool) -> MembershipState:
    """Return the state after staff marked a renewal's purchase; ``unpaid``: one of its purchases is now failed."""
    usable = (MembershipStatus.ACTIVE, MembershipStatus.PAUSED)
    if unpaid and state.status in usable:
        return _changed(state, status=MembershipStatus.PAST_DUE)
    if not unpaid and state.status == MembershipStatus.PAST_DUE:
        paused = state.paused_at is not None
        return _changed(state, status=MembershipStatus.PAUSED if paused else MembershipStatus.ACTIVE)
    return state


def next_period_end(state: MembershipState, begins: datetime, interval: Interval, zone: tzinfo) -> datetime:
    """Return the end of the period that starts at ``begins``, counted from the anchor of the membership's periods."""
    anchor = _anchor(state, begins, interval, zone)
    return next(end for end in _ends(anchor, interval, zone, begins) if end > begins)


def _next(
    state: MembershipState, interval: Interval | None, zone: tzinfo, now: datetime
) -> tuple[MembershipState, Renewal | None] | None:
    """Return the earliest change that is due, or None. They follow one another in the order of their times, so that a
    service which was down arrives at the same state as one that ran. Of several at one time, the first of ``_changes``
    comes first: a cancellation before everything else, the end of a pause before that of the period."""
    due = [(at, change) for at, change in _changes(state, interval, zone) if at is not None and at <= now]
    return min(due, key=lambda each: each[0])[1]() if due else None


def _changes(
    state: MembershipState, interval: Interval | None, zone: tzinfo
) -> Iterator[tuple[datetime | None, _Step]]:
    """Yield the changes that a membership is heading for, each with its time."""
    if state.status in LIVE_STATUSES:
        yield state.cancel_at, lambda: (_ended(state, MembershipStatus.CANCELLED, state.cancel_at), None)
    if state.status == MembershipStatus.PAUSED:
        yield state.pause_ends_at, lambda: _resumed(state, interval, zone)
    starts, ends = state.pause_starts_at, state.pause_ends_at
    # A planned pause has a length; without an end it lasts until somebody resumes it.
    if state.status == MembershipStatus.ACTIVE and starts is not None and (ends is None or ends > starts):
        paused = {"status": MembershipStatus.PAUSED, "paused_at": state.pause_starts_at}
        yield state.pause_starts_at, lambda: (_changed(state, **paused), None)
    end = state.current_period_end
    # A membership that is past due is not renewed.
    unpaid = state.status == MembershipStatus.PAST_DUE and (state.cancel_at_period_end or not state.auto_renew)
    if end is not None and (state.status == MembershipStatus.ACTIVE or unpaid):
        yield end, lambda: _period_over(state, end, interval, zone)


def _period_over(
    state: MembershipState, end: datetime, interval: Interval | None, zone: tzinfo
) -> tuple[MembershipState, Renewal | None]:
    if state.cancel_at_period_end:
        return _ended(state, MembershipStatus.CANCELLED, end), None
    if not state.auto_renew or interval is None:
        return _ended(state, MembershipStatus.EXPIRED, end), None
    return _renewed(state, end, interval, zone)


def _resumed(state: MembershipState, interval: Interval | None, zone: tzinfo) -> tuple[MembershipState, Renewal | None]:
    over = state.pause_ends_at
    resumed = _changed(
        state,
        status=MembershipStatus.ACTIVE,
        paused_at=None,
        pause_starts_at=None,
        pause_ends_at=None,
        pause_reason=None,
    )
    ran_out = over is not None and state.current_period_end is not None and state.current_period_end < over
    # A planned cancellation lies ahead: one that is due comes before the end of the pause.
    renews = state.auto_renew and not state.cancel_at_period_end
    if over is None or not ran_out or interval is None or not renews:
        return resumed, None
    return _renewed(resumed, over, interval, zone)


def _renewed(
    state: MembershipState, begins: datetime, interval: Interval, zone: tzinfo
) -> tuple[MembershipState, Renewal]:
    ends = next_period_end(state, begins, interval, zone)
    period = {"current_period_start": begins, "current_period_end": ends}
    if state.credits_granted is None or state.credits_remaining is None:
        return _changed(state, **period), Renewal(begins, ends, None)
    change = state.credits_granted - state.credits_remaining
    return _changed(state, **period, credits_remaining=state.credits_granted), Renewal(begins, ends, change)


def cancelled_now(state: MembershipState, now: datetime) -> MembershipState:
    """Return the state after a cancellation that takes effect at once; one that has ended already stays as it is."""
    ended = state.status in (MembershipStatus.CANCELLED, MembershipStatus.EXPIRED)
    return state if ended else _ended(state, MembershipStatus.CANCELLED, now)


def _ended(state: MembershipState, status: MembershipStatus, at: datetime | None) -> MembershipState:
    cancelled_at = state.cancelled_at or (at if status == MembershipStatus.CANCELLED else None)
    return _changed(state, status=status, cancelled_at=cancelled_at, ended_at=state.ended_at or at)


def _changed(state: MembershipState, **changes: object) -> MembershipState:
    return state._replace(state_version=state.state_version + 1, **changes)  # type: ignore[arg-type]


def _anchor(state: MembershipState, begins: datetime, interval: Interval, zone: tzinfo) -> datetime:
    """Return the instant from which periods are counted: ``begins`` is a whole number of intervals after it."""
    for candidate in (state.started_at, state.current_period_start):
        if candidate is not None and candidate < begins:
            ends = _ends(candidate, interval, zone, begins)
            if next(end for end in ends if end >= begins) == begins:
                return candidate
    return begins


def _ends(anchor: datetime, interval: Interval, zone: tzinfo, near: datetime) -> Iterator[datetime]:
    """Yield the instants whole intervals after the anchor by the zone's clock, from shortly before ``near`` on."""
    local = anchor.astimezone(zone)
    if interval in DAYS:
        count = max(0, (near - anchor).days // DAYS[interval] - 2)
    else:
        count = max(0, (near.year - local.year) * (1 if interval == Interval.YEAR else 12) - 13)
    while True:
        count += 1
        yield _later(local, interval, count).astimezone(UTC)


def _later(local: datetime, interval: Interval, count: int) -> datetime:
    if interval in DAYS:
        return local + timedelta(days=count * DAYS[interval])
    months = local.month - 1 + count * (12 if interval == Interval.YEAR else 1)
    year, month = local.year + months // 12, months % 12 + 1
    return local.replace(year=year, month=month, day=min(local.day, monthrange(year, month)[1]))
