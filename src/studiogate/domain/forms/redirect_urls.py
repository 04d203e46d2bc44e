"""The URL to which visitors are redirected after a form: validated, and encoded as browsers would encode it.

Anything that a browser would interpret differently from this code is refused, because it would redirect visitors
elsewhere. The result is ASCII and can be used in a header and, as its origin, in a content security policy.
"""

import re
from ipaddress import AddressValueError, IPv4Address
from urllib.parse import SplitResult, quote, urlsplit

import idna

MAX_URL = 2000
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
    url = f"https://{authority}{_encoded_rest(parts)}"
    return url if len(url) <= MAX_URL else None


def origin_of(url: str) -> str:
    """Return the origin of a URL returned by ``encoded_url``."""
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


def _encoded_rest(parts: SplitResult) -> str:
    query = f"?{_encoded(parts.query, _IN_QUERY)}" if parts.query else ""
    fragment = f"#{_encoded(parts.fragment, _IN_QUERY)}" if parts.fragment else ""
    return _encoded(parts.path, _IN_PATH) + query + fragment


def _encoded(text: str, safe: str) -> str:
    return quote(_STRAY_PERCENT.sub("%25", text), safe=safe)
