"""Every reason to refuse a booking, first alone, then in combination against a restatement as a truth table."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studiogate.domain.bookings.eligibility import Outcome, decide_booking, first_refusal, judge_booking
from studiogate.domain.bookings.facts import Attempt, BookingRequest, LiveBooking, SpotSelectionMode
from studiogate.domain.bookings.policy import Policy, WaitlistMode
from studiogate.domain.bookings.states import BookingStatus, ClassStatus, MembershipStatus
from studiogate.domain.refusals import Code
from tests.support.booking_facts import (
    MINUTE,
    NOW,
    SECOND,
    START,
    a_class,
    a_member,
    a_membership,
    a_spot,
    an_attempt,
    thorough,
    uid,
)

CONTRACT_ORDER = [
    "class_cancelled",
    "class_not_bookable",
    "class_started",
    "booking_window_not_open",
    "booking_window_closed",
    "already_booked",
    "already_waitlisted",
    "member_suspended",
    "waiver_required",
    "no_active_membership",
    "membership_paused",
    "membership_not_valid_for_class",
    "insufficient_credits",
    "booking_limit_reached",
    "overlapping_booking",
    "spot_required",
    "spot_not_found",
    "spot_taken",
    "class_full",
    "waitlist_not_allowed",
    "waitlist_full",
]
JOIN = BookingRequest(join_waitlist=True)
FORM = uid(77)


def codes(**changes: Any) -> list[str]:
    return [str(refusal.code) for refusal in judge_booking(an_attempt(**changes)).reasons]


def details(**changes: Any) -> dict[str, Any]:
    (refusal,) = judge_booking(an_attempt(**changes)).reasons
    return dict(refusal.details)


def test_an_ordinary_booking_is_confirmed_and_takes_one_credit() -> None:
    decision = decide_booking(an_attempt())
    assert decision.outcome == Outcome.CONFIRMED
    assert (decision.membership_id, decision.credits_required) == (uid(11), 1)
    assert (decision.refusal, decision.reasons, decision.class_spot_id) == (None, (), None)


def test_the_state_of_the_class() -> None:
    assert codes(class_=a_class(status=ClassStatus.CANCELLED)) == ["class_cancelled"]
    assert codes(class_=a_class(visible=False)) == ["class_not_bookable"]


def test_a_started_class_is_also_closed() -> None:
    member = a_member(memberships=(a_membership(current_period_end=None),))
    assert codes(now=START - SECOND, member=member) == []
    assert codes(now=START, member=member) == ["class_started", "booking_window_closed"]


def test_the_window_opens_at_its_first_moment_and_closes_before_its_last() -> None:
    policy = Policy(booking_opens_minutes_before=120, booking_closes_minutes_before=30)
    opens, closes = START - 120 * MINUTE, START - 30 * MINUTE
    assert codes(policy=policy, now=opens - SECOND) == ["booking_window_not_open"]
    assert details(policy=policy, now=opens - SECOND) == {"opens_at": "2026-08-10T14:00:00+00:00"}
    assert codes(policy=policy, now=opens) == codes(policy=policy, now=closes - SECOND) == []
    assert codes(policy=policy, now=closes) == ["booking_window_closed"]


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("confirmed", "already_booked"),
        ("checked_in", "already_booked"),
        ("no_show", "already_booked"),
        ("waitlisted", "already_waitlisted"),
    ],
)
def test_a_live_booking_in_the_class_is_named(status: str, code: str) -> None:
    member = a_member(live_booking=LiveBooking(uid(5), BookingStatus(status)))
    assert codes(member=member) == [code]
    assert details(member=member) == {"booking_id": str(uid(5))}


def test_suspension_and_waiver() -> None:
    policy = Policy(waiver_form_id=FORM)
    assert codes(member=a_member(suspended=True)) == ["member_suspended"]
    assert codes(policy=policy) == ["waiver_required"]
    assert details(policy=policy) == {"form_id": str(FORM)}
    assert codes(policy=policy, member=a_member(waiver_submitted=True)) == []


def test_without_the_need_of_an_entitlement_none_is_taken() -> None:
    decision = decide_booking(an_attempt(policy=Policy(require_entitlement=False)))
    assert (decision.outcome, decision.membership_id, decision.credits_required) == ("confirmed", None, 0)
    assert codes(policy=Policy(require_entitlement=False), member=a_member(memberships=())) == []
    assert codes(member=a_member(memberships=())) == ["no_active_membership"]


def test_an_unlimited_membership_takes_no_credit() -> None:
    decision = decide_booking(an_attempt(member=a_member(memberships=(a_membership(credits_remaining=None),))))
    assert (decision.membership_id, decision.credits_required) == (uid(11), 0)


@pytest.mark.parametrize(("limit", "held", "refused"), [(None, 9, False), (2, 1, False), (2, 2, True), (0, 0, True)])
def test_the_daily_limit(limit: int | None, held: int, refused: bool) -> None:
    found = codes(policy=Policy(max_bookings_per_day=limit), member=a_member(bookings_that_day=held))
    assert found == (["booking_limit_reached"] if refused else [])


def test_overlap_unless_allowed() -> None:
    assert codes(member=a_member(overlapping=True)) == ["overlapping_booking"]
    assert codes(member=a_member(overlapping=True), policy=Policy(allow_overlapping=True)) == []


def test_a_full_class_says_whether_one_may_wait() -> None:
    assert details(seats_open=0) == {"waitlist_available": True, "available_count": 0}
    cases: tuple[dict[str, Any], ...] = (
        {"class_": a_class(allow_waitlist=False)},
        {"policy": Policy(waitlist_mode=WaitlistMode.OFF)},
        {"policy": Policy(waitlist_capacity=2), "class_": a_class(waitlist_count=2)},
    )
    for changes in cases:
        assert codes(seats_open=0, **changes) == ["class_full"]
        assert details(seats_open=0, **changes)["waitlist_available"] is False


def test_joining_a_full_class() -> None:
    decision = decide_booking(an_attempt(seats_open=0, request=JOIN))
    assert (decision.outcome, decision.membership_id, decision.credits_required) == ("waitlisted", uid(11), 0)
    assert codes(seats_open=0, request=JOIN, policy=Policy(waitlist_mode=WaitlistMode.MANUAL)) == []
    assert codes(seats_open=0, request=JOIN, policy=Policy(waitlist_mode=WaitlistMode.OFF)) == ["waitlist_not_allowed"]
    assert codes(seats_open=0, request=JOIN, class_=a_class(allow_waitlist=False)) == ["waitlist_not_allowed"]
    limited = Policy(waitlist_capacity=2)
    assert codes(seats_open=0, request=JOIN, policy=limited, class_=a_class(waitlist_count=1)) == []
    assert codes(seats_open=0, request=JOIN, policy=limited, class_=a_class(waitlist_count=2)) == ["waitlist_full"]
    unwanted = a_class(allow_waitlist=False, waitlist_count=2)
    assert codes(seats_open=0, request=JOIN, policy=limited, class_=unwanted) == ["waitlist_not_allowed"]


def test_joining_needs_credits_too_and_an_open_seat_is_simply_taken() -> None:
    spent = a_member(memberships=(a_membership(credits_remaining=0),))
    assert codes(seats_open=0, request=JOIN, member=spent) == ["insufficient_credits"]
    assert decide_booking(an_attempt(seats_open=1, request=JOIN)).outcome == Outcome.CONFIRMED


def test_spots_concern_those_who_take_a_seat() -> None:
    required = a_class(spot_selection_mode=SpotSelectionMode.REQUIRED)
    spots = (a_spot(1, held=True), a_spot(2))
    asks_held = BookingRequest(class_spot_id=uid(1))
    assert codes(class_=required, spots=spots) == ["spot_required"]
    assert codes(class_=required, spots=spots, request=asks_held) == ["spot_taken"]
    assert codes(class_=required, spots=spots, seats_open=0) == ["class_full"]
    assert codes(class_=required, spots=spots, request=asks_held, seats_open=0) == ["class_full"]
    waits = decide_booking(
        an_attempt(class_=required, spots=spots, request=asks_held._replace(join_waitlist=True), seats_open=0)
    )
    assert (waits.outcome, waits.class_spot_id) == ("waitlisted", None)
    assert codes(request=BookingRequest(class_spot_id=uid(2))) == ["spot_not_found"]
    assert codes(request=BookingRequest(True, uid(2)), seats_open=0) == []


def test_an_optional_spot_is_assigned() -> None:
    optional = a_class(spot_selection_mode=SpotSelectionMode.OPTIONAL)
    spots = (a_spot(3, "10"), a_spot(4, "9"), a_spot(5, "1", held=True))
    assert decide_booking(an_attempt(class_=optional, spots=spots)).class_spot_id == uid(4)
    asked = BookingRequest(class_spot_id=uid(3))
    assert decide_booking(an_attempt(class_=optional, spots=spots, request=asked)).class_spot_id == uid(3)
    none_left = decide_booking(an_attempt(class_=optional, spots=spots[2:]))
    assert (none_left.outcome, none_left.class_spot_id) == ("confirmed", None)


def test_the_answer_is_the_first_reason_with_the_codes_of_all() -> None:
    attempt = an_attempt(class_=a_class(visible=False), member=a_member(suspended=True), seats_open=0)
    decision = decide_booking(attempt)
    assert decision.outcome == Outcome.REFUSED
    assert (decision.membership, decision.credits_required, decision.class_spot_id) == (None, 0, None)
    assert decision.refusal is not None
    assert decision.refusal.code == Code.CLASS_NOT_BOOKABLE
    assert decision.refusal.details == {"reasons": ["class_not_bookable", "member_suspended", "class_full"]}
    full = decide_booking(an_attempt(seats_open=0)).refusal
    assert full is not None
    assert full.details == {"waitlist_available": True, "available_count": 0, "reasons": ["class_full"]}
    assert first_refusal(()) is None


def test_the_contracts_order_is_the_order_of_the_codes() -> None:
    booking_codes = [str(code) for code in Code if str(code) in CONTRACT_ORDER]
    assert booking_codes == CONTRACT_ORDER


MEMBERSHIPS = {
    "credits": (a_membership(),),
    "unlimited": (a_membership(credits_remaining=None),),
    "none": (),
    "paused": (a_membership(status=MembershipStatus.PAUSED),),
    "elsewhere": (a_membership(class_type_ids=frozenset({uid(999)})),),
    "spent": (a_membership(credits_remaining=0),),
}
ENTITLEMENT_CODES = {
    "none": "no_active_membership",
    "paused": "membership_paused",
    "elsewhere": "membership_not_valid_for_class",
    "spent": "insufficient_credits",
}
SPOTS = (a_spot(1, held=True), a_spot(2))
ASKED = {"nothing": None, "held": uid(1), "free": uid(2), "unknown": uid(3)}


@dataclass(frozen=True)
class Situation:
    cancelled: bool
    visible: bool
    minutes_left: int
    opens: int | None
    closes: int
    live: str | None
    suspended: bool
    waiver: bool
    submitted: bool
    owns: str
    required: bool
    limit: int | None
    held: int
    overlapping: bool
    may_overlap: bool
    mode: SpotSelectionMode | None
    asked: str
    seats: int
    join: bool
    allow_waitlist: bool
    waitlist_mode: WaitlistMode
    waitlist_capacity: int | None
    waitlist_count: int

    def attempt(self) -> Attempt:
        policy = Policy(
            require_entitlement=self.required,
            booking_opens_minutes_before=self.opens,
            booking_closes_minutes_before=self.closes,
            waitlist_mode=self.waitlist_mode,
            waitlist_capacity=self.waitlist_capacity,
            max_bookings_per_day=self.limit,
            allow_overlapping=self.may_overlap,
            waiver_form_id=FORM if self.waiver else None,
        )
        start = NOW + timedelta(minutes=self.minutes_left)
        return an_attempt(
            class_=a_class(
                status=ClassStatus.CANCELLED if self.cancelled else ClassStatus.SCHEDULED,
                visible=self.visible,
                start_time=start,
                end_time=start + timedelta(hours=1),
                waitlist_count=self.waitlist_count,
                allow_waitlist=self.allow_waitlist,
                spot_selection_mode=self.mode,
            ),
            policy=policy,
            member=a_member(
                suspended=self.suspended,
                waiver_submitted=self.submitted,
                live_booking=LiveBooking(uid(5), BookingStatus(self.live)) if self.live else None,
                bookings_that_day=self.held,
                overlapping=self.overlapping,
                memberships=MEMBERSHIPS[self.owns],
            ),
            request=BookingRequest(self.join, ASKED[self.asked]),
            spots=SPOTS if self.mode else (),
            seats_open=self.seats,
        )

    def converts(self) -> bool:
        """Whether the waitlist entry converts; at the default cutoff of 60 minutes seats are still promised."""
        unpromised = self.waitlist_mode == "off" or self.minutes_left < 60
        return self.live == "waitlisted" and self.seats > 0 and unpromised

    def truths(self) -> dict[str, bool]:
        full, waiting = self.seats == 0, self.seats == 0 and self.join
        no_waitlist = self.waitlist_mode == "off" or not self.allow_waitlist
        crowded = self.waitlist_capacity is not None and self.waitlist_capacity <= self.waitlist_count
        entitlement = ENTITLEMENT_CODES.get(self.owns) if self.required else None
        return {
            "class_cancelled": self.cancelled,
            "class_not_bookable": not self.visible,
            "class_started": self.minutes_left <= 0,
            "booking_window_not_open": self.opens is not None and self.minutes_left > self.opens,
            "booking_window_closed": self.minutes_left <= self.closes,
            "already_booked": self.live in ("confirmed", "checked_in", "no_show"),
            "already_waitlisted": self.live == "waitlisted" and not self.converts(),
            "member_suspended": self.suspended,
            "waiver_required": self.waiver and not self.submitted,
            **{code: entitlement == code for code in ENTITLEMENT_CODES.values()},
            "booking_limit_reached": self.limit is not None and self.held + 1 > self.limit,
            "overlapping_booking": (self.overlapping, self.may_overlap) == (True, False),
            "spot_required": (self.mode, self.asked) == ("required", "nothing") and not full,
            "spot_not_found": (self.asked == "unknown" or (self.mode is None and self.asked != "nothing")) and not full,
            "spot_taken": self.mode is not None and self.asked == "held" and not full,
            "class_full": full and not self.join,
            "waitlist_not_allowed": waiting and no_waitlist,
            "waitlist_full": waiting and crowded and not no_waitlist,
        }


# Each situation has a few faults rather than all of them at once, so that outcomes without any fault occur too.
yes = st.sampled_from([True, True, True, True, False])
no = yes.map(lambda value: not value)
few = st.integers(0, 2)
situations = st.builds(
    Situation,
    cancelled=no,
    visible=yes,
    minutes_left=st.sampled_from([60, 60, 60, 1, 0, -1, 61, 59]),
    opens=st.sampled_from([None, None, 60, 90, 10]),
    closes=st.sampled_from([0, 0, 0, 60, 59]),
    live=st.sampled_from([None] * 6 + ["waitlisted", "confirmed", "checked_in", "no_show"]),
    suspended=no,
    waiver=no,
    submitted=st.booleans(),
    owns=st.sampled_from(["credits"] * 4 + list(MEMBERSHIPS)),
    required=yes,
    limit=st.none() | few,
    held=few,
    overlapping=no,
    may_overlap=st.booleans(),
    mode=st.sampled_from([None, *SpotSelectionMode]),
    asked=st.sampled_from(["nothing", "nothing", *ASKED]),
    seats=few,
    join=st.booleans(),
    allow_waitlist=yes,
    waitlist_mode=st.sampled_from(list(WaitlistMode)),
    waitlist_capacity=st.none() | few,
    waitlist_count=few,
)


@thorough
@given(situations)
def test_all_reasons_and_only_those_in_the_contracts_order(situation: Situation) -> None:
    truths = situation.truths()
    expected = [code for code in CONTRACT_ORDER if truths[code]]
    decision = decide_booking(situation.attempt())
    assert [str(reason.code) for reason in decision.reasons] == expected
    if expected:
        assert decision.outcome == Outcome.REFUSED
        assert decision.refusal is not None
        assert decision.refusal.code == expected[0]
        assert decision.refusal.details["reasons"] == expected
    else:
        assert decision.outcome == ("confirmed" if situation.seats else "waitlisted")
        takes_credit = situation.seats > 0 and situation.required and situation.owns == "credits"
        assert decision.credits_required == int(takes_credit)
        assert decision.converts == (uid(5) if situation.converts() else None)
        assert (decision.class_spot_id is not None) == (situation.seats > 0 and situation.mode is not None)
