"""Time-based one-time passwords (RFC 6238): SHA-1, six digits, a step of 30 seconds, as authenticator apps expect."""

import base64
import hmac
import re
import secrets
import struct
from datetime import datetime
from urllib.parse import quote, urlencode
from uuid import UUID

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
