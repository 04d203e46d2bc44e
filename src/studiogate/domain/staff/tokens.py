"""The secrets that staff present instead of a password: the token of a session, and that of a one-time link.

Each has 256 random bits. Only its SHA-256 is stored: what the database holds opens nothing."""

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
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
