"""How a studio writes times and dates."""

from datetime import date, datetime, time

import pytest

from studiogate.domain.time_format import DateOrder, HourCycle, TimeFormat, time_format_of

TWELVE, TWENTY_FOUR = TimeFormat(HourCycle.TWELVE, DateOrder.MONTH_DAY), TimeFormat()
ISO = TimeFormat(HourCycle.TWENTY_FOUR, DateOrder.ISO)
DAY = date(2026, 11, 6)


def plain(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ").replace("\N{EN DASH}", "-")


@pytest.mark.parametrize(
    ("at", "twelve"),
    [("00:00", "12:00 AM"), ("00:05", "12:05 AM"), ("11:59", "11:59 AM"), ("12:00", "12:00 PM"), ("23:30", "11:30 PM")],
)
def test_time_of_day(at: str, twelve: str) -> None:
    shown = time.fromisoformat(at)
    assert (TWENTY_FOUR.time_of_day(shown), plain(TWELVE.time_of_day(shown))) == (at, twelve)


@pytest.mark.parametrize(
    ("start", "end", "twelve", "twenty_four"),
    [
        ("2026-11-06T09:00", "2026-11-06T10:00", "9:00-10:00 AM", "09:00-10:00"),
        ("2026-11-06T11:30", "2026-11-06T12:30", "11:30 AM-12:30 PM", "11:30-12:30"),
        ("2026-12-31T23:00", "2027-01-01T01:00", "11:00 PM-Fri, Jan 1, 2027, 1:00 AM", "23:00-Fri 1 Jan 2027, 01:00"),
        ("2026-11-06T23:00", "2026-11-07T00:00", "11:00 PM-Sat, Nov 7, 12:00 AM", "23:00-Sat 7 Nov, 00:00"),
    ],
)
def test_span(start: str, end: str, twelve: str, twenty_four: str) -> None:
    between = datetime.fromisoformat(start), datetime.fromisoformat(end)
    assert (plain(TWELVE.span(*between)), plain(TWENTY_FOUR.span(*between))) == (twelve, twenty_four)


def test_only_another_year_is_named_beside_a_weekday() -> None:
    formats = (TWENTY_FOUR, TWELVE, ISO)
    assert [each.day(DAY, 2026) for each in formats] == ["Fri 6 Nov", "Fri, Nov 6", "Fri 2026-11-06"]
    assert [each.day(DAY, 2027) for each in formats] == ["Fri 6 Nov 2026", "Fri, Nov 6, 2026", "Fri 2026-11-06"]


def test_dates() -> None:
    formats = (TWENTY_FOUR, TWELVE, ISO)
    assert [each.full_date(DAY) for each in formats] == ["6 Nov 2026", "Nov 6, 2026", "2026-11-06"]
    assert [each.long_date(DAY) for each in formats] == [
        "Friday, 6 November 2026",
        "Friday, November 6, 2026",
        "Friday, 2026-11-06",
    ]


@pytest.mark.parametrize(
    ("first", "last", "shown"),
    [
        ("2026-11-16", "2026-11-22", ["16 - 22 Nov 2026", "Nov 16 - 22, 2026", "2026-11-16 - 2026-11-22"]),
        ("2026-11-30", "2026-12-06", ["30 Nov - 6 Dec 2026", "Nov 30 - Dec 6, 2026", "2026-11-30 - 2026-12-06"]),
        (
            "2026-12-28",
            "2027-01-03",
            ["28 Dec 2026 - 3 Jan 2027", "Dec 28, 2026 - Jan 3, 2027", "2026-12-28 - 2027-01-03"],
        ),
    ],
)
def test_a_range_of_days_names_month_and_year_once(first: str, last: str, shown: list[str]) -> None:
    days = date.fromisoformat(first), date.fromisoformat(last)
    assert [plain(each.days(*days)) for each in (TWENTY_FOUR, TWELVE, ISO)] == shown


def test_hours_of_the_axis() -> None:
    assert [plain(TWELVE.hour(hour)) for hour in (0, 9, 12, 23, 24)] == ["12 AM", "9 AM", "12 PM", "11 PM", "12 AM"]
    assert [TWENTY_FOUR.hour(hour) for hour in (0, 9, 24)] == ["00:00", "09:00", "00:00"]


@pytest.mark.parametrize(
    ("country", "usual"),
    [
        ("US", TimeFormat(HourCycle.TWELVE, DateOrder.MONTH_DAY)),
        ("AU", TimeFormat(HourCycle.TWELVE, DateOrder.DAY_MONTH)),
        ("DE", TimeFormat(HourCycle.TWENTY_FOUR, DateOrder.DAY_MONTH)),
        (None, TimeFormat()),
    ],
)
def test_a_country_decides_what_a_studio_has_not_chosen(country: str | None, usual: TimeFormat) -> None:
    assert time_format_of(None, None, country) == usual
    assert time_format_of("24h", None, country) == usual._replace(hours=HourCycle.TWENTY_FOUR)
    assert time_format_of(None, "iso", country) == usual._replace(order=DateOrder.ISO)
