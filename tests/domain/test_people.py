"""Email addresses and names: lengths are checked before normalization."""

import email_validator
import pytest
from hypothesis import given
from hypothesis import strategies as st

from studiogate.domain.fields import readers
from studiogate.domain.fields.readers import Setting, WrongValueError
from studiogate.domain.names import cleaned_name, name_fault
from studiogate.domain.people import normalize_email
from studiogate.domain.phones import normalize_phone
from tests.support.counted_work import counted

LONGEST = "a" * 64 + "@" + ".".join(["b" * 60] * 3) + ".exam"


def test_an_email_has_254_characters_before_it_is_normalized() -> None:
    at_the_limit = LONGEST + "p" * (254 - len(LONGEST))
    assert normalize_email(at_the_limit) == at_the_limit
    assert normalize_email(" " + at_the_limit) is None
    # The limits apply to the text as sent and to the text as kept: NFKC turns the ligature into three characters.
    assert normalize_email("a@b.example" + " " * 244) is None
    assert normalize_email("\ufb03" * 64 + "@b.example") is None


def test_nothing_normalizes_what_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    with counted(monkeypatch) as count:
        assert normalize_email("\u0301" * 80_000) is None
        assert normalize_email("a" + "\u0301" * 254) is None
        assert normalize_phone("1" * 51, "US") is None
        with pytest.raises(WrongValueError):
            readers.email("\u0301" * 80_000, Setting())
    assert count.normalizing == 0
    assert count.bytecodes < 1_000


def test_what_has_no_at_sign_in_reach_is_refused_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """The email library normalizes the rest of the text once per character before the at sign."""
    with counted(monkeypatch) as count:
        assert normalize_email("\u0301" * 254) is None
        assert normalize_email("a" * 65 + "@" + "\u0301" * 188) is None
    assert count.normalizing <= 2 * 254**2


@pytest.mark.parametrize("character", ["\u202e", "\u2067", "\u200e", "\u061c", "\u200b", "\n", "\x7f", "\u00ad"])
def test_a_name_has_no_hidden_characters(character: str) -> None:
    assert name_fault(f"a{character}b")
    assert cleaned_name(f" a{character}b ") == "a b"
    with pytest.raises(WrongValueError):
        readers.name()(f"a{character}b", Setting())


@pytest.mark.parametrize("name", ["\u200cab", "ab\u200d", "a \u200db", "a\u200c\u200cb", "\u200d"])
def test_a_joiner_joins_two_characters(name: str) -> None:
    assert name_fault(name)


def test_a_name_has_a_length() -> None:
    assert name_fault("x" * 201) == "have at most 200 characters"
    assert name_fault("x" * 200) is None
    assert cleaned_name("x" * 500) == "x" * 200


LOCAL_PARTS = st.one_of(
    st.text("ab0._+-", min_size=1, max_size=66), st.sampled_from(['"a b"', "ü", "a..b", ".a", "a."])
)
DOMAINS = st.one_of(
    st.sampled_from(["example.com", "EXAMPLE.com", "bücher.example", "a", "-a.example", "a.example.", "[127.0.0.1]"]),
    st.text("ab-.ü", min_size=1, max_size=12),
)


@given(LOCAL_PARTS, DOMAINS)
def test_an_email_is_what_the_library_says(local_part: str, domain: str) -> None:
    """The domain is validated once for many addresses; the result is the same as for the whole address."""
    try:
        address = email_validator.validate_email(
            f"{local_part}@{domain}".lower(), check_deliverability=False, strict=True
        )
        expected = f"{address.local_part}@{address.ascii_domain}".lower()
    except email_validator.EmailNotValidError:
        expected = None
    assert normalize_email(f"{local_part}@{domain}") == expected
