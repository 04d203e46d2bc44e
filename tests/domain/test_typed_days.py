"""Days as people type them into a search."""

from datetime import date

import pytest

from studiogate.domain.time_format import DateOrder, typed_day

THURSDAY = date(2026, 11, 19)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("today", "2026-11-19"),
        ("Tomorrow", "2026-11-20"),
        ("yesterday", "2026-11-18"),
        ("thu", "2026-11-19"),
        ("friday", "2026-11-20"),
        ("wed", "2026-11-25"),
        ("next friday", "2026-11-27"),
        ("next mon", "2026-11-23"),
        ("2026-12-03", "2026-12-03"),
        ("3 dec", "2026-12-03"),
        ("3rd December", "2026-12-03"),
        ("Dec 3, 2027", "2027-12-03"),
        ("thu 3 dec", "2026-12-03"),
        ("5 jan", "2027-01-05"),
        ("1 sep", "2026-09-01"),
        ("29 feb", None),
        ("29 feb 2028", "2028-02-29"),
        ("31 nov", None),
        ("2026-13-01", None),
        ("0000-01-01", None),
        ("3.12.", "2026-12-03"),
        ("3.12.2027", "2027-12-03"),
        ("may", None),
        ("sun salutation", None),
        ("mia chen", None),
        ("12", None),
        ("next", None),
        ("", None),
        ("1 2 3 4", None),
        ("\N{ARABIC-INDIC DIGIT THREE} dec", None),
    ],
)
def test_a_day_is_read_from_what_was_typed(text: str, day: str | None) -> None:
    found = typed_day(text, THURSDAY, DateOrder.MONTH_DAY)
    assert found == (None if day is None else date.fromisoformat(day))


def test_numbers_with_a_slash_are_read_in_the_order_of_the_studio() -> None:
    assert typed_day("12/3", THURSDAY, DateOrder.MONTH_DAY) == date(2026, 12, 3)
    assert typed_day("3/12", THURSDAY, DateOrder.DAY_MONTH) == date(2026, 12, 3)
