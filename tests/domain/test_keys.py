"""Keys: format, checksum, and the verdict on each presented key."""

import hashlib
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studiogate.domain import keys
from studiogate.domain.keys import Credential, PresentedKey, Secret
from studiogate.domain.refusals import Code, Refusal

NOW = datetime(2030, 6, 3, 12, tzinfo=UTC)
LATER, EARLIER = NOW + timedelta(microseconds=1), NOW - timedelta(microseconds=1)
KEY = keys.new_key("Ab3Cd5Ef", test=False)
FORM = re.compile(r"sgk_(live|test)_[0-9A-Za-z]{8}_[0-9A-Za-z]{43}[0-9A-Za-z]{6}")


@pytest.mark.parametrize("test", [True, False])
def test_the_form_of_a_key(test: bool) -> None:
    key = keys.new_key(keys.new_credential_id(), test=test)
    match = FORM.fullmatch(key)
    assert match is not None
    assert match[1] == ("test" if test else "live")


def test_a_key_names_its_credential_and_its_secret() -> None:
    presented = keys.parse(KEY)
    assert presented is not None
    assert presented.credential_id == "Ab3Cd5Ef"
    assert presented.secret_hash == hashlib.sha256(KEY.split("_")[3][:43].encode()).digest()


def test_keys_are_new_each_time() -> None:
    made = {keys.new_key("Ab3Cd5Ef", test=False) for _ in range(500)}
    assert len(made) == 500
    assert len({keys.new_credential_id() for _ in range(500)}) == 500


def test_secrets_have_256_bits() -> None:
    """Each of the 43 characters takes many values, and together they can hold the largest number."""
    assert 62**43 > 2**256 > 62**42
    secrets = [keys.new_key("Ab3Cd5Ef", test=False)[18:61] for _ in range(400)]
    assert all(len({secret[place] for secret in secrets}) > 30 for place in range(1, 43))


def test_every_single_character_matters() -> None:
    """Every change of one character, and every character left out, doubled or swapped with its neighbour."""
    letters = keys.ALPHABET + "_-é "
    changed = [KEY[:n] + letter + KEY[n + 1 :] for n in range(len(KEY)) for letter in letters if letter != KEY[n]]
    changed += [KEY[:n] + KEY[n + 1 :] for n in range(len(KEY))]
    changed += [KEY[:n] + KEY[n] + KEY[n:] for n in range(len(KEY))]
    changed += [KEY[:n] + KEY[n + 1] + KEY[n] + KEY[n + 2 :] for n in range(len(KEY) - 1) if KEY[n] != KEY[n + 1]]
    assert len(changed) > 4500
    assert [each for each in changed if keys.parse(each) is not None] == []


@pytest.mark.parametrize(
    "text",
    ["", KEY + "\n", "\n" + KEY, KEY + " ", KEY.lower(), KEY.upper(), KEY[:-6], KEY * 2, "Bearer " + KEY],
    ids=["empty", "line after", "line before", "space", "lower", "upper", "no checksum", "twice", "bearer"],
)
def test_what_is_no_key(text: str) -> None:
    assert keys.parse(text) is None


@given(st.text(max_size=120) | st.from_regex(FORM))
@settings(max_examples=200, deadline=None)
def test_text_is_no_key(text: str) -> None:
    """Parsing never raises, and no random text in the right format has a valid checksum by chance."""
    assert keys.parse(text) is None


def test_the_kind_is_covered_by_the_checksum() -> None:
    assert keys.parse(KEY.replace("sgk_live_", "sgk_test_")) is None


def _credential(
    *secrets: tuple[bytes, datetime | None], expires: datetime | None = None, revoked: datetime | None = None
) -> Credential:
    access = keys.credential_access(uuid4(), "Ab3Cd5Ef", ["studio:read"], None)
    return Credential(access, tuple(Secret(*each) for each in secrets), expires, revoked, None)


RIGHT, OTHER, WRONG = (bytes([number]) * 32 for number in range(3))


@pytest.mark.parametrize(
    ("credential", "code"),
    [
        (_credential((RIGHT, None)), None),
        (_credential((OTHER, None), (RIGHT, LATER)), None),
        (_credential((RIGHT, None), expires=LATER), None),
        (_credential((RIGHT, None), expires=NOW), Code.EXPIRED_API_KEY),
        (_credential((RIGHT, None), expires=EARLIER), Code.EXPIRED_API_KEY),
        (_credential((OTHER, None), (RIGHT, NOW)), Code.EXPIRED_API_KEY),
        (_credential((RIGHT, None), revoked=EARLIER), Code.REVOKED_API_KEY),
        (_credential((RIGHT, EARLIER), expires=EARLIER, revoked=EARLIER), Code.REVOKED_API_KEY),
        (_credential((OTHER, None)), Code.INVALID_API_KEY),
        (_credential((OTHER, None), expires=EARLIER), Code.INVALID_API_KEY),
        (_credential((OTHER, None), revoked=EARLIER), Code.INVALID_API_KEY),
        (_credential(), Code.INVALID_API_KEY),
        (None, Code.INVALID_API_KEY),
    ],
)
def test_what_a_key_is_answered(credential: Credential | None, code: Code | None) -> None:
    """Only a caller with the secret learns that a credential has expired or was revoked."""
    verdict = keys.check(credential, PresentedKey("Ab3Cd5Ef", RIGHT), NOW)
    assert (verdict.code if isinstance(verdict, Refusal) else None) == code
    if isinstance(verdict, Credential):
        assert replace(verdict, secret_expires_at=None) == credential, "but for the end of its secret"


def test_permitted_locations_have_one_order() -> None:
    """The order in which locations are given leads to neither another statement nor another cache entry."""
    locations = [uuid4() for _ in range(5)]
    access = keys.credential_access(uuid4(), "Ab3Cd5Ef", ["studio:read", "studio:read"], locations)
    assert access.location_ids == tuple(sorted(locations))
    assert access.scopes == {"studio:read"}
    assert keys.credential_access(uuid4(), "x", [], None).location_ids is None
