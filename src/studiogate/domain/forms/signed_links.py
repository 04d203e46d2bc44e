"""Signed values of hosted pages: links for one member, verification links, and the token in a page's form.

    link           member.expires.signature        opens one form for one member until it expires
    verification   submission.expires.signature    verifies one submission of one form until it expires
    preview        account.expires.signature       shows one form while it is edited, until it expires
    token          issued.nonce.signature          proves that it was issued with this form's page, and when

All are bound to one form of one studio by the signature alone, to keep them short. The key is the studio's secret; a
purpose is prepended to the signed text, so that one kind cannot be used as another."""

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import NamedTuple, TypeVar
from urllib.parse import urlencode
from uuid import UUID

from studiogate.domain.encryption import Sealer
from studiogate.domain.forms.settings import FormSettings
from studiogate.domain.forms.states import NotAccepting, closed_reason, not_accepting
from studiogate.domain.refusals import Code, Fault, Refusal

SECRET_BYTES = 32
_SECONDS = re.compile(r"[0-9]{1,11}", re.ASCII)
MAX_SIGNED = 200  # characters; the values created here have fewer than 80
_NONCE_BYTES = 12
_SIGNATURE_BYTES = 18  # 144 bits: infeasible to guess, and 24 characters without padding


class LinkProblem(StrEnum):
    INVALID = "invalid"
    EXPIRED = "expired"


class Link(NamedTuple):
    member_id: UUID
    expires_at: datetime


class Verification(NamedTuple):
    submission_id: UUID
    expires_at: datetime


class Preview(NamedTuple):
    account_id: UUID
    expires_at: datetime


Signed = TypeVar("Signed", Link, Verification, Preview)
_PURPOSES: Mapping[type, str] = {Link: "link", Verification: "verify", Preview: "preview"}


def sign(secret: bytes, form_id: UUID, content: Link | Verification | Preview) -> str:
    named, expires_at = content
    parts = _encoded(named.bytes), str(int(expires_at.timestamp()))
    return ".".join((*parts, _signature(secret, _PURPOSES[type(content)], form_id, *parts)))


def read_signed(kind: type[Signed], secret: bytes, form_id: UUID, text: str, now: datetime) -> Signed | LinkProblem:
    """Return the contents, or what is wrong. Only what has a valid signature is reported as expired."""
    parts = _parts(secret, _PURPOSES[kind], form_id, text)
    if parts is None:
        return LinkProblem.INVALID
    try:
        named = UUID(bytes=base64.urlsafe_b64decode(parts[0] + "=" * (-len(parts[0]) % 4)))
        expires_at = datetime.fromtimestamp(int(parts[1]), UTC)
    except (ValueError, binascii.Error, OverflowError, OSError):
        return LinkProblem.INVALID
    return kind(named, expires_at) if now < expires_at else LinkProblem.EXPIRED


def link_path(studio_slug: str, form_slug: str, token: str) -> str:
    return f"/f/{studio_slug}/{form_slug}?{urlencode({'link': token})}"


def preview_path(studio_slug: str, form_slug: str, token: str) -> str:
    return f"/f/{studio_slug}/{form_slug}/preview?{urlencode({'token': token})}"


def _parts(secret: bytes, purpose: str, form_id: UUID, text: str) -> list[str] | None:
    """Return the signed parts of a text, or None if the signature is not right for them."""
    parts = text.split(".") if len(text) <= MAX_SIGNED else []
    if len(parts) != 3:
        return None
    given, right = parts.pop().encode("utf-8", "surrogatepass"), _signature(secret, purpose, form_id, *parts).encode()
    return parts if hmac.compare_digest(given, right) else None


def make_token(secret: bytes, form_id: UUID, issued: datetime) -> str:
    """Return a token for a page. Its nonce distinguishes pages: submitting one twice counts as one submission."""
    seconds, once = str(int(issued.timestamp())), _encoded(secrets.token_bytes(_NONCE_BYTES))
    return f"{seconds}.{once}.{_signature(secret, 'token', form_id, seconds, once)}"


def token_age(secret: bytes, form_id: UUID, text: str, now: datetime) -> float | None:
    """Return the seconds since the token was issued, or None if it is not a token of this form."""
    parts = _parts(secret, "token", form_id, text)
    return now.timestamp() - int(parts[0]) if parts and _SECONDS.fullmatch(parts[0]) else None


def _signature(secret: bytes, purpose: str, form_id: UUID, *parts: str) -> str:
    signed = ".".join((purpose, str(form_id), *parts)).encode("utf-8", "surrogatepass")
    return _encoded(hmac.digest(secret, signed, hashlib.sha256)[:_SIGNATURE_BYTES])


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def link_purpose(studio_id: UUID) -> str:
    return f"form-links:{studio_id}"


def is_sealed_link(stored: bytes) -> bool:
    """Return whether a link secret is stored sealed. It is stored in plain text until it is first sealed."""
    return len(stored) != SECRET_BYTES


def open_link_secret(sealer: Sealer, studio_id: UUID, stored: bytes) -> bytes:
    """Return the secret that signs a studio's form links, whether it is stored sealed or in plain text."""
    return sealer.open(stored, link_purpose(studio_id)) if is_sealed_link(stored) else stored


LINK_LIFE = timedelta(days=7)
PREVIEW_LIFE = timedelta(hours=24)  # longer than anybody edits without opening the builder again
MAX_LINK_LIFE = timedelta(days=366)
# Per member: a mail that was asked for again and again must not flood a mailbox.
LINKS_PER_HOUR = 3
LIMIT = "form_links_per_hour"
NO_ADDRESS = Fault(("email",), "value_error", "is missing: enter one for the member, or hand the link over yourself")


def refused_life(life: timedelta) -> Refusal | None:
    """Refuse a link that opens the form for too long, or not at all."""
    if timedelta(0) < life <= MAX_LINK_LIFE:
        return None
    wrong = f"must be in the future, at most {MAX_LINK_LIFE.days} days from now"
    return Refusal(Code.VALIDATION_ERROR, faults=(Fault(("expires_at",), "value_error", wrong),))


class Delivery(NamedTuple):
    """What decides whether a queued mail is still sent."""

    email: str | None
    form_status: str
    settings: FormSettings
    expires_at: datetime
    now: datetime


def queue_refusal(email: str | None, against: NotAccepting | None, within_the_hour: int) -> Refusal | None:
    """Return why a link is not mailed. ``against``: why the form would take no submission from this address."""
    if email is None:
        return Refusal(Code.VALIDATION_ERROR, faults=(NO_ADDRESS,))
    if against is not None:
        return not_accepting(against)
    if within_the_hour >= LINKS_PER_HOUR:
        return Refusal(Code.LIMIT_REACHED, {"limit": LIMIT, "maximum": LINKS_PER_HOUR})
    return None


def problem_of(delivery: Delivery) -> str | None:
    """Return why a queued mail is not sent any more, or None: its link would not open the form."""
    if delivery.email is None:
        return "no address"
    if delivery.expires_at <= delivery.now:
        return "the link has expired"
    closed = closed_reason(delivery.form_status, delivery.settings, delivery.now)
    return None if closed is None else f"the form is {closed.value.replace('_', ' ')}"
