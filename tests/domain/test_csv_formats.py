"""Dates, times, amounts and truth values as cells have them."""

from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studiogate.domain.csv_import import formats
from studiogate.domain.csv_import.cells import class_times
from studiogate.domain.csv_import.formats import DateFormat, WrongCellError, WrongFormatError
from studiogate.domain.csv_import.matching import csv_line

NEW_YORK = ZoneInfo("America/New_York")


def read(text: str, *texts: str, end: bool = False, zone: ZoneInfo = NEW_YORK) -> str:
    written = formats.read_date(text, [DateFormat(each) for each in texts])
    return formats.instant(written, zone, end=end).isoformat()


@pytest.mark.parametrize(
    ("text", "format_", "expected"),
    [
        ("2026-03-01", "", "2026-03-01T05:00:00+00:00"),
        ("2026-03-01 18:30", "", "2026-03-01T23:30:00+00:00"),
        ("2026-03-01T18:30:15.250Z", "", "2026-03-01T18:30:15+00:00"),
        ("2026-03-01T18:30:00+0100", "", "2026-03-01T17:30:00+00:00"),
        ("01/02/2026", "DD/MM/YYYY", "2026-02-01T05:00:00+00:00"),
        ("01/02/2026", "MM/DD/YYYY", "2026-01-02T05:00:00+00:00"),
        ("7/4/2026 6:05:00 PM", "M/D/YYYY", "2026-07-04T22:05:00+00:00"),
        ("7/4/2026 12:00 AM", "M/D/YYYY", "2026-07-04T04:00:00+00:00"),
        ("1. Feb 2026", "D. MMM YYYY", "2026-02-01T05:00:00+00:00"),
        ("20260201T0930", "YYYYMMDDTHHmm", "2026-02-01T14:30:00+00:00"),
    ],
)
def test_dates(text: str, format_: str, expected: str) -> None:
    assert read(text, *[format_] if format_ else []) == expected


@pytest.mark.parametrize("text", ["01/02/2026", "1.2.2026", "Feb 1, 2026", "02-01-26", "2026-02-30", "soon", "44927"])
def test_a_date_without_its_format_is_never_guessed(text: str) -> None:
    with pytest.raises(WrongCellError, match="is no date"):
        read(text)


def test_the_message_says_where_to_state_the_format() -> None:
    with pytest.raises(WrongCellError, match="'31/12/2026' is no date of the formats YYYY-MM-DD, MM/DD/YYYY: state"):
        read("31/12/2026", "MM/DD/YYYY")


@pytest.mark.parametrize("pair", [("DD/MM/YYYY", "MM/DD/YYYY"), ("D.M.YYYY", "M.D.YYYY"), ("MM/DD/YYYY", "D/M/YYYY")])
def test_two_formats_must_not_disagree(pair: tuple[str, str]) -> None:
    with pytest.raises(WrongFormatError, match="as different days"):
        formats.check_formats([DateFormat(each) for each in pair])


@pytest.mark.parametrize("text", ["", "YYYY", "DD/MM", "DD/MM/YY", "YYYY-MM-DD-DD", "YYYY-MM-M-DD", "YYYY-MM-DD HH:HH"])
def test_a_format_must_name_a_day(text: str) -> None:
    with pytest.raises(WrongFormatError):
        DateFormat(text)


def test_formats_that_agree_are_kept() -> None:
    formats.check_formats([DateFormat(each) for each in ("DD/MM/YYYY", "D/M/YYYY", "YYYY/MM/DD", "D MMM YYYY")])


def test_the_end_of_a_day() -> None:
    assert read("2026-03-07", end=True) == "2026-03-08T05:00:00+00:00"
    assert read("2026-03-08", end=True) == "2026-03-09T04:00:00+00:00"
    assert read("2026-03-07 00:00:00", end=True) == "2026-03-08T05:00:00+00:00"
    assert read("2026-03-07 10:00", end=True) == "2026-03-07T15:00:00+00:00"


def test_times_that_do_not_exist_or_happen_twice_are_not_guessed() -> None:
    with pytest.raises(WrongCellError, match="does not exist in America/New_York"):
        read("2026-03-08 02:30")
    with pytest.raises(WrongCellError, match="happens twice"):
        read("2026-11-01 01:30")
    assert read("2026-11-01T01:30:00-05:00") == "2026-11-01T06:30:00+00:00"


def test_a_day_without_midnight_begins_at_the_change() -> None:
    assert read("2018-11-04", zone=ZoneInfo("America/Sao_Paulo")) == "2018-11-04T03:00:00+00:00"


@pytest.mark.parametrize(("text", "end"), [("9999-12-31", True), ("0001-01-01", False)])
def test_days_beyond_the_calendar(text: str, end: bool) -> None:
    with pytest.raises(WrongCellError, match="too far away"):
        read(text, end=end, zone=ZoneInfo("Asia/Tokyo"))


@given(
    st.datetimes(datetime(1950, 1, 1), datetime(2090, 1, 1)), st.sampled_from(["DD/MM/YYYY", "M/D/YYYY", "YYYY-MM-DD"])
)
def test_a_day_is_read_as_it_was_written(moment: datetime, format_: str) -> None:
    parts = {"YYYY": f"{moment.year}", "DD": f"{moment.day:02}", "D": f"{moment.day}", "MM": f"{moment.month:02}"}
    text = "/".join({**parts, "M": f"{moment.month}"}[part] for part in format_.replace("-", "/").split("/"))
    text = text.replace("/", "-") if "-" in format_ else text
    found = formats.instant(formats.read_date(text, [DateFormat(format_)]), NEW_YORK).astimezone(NEW_YORK)
    assert found.date() == moment.date()


@pytest.mark.parametrize(
    ("text", "expected"), [("18:30", time(18, 30)), ("6:30 PM", time(18, 30)), ("12:05am", time(0, 5))]
)
def test_times_of_day(text: str, expected: time) -> None:
    assert formats.read_clock(text) == expected


@pytest.mark.parametrize("text", ["25:00", "13:00 PM", "0:30 am", "noon", "18.30", "12:60"])
def test_no_times_of_day(text: str) -> None:
    with pytest.raises(WrongCellError, match="is no time of day"):
        formats.read_clock(text)


@pytest.mark.parametrize(
    ("text", "decimal", "currency", "expected"),
    [
        ("150", ".", "USD", "150.00"),
        ("$1,234.5", ".", "USD", "1234.50"),
        ("1.234,50 €", ",", "EUR", "1234.50"),
        ("1 234,50", ",", "EUR", "1234.50"),
        ("CHF 1\u2019234.00", ".", "CHF", "1234.00"),
        ("1500", ".", "JPY", "1500"),
        ("1500.00", ".", "JPY", "1500"),
        ("0.125", ".", "KWD", "0.125"),
    ],
)
def test_amounts(text: str, decimal: str, currency: str, expected: str) -> None:
    assert formats.read_amount(text, decimal, currency) == expected


@pytest.mark.parametrize("text", ["12,50", "1,23,456.00", "-5", "5.", "12.345", "free", "", "1e3", "٣"])
def test_no_amounts(text: str) -> None:
    with pytest.raises(WrongCellError):
        formats.read_amount(text, ".", "USD")


@pytest.mark.parametrize("reader", [formats.read_truth, formats.read_whole])
@pytest.mark.parametrize("text", ["maybe", "-1", "1.5", "²", "10000000000", "=1+1"])
def test_neither_truth_nor_number(reader: Callable[[str], Any], text: str) -> None:
    with pytest.raises(WrongCellError):
        reader(text)


def test_truth_and_numbers() -> None:
    assert [formats.read_truth(text) for text in ("TRUE", "yes", "1", "False", "No", "0")] == [True] * 3 + [False] * 3
    assert formats.read_whole("0012") == 12


DAYS: dict[str, list[DateFormat]] = {name: [] for name in ("date", "start_time", "end_time")}


@pytest.mark.parametrize(
    ("cells", "minutes"),
    [
        ({"date": "2026-05-01", "start_time": "18:30", "end_time": "19:15"}, 45),
        ({"date": "2026-05-01", "start_time": "18:30", "duration_minutes": 60}, 60),
        ({"date": "2026-05-01", "start_time": "23:30", "end_time": "00:30"}, 60),
        ({"start_time": "2026-05-01 18:30", "end_time": "2026-05-01 19:30"}, 60),
        ({"date": "2026-05-01 18:30", "duration_minutes": 5}, 5),
    ],
)
def test_the_times_of_a_class(cells: dict[str, Any], minutes: int) -> None:
    times = class_times(cells, DAYS, NEW_YORK)
    start, end = (datetime.fromisoformat(times[name]) for name in ("start_time", "end_time"))
    assert end - start == timedelta(minutes=minutes)
    assert start.astimezone(NEW_YORK).date().isoformat() == "2026-05-01"
    assert start.tzinfo == UTC


def test_times_of_a_class_that_are_missing_or_wrong() -> None:
    assert class_times({}, DAYS, NEW_YORK) == {}
    assert list(class_times({"start_time": "2026-05-01 18:30"}, DAYS, NEW_YORK)) == ["start_time"]
    with pytest.raises(WrongCellError, match="no time of day"):
        class_times({"start_time": "2026-05-01"}, DAYS, NEW_YORK)
    with pytest.raises(WrongCellError, match="duration"):
        class_times({"date": "2026-05-01", "start_time": "9:00", "duration_minutes": 0}, DAYS, NEW_YORK)


def test_a_class_may_last_over_a_change_of_the_clocks() -> None:
    cells = {"date": "2026-10-31", "start_time": "23:00", "end_time": "03:00"}
    times = class_times(cells, DAYS, NEW_YORK)
    assert times == {"start_time": "2026-11-01T03:00:00+00:00", "end_time": "2026-11-01T08:00:00+00:00"}


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_no_cell_of_the_verdicts_begins_like_a_formula(first: str) -> None:
    (cell,) = csv_line([f'{first}HYPERLINK("x")']).removesuffix("\r\n").splitlines()[:1] or [""]
    assert cell.lstrip('"').startswith("'")


def test_verdicts_are_quoted() -> None:
    assert csv_line([1, None, 'a "b", c', "two\nlines"]) == '1,,"a ""b"", c","two\nlines"\r\n'
