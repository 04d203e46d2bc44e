"""Which membership pays, compared with a restatement by elimination and sorting."""

from datetime import datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studiogate.domain.bookings.entitlement import choose_entitlement, covers, credits_of, is_paused, is_usable
from studiogate.domain.bookings.facts import ClassFacts, MembershipFacts
from studiogate.domain.bookings.states import MembershipStatus
from studiogate.domain.refusals import Refusal
from tests.support.booking_facts import NORTH, NOW, SECOND, START, YOGA, a_class, a_membership, thorough, uid

DAY = timedelta(days=1)
SPIN, SOUTH = uid(201), uid(202)


def chosen(*memberships: MembershipFacts, class_: ClassFacts | None = None) -> str | int:
    result = choose_entitlement(memberships, class_ or a_class(), NOW)
    return str(result.code) if isinstance(result, Refusal) else result.id.int


def test_unlimited_comes_first_then_the_credits_that_end_first_then_those_without_an_end() -> None:
    endless = a_membership(1, current_period_end=None)
    late, soon = (a_membership(n, current_period_end=NOW + n * DAY) for n in (9, 5))
    unlimited = a_membership(7, credits_remaining=None, current_period_end=None)
    assert chosen(endless, late, soon, unlimited) == 7
    assert chosen(endless, late, soon) == 5
    assert chosen(endless, late) == 9
    assert chosen(endless) == 1


def test_the_id_decides_between_equals_in_any_order() -> None:
    assert chosen(a_membership(3), a_membership(2), a_membership(4)) == chosen(a_membership(2), a_membership(3)) == 2


def test_the_next_membership_pays_when_credits_are_spent() -> None:
    assert chosen(a_membership(1, credits_remaining=0), a_membership(2, current_period_end=None)) == 2


@pytest.mark.parametrize("status", list(MembershipStatus))
def test_only_an_active_membership_is_usable(status: MembershipStatus) -> None:
    expected = {"active": 11, "paused": "membership_paused"}.get(status, "no_active_membership")
    assert chosen(a_membership(status=status)) == expected


@pytest.mark.parametrize(
    ("changes", "usable"),
    [
        ({"started_at": NOW}, True),
        ({"started_at": NOW + SECOND}, False),
        ({"started_at": None}, True),
        ({"current_period_end": NOW}, False),
        ({"current_period_end": NOW + SECOND}, True),
        ({"current_period_end": None}, True),
        ({"cancel_at": NOW}, False),
        ({"cancel_at": NOW + SECOND}, True),
    ],
)
def test_a_period_is_half_open_and_judged_at_the_moment_of_booking(changes: dict[str, Any], usable: bool) -> None:
    assert is_usable(a_membership(**changes), NOW) == usable
    at_once = a_class(start_time=NOW)
    assert chosen(a_membership(**changes), class_=at_once) == (11 if usable else "no_active_membership")


@pytest.mark.parametrize(
    ("changes", "ends_at"),
    [
        ({"current_period_end": START + SECOND}, None),
        ({"current_period_end": START}, "2026-08-10T16:00:00+00:00"),
        ({"current_period_end": START, "auto_renew": True}, None),
        ({"current_period_end": START, "auto_renew": True, "cancel_at_period_end": True}, "2026-08-10T16:00:00+00:00"),
        (
            {"current_period_end": START, "auto_renew": True, "cancel_at": START - SECOND},
            "2026-08-10T15:59:59+00:00",
        ),
        ({"current_period_end": None, "cancel_at": START}, "2026-08-10T16:00:00+00:00"),
        ({"current_period_end": None}, None),
    ],
)
def test_a_membership_pays_only_for_classes_that_start_before_its_end(
    changes: dict[str, Any], ends_at: str | None
) -> None:
    result = choose_entitlement([a_membership(**changes)], a_class(), NOW)
    if ends_at is None:
        assert isinstance(result, MembershipFacts)
        assert result.id.int == 11
    else:
        assert isinstance(result, Refusal)
        assert (result.code, result.details) == ("membership_not_valid_for_class", {"membership_ends_at": ends_at})


def test_one_that_ends_earlier_does_not_count_where_another_one_reaches_the_class() -> None:
    short, long = a_membership(1, current_period_end=START), a_membership(2, current_period_end=START + DAY)
    assert chosen(short, long) == 2
    assert chosen(short, long._replace(credits_remaining=0)) == "insufficient_credits"
    elsewhere = a_membership(3, class_type_ids=frozenset({SPIN}))
    longest = choose_entitlement([short, short._replace(id=uid(4), cancel_at=NOW + DAY), elsewhere], a_class(), NOW)
    assert isinstance(longest, Refusal)
    assert longest.details == {"membership_ends_at": "2026-08-10T16:00:00+00:00"}
    nowhere = choose_entitlement([elsewhere], a_class(), NOW)
    assert isinstance(nowhere, Refusal)
    assert nowhere.details == {}


@pytest.mark.parametrize(
    ("starts", "ends", "paused"),
    [
        (None, None, False),
        (NOW, None, True),
        (NOW + SECOND, None, False),
        (NOW - DAY, NOW, False),
        (NOW - DAY, NOW + SECOND, True),
        (None, NOW + DAY, False),
    ],
)
def test_a_scheduled_pause_holds_from_its_start_until_its_end(
    starts: datetime | None, ends: datetime | None, paused: bool
) -> None:
    membership = a_membership(pause_starts_at=starts, pause_ends_at=ends)
    assert is_paused(membership, NOW) == paused
    assert chosen(membership) == ("membership_paused" if paused else 11)


def test_a_paused_one_is_named_only_if_it_fits_and_none_is_usable() -> None:
    paused = a_membership(1, status=MembershipStatus.PAUSED)
    elsewhere: dict[str, Any] = {"class_type_ids": frozenset({SPIN})}
    assert chosen(paused) == "membership_paused"
    assert chosen(paused._replace(**elsewhere)) == "no_active_membership"
    assert chosen(paused, a_membership(2, **elsewhere)) == "membership_not_valid_for_class"
    assert chosen(paused, a_membership(2, credits_remaining=0)) == "insufficient_credits"
    assert chosen() == "no_active_membership"


@pytest.mark.parametrize(
    ("types", "locations", "covered"),
    [
        ((), (), True),
        ((YOGA, SPIN), (), True),
        ((SPIN,), (), False),
        ((), (NORTH, SOUTH), True),
        ((), (SOUTH,), False),
        ((YOGA,), (SOUTH,), False),
        ((YOGA,), (NORTH,), True),
    ],
)
def test_both_limits_of_a_product_count(types: tuple[UUID, ...], locations: tuple[UUID, ...], covered: bool) -> None:
    membership = a_membership(class_type_ids=frozenset(types), location_ids=frozenset(locations))
    assert covers(membership, a_class()) == covered
    assert chosen(membership) == (11 if covered else "membership_not_valid_for_class")


def test_a_class_without_type_or_location_is_outside_every_limit() -> None:
    limited = a_membership(class_type_ids=frozenset({YOGA}))
    assert not covers(limited, a_class(class_type_id=None))
    assert covers(a_membership(), a_class(class_type_id=None, location_id=None))


def test_a_booking_takes_a_credit_only_where_credits_are_counted() -> None:
    assert (credits_of(a_membership()), credits_of(a_membership(credits_remaining=None)), credits_of(None)) == (1, 0, 0)


moments = st.none() | st.integers(-2, 3).map(lambda days: NOW + days * DAY)
memberships = st.builds(
    a_membership,
    st.integers(1, 4),
    status=st.sampled_from([MembershipStatus.ACTIVE] * 4 + [MembershipStatus.PAUSED, MembershipStatus.EXPIRED]),
    credits_remaining=st.sampled_from([None, 0, 1, 3]),
    started_at=moments,
    current_period_end=moments,
    class_type_ids=st.frozensets(st.sampled_from([YOGA, SPIN])),
    location_ids=st.frozensets(st.sampled_from([NORTH, SOUTH])),
    pause_starts_at=st.none() | moments,
    pause_ends_at=moments,
    auto_renew=st.booleans(),
    cancel_at_period_end=st.booleans(),
    cancel_at=st.none() | moments,
)


def restated(owned: list[MembershipFacts]) -> str | int:
    """Eliminate memberships step by step; return the code of the step that left none, or the id that sorts first."""

    def rests(m: MembershipFacts) -> bool:
        if m.status == "paused":
            return True
        begun = m.pause_starts_at and not m.pause_starts_at > NOW
        over = m.pause_ends_at and not m.pause_ends_at > NOW
        return bool(m.status == "active" and begun and not over)

    def fits(m: MembershipFacts) -> bool:
        return all(not limit or limit & {have} for limit, have in ((m.class_type_ids, YOGA), (m.location_ids, NORTH)))

    left = [m for m in owned if m.status == "active" and not rests(m)]
    left = [m for m in left if not (m.started_at and m.started_at > NOW)]
    left = [m for m in left if not (m.current_period_end and m.current_period_end <= NOW)]
    left = [m for m in left if not (m.cancel_at and m.cancel_at <= NOW)]
    if not left:
        return "membership_paused" if [m for m in owned if rests(m) and fits(m)] else "no_active_membership"
    left = [m for m in left if fits(m)]
    left = [
        m
        for m in left
        if (m.auto_renew and not m.cancel_at_period_end and not m.cancel_at)
        or all(end > START for end in (m.current_period_end, m.cancel_at) if end)
    ]
    if not left:
        return "membership_not_valid_for_class"
    left = [m for m in left if m.credits_remaining != 0]
    if not left:
        return "insufficient_credits"
    left.sort(key=lambda m: m.id.int)
    left.sort(key=lambda m: (m.current_period_end - NOW).total_seconds() if m.current_period_end else float("inf"))
    unlimited = [m for m in left if m.credits_remaining is None]
    return (unlimited or left)[0].id.int


@thorough
@given(st.lists(memberships, max_size=4, unique_by=lambda m: m.id), st.randoms(use_true_random=False))
def test_the_choice_is_the_restated_one_in_whatever_order_they_come(
    owned: list[MembershipFacts], random: Random
) -> None:
    expected = restated(owned)
    assert chosen(*owned) == expected
    random.shuffle(owned)
    assert chosen(*owned) == expected
