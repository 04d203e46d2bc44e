"""The secrets that staff present instead of a password, or after it: the token of a session, that of a one-time link,
and one-time passwords.

Each token has 256 random bits. Only its SHA-256 is stored: what the database holds opens nothing.

One-time passwords are time-based (RFC 6238): SHA-1, six digits, a step of 30 seconds, as authenticator apps expect."""

import base64
import hashlib
import hmac
import re
import secrets
import struct
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from urllib.parse import quote, urlencode
from uuid import UUID

TOKEN_BYTES = 32
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")


class Purpose(StrEnum):
    """What a one-time link is for."""

    INVITATION = "invitation"
    RESET = "password_reset"
    SIGN_IN = "sign_in"


LINK_LIFE: Mapping[Purpose, timedelta] = MappingProxyType(
    {Purpose.INVITATION: timedelta(days=7), Purpose.RESET: timedelta(hours=1), Purpose.SIGN_IN: timedelta(hours=1)}
)


def new_token() -> str:
    return secrets.token_urlsafe(TOKEN_BYTES)


def token_hash(token: str) -> bytes | None:
    """Return what is stored of a token, or None if it cannot be one of ours."""
    return hash_of_own(token) if _TOKEN.fullmatch(token) else None


def hash_of_own(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def link_is_open(expires_at: datetime, used_at: datetime | None, now: datetime) -> bool:
    return used_at is None and now < expires_at


def may_still_be_mailed(purpose: Purpose, asked_at: datetime, now: datetime) -> bool:
    """Return whether a link may still be mailed: not when one that was made at once would have expired."""
    return now < asked_at + LINK_LIFE[purpose]


def link_path(token: str) -> str:
    """Return the path of a link's page. Opening the page does not use the link up: mail scanners open links."""
    return f"/console/link/{token}"


def csrf_token(session_token: str, studio_id: UUID) -> str:
    """Return the token that every form of a session carries. It derives from the session's token, which other sites
    cannot read, and belongs to one studio: a form that was opened before must not take effect in another."""
    digest = hmac.digest(session_token.encode(), b"studiogate csrf " + studio_id.bytes, "sha256")
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def is_csrf_token(session_token: str, studio_id: UUID, presented: str) -> bool:
    return hmac.compare_digest(csrf_token(session_token, studio_id).encode(), presented.encode(errors="replace"))


SECRET_BYTES = 20  # what RFC 4226 recommends
STEP_SECONDS = 30
DIGITS = 6
TOLERATED_STEPS = 1  # a code of the step before or after works too: phones' clocks differ, and people type slowly
ISSUER = "Studiogate"
_CODE = re.compile(rf"[0-9]{{{DIGITS}}}")


def new_totp_secret() -> bytes:
    return secrets.token_bytes(SECRET_BYTES)


def totp_purpose(account_id: UUID) -> str:
    return f"second-factor:{account_id}"


def totp_code(secret: bytes, step: int, digits: int = DIGITS) -> str:
    """Return the code of a step (RFC 4226, section 5.3)."""
    digest = hmac.digest(secret, struct.pack(">Q", step), "sha1")
    offset = digest[-1] & 0x0F
    number = int.from_bytes(digest[offset : offset + 4], "big") & 0x7FFF_FFFF
    return f"{number % 10**digits:0{digits}d}"


def step_at(now: datetime) -> int:
    return int(now.timestamp()) // STEP_SECONDS


def matching_step(secret: bytes, code: str, now: datetime, last_step: int | None) -> int | None:
    """Return the step whose code this is, or None. Steps up to the last one that was used do not count again, so a code
    that somebody has seen is worthless once its owner has used it."""
    typed = code.replace(" ", "") if len(code) <= 2 * DIGITS else ""
    if not _CODE.fullmatch(typed):
        return None
    current, found = step_at(now), None
    for step in range(current - TOLERATED_STEPS, current + TOLERATED_STEPS + 1):
        is_fresh = last_step is None or step > last_step
        if hmac.compare_digest(totp_code(secret, step), typed) and is_fresh:
            found = step
    return found


def provisioning_uri(secret: bytes, email: str) -> str:
    """Return the address that authenticator apps read from a QR code."""
    label = quote(f"{ISSUER}:{email}", safe=":@")
    return f"otpauth://totp/{label}?{urlencode({'secret': secret_text(secret), 'issuer': ISSUER})}"


def secret_text(secret: bytes) -> str:
    """Return the secret as people type it into an app that cannot read the QR code."""
    return base64.b32encode(secret).decode().rstrip("=")
