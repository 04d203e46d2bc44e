"""Promotion: order, skips, spots, and the seats that newcomers may take."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studiogate.domain.bookings.facts import ClassFacts, LiveBooking, SpotFacts, SpotSelectionMode, WaitingEntry
from studiogate.domain.bookings.policy import Policy, WaitlistMode
from studiogate.domain.bookings.states import BookingStatus, ClassStatus
from studiogate.domain.bookings.waitlist import (
    Promote,
    PromotionStep,
    Skip,
    eligible_waiting,
    plan_promotions,
    seats_open_to_newcomers,
    try_promotion,
    waitlist_has_expired,
)
from tests.support.booking_facts import (
    MINUTE,
    NOW,
    SECOND,
    START,
    a_class,
    a_membership,
    a_spot,
    an_entry,
    thorough,
    uid,
)

OPTIONAL, REQUIRED = SpotSelectionMode.OPTIONAL, SpotSelectionMode.REQUIRED
CUTOFF = START - timedelta(minutes=60)


def free(seats: int, **changes: Any) -> ClassFacts:
    return a_class(booked_count=10 - seats, **changes)


def verdicts(
    class_: ClassFacts,
    entries: Iterable[WaitingEntry],
    spots: Iterable[SpotFacts] = (),
    policy: Policy | None = None,
    now: datetime = NOW,
) -> dict[int, str]:
    """Map each position to "promoted" or to its skip reason."""
    plan = plan_promotions(class_, policy or Policy(), entries, spots, now)
    return {
        step.entry.position: "promoted" if isinstance(step.verdict, Promote) else str(step.verdict.skip_reason)
        for step in plan
    }


def promotions(plan: Iterable[PromotionStep]) -> list[Promote]:
    """Return the promotions of a plan that skips nobody."""
    found = []
    for step in plan:
        assert isinstance(step.verdict, Promote), step
        found.append(step.verdict)
    return found


def test_the_first_in_join_order_gets_the_seat_and_the_rest_is_left_alone() -> None:
    entries = [an_entry(3), an_entry(1), an_entry(2)]
    assert verdicts(free(1), entries) == {1: "promoted"}
    assert verdicts(free(2), entries) == {1: "promoted", 2: "promoted"}
    assert verdicts(free(0), entries) == {}
    assert verdicts(a_class(booked_count=12), entries) == {}
    assert verdicts(free(5), []) == {}


def test_a_failing_member_is_skipped_with_the_first_reason_and_the_next_one_is_tried() -> None:
    spent = (a_membership(credits_remaining=0),)
    entries = [an_entry(1, suspended=True, overlapping=True), an_entry(2, memberships=spent), an_entry(3), an_entry(4)]
    assert verdicts(free(1), entries) == {1: "member_suspended", 2: "insufficient_credits", 3: "promoted"}


def test_a_promotion_takes_what_a_booking_takes() -> None:
    unlimited = an_entry(1, memberships=(a_membership(credits_remaining=None),))
    free_of_charge = an_entry(2, policy=Policy(require_entitlement=False))
    plan = plan_promotions(free(3), Policy(), [unlimited, free_of_charge, an_entry(3)], (), NOW)
    taken = [(promote.membership_id, promote.credits_taken) for promote in promotions(plan)]
    assert taken == [(uid(11), 0), (None, 0), (uid(11), 1)]


def test_an_entrys_own_booking_is_not_held_against_it_but_another_one_is() -> None:
    entry = an_entry(1, live_booking=LiveBooking(uid(3001), BookingStatus.WAITLISTED))
    assert entry.booking_id == uid(3001)
    assert verdicts(free(1), [entry]) == {1: "promoted"}
    elsewhere = an_entry(1, live_booking=LiveBooking(uid(9), BookingStatus.CONFIRMED))
    assert verdicts(free(1), [elsewhere]) == {1: "already_booked"}


def test_each_entry_is_checked_by_the_policy_frozen_on_its_booking() -> None:
    strict, lax = Policy(max_bookings_per_day=1), Policy()
    entries = [an_entry(1, strict, bookings_that_day=1), an_entry(2, lax, bookings_that_day=1)]
    assert verdicts(free(2), entries, policy=strict) == {1: "booking_limit_reached", 2: "promoted"}


def test_the_booking_window_does_not_stop_a_promotion() -> None:
    closes_early = Policy(booking_closes_minutes_before=120)
    assert verdicts(free(1), [an_entry(1, closes_early)], now=START - 90 * MINUTE) == {1: "promoted"}
    opens_late = Policy(booking_opens_minutes_before=60)
    assert verdicts(free(1), [an_entry(1, opens_late)], now=START - 90 * MINUTE) == {1: "promoted"}


def test_every_rule_includes_those_of_the_class() -> None:
    assert verdicts(free(1, visible=False), [an_entry(1)]) == {1: "class_not_bookable"}
    assert verdicts(free(1, status=ClassStatus.CANCELLED), [an_entry(1)]) == {1: "class_cancelled"}
    until_the_start = Policy(promotion_cutoff_minutes=0)
    assert verdicts(free(1), [an_entry(1)], policy=until_the_start, now=START) == {1: "class_started"}


def test_waiting_members_keep_their_places_when_the_class_takes_no_new_ones() -> None:
    assert verdicts(free(1, allow_waitlist=False), [an_entry(1)]) == {1: "promoted"}


def test_the_cutoff_itself_is_not_too_late() -> None:
    assert verdicts(free(1), [an_entry(1)], now=CUTOFF) == {1: "promoted"}
    assert verdicts(free(1), [an_entry(1)], now=CUTOFF + SECOND) == {}


@pytest.mark.parametrize("mode", [WaitlistMode.MANUAL, WaitlistMode.OFF])
def test_only_auto_promotes_by_itself(mode: WaitlistMode) -> None:
    assert verdicts(free(1), [an_entry(1)], policy=Policy(waitlist_mode=mode)) == {}


def test_spots_are_assigned_in_order_and_used_up() -> None:
    spots = [a_spot(1, "A10"), a_spot(2, "A2"), a_spot(3, "A1", held=True)]
    entries = [an_entry(1), an_entry(2), an_entry(3)]
    plan = plan_promotions(free(3, spot_selection_mode=OPTIONAL), Policy(), entries, spots, NOW)
    assert [promote.class_spot_id for promote in promotions(plan)] == [uid(2), uid(1), None]
    required = free(3, spot_selection_mode=REQUIRED)
    assert verdicts(required, entries, spots) == {1: "promoted", 2: "promoted", 3: "spot_required"}
    without = plan_promotions(free(1), Policy(), entries, spots, NOW)
    assert promotions(without)[0].class_spot_id is None


def test_a_skipped_entry_uses_up_neither_seat_nor_spot() -> None:
    entries = [an_entry(1, suspended=True), an_entry(2)]
    assert verdicts(free(1, spot_selection_mode=REQUIRED), entries, [a_spot(1)]) == {
        1: "member_suspended",
        2: "promoted",
    }


def test_staff_ask_the_same_question() -> None:
    assert isinstance(try_promotion(free(1), an_entry(1), [], NOW), Promote)
    skip = try_promotion(free(1, spot_selection_mode=REQUIRED), an_entry(1, suspended=True), [], NOW)
    assert isinstance(skip, Skip)
    assert [str(reason.code) for reason in skip.reasons] == ["member_suspended", "spot_required"]


@pytest.mark.parametrize(
    ("mode", "now", "seats", "eligible", "open_seats"),
    [
        ("auto", NOW, 2, 0, 2),
        ("auto", NOW, 2, 1, 1),
        ("auto", NOW, 1, 1, 0),
        ("auto", NOW, 1, 3, 0),
        ("auto", CUTOFF, 1, 1, 0),
        ("auto", CUTOFF + SECOND, 1, 1, 1),
        ("manual", NOW, 1, 1, 0),
        ("manual", CUTOFF + SECOND, 1, 1, 1),
        ("off", NOW, 1, 1, 1),
        ("auto", NOW, 0, 0, 0),
    ],
)
def test_a_seat_is_promised_to_the_eligible_until_the_cutoff(
    mode: str, now: datetime, seats: int, eligible: int, open_seats: int
) -> None:
    policy = Policy(waitlist_mode=WaitlistMode(mode))
    assert seats_open_to_newcomers(free(seats), policy, eligible, now) == open_seats


def test_a_lowered_capacity_leaves_no_negative_seats() -> None:
    assert seats_open_to_newcomers(a_class(capacity=5, booked_count=7), Policy(), 0, NOW) == 0


def test_eligible_waiting_counts_takers_of_free_seats_in_any_mode() -> None:
    entries = [an_entry(1, suspended=True), an_entry(2), an_entry(3)]
    assert eligible_waiting(free(5), entries, (), NOW) == 2
    assert eligible_waiting(free(1), entries, (), NOW) == 1
    assert eligible_waiting(free(5, spot_selection_mode=REQUIRED), entries, [a_spot(1)], NOW) == 1


def test_waiting_ends_at_the_start() -> None:
    assert not waitlist_has_expired(a_class(), START - SECOND)
    assert waitlist_has_expired(a_class(), START)


@thorough
@given(
    st.lists(st.booleans(), max_size=8),
    st.integers(0, 5),
    st.sampled_from([None, OPTIONAL, REQUIRED]),
    st.integers(0, 4),
    st.randoms(use_true_random=False),
)
def test_the_promoted_are_the_first_eligible_ones(
    suspended: list[bool], seats: int, mode: SpotSelectionMode | None, spot_count: int, random: Random
) -> None:
    entries = [an_entry(place, suspended=bad) for place, bad in enumerate(suspended, start=1)]
    spots = [a_spot(n) for n in range(1, spot_count + 1)]
    random.shuffle(entries)
    class_ = free(seats, spot_selection_mode=mode)
    plan = plan_promotions(class_, Policy(), entries, spots, NOW)

    eligible = [place for place, bad in enumerate(suspended, start=1) if not bad]
    can_seat = min(seats, spot_count) if mode == REQUIRED else seats
    promoted = [step.entry.position for step in plan if isinstance(step.verdict, Promote)]
    assert promoted == eligible[:can_seat]

    # The plan covers the entries from the first one, without gaps, up to the one that took the last seat.
    looked_at = [step.entry.position for step in plan]
    end = promoted[-1] if seats and len(promoted) == seats else (len(suspended) if seats else 0)
    assert looked_at == list(range(1, end + 1))

    given_spots = [step.verdict.class_spot_id for step in plan if isinstance(step.verdict, Promote)]
    handed_out = [spot for spot in given_spots if spot is not None]
    assert handed_out == [spot.id for spot in spots[: len(handed_out)]]
    assert len(handed_out) == (0 if mode is None else min(len(promoted), spot_count))

    # The seats that are left after the promotions are open to newcomers, and no others.
    left = class_._replace(booked_count=class_.booked_count + len(promoted))
    still_waiting = [entry for entry in entries if entry.position not in promoted]
    spots_left = spots[len(handed_out) :]
    assert eligible_waiting(left, still_waiting, spots_left, NOW) == 0
    before = seats_open_to_newcomers(class_, Policy(), eligible_waiting(class_, entries, spots, NOW), NOW)
    assert before == seats_open_to_newcomers(left, Policy(), 0, NOW)
