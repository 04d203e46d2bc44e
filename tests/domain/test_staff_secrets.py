"""Passwords, one-time codes, tokens: what staff prove themselves with."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from zxcvbn_rs_py import Entropy, zxcvbn

from studiogate.domain.staff import sign_in
from studiogate.domain.staff.sign_in import MAX_PASSWORD, password_faults, typed_password
from studiogate.domain.staff.tokens import (
    LINK_LIFE,
    STEP_SECONDS,
    Purpose,
    csrf_token,
    is_csrf_token,
    link_is_open,
    matching_step,
    new_token,
    new_totp_secret,
    provisioning_uri,
    secret_text,
    step_at,
    token_hash,
    totp_code,
    totp_purpose,
)

EMAIL = "jo.anna.smith@example.com"
# RFC 6238, appendix B, for SHA-1: the secret, and the codes of eight digits.
RFC_SECRET = b"12345678901234567890"
RFC_CODES = {
    59: "94287082",
    1111111109: "07081804",
    1111111111: "14050471",
    1234567890: "89005924",
    2000000000: "69279037",
    20000000000: "65353130",
}
NOW = datetime(2026, 11, 16, 12, 0, 10, tzinfo=UTC)


@pytest.mark.parametrize("password", ["wall hedge towel", "kM9xw2Lq7vRt", "zugspitze kabel rot " * 10])
def test_a_long_password_is_accepted(password: str) -> None:
    assert password_faults(password, EMAIL) == []


@pytest.mark.parametrize(
    ("password", "fault"),
    [
        ("", "string_too_short"),
        ("short pass!", "string_too_short"),
        ("x" * (MAX_PASSWORD + 1), "string_too_long"),
        (EMAIL, "password_has_own_name"),
        (EMAIL.upper() + "1", "password_has_own_name"),
        ("jo.anna.smith", "password_has_own_name"),
        ("wall hedge SMITH towel", "password_has_own_name"),
        ("the Harbour is a quiet place", "password_has_own_name"),
        ("harbour-row at the quay", "password_has_own_name"),
        ("password1234", "password_too_simple"),
        ("123456789012", "password_too_simple"),
        ("P@$$w0rd1234", "password_too_simple"),
        ("qwertyuiop12", "password_too_simple"),
        ("Sunshine2024!", "password_too_simple"),
        ("passwordpassword", "password_too_simple"),
        ("é" * 199 + "a", "password_too_simple"),
        ("aaaaaaaaaaaaaaaa", "password_too_simple"),
        ("a lone half \ud800", "string_unicode"),
    ],
)
def test_what_is_no_password(password: str, fault: str) -> None:
    faults = password_faults(password, EMAIL, ["Harbour Row", "harbour-row"])
    assert [(each.loc, each.type) for each in faults] == [(("password",), fault)]


def test_what_an_estimate_costs_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred symbols that may each be one of several letters cost it seconds: it gets a few characters, without."""
    estimated: list[str] = []

    def recorded(text: str) -> Entropy:
        estimated.append(text)
        return zxcvbn(text)

    monkeypatch.setattr(sign_in, "zxcvbn", recorded)
    for typed in ("@$!|+%({[<" * 20, "\ufdfa" * MAX_PASSWORD):
        password_faults(typed, EMAIL)
    assert [len(each) for each in estimated] == [sign_in.ESTIMATED] * 2
    assert not set("@$!|+%({[<") & set("".join(estimated))


def test_lengths_are_checked_before_a_password_is_normalized() -> None:
    assert typed_password("a" + "\u0301" * MAX_PASSWORD) is None
    assert typed_password("") is None
    assert typed_password("\udfff") is None


def test_the_same_letter_typed_as_one_character_or_two_is_the_same_password() -> None:
    assert typed_password("Zürich und Genève") == typed_password("Zu\u0308rich und Gene\u0300ve")


@pytest.mark.parametrize(("seconds", "code"), RFC_CODES.items())
def test_codes_are_those_of_the_rfc(seconds: int, code: str) -> None:
    assert totp_code(RFC_SECRET, seconds // STEP_SECONDS, digits=8) == code


@pytest.mark.parametrize(("steps", "works"), [(-2, False), (-1, True), (0, True), (1, True), (2, False)])
def test_one_step_of_tolerance(steps: int, works: bool) -> None:
    step = step_at(NOW) + steps
    assert matching_step(RFC_SECRET, totp_code(RFC_SECRET, step), NOW, None) == (step if works else None)


def test_a_code_works_once() -> None:
    step = step_at(NOW)
    code = totp_code(RFC_SECRET, step)
    assert matching_step(RFC_SECRET, code, NOW, step - 1) == step
    assert matching_step(RFC_SECRET, code, NOW, step) is None
    assert matching_step(RFC_SECRET, code, NOW, step + 1) is None, "an older code than the last one used"


@pytest.mark.parametrize("code", ["", "12345", "1234567", "abcdef", "\uff11" * 6, "-12345", "0" * 10_000, " " * 12])
def test_what_is_no_code(code: str) -> None:
    assert matching_step(RFC_SECRET, code, NOW, None) is None


def test_apps_show_codes_in_groups() -> None:
    code = totp_code(RFC_SECRET, step_at(NOW))
    assert matching_step(RFC_SECRET, f"{code[:3]} {code[3:]}", NOW, None) == step_at(NOW)


def test_an_app_reads_the_secret_from_the_address() -> None:
    secret = new_totp_secret()
    uri = provisioning_uri(secret, "a b+c@example.com")
    assert uri == f"otpauth://totp/Studiogate:a%20b%2Bc@example.com?secret={secret_text(secret)}&issuer=Studiogate"
    assert len(secret) == 20
    assert secret_text(RFC_SECRET) == "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
    assert totp_purpose(uuid4()) != totp_purpose(uuid4())


def test_tokens_are_random_and_only_their_hash_is_known() -> None:
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert all((token_hash(token) or b"").__len__() == 32 for token in tokens)


@given(st.text(max_size=60))
def test_only_our_format_is_a_token(text: str) -> None:
    is_ours = len(text) == 43 and text.isascii() and all(each.isalnum() or each in "-_" for each in text)
    assert (token_hash(text) is not None) == is_ours


@pytest.mark.parametrize("text", ["", "x" * 42, "x" * 44, "x" * 43 + "\n", "é" * 43, "x" * 1_000_000])
def test_what_is_no_token(text: str) -> None:
    assert token_hash(text) is None


def test_the_csrf_token_belongs_to_one_session_in_one_studio_and_is_not_its_token() -> None:
    one, other, studio, other_studio = new_token(), new_token(), UUID(int=1), UUID(int=2)
    right = csrf_token(one, studio)
    assert is_csrf_token(one, studio, right)
    assert not is_csrf_token(other, studio, right)
    assert not is_csrf_token(one, other_studio, right)
    assert not is_csrf_token(one, studio, one)
    for wrong in ("", "é", "\ud800", right[:-1]):
        assert not is_csrf_token(one, studio, wrong)


def test_a_link_works_until_it_expires_or_is_used() -> None:
    second = timedelta(seconds=1)
    assert link_is_open(NOW + second, None, NOW)
    assert not link_is_open(NOW, None, NOW)
    assert not link_is_open(NOW + second, NOW - second, NOW)
    assert set(LINK_LIFE) == set(Purpose)
    assert max(LINK_LIFE.values()) <= timedelta(days=7)
