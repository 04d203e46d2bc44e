"""Phone numbers are what the library of numbering plans says, and most are normalized without it."""

import phonenumbers
import pytest
from hypothesis import given
from hypothesis import strategies as st

from studiogate.domain.phones import normalize_phone
from tests.support.counted_work import bytecodes

COUNTRIES = st.sampled_from([*sorted(phonenumbers.SUPPORTED_REGIONS), "AQ", None])
CALLING_CODES = st.sampled_from(sorted(map(str, phonenumbers.COUNTRY_CODE_TO_REGION_CODE)))
DIGITS = st.text("0123456789", min_size=1, max_size=15)
STARTS = st.one_of(st.just(""), st.just("+"), st.just("00"), CALLING_CODES, CALLING_CODES.map(lambda code: f"+{code}"))
SEPARATORS = st.text(" ().-", max_size=2)


def _by_the_library(text: str, country: str | None) -> str | None:
    try:
        number = phonenumbers.parse(text, country)
    except phonenumbers.NumberParseException:
        return None
    if number.extension or not phonenumbers.is_possible_number(number):
        return None
    return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)


@given(COUNTRIES, STARTS, DIGITS, DIGITS, SEPARATORS)
def test_any_digits(country: str | None, start: str, first: str, second: str, separator: str) -> None:
    text = f"{separator}{start}{separator}{first}{separator}{second}"
    assert normalize_phone(text, country) == _by_the_library(text, country)


@given(COUNTRIES.filter(bool), COUNTRIES, st.integers(0, 9), st.booleans())
def test_numbers_of_every_country(of: str, country: str | None, last: int, local: bool) -> None:
    """Numbers near the examples of every country, as people there write them and with their calling codes."""
    example = phonenumbers.example_number(of)
    if example is None:
        return
    example.national_number = (example.national_number or 0) // 10 * 10 + last
    style = phonenumbers.PhoneNumberFormat.NATIONAL if local else phonenumbers.PhoneNumberFormat.INTERNATIONAL
    text = phonenumbers.format_number(example, style)
    for home in (of, country):
        assert normalize_phone(text, home) == _by_the_library(text, home)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(646) 555-0123", "+16465550123"),
        ("1 646 555 0123", "+16465550123"),
        ("+1.646.555.0123", "+16465550123"),
        ("+44 20 7946 0018", "+442079460018"),
        ("011 44 20 7946 0018", "+442079460018"),
        ("+44 020 7946 0018", "+442079460018"),
        ("+39 06 698 1", "+39066981"),
        ("646 555 0123 x4", None),
        ("+999 1234 5678", None),
        ("123", None),
    ],
)
def test_a_number_as_it_is_written_in_the_united_states(text: str, expected: str | None) -> None:
    assert normalize_phone(text, "US") == expected


@pytest.mark.parametrize("text", ["+16465550123", "(646) 555-0123", "+49 30 901820", "+81 3 1234 5678"])
def test_most_numbers_need_little_work(text: str) -> None:
    """An import has hundreds of thousands of them."""
    normalize_phone(text, "US")  # reads the numbering plan
    assert bytecodes(lambda: normalize_phone(text, "US")) < bytecodes(lambda: _by_the_library(text, "US")) / 5
