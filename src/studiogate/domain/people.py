"""People's addresses, in the one form in which they are compared and kept."""

import unicodedata

import email_validator
import phonenumbers

MAXIMUM_EMAIL = 254

# The library refuses names reserved for tests and local use (example.test, studio.local). Whether mail arrives is
# not ours to judge, and a partner's sandbox is full of them.
email_validator.SPECIAL_USE_DOMAIN_NAMES.clear()


def normalize_email(text: str) -> str | None:
    """Trim, NFKC, lower case, the domain in IDNA form; no dot or plus folding. None where it is no address."""
    candidate = unicodedata.normalize("NFKC", text).strip().lower()
    if len(candidate) > MAXIMUM_EMAIL:
        return None
    try:
        address = email_validator.validate_email(candidate, check_deliverability=False, strict=True)
    except email_validator.EmailNotValidError:
        return None
    return f"{address.local_part}@{address.ascii_domain}".lower()


def normalize_phone(text: str, country: str | None) -> str | None:
    """E.164; a number without a country code is one of ``country``. None where no such number can exist.

    Possible, not valid: numbering plans grow faster than any list of valid ranges, and the ranges reserved for
    fiction are in every sandbox. E.164 has no place for an extension, and to drop one would ring somewhere else.
    """
    try:
        number = phonenumbers.parse(text, country)
    except phonenumbers.NumberParseException:
        return None
    if number.extension or not phonenumbers.is_possible_number(number):
        return None
    return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
