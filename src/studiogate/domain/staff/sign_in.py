"""Who may sign in, and how often somebody may try.

Failures are counted for the email, whether or not it has an account, and for the address. Attempts that are refused
because of the limit do not count: otherwise anybody could lock an account forever by trying on.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from studiogate.domain.refusals import Code, Refusal


class Attempt(StrEnum):
    """What is counted."""

    SIGN_IN = "sign_in"
    RESET = "password_reset"


class AttemptLimit(NamedTuple):
    """How many attempts within the window are allowed for one email, and from one address."""

    window: timedelta
    per_email: int
    per_address: int


LIMITS = {
    Attempt.SIGN_IN: AttemptLimit(timedelta(minutes=15), 10, 50),
    Attempt.RESET: AttemptLimit(timedelta(hours=1), 3, 20),
}


class Tried(NamedTuple):
    """Attempts within the window, the present one included, and the oldest of each."""

    of_email: int
    of_address: int
    oldest_of_email: datetime | None
    oldest_of_address: datetime | None
    now: datetime


def attempt_refusal(kind: Attempt, tried: Tried) -> Refusal | None:
    """Return the refusal if there were too many attempts, with the seconds until the next one is allowed."""
    limit = LIMITS[kind]
    waits = [
        oldest + limit.window - tried.now
        for count, allowed, oldest in (
            (tried.of_email, limit.per_email, tried.oldest_of_email),
            (tried.of_address, limit.per_address, tried.oldest_of_address),
        )
        if count > allowed and oldest is not None
    ]
    if not waits:
        return None
    return Refusal(Code.RATE_LIMITED, {"retry_after": max(1, int(max(waits).total_seconds()) + 1)})


def email_key(email: str) -> bytes:
    """Return what an email is counted as. People mistype their address: what they typed is not stored."""
    return hashlib.sha256(email.encode(errors="replace")).digest()


@dataclass(frozen=True, slots=True)
class AccountState:
    """What decides whether an account may sign in. ``studios`` counts those in which it has an enabled role."""

    disabled_at: datetime | None
    studios: int
    has_second_factor: bool

    @property
    def may_sign_in(self) -> bool:
        return self.disabled_at is None and self.studios > 0
