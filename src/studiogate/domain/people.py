"""People's addresses, in the one form in which they are compared and kept."""

import unicodedata

import email_validator

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
        address = email_validator.validate_email(candidate, check_deliverability=False)
    except email_validator.EmailNotValidError:
        return None
    return f"{address.local_part}@{address.ascii_domain}".lower()
