"""The booking policy: members and defaults, levels, instants and faults."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studiogate.domain.bookings.policy import FROZEN_MEMBERS, LateFee, Policy, policy_faults, resolve_policy
from tests.support.booking_facts import NOW, START, without_deadline

FORM = "0b6a1b0e-1f1d-4b0e-9a51-6f7f3f0f5a11"
CONTRACT_DEFAULTS = {
    "require_entitlement": True,
    "booking_opens_minutes_before": None,
    "booking_closes_minutes_before": 0,
    "cancellation_window_minutes": 720,
    "late_action": "forfeit_credit",
    "late_fee_amount": "0.00",
    "late_fee_currency": None,
    "free_late_cancels": 0,
    "free_late_cancels_days": 30,
    "waitlist_mode": "auto",
    "waitlist_capacity": None,
    "promotion_cutoff_minutes": 60,
    "promotion_grace_minutes": 15,
    "max_bookings_per_day": None,
    "allow_overlapping": False,
    "waiver_form_id": None,
}
Override = dict[str, Any] | None

minutes = st.integers(0, 100_000)
count = st.integers(0, 50)
VALID_MEMBERS = {
    "require_entitlement": st.booleans(),
    "booking_opens_minutes_before": st.none() | minutes,
    "booking_closes_minutes_before": minutes,
    "cancellation_window_minutes": minutes,
    "late_action": st.sampled_from(["none", "fee", "forfeit_credit", "fee_and_forfeit"]),
    "late_fee_amount": st.decimals("0", "999", places=2).map(str),
    "late_fee_currency": st.sampled_from([None, "USD", "EUR"]),
    "free_late_cancels": count,
    "free_late_cancels_days": st.integers(1, 365),
    "waitlist_mode": st.sampled_from(["auto", "manual", "off"]),
    "waitlist_capacity": st.none() | count,
    "promotion_cutoff_minutes": minutes,
    "promotion_grace_minutes": minutes,
    "max_bookings_per_day": st.none() | count,
    "allow_overlapping": st.booleans(),
    "waiver_form_id": st.none() | st.uuids().map(str),
}
overrides = st.none() | st.fixed_dictionaries({}, optional=VALID_MEMBERS)


def test_the_members_and_defaults_are_the_contracts() -> None:
    assert Policy().as_json() == CONTRACT_DEFAULTS
    assert list(Policy().as_json()) == list(FROZEN_MEMBERS) == list(CONTRACT_DEFAULTS)
    assert resolve_policy(None, None, None, None) == Policy()


def test_null_is_a_setting_and_absence_is_not() -> None:
    studio = {"max_bookings_per_day": 2, "waitlist_capacity": 5}
    resolved = resolve_policy(studio, {}, {"max_bookings_per_day": None}, None)
    assert (resolved.max_bookings_per_day, resolved.waitlist_capacity) == (None, 5)


@without_deadline
@given(overrides, overrides, overrides, overrides)
def test_each_member_comes_from_the_innermost_level_that_has_it(
    studio: Override, location: Override, class_type: Override, class_: Override
) -> None:
    resolved = resolve_policy(studio, location, class_type, class_).as_json()
    for member, default in CONTRACT_DEFAULTS.items():
        levels = [level for level in (class_, class_type, location, studio) if level and member in level]
        assert resolved[member] == (levels[0][member] if levels else default)


@without_deadline
@given(overrides)
def test_a_frozen_policy_reads_back_as_it_was(override: Override) -> None:
    policy = resolve_policy(override)
    assert Policy.from_json(policy.as_json()) == policy
    assert policy_faults(override or {}) == []


def test_a_frozen_policy_of_another_release_still_reads() -> None:
    assert Policy.from_json({"cancellation_window_minutes": 5, "from_the_future": 1}).cancellation_window_minutes == 5
    assert Policy.from_json({"waiver_form_id": FORM}).waiver_form_id == UUID(FORM)


def test_the_instants() -> None:
    policy = Policy(booking_opens_minutes_before=120, booking_closes_minutes_before=30)
    assert Policy().booking_opens_at(START) is None
    assert policy.booking_opens_at(START) == START - timedelta(hours=2)
    assert policy.booking_closes_at(START) == START - timedelta(minutes=30)
    assert policy.cancellation_cutoff_at(START) == START - timedelta(hours=12)
    assert policy.promotion_cutoff_at(START) == START - timedelta(hours=1)
    assert policy.late_cancels_since(NOW) == NOW - timedelta(days=30)


@pytest.mark.parametrize(
    ("local_start", "offset_before"), [(datetime(2026, 3, 8, 9), -5), (datetime(2026, 11, 1, 9), -4)]
)
def test_minutes_are_real_minutes_across_a_dst_change(local_start: datetime, offset_before: int) -> None:
    start = local_start.replace(tzinfo=ZoneInfo("America/New_York"))
    cutoff = Policy().cancellation_cutoff_at(start)
    assert start.astimezone(UTC) - cutoff == timedelta(hours=12)
    assert cutoff.astimezone(start.tzinfo).utcoffset() == timedelta(hours=offset_before)


def test_a_start_at_the_beginning_of_the_calendar_does_not_overflow() -> None:
    assert Policy().cancellation_cutoff_at(datetime(1, 1, 1, 1, tzinfo=UTC)) == datetime.min.replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("amount", "currency", "studio", "fee"),
    [
        ("15.00", None, "USD", LateFee("15.00", "USD")),
        ("15.00", "EUR", "USD", LateFee("15.00", "EUR")),
        ("0.00", None, "USD", None),
        ("1500", "JPY", "USD", LateFee("1500", "JPY")),
        ("15.90", None, "JPY", LateFee("15", "JPY")),
        ("0.90", None, "JPY", None),
        ("15.00", None, "KWD", LateFee("15.000", "KWD")),
    ],
)
def test_the_late_fee_has_its_currencys_decimals_and_zero_is_none(
    amount: str, currency: str | None, studio: str, fee: LateFee | None
) -> None:
    assert Policy(late_fee_amount=amount, late_fee_currency=currency).late_fee(studio) == fee


WHOLE = ["booking_closes_minutes_before", "cancellation_window_minutes", "promotion_cutoff_minutes"]
WHOLE += ["promotion_grace_minutes", "free_late_cancels", "free_late_cancels_days"]
WHOLE_OR_NULL = ["booking_opens_minutes_before", "waitlist_capacity", "max_bookings_per_day"]


@pytest.mark.parametrize("member", WHOLE + WHOLE_OR_NULL)
@pytest.mark.parametrize("value", [-1, True, False, 1.0, "1", [], {}, 10**12])
def test_whole_numbers_are_neither_negative_nor_booleans_nor_endless(member: str, value: object) -> None:
    assert [fault[0] for fault in policy_faults({member: value})] == [member]


@pytest.mark.parametrize(
    ("member", "least", "most"),
    [
        ("cancellation_window_minutes", 0, 5_270_400),
        ("free_late_cancels", 0, 1_000_000),
        ("free_late_cancels_days", 1, 3660),
    ],
)
def test_the_bounds_belong_to_the_range(member: str, least: int, most: int) -> None:
    assert policy_faults({member: least}) == policy_faults({member: most}) == []
    assert policy_faults({member: least - 1})[0][1] == f"must be a whole number from {least} to {most}"
    assert policy_faults({member: most + 1}) != []


@pytest.mark.parametrize("member", list(CONTRACT_DEFAULTS))
def test_null_is_allowed_exactly_where_the_default_is_null(member: str) -> None:
    assert (policy_faults({member: None}) == []) == (CONTRACT_DEFAULTS[member] is None)


@pytest.mark.parametrize(
    ("override", "faulty"),
    [
        ({"require_entitlement": 1}, ["require_entitlement"]),
        ({"allow_overlapping": "false"}, ["allow_overlapping"]),
        ({"late_action": "fine"}, ["late_action"]),
        ({"late_action": ["fee"]}, ["late_action"]),
        ({"waitlist_mode": "AUTO"}, ["waitlist_mode"]),
        ({"waiver_form_id": FORM.replace("-", "")}, ["waiver_form_id"]),
        ({"waiver_form_id": "{" + FORM + "}"}, ["waiver_form_id"]),
        ({"waiver_form_id": FORM + "\n"}, ["waiver_form_id"]),
        ({"waiver_form_id": FORM.upper()}, []),
        ({"late_fee_currency": "usd"}, ["late_fee_currency"]),
        ({"late_fee_amount": "15.00"}, []),
        ({"late_fee_amount": 15}, ["late_fee_amount"]),
        ({"late_fee_amount": "15"}, ["late_fee_amount"]),
        ({"late_fee_amount": "15.000"}, ["late_fee_amount"]),
        ({"late_fee_amount": "-15.00"}, ["late_fee_amount"]),
        ({"late_fee_amount": "1e3"}, ["late_fee_amount"]),
        ({"late_fee_amount": "\N{ARABIC-INDIC DIGIT ONE}5.00"}, ["late_fee_amount"]),
        ({"late_fee_amount": "NaN"}, ["late_fee_amount"]),
        ({"late_fee_amount": "1500", "late_fee_currency": "JPY"}, []),
        ({"late_fee_amount": "15.00", "late_fee_currency": "JPY"}, ["late_fee_amount"]),
        ({"late_fee_amount": "15.000", "late_fee_currency": "KWD"}, []),
        ({"late_fee_amount": "15.0", "late_fee_currency": "dollars"}, ["late_fee_currency"]),
        ({"cancellation_window": 5}, ["cancellation_window"]),
        (
            {"x": 1, "late_action": 0, "free_late_cancels": 1, "waitlist_mode": None},
            ["x", "late_action", "waitlist_mode"],
        ),
    ],
)
def test_every_fault_is_named_in_the_mappings_order(override: dict[str, Any], faulty: list[str]) -> None:
    found = policy_faults(override)
    assert [member for member, _ in found] == faulty
    assert all(message for _, message in found)


def test_the_studios_currency_gives_the_decimals_where_none_is_named() -> None:
    assert policy_faults({"late_fee_amount": "1500"}, "JPY") == []
    assert policy_faults({"late_fee_amount": "1500", "late_fee_currency": None}, "JPY") == []
    assert policy_faults({"late_fee_amount": "15.00"}, "JPY") != []


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@without_deadline
@given(st.dictionaries(st.sampled_from(FROZEN_MEMBERS) | st.text(max_size=5), json_values, max_size=5))
def test_what_has_no_faults_resolves_and_nothing_raises(override: dict[str, Any]) -> None:
    if not policy_faults(override):
        policy = resolve_policy(override)
        policy.cancellation_cutoff_at(START)
        policy.late_fee("USD")
