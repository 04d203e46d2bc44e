"""What staff may override: whether an override is offered agrees with what it then does."""

import pytest
from hypothesis import given

from studiogate.domain.bookings.eligibility import Outcome, judge_booking, waitlist_fault
from studiogate.domain.bookings.facts import Attempt
from studiogate.domain.bookings.overrides import Override, can_override, decide_staff_booking
from tests.domain.test_bookings_eligibility import Situation, situations
from tests.support.booking_facts import thorough

WITH_REASON = Override(wanted=True, reason="Paid at the desk")


@pytest.mark.parametrize(
    ("codes", "waits", "expected"),
    [
        ((), False, False),
        (("waiver_required",), False, True),
        (("waiver_required", "member_suspended"), False, True),
        (("class_full",), False, False),
        (("class_full", "waiver_required"), False, False),
        (("class_full", "waiver_required"), True, True),
        (("class_full",), True, False),
        (("class_started", "booking_window_closed"), False, True),
        (("class_started", "booking_window_closed", "class_full"), True, False),
        (("booking_window_closed", "class_full"), True, True),
        (("already_booked", "waiver_required"), True, False),
    ],
)
def test_whether_an_override_helps(codes: tuple[str, ...], waits: bool, expected: bool) -> None:
    assert can_override(codes, waits=waits) is expected


@thorough
@given(situations)
def test_an_override_is_offered_exactly_if_it_makes_the_booking_possible(situation: Situation) -> None:
    attempt = situation.attempt()
    codes = [reason.code for reason in judge_booking(attempt).reasons]
    possible = bool(codes) and accepted(attempt)
    assert can_override(codes, waits=attempt.would_wait) is possible


@thorough
@given(situations)
def test_who_may_still_choose_the_waitlist_is_offered_an_override_for_it(situation: Situation) -> None:
    """A page validates a booking without the waitlist, and offers to join it if it has a place."""
    attempt = with_waitlist(situation.attempt(), joins=False)
    codes = [reason.code for reason in judge_booking(attempt).reasons]
    joining = with_waitlist(attempt, joins=attempt.seats_open <= 0 and waitlist_fault(attempt) is None)
    needs_override = bool(judge_booking(joining).reasons)
    assert can_override(codes, waits=joining.would_wait) is (needs_override and accepted(joining))


def with_waitlist(attempt: Attempt, *, joins: bool) -> Attempt:
    return attempt._replace(request=attempt.request._replace(join_waitlist=joins))


def accepted(attempt: Attempt) -> bool:
    return decide_staff_booking(attempt, WITH_REASON).decision.outcome is not Outcome.REFUSED
