"""Service keys: ``sgk_live_<8-char id>_<secret><checksum>``.

The secret has 256 random bits in base62; only its SHA-256 is stored. By the checksum, a mistyped key needs no query."""

import hashlib
import hmac
import re
import secrets
import string
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from uuid import UUID

from studiogate.domain.access import Access, Scope, unknown_scopes
from studiogate.domain.fields import optional, required
from studiogate.domain.fields import readers as v
from studiogate.domain.names import name_fault
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import by_name

# What people must be permitted to do themselves to give a scope to a key; the event log shows what the others permit.
GIVING_NEEDS: Mapping[str, Permission] = MappingProxyType(
    {
        Scope.FORM_SUBMISSIONS_READ: Permission.SUBMISSIONS,
        Scope.FORM_SUBMISSIONS_WRITE: Permission.SUBMISSIONS,
        Scope.LEADS_READ: Permission.LEADS,
        Scope.LEADS_WRITE: Permission.LEADS,
        Scope.MEMBERS_READ: Permission.MEMBERS,
        Scope.MEMBERS_WRITE: Permission.MEMBERS,
        Scope.BOOKINGS_READ: Permission.BOOKINGS,
        Scope.BOOKINGS_WRITE: Permission.BOOKINGS,
        Scope.BOOKINGS_CANCEL: Permission.BOOKINGS,
        Scope.PURCHASES_READ: Permission.SALES,
    }
)
ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
ID_LENGTH = 8
SECRET_LENGTH = 43  # the fewest base62 digits that hold 256 bits
CHECKSUM_LENGTH = 6
_ID = re.compile(rf"[0-9A-Za-z]{{{ID_LENGTH}}}")
_KEY = re.compile(
    rf"sgk_(live|test)_([0-9A-Za-z]{{{ID_LENGTH}}})_([0-9A-Za-z]{{{SECRET_LENGTH}}})([0-9A-Za-z]{{{CHECKSUM_LENGTH}}})"
)


@dataclass(frozen=True, slots=True)
class PresentedKey:
    credential_id: str
    secret_hash: bytes


@dataclass(frozen=True, slots=True)
class Secret:
    hash: bytes
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class Credential:
    """A stored credential; ``access`` is what it grants."""

    access: Access
    secrets: tuple[Secret, ...]
    expires_at: datetime | None
    revoked_at: datetime | None
    rate_limit: int | None
    # When the presented secret expires; None unless a rotation has replaced it.
    secret_expires_at: datetime | None = None


def _base62(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, remainder = divmod(number, 62)
        digits.append(ALPHABET[remainder])
    return "".join(reversed(digits))


def _checksum(text: str) -> str:
    return _base62(zlib.crc32(text.encode()), CHECKSUM_LENGTH)


def new_credential_id() -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(ID_LENGTH))


def new_key(credential_id: str, *, test: bool) -> str:
    kind = "test" if test else "live"
    secret = _base62(secrets.randbits(256), SECRET_LENGTH)
    body = f"sgk_{kind}_{credential_id}_{secret}"
    return body + _checksum(body)


def key_id(text: str) -> str | None:
    """Return a text if it has the form of a key's id."""
    return text if _ID.fullmatch(text) else None


def parse(key: str) -> PresentedKey | None:
    """Parse a key; return None if its format or checksum is wrong."""
    match = _KEY.fullmatch(key)
    if match is None or _checksum(key[:-CHECKSUM_LENGTH]) != match[4]:
        return None
    return PresentedKey(match[2], secret_hash(match[3]))


def secret_hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def check(credential: Credential | None, presented: PresentedKey, now: datetime) -> Credential | Refusal:
    """Return the credential, or a refusal. Only a correct secret reveals that the key expired or was revoked."""
    secret = credential and _matching(credential.secrets, presented.secret_hash)
    if credential is None or secret is None:
        return Refusal(Code.INVALID_API_KEY)
    if credential.revoked_at is not None:
        return Refusal(Code.REVOKED_API_KEY)
    if _past(credential.expires_at, now) or _past(secret.expires_at, now):
        return Refusal(Code.EXPIRED_API_KEY)
    if secret.expires_at is None:
        return credential
    ends = [instant for instant in (secret.expires_at, credential.expires_at) if instant is not None]
    return replace(credential, secret_expires_at=min(ends))


def _matching(kept: Iterable[Secret], presented_hash: bytes) -> Secret | None:
    for secret in kept:
        if hmac.compare_digest(secret.hash, presented_hash):
            return secret
    return None


def _past(instant: datetime | None, now: datetime) -> bool:
    return instant is not None and instant <= now


def credential_access(
    studio_id: UUID, credential_id: str, scopes: Iterable[str], location_ids: Iterable[UUID] | None
) -> Access:
    locations = None if location_ids is None else tuple(sorted(set(location_ids)))
    return Access(studio_id, credential_id, frozenset(scopes), locations)


def giving_refusal(access: Access, scopes: Iterable[str]) -> Refusal | None:
    """Refuse to give a key scopes for what its giver may not do. The roles that may do so have all locations."""
    needed = (GIVING_NEEDS[scope] for scope in scopes if scope in GIVING_NEEDS)
    refusals = (access.refusal_without_permission(each) for each in needed)
    return next((each for each in refusals if each is not None), None)


def giveable(access: Access) -> frozenset[Scope]:
    """Return the scopes that somebody may give a key."""
    permissions = frozenset() if access.staff is None else access.staff.permissions
    return frozenset(each for each in Scope if each not in GIVING_NEEDS or GIVING_NEEDS[each] in permissions)


# The largest number of the column.
MAX_RATE = 2**31 - 1


def _name(value: object, _setting: v.Setting) -> str:
    name = value.strip() if isinstance(value, str) else ""
    fault = name_fault(name) if name else "not be empty"
    if fault is not None:
        raise v.WrongValueError(((), f"must {fault}"))
    return name


def _scopes(value: object, _setting: v.Setting) -> list[str]:
    if not isinstance(value, list | tuple) or not value:
        raise v.WrongValueError(((), "must have at least one scope"))
    unknown = unknown_scopes(value)
    if unknown:
        raise v.WrongValueError(((), f"has {unknown[0]!r}, which is none of {', '.join(Scope)}"))
    return sorted(set(value))


def _location_ids(value: object, setting: v.Setting) -> list[UUID]:
    if not isinstance(value, list | tuple) or not value:
        raise v.WrongValueError(((), "must have at least one location, or be null for all"))
    return list(dict.fromkeys(UUID(str(v.identifier(str(each), setting))) for each in value))


def _expiry(value: object, setting: v.Setting) -> datetime:
    return value if isinstance(value, datetime) else v.instant(value, setting)


def _rate(value: object, _setting: v.Setting) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_RATE:
        raise v.WrongValueError(((), f"must be a number from 1 to {MAX_RATE}, or null for the default"))
    return value


KEY_LIMITS = by_name(
    required("name", _name, personal=False),
    required("scopes", _scopes, personal=False),
    optional("location_ids", _location_ids, personal=False),
    optional("expires_at", _expiry, personal=False),
    optional("rate_limit", _rate, personal=False),
)
