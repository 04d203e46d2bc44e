"""The address that visitors are sent to after a form: validated, and encoded the way browsers would encode it.

Whatever a browser would read differently from this code is refused: it would send visitors somewhere else. The result
is ASCII and fits into a header and, by its origin, into a content security policy.
"""

import re
from ipaddress import AddressValueError, IPv4Address
from urllib.parse import SplitResult, quote, urlsplit

import idna

MAX_URL = 2000
MAX_HOST = 253

# Browsers drop tabs and line ends, read a backslash as a slash, and decode percent signs in hosts.
_UNFIT = re.compile(r'[\x00-\x20\x7f-\x9f"<>\\\ud800-\udfff]')
_PORT = re.compile(r"[1-9][0-9]{0,4}", re.ASCII)
_STRAY_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
# What RFC 3986 leaves unencoded in each part; "%" because what is encoded already stays as it is.
_IN_PATH = "%/:@!$&'()*+,;=~"
_IN_QUERY = _IN_PATH + "?"


def encoded_url(text: str) -> str | None:
    """Return an https URL with an IDNA-encoded host and everything else percent-encoded; None if it is not one."""
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
    """Return the origin of a URL that ``encoded_url`` has returned."""
    return f"https://{urlsplit(url).netloc}"


def _authority(netloc: str) -> str | None:
    """Return host and port; None where there is userinfo, an IPv6 literal or anything that is no host."""
    name, colon, port = netloc.partition(":")
    if colon and port and not (_PORT.fullmatch(port) and int(port) <= 65535):
        return None
    host = _host(name)
    return None if host is None else f"{host}:{port}" if port else host


def _host(name: str) -> str | None:
    if not name or len(name) > MAX_HOST or "%" in name:
        return None
    try:
        # UTS 46 is what browsers map hosts by; without "transitional", as they do today.
        host = idna.encode(name, uts46=True).decode("ascii")
    except idna.IDNAError:
        return None
    return host if _is_name_or_address(host) else None


def _is_name_or_address(host: str) -> bool:
    """Browsers read a host that ends in a number as an IPv4 address, in many notations: one is allowed."""
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
