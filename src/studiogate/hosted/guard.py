"""Keeps machines out without asking people anything: a signed token with a time in it, a trap, and rates an address.

No cookie is set and none is read, so no other site can act in a visitor's name; the token ties what is sent to a page
that was really given out.
"""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from studiogate.domain.forms.signed import token_age
from studiogate.hosted.posted import Posted
from studiogate.limits import Limit

MIN_SECONDS = 2.0
MAX_SECONDS = 24 * 3600.0

# A tablet at the front desk, or a whole studio behind one address, stays well within these.
SENDING = Limit("form-submissions", 20 / 60, 30)
STEPPING = Limit("form-steps", 2.0, 120)
UPLOADING = Limit("form-uploads", 30 / 60, 40)
# Browsers keep a logo for good, so each visitor asks for it once.
LOGOS = Limit("logos", 5.0, 200)


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
    """Until a person could have filled the form in. The token's time is in whole seconds, rounded down."""
    age = token_age(secret, form_id, token, now)
    return 0.0 if age is None else max(0.0, MIN_SECONDS + 1 - age)
