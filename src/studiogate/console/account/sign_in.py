"""Sign in with email and password, and sign out."""

from studiogate.console.framework import (
    Audience,
    ConsoleRequest,
    Values,
    action,
    cookies,
    own_page,
    page,
    shown,
    status_of,
)
from studiogate.console.framework.checks import origin_of
from studiogate.console.framework.parse import as_id
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff.tokens import token_hash
from studiogate.flows.staff import passwords, sessions
from studiogate.flows.staff import sign_in as flow
from studiogate.flows.staff.sessions import Started, Visit
from studiogate.flows.staff.sign_in import Credentials
from studiogate.storage.console import read_mark
from studiogate.storage.db.pool import Record
from studiogate.web.response import Answer, Header

HOME = "/console/"


def visit_of(request: ConsoleRequest) -> Visit:
    origin = origin_of(request.http)._replace(device=token_hash(request.device))
    return Visit(request.database, request.runtime.sealer, origin)


def next_page(wanted: str | None) -> str:
    """Return where to go after signing in: a page of the console, never another site."""
    page = own_page(wanted)
    return HOME if not page or page.startswith(("/console/sign-", "/console/link/")) else page


def with_session(request: ConsoleRequest, started: Started, location: str) -> Answer:
    """Lead to a page with the cookie of a new session. The session that the browser had before, if any, is unused from
    now on: its token was never shown to anybody else."""
    answer = request.redirect(location)
    studio = cookies.studio(str(started.studio_id), secure=request.secure)
    return answer._replace(headers=(*answer.headers, *session_cookies(request, started.token), studio))


def session_cookies(request: ConsoleRequest, token: str) -> tuple[Header, Header]:
    secure = request.secure
    return cookies.session(token, secure=secure), cookies.device(request.device, secure=secure)


def refused_signed_out(request: ConsoleRequest, refusal: Refusal) -> Answer:
    """Say what happened on a page for anybody, also to a person who is signed in."""
    return request.render("error_signed_out.html", status=status_of(refusal), refusal=shown(refusal, {}))


async def mark_of(request: ConsoleRequest) -> Record | None:
    """Return the studio whose name and logo a page for anybody shows, if it is known."""
    async with request.database.connection() as connection:
        return await read_mark(connection, as_id(request.cookies.get(cookies.STUDIO)))


@page("/sign-in", Audience.ANYBODY)
async def show(request: ConsoleRequest) -> Answer:
    location = next_page(request.query.get("next"))
    if request.person is not None:
        return request.redirect(location)
    mark = await mark_of(request)
    return request.render("account/sign_in.html", next=location, email="", ask_code=False, mark=mark)


@action("/sign-in", Audience.ANYBODY)
async def sign_in(request: ConsoleRequest) -> Answer:
    form = request.form
    email, code = form.get("email", ""), form.get("code", "").strip() or None
    started = await flow.sign_in(visit_of(request), Credentials(email, form.get("password", ""), code))
    location = next_page(form.get("next"))
    if isinstance(started, Refusal):
        # The password has to be typed again with the code: a page that held it would be one that leaks it.
        asks = started.code is Code.SECOND_FACTOR_REQUIRED or code is not None
        values: Values = {"next": location, "email": email, "ask_code": asks, "refusal": shown(started, form)}
        mark = await mark_of(request)
        return request.render("account/sign_in.html", status=status_of(started), mark=mark, **values)
    return with_session(request, started, location)


@action("/sign-out", Audience.SIGNED_IN)
async def sign_out(request: ConsoleRequest) -> Answer:
    await sessions.sign_out(request.database, request.signed_in)
    answer = request.redirect("/console/sign-in")
    return answer._replace(headers=(*answer.headers, cookies.no_session(secure=request.secure)))


# Ask for a mail with a link to set a new password. The answer does not tell whether there is such an account.

FORGOTTEN = "account/forgotten.html"


@page("/forgotten", Audience.ANYBODY)
async def show_forgotten(request: ConsoleRequest) -> Answer:
    return request.render(FORGOTTEN, asked=False, mark=await mark_of(request))


@action("/forgotten", Audience.ANYBODY)
async def ask(request: ConsoleRequest) -> Answer:
    refusal = await passwords.request_reset(visit_of(request), request.form.get("email", ""))
    if refusal is None:
        return request.render(FORGOTTEN, asked=True, mark=await mark_of(request))
    values: Values = {"asked": False, "refusal": shown(refusal, request.form), "mark": await mark_of(request)}
    return request.render(FORGOTTEN, status=status_of(refusal), **values)
