"""Sign in with email and password, and sign out. Sign in again, or type the password again, and send the form that had
to wait. One-time links: an invitation, a new password, a sign-in."""

import json
from typing import Any

from studiogate.console.framework import Audience, ConsoleRequest, Values, about, action, cookies, page, refusals
from studiogate.console.framework.checks import origin_of, person_of_token
from studiogate.console.framework.parse import as_id
from studiogate.console.framework.refusals import shown, status_of
from studiogate.console.framework.request import ORIGIN_ONLY, is_own_path, own_page
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff.tokens import Purpose, token_hash
from studiogate.flows.staff import passwords, sessions
from studiogate.flows.staff import sign_in as flow
from studiogate.flows.staff.passwords import Acceptance
from studiogate.flows.staff.sessions import Started, Visit, open_link
from studiogate.flows.staff.sign_in import Credentials
from studiogate.storage.accounts.links import StoredLink
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
    studio = cookies.remembered(cookies.STUDIO, str(started.studio_id), secure=request.secure)
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
    why, mark = shown(refusal, request.form), await mark_of(request)
    return request.render(FORGOTTEN, status=status_of(refusal), asked=False, refusal=why, mark=mark)


OTHER_OWNER = "You are signed in. The waiting form was typed by somebody else or for another studio: it was not sent."


@action("/resume", Audience.ANYBODY)
async def sign_in_again(request: ConsoleRequest) -> Answer:
    """Start a new session in the same page, then send the kept form with it."""
    form = request.form
    code = form.get("code", "").strip() or None
    given = Credentials(form.get("email", ""), form.get("password", ""), code)
    started = await flow.sign_in(visit_of(request), given)
    if isinstance(started, Refusal):
        asks = started.code is Code.SECOND_FACTOR_REQUIRED or code is not None
        return _ask(request, Code.SESSION_ENDED, started, ask_code=asks)
    request.person = await person_of_token(request.runtime, request.http, started.token)
    return _resume(request, *session_cookies(request, started.token))


@action("/confirm", Audience.SIGNED_IN)
async def confirm_password(request: ConsoleRequest) -> Answer:
    """Check the password again, then send the kept form."""
    refusal = await flow.confirm_password(visit_of(request), request.signed_in, request.form.get("password", ""))
    return _resume(request) if refusal is None else _ask(request, Code.PASSWORD_REQUIRED, refusal)


def _ask(request: ConsoleRequest, cause: Code, refusal: Refusal, *, ask_code: bool = False) -> Answer:
    """Ask once more, with the form that is kept."""
    form = request.form
    values: dict[str, Any] = {
        "refusal": shown(refusal, form),
        "kept": form.get("kept", "[]"),
        "target": form.get("target", ""),
        "owner": form.get("owner", ""),
        "email": form.get("email", ""),
        "ask_code": ask_code,
    }
    page, dialog = refusals.QUESTIONS[cause]
    return request.render(page, part=dialog, status=status_of(refusal), **values)


def _resume(request: ConsoleRequest, *headers: Header) -> Answer:
    """Return the page that sends the kept form. With htmx, the form itself is still there: the script gives it the new
    CSRF token and sends it. A form that somebody else typed is neither shown nor sent."""
    if not cookies.is_owner(request.signed_in, cookies.owner_of(request.form.get("owner", ""))):
        answer = request.go_to("/console/", toast=OTHER_OWNER)
        return answer._replace(headers=(*answer.headers, *headers))
    if request.is_fragment:
        event = json.dumps({"resumeForm": {"csrf": cookies.masked_token(request.signed_in)}}).encode()
        return Answer(204, b"", (*headers, (b"hx-trigger", event)))
    target, fields = request.form.get("target", ""), refusals.unpacked(request.form.get("kept", ""))
    if not is_own_path(target) or not fields:
        answer = request.redirect("/console/")
    else:
        answer = request.render("account/send_kept.html", target=target, fields=fields, question="")
    return answer._replace(headers=(*answer.headers, *headers))


# One-time links. Opening the page uses nothing up: mail scanners open links too.

TEMPLATES = {
    Purpose.INVITATION: "account/invitation.html",
    Purpose.RESET: "account/new_password.html",
    Purpose.SIGN_IN: "account/link.html",
}


async def _link(request: ConsoleRequest) -> StoredLink | Answer:
    async with request.database.connection() as connection:
        link = await open_link(connection, request.params["token"], *Purpose)
    return refused_signed_out(request, link) if isinstance(link, Refusal) else link


@page("/link/{token}", Audience.ANYBODY)
@about(_link)
async def show_link(request: ConsoleRequest, link: StoredLink) -> Answer:
    return _link_page(request, link)


@action("/link/{token}", Audience.ANYBODY)
@about(_link)
async def use_link(request: ConsoleRequest, link: StoredLink) -> Answer:
    outcome = await _use(request, link)
    if isinstance(outcome, Started):
        return with_session(request, outcome, HOME)
    if outcome is None:
        return request.redirect("/console/sign-in?reset=done")
    if outcome.code is Code.LINK_EXPIRED:
        return refused_signed_out(request, outcome)
    asks = outcome.code in (Code.SECOND_FACTOR_REQUIRED, Code.SIGN_IN_FAILED)
    request.typed = request.form
    return _link_page(request, link, status=status_of(outcome), ask_code=asks, refusal=shown(outcome, request.form))


async def _use(request: ConsoleRequest, link: StoredLink) -> Started | Refusal | None:
    visit, token, form = visit_of(request), request.params["token"], request.form
    if link.purpose is Purpose.INVITATION:
        given = Acceptance(form.get("name", ""), form.get("password", ""))
        return await passwords.accept_invitation(visit, token, given)
    if link.purpose is Purpose.RESET:
        return await passwords.reset_password(visit, token, form.get("password", ""))
    return await flow.sign_in_by_link(visit, token, form.get("code", "").strip() or None)


def _link_page(request: ConsoleRequest, link: StoredLink, *, status: int = 200, **values: Any) -> Answer:
    answer = request.render(TEMPLATES[link.purpose], status=status, **{"ask_code": False, **values})
    # The address contains the secret: it must not be sent to other sites as the referrer.
    return answer._replace(headers=(*answer.headers, ORIGIN_ONLY))
