"""Whether a form was sent by the console's own pages.

Three independent checks: the browser's Origin header names this site, the form carries the session's CSRF token, and
the session's cookie is not sent with other sites' forms (SameSite). The token also belongs to the studio in which the
session works. Pages are compressed and repeat what somebody typed, so the token is masked anew in every page: what is
constant could be guessed from the compressed size.

After a dot follows who the page was made for: a hash of the account and the studio. It is no secret and proves nothing;
it tells whose form it is that had to wait until somebody signed in again.
"""

import base64
import binascii
import hashlib
import secrets
from urllib.parse import urlsplit

from studiogate.flows.staff.sessions import SignedIn
from studiogate.web.request import Request

_BYTES = 32


def masked_token(signed_in: SignedIn) -> str:
    """Return the CSRF token of a session, hidden by a random mask, and whose session it is."""
    token = base64.urlsafe_b64decode(signed_in.csrf_token + "=")
    mask = secrets.token_bytes(_BYTES)
    masked = base64.urlsafe_b64encode(mask + _xor(mask, token)).decode().rstrip("=")
    return f"{masked}.{_owner(signed_in)}"


def owner_of(presented: str) -> str:
    return presented.rpartition(".")[2]


def is_owner(signed_in: SignedIn, owner: str) -> bool:
    """Return whether a form was made for this person in this studio, in whichever session."""
    return owner == _owner(signed_in)


def _owner(signed_in: SignedIn) -> str:
    session = signed_in.session
    hashed = hashlib.sha256(session.account_id.bytes + session.studio_id.bytes).digest()
    return base64.urlsafe_b64encode(hashed[:9]).decode()


def is_own_form(signed_in: SignedIn, presented: str) -> bool:
    masked = presented.partition(".")[0]
    try:
        text = base64.urlsafe_b64decode(masked + "=" * (-len(masked) % 4))
    except (binascii.Error, ValueError):
        return False
    if len(text) != 2 * _BYTES:
        return False
    token = _xor(text[:_BYTES], text[_BYTES:])
    return signed_in.sent(base64.urlsafe_b64encode(token).decode().rstrip("="))


def is_same_origin(request: Request, public_url: str | None) -> bool:
    """Return whether the browser says that one of our own pages sent the request."""
    site = request.headers.get(b"sec-fetch-site")
    if site is not None and site != b"same-origin":
        return False
    origin = urlsplit(request.headers.get(b"origin", b"").decode("latin-1"))
    own = {request.headers.get(b"host", b"").decode("latin-1").lower()}
    if public_url is not None:
        own.add(urlsplit(public_url).netloc.lower())
    return origin.scheme in ("http", "https") and origin.netloc.lower() in own


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))
