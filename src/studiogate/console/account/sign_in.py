"""Sign in with email and password, and sign out."""

from studiogate.console.framework import cookies
from studiogate.console.framework.checks import origin_of
from studiogate.console.framework.page import Audience, action, page
from studiogate.console.framework.refusals import shown, status_of
from studiogate.console.framework.request import ConsoleRequest, is_own_path
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff.tokens import token_hash
from studiogate.flows.staff import passwords, sessions
from studiogate.flows.staff import sign_in as flow
from studiogate.flows.staff.sign_in import Credentials
from studiogate.flows.staff.visits import Started, Visit
from studiogate.web.response import Answer, Header

HOME = "/console/"


def visit_of(request: ConsoleRequest) -> Visit:
    origin = origin_of(request.http)._replace(device=token_hash(request.device))
    return Visit(request.database, request.runtime.sealer, origin)


def next_page(wanted: str | None) -> str:
    """Return where to go after signing in: a page of the console, never another site."""
    return wanted if wanted is not None and is_own_path(wanted) and not _signs_in(wanted) else HOME


def _signs_in(path: str) -> bool:
    return path.startswith(("/console/sign-", "/console/link/"))


def with_session(request: ConsoleRequest, started: Started, location: str) -> Answer:
    """Lead to a page with the cookie of a new session. The session that the browser had before, if any, is unused from
    now on: its token was never shown to anybody else."""
    answer = request.redirect(location)
    return answer._replace(headers=(*answer.headers, *session_cookies(request, started.token)))


def session_cookies(request: ConsoleRequest, token: str) -> tuple[Header, Header]:
    """Return the cookies of a session that was just started, and of its device."""
    secure = request.secure
    return cookies.session(token, secure=secure), cookies.device(request.device, secure=secure)


@page("GET", "/sign-in", Audience.ANYBODY)
async def show(request: ConsoleRequest) -> Answer:
    if request.person is not None:
        return request.redirect(next_page(request.query.get("next")))
    return request.render("account/sign_in.html", next=next_page(request.query.get("next")), email="", ask_code=False)


@action("POST", "/sign-in", Audience.ANYBODY)
async def sign_in(request: ConsoleRequest) -> Answer:
    form = request.form
    email, code = form.get("email", ""), form.get("code", "").strip() or None
    started = await flow.sign_in(visit_of(request), Credentials(email, form.get("password", ""), code))
    location = next_page(form.get("next"))
    if isinstance(started, Refusal):
        # The password has to be typed again with the code: a page that held it would be one that leaks it.
        asks = started.code is Code.SECOND_FACTOR_REQUIRED or code is not None
        refusal = shown(started, form)
        return request.render(
            "account/sign_in.html",
            status=status_of(started),
            next=location,
            email=email,
            ask_code=asks,
            refusal=refusal,
        )
    return with_session(request, started, location)


@action("POST", "/sign-out", Audience.SIGNED_IN)
async def sign_out(request: ConsoleRequest) -> Answer:
    await sessions.sign_out(request.database, request.signed_in)
    answer = request.redirect("/console/sign-in")
    return answer._replace(headers=(*answer.headers, cookies.no_session(secure=request.secure)))


# Ask for a mail with a link to set a new password. The answer does not tell whether there is such an account.

FORGOTTEN = "account/forgotten.html"


@page("GET", "/forgotten", Audience.ANYBODY)
async def show_forgotten(request: ConsoleRequest) -> Answer:
    return request.render(FORGOTTEN, sends_mail=_sends_mail(request), asked=False)


@action("POST", "/forgotten", Audience.ANYBODY)
async def ask(request: ConsoleRequest) -> Answer:
    refusal = await passwords.request_reset(visit_of(request), request.form.get("email", ""))
    sends = _sends_mail(request)
    if refusal is not None:
        status, why = status_of(refusal), shown(refusal, request.form)
        return request.render(FORGOTTEN, status=status, sends_mail=sends, asked=False, refusal=why)
    return request.render(FORGOTTEN, sends_mail=sends, asked=True)


def _sends_mail(request: ConsoleRequest) -> bool:
    return request.runtime.settings.smtp_url is not None
