"""Email addresses and phone numbers, normalized to the form in which they are compared and stored."""

import re
import unicodedata
from functools import lru_cache

import email_validator
import phonenumbers

# In characters; checked before the text is processed, because NFKC takes quadratic time on combining marks.
MAXIMUM_EMAIL = 254
MAXIMUM_LOCAL_PART = 64
MAXIMUM_PHONE = 50
# A local part that is valid whatever its domain is.
_PLAIN_LOCAL_PART = re.compile(r"[a-z0-9_+-]+(?:\.[a-z0-9_+-]+)*")

# The library rejects domains reserved for tests and local use (example.test, studio.local). Deliverability is not
# checked here, and partners' sandboxes use such domains heavily.
email_validator.SPECIAL_USE_DOMAIN_NAMES.clear()


def normalize_email(text: str) -> str | None:
    """Apply NFKC, trim, lower-case, and encode the domain with IDNA; return None if the text is not an address.

    Dots and plus suffixes in the local part are kept.
    """
    if len(text) > MAXIMUM_EMAIL:
        return None
    candidate = unicodedata.normalize("NFKC", text).strip().lower()
    # The library normalizes the rest of the text once per character of the local part.
    if len(candidate) > MAXIMUM_EMAIL or not 1 <= candidate.rfind("@") <= MAXIMUM_LOCAL_PART:
        return None
    local_part, _, domain = candidate.rpartition("@")
    if not _PLAIN_LOCAL_PART.fullmatch(local_part):
        return _validated(candidate)
    # Most of the library's time goes into the domain, and an import has few domains for many addresses.
    known = _validated_domain(domain)
    return None if known is None or len(local_part) + 1 + len(known) > MAXIMUM_EMAIL else f"{local_part}@{known}"


def _validated(candidate: str) -> str | None:
    try:
        address = email_validator.validate_email(candidate, check_deliverability=False, strict=True)
    except email_validator.EmailNotValidError:
        return None
    return f"{address.local_part}@{address.ascii_domain}".lower()


@lru_cache(maxsize=4_096)
def _validated_domain(domain: str) -> str | None:
    address = _validated(f"a@{domain}")
    return None if address is None else address.removeprefix("a@")


def normalize_phone(text: str, country: str | None) -> str | None:
    """Return a phone number in E.164, or None if no such number can exist.

    A number without a country code belongs to ``country``. Numbers need only be possible, not valid: numbering plans
    grow faster than any list of valid ranges, and sandboxes use the ranges reserved for fiction. A number with an
    extension is refused: E.164 cannot represent it, and the number without it would reach somebody else.
    """
    if len(text) > MAXIMUM_PHONE:
        return None
    try:
        number = phonenumbers.parse(text, country)
    except phonenumbers.NumberParseException:
        return None
    if number.extension or not phonenumbers.is_possible_number(number):
        return None
    return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
