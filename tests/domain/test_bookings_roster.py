"""Warnings on the roster, in order of urgency."""

from datetime import date
from decimal import Decimal
from uuid import UUID

import pytest

from studiogate.domain.bookings.policy import Policy
from studiogate.domain.bookings.roster import Attendee, OpenFees, RosterWarning, is_birthday, roster_warnings

WAIVER, OTHER = UUID(int=1), UUID(int=2)
DAY = date(2026, 11, 16)
OWED = OpenFees(Decimal("15.00"), "USD")
REGULAR = Attendee(
    suspended=False, submitted_forms={WAIVER}, open_fees=(), has_visited=True, birth_date=date(1990, 1, 2)
)


@pytest.mark.parametrize(
    ("attendee", "expected"),
    [
        (REGULAR, ()),
        (REGULAR._replace(suspended=True), (RosterWarning.SUSPENDED,)),
        (REGULAR._replace(submitted_forms={OTHER}), (RosterWarning.WAIVER_MISSING,)),
        (REGULAR._replace(open_fees=[OWED]), (RosterWarning.FEE_OPEN,)),
        (REGULAR._replace(has_visited=False), (RosterWarning.FIRST_VISIT,)),
        (REGULAR._replace(birth_date=date(1990, 11, 16)), (RosterWarning.BIRTHDAY,)),
        (REGULAR._replace(birth_date=None), ()),
        (Attendee(True, (), [OWED], False, date(2000, 11, 16)), tuple(RosterWarning)),
    ],
)
def test_warnings(attendee: Attendee, expected: tuple[RosterWarning, ...]) -> None:
    assert roster_warnings(attendee, Policy(waiver_form_id=WAIVER), DAY) == expected


def test_no_waiver_is_missing_where_none_is_asked_for() -> None:
    assert roster_warnings(REGULAR._replace(submitted_forms=()), Policy(), DAY) == ()


@pytest.mark.parametrize(
    ("day", "expected"),
    [(date(2026, 2, 28), True), (date(2028, 2, 28), False), (date(2028, 2, 29), True), (date(2026, 3, 1), False)],
)
def test_born_on_a_leap_day(day: date, expected: bool) -> None:
    assert is_birthday(date(2000, 2, 29), day) is expected
