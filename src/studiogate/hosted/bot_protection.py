"""Keep bots out without a challenge: a signed token with a timestamp, a honeypot field, and rate limits per address.

No cookie is set or read, so no other site can act on behalf of a visitor; the token ties a submission to a page that
was actually served.
"""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from studiogate.domain.forms.signed_links import token_age
from studiogate.hosted.posted_form import Posted
from studiogate.web.limits import Limit

MIN_SECONDS = 2.0
MAX_SECONDS = 24 * 3600.0

# A tablet at the front desk, or a whole studio behind one address, stays well within these.
SENDING = Limit("form-submissions", 20 / 60, 30)
STEPPING = Limit("form-steps", 2.0, 120)
UPLOADING = Limit("form-uploads", 30 / 60, 40)
# Browsers cache a logo indefinitely, so each visitor requests it once.
LOGOS = Limit("logos", 5.0, 200)
PICTURES = Limit("pictures", 20.0, 500)


class Suspicion(StrEnum):
    UNSEALED = "unsealed"
    STALE = "stale"
    TOO_QUICK = "too_quick"
    TRAPPED = "trapped"


def suspicion(secret: bytes, form_id: UUID, posted: Posted, now: datetime) -> Suspicion | None:
    if posted.trap:
        return Suspicion.TRAPPED
    of_token = token_suspicion(secret, form_id, posted.token, now)
    if of_token is not None or posted.action != "send":
        return of_token
    return Suspicion.TOO_QUICK if seconds_to_wait(secret, form_id, posted.token, now) > 0 else None


def token_suspicion(secret: bytes, form_id: UUID, token: str, now: datetime) -> Suspicion | None:
    age = token_age(secret, form_id, token, now)
    if age is None:
        return Suspicion.UNSEALED
    return Suspicion.STALE if age > MAX_SECONDS else None


def seconds_to_wait(secret: bytes, form_id: UUID, token: str, now: datetime) -> float:
    """Return the seconds until a person could have filled in the form. Token times are rounded down to seconds."""
    age = token_age(secret, form_id, token, now)
    return 0.0 if age is None else max(0.0, MIN_SECONDS + 1 - age)
