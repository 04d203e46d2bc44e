"""Which passwords staff may choose.

A long password is the only requirement that helps: rules about digits and symbols make people choose predictable ones.
Lengths are checked before anything is normalized or hashed, because both cost more than the request that asks for them.
"""

import unicodedata

from studiogate.domain.refusals import Fault

MINIMUM_PASSWORD = 12
MAXIMUM_PASSWORD = 200


def typed_password(text: str) -> str | None:
    """Return a typed password in the form that is hashed, or None if no account can have it.

    Keyboards produce the same letter as one character or as two, so it is normalized (NFKC).
    """
    if not 1 <= len(text) <= MAXIMUM_PASSWORD or not _is_text(text):
        return None
    return unicodedata.normalize("NFKC", text)


def password_faults(text: str, email: str) -> list[Fault]:
    """Return what is wrong with a new password for the account with this email."""
    if len(text) < MINIMUM_PASSWORD:
        return [_fault("string_too_short", f"Use at least {MINIMUM_PASSWORD} characters.")]
    if len(text) > MAXIMUM_PASSWORD:
        return [_fault("string_too_long", f"Use at most {MAXIMUM_PASSWORD} characters.")]
    if not _is_text(text):
        return [_fault("string_unicode", "String should consist of valid characters")]
    folded, local_part = text.casefold().strip(), email.rpartition("@")[0]
    if folded in (email, local_part) or len(set(folded)) == 1:
        return [_fault("password_too_simple", "Password should be neither the email nor one repeated character")]
    return []


def _is_text(text: str) -> bool:
    """Return whether the text can be encoded: half of a surrogate pair cannot."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _fault(kind: str, message: str) -> Fault:
    return Fault(("password",), kind, message)
