"""People's addresses, in the one form in which they are compared and kept."""

import unicodedata

import email_validator
import phonenumbers

# Characters, checked before anything looks at the text: NFKC takes quadratic time on combining marks.
MAXIMUM_EMAIL = 254
MAXIMUM_LOCAL_PART = 64
MAXIMUM_PHONE = 50

# The library refuses names reserved for tests and local use (example.test, studio.local). Whether mail arrives is
# not ours to judge, and a partner's sandbox is full of them.
email_validator.SPECIAL_USE_DOMAIN_NAMES.clear()


def normalize_email(text: str) -> str | None:
    """Trim, NFKC, lower case, the domain in IDNA form; no dot or plus folding. None where it is no address."""
    if len(text) > MAXIMUM_EMAIL:
        return None
    candidate = unicodedata.normalize("NFKC", text).strip().lower()
    # The library normalizes the rest of the text once for each character of the local part.
    if len(candidate) > MAXIMUM_EMAIL or not 1 <= candidate.rfind("@") <= MAXIMUM_LOCAL_PART:
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
    if len(text) > MAXIMUM_PHONE:
        return None
    try:
        number = phonenumbers.parse(text, country)
    except phonenumbers.NumberParseException:
        return None
    if number.extension or not phonenumbers.is_possible_number(number):
        return None
    return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
