"""Which passwords staff may choose.

Length and being hard to guess help; rules about digits and symbols make people choose predictable ones. zxcvbn knows
common passwords, and how people vary them. Lengths are checked first: estimates and hashes are expensive."""

import re
import unicodedata
from collections.abc import Iterable

from zxcvbn_rs_py import zxcvbn

from studiogate.domain.refusals import Fault

MINIMUM_PASSWORD = 12
MAX_PASSWORD = 200
MINIMUM_SCORE = 3  # of 0 to 4: more than 10^8 guesses
SHORTEST_PART = 4  # of a name that a password must not have: shorter ones are in many words
# The work of an estimate grows steeply with its length, and with symbols that could be one of several letters: the
# beginning is estimated, with each symbol as its most likely letter. It costs at most some 40 ms.
ESTIMATED = 32
_LETTERS = str.maketrans("@$!|+%({[<", "asiltxcccc")
_PART = re.compile(rf"[^\W_]{{{SHORTEST_PART},}}")


def typed_password(text: str) -> str | None:
    """Return a typed password in the form that is hashed, or None if no account can have it. Keyboards produce the same
    letter as one character or as two, so it is normalized (NFKC)."""
    if not 1 <= len(text) <= MAX_PASSWORD or not _is_text(text):
        return None
    return unicodedata.normalize("NFKC", text)


def password_faults(text: str, email: str, studios: Iterable[str] = ()) -> list[Fault]:
    """Return what is wrong with a new password for the account with this email, in studios of these names."""
    if len(text) < MINIMUM_PASSWORD:
        return [_fault("string_too_short", f"Use at least {MINIMUM_PASSWORD} characters.")]
    if len(text) > MAX_PASSWORD:
        return [_fault("string_too_long", f"Use at most {MAX_PASSWORD} characters.")]
    if not _is_text(text):
        return [_fault("string_unicode", "String should consist of valid characters")]
    folded = unicodedata.normalize("NFKC", text).casefold()
    parts = {part for name in (email, *studios) for part in _PART.findall(name.casefold())}
    if any(part in folded for part in parts):
        return [_fault("password_has_own_name", "Use no part of your email or of the studio's name.")]
    if int(zxcvbn(folded.translate(_LETTERS)[:ESTIMATED]).score) < MINIMUM_SCORE:
        return [_fault("password_too_simple", "This is easy to guess. Use a few words that do not belong together.")]
    return []


def _is_text(text: str) -> bool:
    """Return whether the text can be encoded: half of a surrogate pair cannot."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _fault(kind: str, message: str) -> Fault:
    return Fault(("password",), kind, message)
