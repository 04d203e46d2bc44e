"""Who may sign in, how often somebody may try, and which passwords staff may choose.

Failures of strangers are counted for the email, whether or not it has an account, and for the address. A known device,
a one-time link and an open session prove more and are counted by themselves: strangers lock nobody out of them.
Attempts that are refused because of the limit do not count: otherwise trying on would lock for ever.

Length and being hard to guess help; rules about digits and symbols make people choose predictable ones. zxcvbn knows
common passwords, and how people vary them. Lengths are checked first: estimates and hashes are expensive."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from zxcvbn_rs_py import zxcvbn

from studiogate.domain.refusals import Code, Fault, Refusal
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


MINIMUM_PASSWORD = 12
MAX_PASSWORD = 200
MINIMUM_SCORE = 3  # of 0 to 4: more than 10^8 guesses
SHORTEST_PART = 4  # of a name that a password must not have: shorter ones are in many words
# The work of an estimate grows steeply with its length, and with symbols that could be one of several letters: the
# beginning is estimated, with each symbol as its most likely letter. It costs at most some 40 ms.
ESTIMATED = 32
_LETTERS = str.maketrans("@$!|+%({[<", "asiltxcccc")
_PART = re.compile(rf"[^\W_]{{{SHORTEST_PART},}}")


def typed_password(text: str) -> str | None:
    """Return a typed password in the form that is hashed, or None if no account can have it. Keyboards produce the same
    letter as one character or as two, so it is normalized (NFKC)."""
    if not 1 <= len(text) <= MAX_PASSWORD or not _is_text(text):
        return None
    return unicodedata.normalize("NFKC", text)


def password_faults(text: str, email: str, studios: Iterable[str] = ()) -> list[Fault]:
    """Return what is wrong with a new password for the account with this email, in studios of these names."""
    if len(text) < MINIMUM_PASSWORD:
        return [_fault("string_too_short", f"Use at least {MINIMUM_PASSWORD} characters.")]
    if len(text) > MAX_PASSWORD:
        return [_fault("string_too_long", f"Use at most {MAX_PASSWORD} characters.")]
    if not _is_text(text):
        return [_fault("string_unicode", "String should consist of valid characters")]
    folded = unicodedata.normalize("NFKC", text).casefold()
    parts = {part for name in (email, *studios) for part in _PART.findall(name.casefold())}
    if any(part in folded for part in parts):
        return [_fault("password_has_own_name", "Use no part of your email or of the studio's name.")]
    if int(zxcvbn(folded.translate(_LETTERS)[:ESTIMATED]).score) < MINIMUM_SCORE:
        return [_fault("password_too_simple", "This is easy to guess. Use a few words that do not belong together.")]
    return []


def _is_text(text: str) -> bool:
    """Return whether the text can be encoded: half of a surrogate pair cannot."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _fault(kind: str, message: str) -> Fault:
    return Fault(("password",), kind, message)
