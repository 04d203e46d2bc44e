"""Calendar periods, pauses, ends and renewals of a membership, and the effect of payments on it."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studiogate.domain.bookings.states import MembershipStatus
from studiogate.domain.fields.catalog import PurchaseStatus
from studiogate.domain.memberships import (
    RENEWALS_AT_ONCE,
    Interval,
    MembershipState,
    RecurringPrice,
    advance,
    after_payment,
    choose_price,
    is_due,
)
from studiogate.domain.purchases import purchase_refusal
from tests.support.booking_facts import thorough, uid

NEW_YORK = ZoneInfo("America/New_York")
NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def state(**changes: Any) -> MembershipState:
    members: dict[str, Any] = dict.fromkeys(MembershipState._fields) | {
        "status": MembershipStatus.ACTIVE,
        "state_version": 1,
        "auto_renew": True,
        "cancel_at_period_end": False,
        "current_period_end": NOW,
    }
    return MembershipState(**{**members, **changes})


def ends(started: datetime, interval: Interval, count: int, **changes: Any) -> list[datetime]:
    """Return the ends of the first ``count`` periods of a membership that started at ``started``."""
    now = state(started_at=started, current_period_start=started, current_period_end=started, **changes)
    found = []
    for _ in range(count):
        end = now.current_period_end
        assert end is not None
        now, (renewal,) = advance(now, interval, NEW_YORK, end)
        assert (renewal.period_start, renewal.period_end) == (end, now.current_period_end)
        assert now.current_period_end is not None
        found.append(now.current_period_end.astimezone(NEW_YORK))
    return found


@pytest.mark.parametrize("known_start", [True, False])
def test_months_are_clamped_to_their_last_day_and_recover(known_start: bool) -> None:
    """Also where only the current period shows on which day the membership began."""
    start = datetime(2027, 1, 31, 18, tzinfo=NEW_YORK)
    now = state(
        started_at=start if known_start else None,
        current_period_start=start,
        current_period_end=datetime(2027, 2, 28, 18, tzinfo=NEW_YORK),
    )
    days = []
    for _ in range(13):
        assert now.current_period_end is not None
        now, (_renewal,) = advance(now, Interval.MONTH, NEW_YORK, now.current_period_end)
        assert now.current_period_end is not None
        local = now.current_period_end.astimezone(NEW_YORK)
        assert local.hour == 18, "the same time of day, whatever the clocks do"
        days.append((local.month, local.day))
    assert days == [
        *((3, 31), (4, 30), (5, 31), (6, 30), (7, 31), (8, 31), (9, 30), (10, 31), (11, 30), (12, 31)),
        *((1, 31), (2, 29), (3, 31)),
    ]


@pytest.mark.parametrize(
    ("interval", "start", "expected"),
    [
        (Interval.DAY, datetime(2026, 10, 31, 12, tzinfo=NEW_YORK), [(11, 1), (11, 2)]),
        (Interval.WEEK, datetime(2026, 10, 31, 12, tzinfo=NEW_YORK), [(11, 7), (11, 14)]),
        (Interval.MONTH, datetime(2026, 11, 30, 12, tzinfo=NEW_YORK), [(12, 30), (1, 30), (2, 28), (3, 30)]),
        (Interval.YEAR, datetime(2024, 2, 29, 12, tzinfo=NEW_YORK), [(2, 28), (2, 28), (2, 28), (2, 29)]),
    ],
)
def test_intervals_keep_the_local_time_of_day(
    interval: Interval, start: datetime, expected: list[tuple[int, int]]
) -> None:
    found = ends(start, interval, len(expected))
    assert [(each.month, each.day) for each in found] == expected
    assert {each.hour for each in found} == {12}


def test_a_renewal_resets_credits_and_raises_the_version() -> None:
    start = state(credits_granted=10, credits_remaining=3, state_version=4)
    after, (renewal,) = advance(start, Interval.MONTH, NEW_YORK, NOW)
    assert (after.status, after.state_version, after.credits_remaining, renewal.credits_change) == ("active", 5, 10, 7)
    assert (after.current_period_start, after.current_period_end) == (NOW, datetime(2026, 12, 15, 12, tzinfo=UTC))
    unlimited, (renewal,) = advance(state(), Interval.MONTH, NEW_YORK, NOW)
    assert (unlimited.credits_remaining, renewal.credits_change) == (None, None)
    uncounted, _ = advance(state(credits_remaining=3), Interval.MONTH, NEW_YORK, NOW)
    assert uncounted.credits_remaining == 3


def test_every_period_that_has_passed_is_made_up_for_once() -> None:
    long_ago = state(current_period_end=NOW - 21 * DAY)
    after, renewals = advance(long_ago, Interval.WEEK, UTC, NOW)
    assert [each.period_start for each in renewals] == [NOW - 21 * DAY, NOW - 14 * DAY, NOW - 7 * DAY, NOW]
    assert (after.current_period_end, after.state_version) == (NOW + 7 * DAY, 5)
    assert advance(after, Interval.WEEK, UTC, NOW) == (after, ())
    assert not is_due(after, Interval.WEEK, UTC, NOW)


def test_the_periods_made_up_for_at_once_are_bounded() -> None:
    ancient = state(current_period_end=NOW - 10_000 * DAY)
    after, renewals = advance(ancient, Interval.DAY, UTC, NOW)
    assert len(renewals) == RENEWALS_AT_ONCE
    assert after.current_period_end is not None
    assert after.current_period_end < NOW
    assert is_due(after, Interval.DAY, UTC, NOW)


@pytest.mark.parametrize(
    ("changes", "interval", "status"),
    [
        ({"auto_renew": False}, Interval.MONTH, "expired"),
        ({}, None, "expired"),
        ({"cancel_at_period_end": True}, Interval.MONTH, "cancelled"),
        ({"auto_renew": False, "cancel_at_period_end": True}, Interval.MONTH, "cancelled"),
        ({"cancel_at": NOW, "current_period_end": NOW + DAY}, Interval.MONTH, "cancelled"),
        ({"cancel_at": NOW, "status": MembershipStatus.PAUSED}, Interval.MONTH, "cancelled"),
        ({"status": MembershipStatus.PAST_DUE, "auto_renew": False}, Interval.MONTH, "expired"),
        ({"status": MembershipStatus.PAST_DUE, "cancel_at_period_end": True}, Interval.MONTH, "cancelled"),
    ],
)
def test_what_ends_a_membership(changes: dict[str, Any], interval: Interval | None, status: str) -> None:
    after, renewals = advance(state(**changes), interval, NEW_YORK, NOW)
    assert (after.status, after.ended_at, after.state_version, renewals) == (status, NOW, 2, ())
    assert after.cancelled_at == (NOW if status == "cancelled" else None)


@pytest.mark.parametrize(
    "changes",
    [
        {"current_period_end": NOW + timedelta(microseconds=1)},
        {"current_period_end": None},
        {"status": MembershipStatus.PAST_DUE},
        {"status": MembershipStatus.PAUSED},
        {"status": MembershipStatus.PENDING},
        {"status": MembershipStatus.EXPIRED},
        {"status": MembershipStatus.CANCELLED},
    ],
)
def test_what_is_left_alone(changes: dict[str, Any]) -> None:
    before = state(**changes)
    assert advance(before, Interval.MONTH, NEW_YORK, NOW) == (before, ())


def test_time_in_a_pause_is_not_billed() -> None:
    paused = state(
        status=MembershipStatus.PAUSED,
        paused_at=NOW - 100 * DAY,
        pause_starts_at=NOW - 100 * DAY,
        pause_ends_at=NOW - DAY,
        current_period_end=NOW - 90 * DAY,
    )
    after, (renewal,) = advance(paused, Interval.MONTH, NEW_YORK, NOW)
    assert (after.status, after.paused_at, after.pause_ends_at) == ("active", None, None)
    assert renewal.period_start == after.current_period_start == NOW - DAY
    assert after.current_period_end == datetime(2026, 12, 14, 12, tzinfo=UTC)


def test_a_failed_payment_makes_it_past_due_until_all_are_paid() -> None:
    active = state(current_period_end=NOW + DAY)
    due = after_payment(active, unpaid=True)
    assert (due.status, due.state_version) == ("past_due", 2)
    assert after_payment(due, unpaid=True) == due
    assert after_payment(due, unpaid=False) == active._replace(state_version=3)
    paused = active._replace(status=MembershipStatus.PAUSED, paused_at=NOW)
    assert after_payment(after_payment(paused, unpaid=True), unpaid=False).status == "paused"
    over = active._replace(status=MembershipStatus.EXPIRED)
    assert after_payment(over, unpaid=True) == after_payment(over, unpaid=False) == over


@pytest.mark.parametrize("current", [None, *PurchaseStatus])
@pytest.mark.parametrize("target", [PurchaseStatus.COMPLETED, PurchaseStatus.FAILED])
def test_what_a_purchase_can_be_marked_as(current: PurchaseStatus | None, target: PurchaseStatus) -> None:
    allowed = (current, target) in {
        (None, "completed"),
        (None, "failed"),
        ("pending", "completed"),
        ("pending", "failed"),
        ("failed", "completed"),
        ("completed", "failed"),
    }
    assert (purchase_refusal(current, target) is None) == allowed


def test_the_price_to_renew_by() -> None:
    def price(number: int, **changes: Any) -> RecurringPrice:
        return RecurringPrice(uid(number), Interval.MONTH, False, True, NOW)._replace(**changes)

    old, default = price(2, created_at=NOW - DAY), price(3, default=True)
    kept, withdrawn = price(4, active=False), price(1, active=False, default=True)
    assert choose_price(None, [price(5), old, default, withdrawn]) == default
    assert choose_price(None, [price(5), old, withdrawn]) == old
    assert choose_price(kept.id, [default, kept]) == kept
    assert choose_price(uid(9), [withdrawn]) is None
    assert choose_price(None, []) is None


moments = st.none() | st.integers(-40, 3).map(lambda days: NOW + days * DAY)
states = st.builds(
    state,
    status=st.sampled_from(list(MembershipStatus)),
    auto_renew=st.booleans(),
    current_period_end=moments,
    pause_starts_at=moments,
    pause_ends_at=moments,
    cancel_at_period_end=st.booleans(),
    cancel_at=moments,
)


@thorough
@given(states, st.sampled_from([None, *Interval]))
def test_advancing_twice_is_advancing_once(before: MembershipState, interval: Interval | None) -> None:
    after, renewals = advance(before, interval, NEW_YORK, NOW)
    assert advance(after, interval, NEW_YORK, NOW) == (after, ())
    assert (after == before) == (after.state_version == before.state_version)
    for one, other in pairwise(renewals):
        paused = before.pause_starts_at is not None and one.period_end < other.period_start
        assert paused or one.period_end == other.period_start
    assert all(each.period_start <= NOW for each in renewals)


@thorough
@given(states, st.sampled_from([None, *Interval]), st.integers(-45, 0))
def test_an_outage_changes_nothing_about_the_outcome(
    before: MembershipState, interval: Interval | None, days: int
) -> None:
    """Whether the clock was looked at in between or only once, the state and the purchases are the same."""
    at_once = advance(before, interval, NEW_YORK, NOW)
    between = advance(before, interval, NEW_YORK, NOW + days * DAY)
    later = advance(between.state, interval, NEW_YORK, NOW)
    assert (later.state, between.renewals + later.renewals) == at_once


def test_a_pause_that_passed_in_an_outage_is_not_billed() -> None:
    planned = state(
        pause_starts_at=NOW - 35 * DAY,
        pause_ends_at=NOW - 5 * DAY,
        current_period_end=NOW - 20 * DAY,
    )
    after, (renewal,) = advance(planned, Interval.MONTH, NEW_YORK, NOW)
    assert renewal.period_start == NOW - 5 * DAY
    assert (after.status, after.paused_at, after.pause_starts_at, after.pause_ends_at) == ("active", None, None, None)


def test_periods_before_a_pause_and_a_cancellation_are_billed_after_an_outage() -> None:
    planned = state(pause_starts_at=NOW - 3 * DAY, pause_ends_at=NOW - DAY, current_period_end=NOW - 20 * DAY)
    after, renewals = advance(planned, Interval.WEEK, UTC, NOW)
    assert [each.period_start for each in renewals] == [NOW - 20 * DAY, NOW - 13 * DAY, NOW - 6 * DAY]
    assert after.status == "active"
    ending = state(cancel_at=NOW - DAY, current_period_end=NOW - 10 * DAY)
    after, renewals = advance(ending, Interval.WEEK, UTC, NOW)
    assert (after.status, [each.period_start for each in renewals]) == ("cancelled", [NOW - 10 * DAY, NOW - 3 * DAY])


@pytest.mark.parametrize("cancel_at", [None, NOW + 300 * DAY])
def test_a_pause_is_not_billed_because_a_cancellation_is_planned(cancel_at: datetime | None) -> None:
    pause = {"pause_starts_at": NOW - 100 * DAY, "paused_at": NOW - 100 * DAY, "pause_ends_at": NOW - DAY}
    paused = state(status=MembershipStatus.PAUSED, current_period_end=NOW - 90 * DAY, cancel_at=cancel_at, **pause)
    _, renewals = advance(paused, Interval.MONTH, NEW_YORK, NOW)
    assert [renewal.period_start for renewal in renewals] == [NOW - DAY]


@pytest.mark.parametrize(("interval", "days"), [(Interval.DAY, 1), (Interval.WEEK, 7)])
def test_a_time_that_a_day_does_not_have_moves_that_day_only(interval: Interval, days: int) -> None:
    """The clocks are put forward at two o'clock on 8 March 2026."""
    start = datetime(2026, 3, 8, 2, 30, tzinfo=NEW_YORK) - 3 * days * DAY
    found = ends(start, interval, 6)
    assert [(end.month, end.day) for end in found] == [
        ((start + (number + 1) * days * DAY).month, (start + (number + 1) * days * DAY).day) for number in range(6)
    ]
    assert [(end.hour, end.minute) for end in found] == [(2, 30), (2, 30), (3, 30), (2, 30), (2, 30), (2, 30)]
