"""The console's cookies: the session, the device, a message for the next page, the chosen colour scheme; and whether a
form was sent by the console's own pages.

The session's cookie is for the console's paths only, invisible to scripts, and not sent by other sites' forms. Over
HTTPS its name has the prefix with which browsers refuse it from insecure pages.

Three independent checks of a form: the browser's Origin header names this site, the form carries the session's CSRF
token, and the session's cookie is not sent with other sites' forms (SameSite). The token also belongs to the studio
in which the session works. Pages are compressed and repeat what somebody typed, so the token is masked anew in every
page: what is constant could be guessed from the compressed size.

After a dot follows who the page was made for: a hash of the account and the studio. It is no secret and proves
nothing; it tells whose form it is that had to wait until somebody signed in again."""

import base64
import binascii
import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from urllib.parse import urlsplit

from studiogate.domain.staff.sign_in import LIFE
from studiogate.flows.staff.sessions import SignedIn
from studiogate.web.request import Request
from studiogate.web.response import Header

PATH = "/console"
TOAST = "studiogate_toast"
THEME = "studiogate_theme"
STUDIO = "studiogate_studio"  # that somebody signed in to last: its name and logo are shown where they sign in again
STEPS = "studiogate_steps"  # which first steps of a studio somebody has skipped
PLACE = "studiogate_place"  # the location that pages were last opened for: what is sold next is sold there
TOAST_SECONDS = 60
LONG_SECONDS = 400 * 24 * 3600  # as long as browsers keep a cookie
MAX_HEADER = 8_192


def session_name(*, secure: bool) -> str:
    return "__Secure-studiogate" if secure else "studiogate"


def device_name(*, secure: bool) -> str:
    return session_name(secure=secure) + "-device"


def read(header: bytes) -> dict[str, str]:
    """Return the cookies of a request by name; of two with the same name, the first, which is the more specific."""
    cookies: dict[str, str] = {}
    for part in header[:MAX_HEADER].decode("latin-1").split(";"):
        name, _, value = part.strip().partition("=")
        cookies.setdefault(name, value)
    return cookies


def session(token: str, *, secure: bool) -> Header:
    return _set(session_name(secure=secure), token, int(LIFE.total_seconds()), secure=secure)


def no_session(*, secure: bool) -> Header:
    return _set(session_name(secure=secure), "", 0, secure=secure)


def remembered(name: str, value: str, *, secure: bool) -> Header:
    return _set(name, value, LONG_SECONDS, secure=secure)


def device(token: str, *, secure: bool) -> Header:
    """Mark a browser on which somebody has signed in: failures of others do not lock it out."""
    return remembered(device_name(secure=secure), token, secure=secure)


def toast(key: str, message: Mapping[str, object], *, secure: bool) -> Header:
    """Set a message that the next page shows. It is signed with the session's token: nobody else can place one."""
    content = base64.urlsafe_b64encode(json.dumps(message).encode()).decode().rstrip("=")
    return _set(TOAST, f"{content}.{_signature(key, content)}", TOAST_SECONDS, secure=secure)


def no_toast(*, secure: bool) -> Header:
    return _set(TOAST, "", 0, secure=secure)


def read_toast(key: str, value: str) -> dict[str, object] | None:
    """Return the message of a cookie, or None if there is none or this session did not sign it."""
    content, _, signature = value.partition(".")
    if not content or not hmac.compare_digest(_signature(key, content).encode(), signature.encode(errors="replace")):
        return None
    try:
        message = json.loads(base64.urlsafe_b64decode(content + "=" * (-len(content) % 4)))
    except (binascii.Error, ValueError):
        return None
    return message if isinstance(message, dict) else None


def _signature(key: str, content: str) -> str:
    return hmac.new(key.encode(), b"studiogate toast " + content.encode(errors="replace"), "sha256").hexdigest()


def _set(name: str, value: str, seconds: int, *, secure: bool) -> Header:
    attributes = f"Path={PATH}; Max-Age={seconds}; HttpOnly; SameSite=Lax" + ("; Secure" if secure else "")
    return b"set-cookie", f"{name}={value}; {attributes}".encode("ascii")


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
