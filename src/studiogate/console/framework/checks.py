"""The checks before a page's function runs: session, permission, rate limit, and the form's origin and tokens."""

import re
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import quote

from studiogate.console.framework import cookies, posted
from studiogate.console.framework.page import Audience, Route
from studiogate.console.framework.posted import Posted
from studiogate.console.framework.request import Person
from studiogate.domain.access import Access
from studiogate.domain.addresses import owner_of
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import FormToken
from studiogate.domain.staff.sign_in import IDLE, Origin
from studiogate.domain.staff.tokens import token_hash
from studiogate.flows.staff import sessions
from studiogate.flows.staff.sessions import SignedIn
from studiogate.runtime import Runtime
from studiogate.storage.console import read_frame
from studiogate.storage.db.statement import new_id
from studiogate.web.limits import Limit, RateVerdict
from studiogate.web.rate_limits import RateLimits
from studiogate.web.request import Request

REQUESTS = Limit("console", 20.0, 200)  # per session: many times what a person does, far below what harms others
VISITS = Limit("console-visits", 2.0, 60)  # per address, for pages without a session
# What became of a cookie, kept where the limits are: for all processes of the machine, with nothing but its hash. Each
# is a bucket for one: it is taken while the memory lasts.
OPENED = Limit("console-opened", 1 / IDLE.total_seconds(), 1)  # it was that of an open session
FAILED = Limit("console-failed", 1 / 5.0, 1)  # it was not: for 5 s, nothing asks the database again
_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,64}")
EXPIRED_PAGE = Refusal(Code.INVALID_HTTP, {"problem": "the form was not sent by a page of this session"})


def origin_of(request: Request) -> Origin:
    return Origin(request.address, request.headers.get(b"user-agent", b"").decode("latin-1"))


def is_secure(runtime: Runtime) -> bool:
    """Return whether browsers reach the service over HTTPS."""
    return (runtime.settings.public_url or "").startswith("https:")


class Admitted(NamedTuple):
    """Who asks, if anybody is signed in, and the limit that refuses the request, if one does."""

    person: Person | None
    refusal: RateVerdict | None


async def admit(runtime: Runtime, request: Request, limits: RateLimits) -> Admitted:
    """Count a request, and return who the session's cookie belongs to.

    An unknown cookie is counted for its address before the database is asked. One that has opened a session lately is
    counted for its session only: what strangers do at the same address does not lock it out.
    """
    name = cookies.session_name(secure=is_secure(runtime))
    token = cookies.read(request.headers.get(b"cookie", b"")).get(name, "")
    hashed, is_limited = token_hash(token), runtime.settings.rate_limit > 0
    memory = "" if hashed is None else hashed.hex()
    visits, has_opened = f"visits:{owner_of(request.address)}", await _is_taken(limits, f"opened:{memory}", OPENED)
    verdict = await limits.take(visits, VISITS) if is_limited and not has_opened else None
    if verdict is not None and not verdict.allowed:
        return Admitted(None, verdict)
    person = None
    if memory and not await _is_taken(limits, f"failed:{memory}", FAILED):
        person = await person_of_token(runtime, request, token)
        await limits.take(*((f"opened:{memory}", OPENED) if person else (f"failed:{memory}", FAILED)))
    if is_limited and person is not None:
        verdict = await limits.take(f"console:{person.signed_in.session.id}", REQUESTS)
    elif is_limited and has_opened:
        verdict = await limits.take(visits, VISITS)
    return Admitted(person, verdict if verdict is not None and not verdict.allowed else None)


async def _is_taken(limits: RateLimits, key: str, limit: Limit) -> bool:
    return not (await limits.take(key, limit, cost=0)).allowed


async def person_of_token(runtime: Runtime, request: Request, token: str) -> Person | None:
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


async def read_form(runtime: Runtime, request: Request, person: Person | None, route: Route) -> Posted | Refusal:
    """Read a form that one of our own pages sent; as much as the longest form only of somebody who is signed in, and a
    file only for the action that takes one. A form that waits for somebody to sign in again has values as long as
    theirs."""
    if not cookies.is_same_origin(request, runtime.settings.public_url):
        return EXPIRED_PAGE
    body = posted.MAX_ANONYMOUS_BODY if person is None else posted.MAX_BODY
    value = posted.MAX_ANONYMOUS_VALUE if route.needs is Audience.ANYBODY else posted.MAX_VALUE
    return await posted.read(request, body, value, route.max_file)


def form_refusal(form: Posted, signed_in: SignedIn) -> Refusal | None:
    """Return why a form does not count: it lacks the session's CSRF token or its own token."""
    first = form.first
    is_own = cookies.is_own_form(signed_in, first.get(posted.CSRF, ""))
    return None if is_own and _TOKEN.fullmatch(first.get(posted.TOKEN, "")) else EXPIRED_PAGE


def with_form(access: Access, form: Posted) -> Access:
    """Return the access with the form's token, which the request's flows claim."""
    if access.staff is None:
        return access
    token = FormToken(form.first[posted.TOKEN], new_id())
    return replace(access, staff=replace(access.staff, form=token))


def sign_in_location(request: Request) -> str:
    wanted = request.path + (f"?{request.query_text}" if request.query_text else "")
    return "/console/sign-in" + ("" if wanted in ("/console", "/console/") else f"?next={quote(wanted, safe='')}")
