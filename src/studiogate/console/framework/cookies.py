"""The console's cookies: the session, the device, a message for the next page, the chosen colour scheme.

The session's cookie is for the console's paths only, invisible to scripts, and not sent by other sites' forms. Over
HTTPS its name has the prefix with which browsers refuse it from insecure pages.
"""

import base64
import binascii
import hmac
import json
from collections.abc import Mapping

from studiogate.domain.staff.sign_in import LIFE
from studiogate.web.response import Header

PATH = "/console"
TOAST = "studiogate_toast"
THEME = "studiogate_theme"
STUDIO = "studiogate_studio"
STEPS = "studiogate_steps"
PLACE = "studiogate_place"
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


def device(token: str, *, secure: bool) -> Header:
    """Mark a browser on which somebody has signed in: failures of others do not lock it out."""
    return _set(device_name(secure=secure), token, LONG_SECONDS, secure=secure)


def theme(value: str, *, secure: bool) -> Header:
    return _set(THEME, value, LONG_SECONDS, secure=secure)


def steps(skipped: str, *, secure: bool) -> Header:
    """Remember which first steps of a studio somebody has skipped."""
    return _set(STEPS, skipped, LONG_SECONDS, secure=secure)


def studio(studio_id: str, *, secure: bool) -> Header:
    """Remember the studio that somebody signed in to last: its name and logo are shown where they sign in again."""
    return _set(STUDIO, studio_id, LONG_SECONDS, secure=secure)


def place(location_id: str, *, secure: bool) -> Header:
    """Remember the location that pages were last opened for: what is sold next is sold there."""
    return _set(PLACE, location_id, LONG_SECONDS, secure=secure)


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
