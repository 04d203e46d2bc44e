"""What leads and members have in common: email addresses, in the form in which they are stored, and notes of staff."""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import email_validator

from studiogate.domain.refusals import Code, Refusal

# In characters; checked before the text is processed, because NFKC takes quadratic time on combining marks.
MAX_EMAIL = 254
MAX_LOCAL_PART = 64
MAX_NOTES_BYTES = 64 * 1024
# A local part that is valid whatever its domain is.
_PLAIN_LOCAL_PART = re.compile(r"[a-z0-9_+-]+(?:\.[a-z0-9_+-]+)*")

# The library rejects domains reserved for tests and local use (example.test, studio.local). Deliverability is not
# checked here, and partners' sandboxes use such domains heavily.
email_validator.SPECIAL_USE_DOMAIN_NAMES.clear()


def normalize_email(text: str) -> str | None:
    """Apply NFKC, trim, lower-case, and encode the domain with IDNA; return None if the text is not an address."""
    if len(text) > MAX_EMAIL:
        return None
    candidate = unicodedata.normalize("NFKC", text).strip().lower()
    # The library normalizes the rest of the text once per character of the local part.
    if len(candidate) > MAX_EMAIL or not 1 <= candidate.rfind("@") <= MAX_LOCAL_PART:
        return None
    local_part, _, domain = candidate.rpartition("@")
    if not _PLAIN_LOCAL_PART.fullmatch(local_part):
        return _validated(candidate)
    # Most of the library's time goes into the domain, and an import has few domains for many addresses.
    known = _validated_domain(domain)
    return None if known is None or len(local_part) + 1 + len(known) > MAX_EMAIL else f"{local_part}@{known}"


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


def masked_email(email: str) -> str:
    """Return an address that can be recognized but not read: the first character and the domain."""
    local_part, _, domain = email.rpartition("@")
    return f"{local_part[:1]}***@{domain}"


def joined_notes(notes: Sequence[str]) -> str:
    """Return the staff notes of duplicates, each on lines of its own."""
    return "\n".join(each for each in notes if each)


def joined_notes_refusal(notes: Sequence[str]) -> Refusal | None:
    return notes_refusal(0, joined_notes(notes))


def notes_refusal(notes_bytes: int, note: str | None) -> Refusal | None:
    """Refuse a note that staff notes of so many bytes have no room for. It starts on a new line."""
    if note is None or notes_bytes + bool(notes_bytes) + len(note.encode()) <= MAX_NOTES_BYTES:
        return None
    return Refusal(Code.LIMIT_REACHED, {"limit": "staff_notes", "maximum": MAX_NOTES_BYTES}, "notes")
