"""The checks before a page's function runs: session, permission, rate limit, and the form's origin and tokens."""

import re
from dataclasses import replace
from urllib.parse import quote

from studiogate.console.framework import cookies, csrf, posted
from studiogate.console.framework.page import Audience, Route
from studiogate.console.framework.posted import Posted
from studiogate.console.framework.request import Person
from studiogate.domain.access import Access
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import FormToken
from studiogate.domain.staff.sessions import Origin
from studiogate.flows.staff import sessions
from studiogate.flows.staff.sessions import SignedIn
from studiogate.runtime import Runtime
from studiogate.storage.console import read_frame
from studiogate.web.limits import Limit
from studiogate.web.request import Request

REQUESTS = Limit("console", 20.0, 200)  # per session: many times what a person does, far below what harms others
VISITS = Limit("console-visits", 2.0, 60)  # per address, for pages without a session
_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,64}")
EXPIRED_PAGE = Refusal(Code.INVALID_HTTP, {"problem": "the form was not sent by a page of this session"})


def origin_of(request: Request) -> Origin:
    return Origin(request.address, request.headers.get(b"user-agent", b"").decode("latin-1"))


def is_secure(runtime: Runtime) -> bool:
    """Return whether browsers reach the service over HTTPS."""
    return (runtime.settings.public_url or "").startswith("https:")


async def person_of(runtime: Runtime, request: Request) -> Person | None:
    """Return who the session's cookie belongs to, or None if nobody is signed in."""
    name = cookies.session_name(secure=is_secure(runtime))
    token = cookies.read(request.headers.get(b"cookie", b"")).get(name)
    return await person_of_token(runtime, request, token) if token else None


async def person_of_token(runtime: Runtime, request: Request, token: str) -> Person | None:
    """Return who has the session with this token."""
    signed_in = await sessions.resolve(runtime.database, token, origin_of(request))
    if isinstance(signed_in, Refusal):
        return None
    async with runtime.database.connection() as connection:
        frame = await read_frame(connection, signed_in.access, signed_in.session.account_id)
    return None if frame is None else Person(signed_in, signed_in.access, frame)


def permission_refusal(route: Route, person: Person | None) -> Refusal | None:
    """Return why the person may not open a page: their session has ended, or their role does not permit it. A page of
    a dangerous permission is shown; its action asks for the password again."""
    if route.needs is Audience.ANYBODY:
        return None
    if person is None:
        return Refusal(Code.SESSION_ENDED)
    if isinstance(route.needs, Audience):
        return None
    refusal = person.access.refusal_without_permission(route.needs)
    if refusal is not None and refusal.code is Code.PASSWORD_REQUIRED and route.method == "GET":
        return None
    return refusal


async def read_form(runtime: Runtime, request: Request, *, with_file: bool) -> Posted | Refusal:
    """Read a form that one of our own pages sent."""
    if not csrf.is_same_origin(request, runtime.settings.public_url):
        return EXPIRED_PAGE
    return await posted.read(request, with_file=with_file)


def form_refusal(form: Posted, signed_in: SignedIn) -> Refusal | None:
    """Return why a form does not count: it lacks the session's CSRF token or its own token."""
    first = form.first
    is_own = csrf.is_own_form(signed_in, first.get(posted.CSRF, ""))
    return None if is_own and _TOKEN.fullmatch(first.get(posted.TOKEN, "")) else EXPIRED_PAGE


def with_form(access: Access, form: Posted) -> Access:
    """Return the access with the form's token, which the first flow claims."""
    if access.staff is None:
        return access
    token = FormToken(form.first[posted.TOKEN])
    return replace(access, staff=replace(access.staff, form=token))


def sign_in_location(request: Request) -> str:
    """Return the page to sign in, with the page to return to."""
    wanted = request.path + (f"?{request.query_text}" if request.query_text else "")
    return "/console/sign-in" + ("" if wanted in ("/console", "/console/") else f"?next={quote(wanted, safe='')}")
