"""Who may sign in, and how often somebody may try.

Failures of strangers are counted for the email, whether or not it has an account, and for the address. What proves more
than an email does is counted by itself, so that strangers lock nobody out of it: a device on which the account has
signed in before, a one-time link, an open session. Attempts that are refused because of the limit do not count:
otherwise trying on would lock for ever.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from studiogate.domain.refusals import Code, Refusal


class Attempt(StrEnum):
    """What is counted, and for which key."""

    SIGN_IN = "sign_in"  # the email that a stranger typed
    DEVICE = "known_device"  # the email that was typed, together with the device
    LINK = "link"  # the one-time link
    SESSION = "session"  # the open session
    RESET = "password_reset"


class AttemptLimit(NamedTuple):
    """How many attempts within the window are allowed for one key, and from one address (None: any number)."""

    window: timedelta
    per_key: int
    per_address: int | None = None


LIMITS = {
    Attempt.SIGN_IN: AttemptLimit(timedelta(minutes=15), 10, 50),
    Attempt.DEVICE: AttemptLimit(timedelta(minutes=15), 10),
    Attempt.LINK: AttemptLimit(timedelta(minutes=15), 10),
    Attempt.SESSION: AttemptLimit(timedelta(minutes=15), 10),
    Attempt.RESET: AttemptLimit(timedelta(hours=1), 3, 20),
}


class Tried(NamedTuple):
    """Attempts within the window, the present one included, and the oldest of each."""

    of_key: int
    of_address: int
    oldest_of_key: datetime | None
    oldest_of_address: datetime | None
    now: datetime


def attempt_refusal(kind: Attempt, tried: Tried) -> Refusal | None:
    """Return the refusal if there were too many attempts, with the seconds until the next one is allowed."""
    limit = LIMITS[kind]
    waits = [
        oldest + limit.window - tried.now
        for count, allowed, oldest in (
            (tried.of_key, limit.per_key, tried.oldest_of_key),
            (tried.of_address, limit.per_address, tried.oldest_of_address),
        )
        if allowed is not None and count > allowed and oldest is not None
    ]
    if not waits:
        return None
    return Refusal(Code.RATE_LIMITED, {"retry_after": max(1, int(max(waits).total_seconds()) + 1)})


def attempt_key(text: str) -> bytes:
    """Return what an attempt is counted for. People mistype their address: what they typed is not stored."""
    return hashlib.sha256(text.encode(errors="replace")).digest()


@dataclass(frozen=True, slots=True)
class AccountState:
    """What decides whether an account may sign in. ``studios`` counts those in which it has an enabled role."""

    disabled_at: datetime | None
    studios: int
    has_second_factor: bool

    @property
    def may_sign_in(self) -> bool:
        return self.disabled_at is None and self.studios > 0
