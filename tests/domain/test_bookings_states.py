"""States and transitions, compared with the text of the contract."""

import re
from datetime import datetime, timedelta

import pytest

from studiogate.domain.bookings.states import (
    BOOKING_TRANSITIONS,
    IMPORT_TRANSITIONS,
    LIVE,
    OCCUPYING,
    SEAT_HOLDING,
    WAITLIST_TRANSITIONS,
    BookingStatus,
    ClassStatus,
    WaitlistStatus,
    attendance_refusal,
    booking_transition_refusal,
    class_status,
    waitlist_transition_refusal,
)
from studiogate.domain.instants import instant_text
from studiogate.domain.refusals import Code, Refusal
from tests.support.booking_facts import END, SECOND, START

CONTRACT_LINE = (
    "(new)→confirmed|waitlisted, waitlisted→confirmed|cancelled, confirmed→checked_in|no_show|cancelled, "
    "checked_in→confirmed, no_show→checked_in"
)


def test_booking_transitions_are_the_contracts_line() -> None:
    written = {
        None if source == "(new)" else source: set(targets.split("|"))
        for source, targets in re.findall(r"(\(new\)|\w+)→([\w|]+)", CONTRACT_LINE)
    }
    assert {source: set(targets) for source, targets in BOOKING_TRANSITIONS.items() if targets} == written
    assert set(BOOKING_TRANSITIONS) == {None, *BookingStatus}


def test_every_other_change_is_refused_with_both_ends() -> None:
    for source in BookingStatus:
        for target in BookingStatus:
            refusal = booking_transition_refusal(source, target)
            assert (refusal is None) == (target in BOOKING_TRANSITIONS[source])
            if refusal is not None:
                assert refusal.code == Code.INVALID_TRANSITION
                assert refusal.details == {"from": source.value, "to": target.value}


def test_an_import_makes_any_number_of_transitions_at_once() -> None:
    """Never back to the waitlist, and never from cancelled."""
    onward = {"confirmed", "checked_in", "no_show", "cancelled"}
    assert {
        each: set() if each is BookingStatus.CANCELLED else onward - {each} for each in BookingStatus
    } == IMPORT_TRANSITIONS
    assert all(BOOKING_TRANSITIONS[each] <= IMPORT_TRANSITIONS[each] for each in BookingStatus)


@pytest.mark.parametrize("final", ["converted", "expired", "cancelled"])
def test_an_entry_converts_expires_or_ends_once(final: str) -> None:
    assert WAITLIST_TRANSITIONS[WaitlistStatus(final)] == frozenset()
    for target in WaitlistStatus:
        assert waitlist_transition_refusal(WaitlistStatus(final), target) is not None
    assert waitlist_transition_refusal(WaitlistStatus.WAITING, WaitlistStatus(final)) is None
    assert waitlist_transition_refusal(WaitlistStatus.OFFERED, WaitlistStatus(final)) is None
    assert WAITLIST_TRANSITIONS[None] == {"waiting"}


def test_which_bookings_are_live_hold_a_seat_and_occupy_the_member() -> None:
    assert {"waitlisted", "confirmed", "checked_in", "no_show"} == LIVE
    assert {"confirmed", "checked_in", "no_show"} == SEAT_HOLDING
    assert {"confirmed", "checked_in"} == OCCUPYING


@pytest.mark.parametrize(
    ("now", "status"),
    [
        (START - SECOND, "scheduled"),
        (START, "in_progress"),
        (END - SECOND, "in_progress"),
        (END, "completed"),
    ],
)
def test_a_class_follows_the_clock_unless_it_is_cancelled(now: datetime, status: str) -> None:
    assert class_status(ClassStatus.SCHEDULED, START, END, now) == status
    assert class_status(ClassStatus.CANCELLED, START, END, now) == "cancelled"


@pytest.mark.parametrize(
    ("target", "possible_from"),
    [(BookingStatus.CHECKED_IN, START - timedelta(hours=12)), (BookingStatus.NO_SHOW, START)],
)
def test_attendance_is_marked_from_its_moment_on(target: BookingStatus, possible_from: datetime) -> None:
    def refusal(current: BookingStatus, now: datetime) -> Refusal | None:
        return attendance_refusal(current, target, START, now)

    early = refusal(BookingStatus.CONFIRMED, possible_from - SECOND)
    assert early == Refusal(
        Code.INVALID_TRANSITION,
        {"from": "confirmed", "to": str(target), "possible_from": instant_text(possible_from)},
    )
    for late_enough in (possible_from, END, END + timedelta(days=30)):
        assert refusal(BookingStatus.CONFIRMED, late_enough) is None


def test_a_wrong_mark_is_corrected_at_any_time() -> None:
    long_before = START - timedelta(days=4)
    assert attendance_refusal(BookingStatus.CHECKED_IN, BookingStatus.CONFIRMED, START, long_before) is None
    assert attendance_refusal(BookingStatus.NO_SHOW, BookingStatus.CHECKED_IN, START, long_before) is None
