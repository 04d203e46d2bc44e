"""Who may sign in, and how often somebody may try.

Failures of strangers are counted for the email, whether or not it has an account, and for the address. A known device,
a one-time link and an open session prove more and are counted by themselves: strangers lock nobody out of them.
Attempts that are refused because of the limit do not count: otherwise trying on would lock for ever."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import PERMISSIONS, Channel, Role, Staff


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


# How long a session lasts, and who is behind it.

LIFE = timedelta(days=14)
IDLE = timedelta(hours=12)
PASSWORD_IS_RECENT = timedelta(minutes=15)
NOTED_EVERY = timedelta(minutes=1)  # how exactly the last use is recorded: a write per request would cost too much
MAX_SESSIONS = 20  # per account; the oldest ones end
MAX_USER_AGENT = 300
MAX_ADDRESS = 100


class Origin(NamedTuple):
    """Where a request of a person comes from; ``device`` is the hash of the browser's own cookie."""

    address: str
    user_agent: str = ""
    device: bytes | None = None

    def bounded(self) -> "Origin":
        """Return it as it is stored: both values are the caller's choice."""
        printable = "".join(each if each.isprintable() else " " for each in self.user_agent[:MAX_USER_AGENT])
        return Origin(self.address[:MAX_ADDRESS], printable, self.device)


@dataclass(frozen=True, slots=True)
class Session:
    """A stored session at the time ``now``. ``role`` is None where the account has none in the studio."""

    id: UUID
    account_id: UUID
    email: str
    studio_id: UUID
    expires_at: datetime
    last_used_at: datetime
    ended_at: datetime | None
    password_at: datetime | None
    account_disabled_at: datetime | None
    role: Role | None
    role_disabled_at: datetime | None
    location_ids: tuple[UUID, ...] | None
    instructor_id: UUID | None
    now: datetime

    @property
    def is_open(self) -> bool:
        """Whether the session still lets its account act in its studio."""
        may_act = self.account_disabled_at is None and self.role is not None and self.role_disabled_at is None
        return self.ended_at is None and self.now < min(self.expires_at, self.last_used_at + IDLE) and may_act

    @property
    def scope(self) -> tuple[object, ...]:
        """What the session's pages may show: its studio, and its role and locations there."""
        return self.studio_id, self.role, self.location_ids, self.instructor_id

    @property
    def needs_note(self) -> bool:
        """Whether the recorded last use is too old."""
        return self.now - self.last_used_at >= NOTED_EVERY

    def staff(self, address: str) -> Staff:
        """Return who acts, with the permissions of the role."""
        is_recent = self.password_at is not None and self.now - self.password_at < PASSWORD_IS_RECENT
        permissions = PERMISSIONS[self.role] if self.role is not None else frozenset()
        return Staff(self.email, permissions, Channel.CONSOLE, self.account_id, self.instructor_id, address, is_recent)


def studio_to_start_in(studios: Sequence[UUID], last: UUID | None) -> UUID:
    """Return the studio that a new session works in: the one of the session before, if the account may still."""
    return last if last is not None and last in studios else studios[0]
