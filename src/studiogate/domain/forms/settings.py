"""A form's settings: validation when saved, and interpretation when read. Unknown keys are kept and not checked."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from ipaddress import AddressValueError, IPv4Address
from typing import Any
from urllib.parse import quote, urlsplit

import idna

from studiogate.domain.forms.answer_checks import is_email
from studiogate.domain.forms.definition import DefinitionFault, member_faults, short_text, text
from studiogate.domain.forms.values import as_instant
from studiogate.domain.people import normalize_email
from studiogate.domain.value_checks import Check, boolean

MAX_URL = 2000
URL_FAULT = f"must be an https URL of at most {MAX_URL} characters with a valid host and without a user name"
CLOSED_FAULT = "must be after opens_at"
MAX_HOST = 253

# Browsers remove tabs and line breaks, treat a backslash as a slash, and percent-decode hosts.
_UNFIT = re.compile(r'[\x00-\x20\x7f-\x9f"<>\\\ud800-\udfff]')
_PORT = re.compile(r"[1-9][0-9]{0,4}", re.ASCII)
_STRAY_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
# The characters that RFC 3986 leaves unencoded in each part, and "%", so that encoded text is not encoded again.
_IN_PATH = "%/:@!$&'()*+,;=~"
_IN_QUERY = _IN_PATH + "?"


def encoded_url(text: str) -> str | None:
    """Return an https URL with an IDNA-encoded host and everything else percent-encoded, or None if it is invalid."""
    if len(text) > MAX_URL or _UNFIT.search(text):
        return None
    try:
        parts = urlsplit(text)
    except ValueError:
        return None
    authority = _authority(parts.netloc) if parts.scheme == "https" else None
    if authority is None:
        return None
    query = f"?{_encoded(parts.query, _IN_QUERY)}" if parts.query else ""
    fragment = f"#{_encoded(parts.fragment, _IN_QUERY)}" if parts.fragment else ""
    url = f"https://{authority}{_encoded(parts.path, _IN_PATH)}{query}{fragment}"
    return url if len(url) <= MAX_URL else None


def origin_of(url: str) -> str:
    return f"https://{urlsplit(url).netloc}"


def _authority(netloc: str) -> str | None:
    """Return host and port, or None if there is userinfo, an IPv6 literal or anything else that is not a host."""
    name, colon, port = netloc.partition(":")
    if colon and port and not (_PORT.fullmatch(port) and int(port) <= 65535):
        return None
    host = _host(name)
    return None if host is None else f"{host}:{port}" if port else host


def _host(name: str) -> str | None:
    if not name or len(name) > MAX_HOST or "%" in name:
        return None
    try:
        # Browsers map hosts by UTS 46, currently with non-transitional processing.
        host = idna.encode(name, uts46=True).decode("ascii")
    except idna.IDNAError:
        return None
    return host if _is_name_or_address(host) else None


def _is_name_or_address(host: str) -> bool:
    """Return whether a host is a name or a canonical IPv4 address. Browsers parse a host that ends in a number as an
    IPv4 address, in many notations; only dotted decimal is allowed."""
    if not _NUMERIC.fullmatch(host.removesuffix(".").rpartition(".")[2]):
        return True
    try:
        return str(IPv4Address(host)) == host
    except AddressValueError:
        return False


def _encoded(text: str, safe: str) -> str:
    return quote(_STRAY_PERCENT.sub("%25", text), safe=safe)


MAX_NOTIFICATION_EMAILS = 20
MAX_SUBMISSIONS = 2**31 - 1
# Internal to the studio: shown only to keys that manage forms, and never part of an event.
STUDIO_ONLY = ("notification_emails",)


@dataclass(frozen=True, slots=True)
class FormSettings:
    require_auth: bool = False
    notify_on_submit: bool = False
    notification_emails: Sequence[str] = field(default=())
    send_confirmation_email: bool = False
    confirmation_message: str | None = None
    redirect_url: str | None = None
    submit_label: str | None = None
    allow_multiple: bool = True
    opens_at: datetime | None = None
    closes_at: datetime | None = None
    max_submissions: int | None = None
    create_lead: bool = False


def setting_faults(settings: object) -> list[DefinitionFault]:
    if not isinstance(settings, Mapping):
        return [((), "must be an object")]
    return member_faults(_CHECKS, settings) + _window_faults(settings)


def read_settings(settings: Mapping[str, Any]) -> FormSettings:
    """Return stored settings as values. A member that fails its check (from an old import) counts as absent."""
    given = {
        name: _READERS[name](settings[name]) if name in _READERS else settings[name]
        for name, check in _CHECKS.items()
        if settings.get(name) is not None and check(settings[name]) is None
    }
    return FormSettings(**given)


def _emails(value: object) -> str | None:
    if not isinstance(value, list) or len(value) > MAX_NOTIFICATION_EMAILS:
        return f"must be an array of at most {MAX_NOTIFICATION_EMAILS} email addresses"
    good = all(isinstance(each, str) and is_email(each) for each in value)
    return None if good else "must hold valid email addresses only"


def _https_url(value: object) -> str | None:
    if isinstance(value, str) and encoded_url(value) is not None:
        return None
    return URL_FAULT


def _instant(value: object) -> str | None:
    fits = isinstance(value, str) and as_instant(value) is not None
    return None if fits else "must be an ISO 8601 date-time with an offset or Z"


def _count(value: object) -> str | None:
    fits = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_SUBMISSIONS
    return None if fits else f"must be a whole number from 1 to {MAX_SUBMISSIONS}"


_CHECKS: Mapping[str, Check] = {
    "require_auth": boolean,
    "notify_on_submit": boolean,
    "notification_emails": _emails,
    "send_confirmation_email": boolean,
    "confirmation_message": text,
    "redirect_url": _https_url,
    "submit_label": short_text,
    "allow_multiple": boolean,
    "opens_at": _instant,
    "closes_at": _instant,
    "max_submissions": _count,
    "create_lead": boolean,
}


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "notification_emails": lambda emails: tuple(dict.fromkeys(filter(None, map(normalize_email, emails)))),
    "redirect_url": encoded_url,
    "opens_at": as_instant,
    "closes_at": as_instant,
}


def _window_faults(settings: Mapping[str, object]) -> list[DefinitionFault]:
    known = read_settings(settings)
    if (known.closes_at or datetime.max.replace(tzinfo=UTC)) > (known.opens_at or datetime.min.replace(tzinfo=UTC)):
        return []
    return [(("closes_at",), CLOSED_FAULT)]
