"""The page of one's own account: password, second factor, sessions, studios."""

import segno
from markupsafe import Markup

from studiogate.console.account.sign_in import session_cookies, visit_of
from studiogate.console.framework import cookies
from studiogate.console.framework.page import Audience, action, page
from studiogate.console.framework.parse import as_id
from studiogate.console.framework.refusals import shown, status_of
from studiogate.console.framework.request import ConsoleRequest, is_own_path
from studiogate.domain.refusals import Refusal
from studiogate.flows.staff import passwords, sessions
from studiogate.flows.staff import second_factor as flow
from studiogate.flows.staff.second_factor import Offered
from studiogate.storage import console as reads
from studiogate.storage.accounts import accounts
from studiogate.storage.accounts import sessions as stored_sessions
from studiogate.web.response import Answer

ACCOUNT = "/console/account"


@page("GET", "/account", Audience.SIGNED_IN)
async def show(request: ConsoleRequest) -> Answer:
    return await show_account(request)


async def show_account(request: ConsoleRequest, offered: Offered | None = None) -> Answer:
    """Show the account; ``offered`` is a second factor that has to be confirmed. It is shown once."""
    session = request.signed_in.session
    async with request.database.connection() as connection:
        account = await accounts.read(connection, session.account_id)
        open_sessions = await stored_sessions.list_sessions(connection, session.account_id)
        studios = await reads.own_studios(connection, session.account_id)
    if account is None:
        return request.not_found()
    return request.render(
        "account/account.html",
        account=account,
        sessions=open_sessions,
        own_session=session.id,
        studios=studios,
        studio_id=session.studio_id,
        offered=offered,
        code=None if offered is None else _drawn(offered.uri),
    )


def _drawn(uri: str) -> Markup | None:
    """Return the QR code of an address as SVG; None if the form sent back one that is too long."""
    try:
        code = segno.make_qr(uri, error="l", boost_error=False)
    except segno.DataOverflowError:
        return None
    # Numbers only.
    svg = code.svg_inline(border=4, light="#fff", svgclass="qr-code", lineclass=None, omitsize=True)
    return Markup(svg)  # noqa: S704 # nosec B704


@action("POST", "/account/password", Audience.SIGNED_IN)
async def change_password(request: ConsoleRequest) -> Answer:
    form = request.form
    current = form.get("current_password") or None
    new = form.get("password", "")
    token = await passwords.change_password(visit_of(request), request.signed_in, current, new)
    if isinstance(token, Refusal):
        return request.refused(token, ACCOUNT)
    request.renew_session(token)
    answer = request.redirect(ACCOUNT, toast="Your password is changed. Your other sessions have ended.")
    return answer._replace(headers=(*answer.headers, *session_cookies(request, token)))


@action("POST", "/account/sessions/{session_id}/end", Audience.SIGNED_IN)
async def end_session(request: ConsoleRequest) -> Answer:
    session_id = request.param_id("session_id")
    if session_id is None:
        return request.not_found()
    refusal = await sessions.end_session(request.database, request.signed_in, session_id)
    if isinstance(refusal, Refusal):
        return request.refused(refusal, ACCOUNT)
    return request.redirect(ACCOUNT, toast="The session has ended.")


@action("POST", "/account/sessions/end-others", Audience.SIGNED_IN)
async def end_others(request: ConsoleRequest) -> Answer:
    ended = await sessions.end_other_sessions(request.database, request.signed_in)
    return request.redirect(ACCOUNT, toast=f"Sessions ended: {ended}.")


@action("POST", "/account/studio", Audience.SIGNED_IN)
async def choose_studio(request: ConsoleRequest) -> Answer:
    """Work in another studio of the account, in this session."""
    studio_id = as_id(request.form.get("studio_id", ""))
    if studio_id is None:
        return request.not_found()
    refusal = await sessions.choose_studio(request.database, request.signed_in, studio_id)
    return request.redirect("/console/") if refusal is None else request.refused(refusal, ACCOUNT)


# Set up, confirm and remove the second factor of one's own account.


@action("POST", "/account/second-factor", Audience.SIGNED_IN)
async def set_up_second_factor(request: ConsoleRequest) -> Answer:
    """Offer a second factor. The page with the secret is the answer itself: nothing else ever shows it."""
    offered = await flow.set_up(visit_of(request), request.signed_in)
    if isinstance(offered, Refusal):
        return request.refused(offered, ACCOUNT)
    return await show_account(request, offered)


@action("POST", "/account/second-factor/confirm", Audience.SIGNED_IN)
async def confirm_second_factor(request: ConsoleRequest) -> Answer:
    refusal = await flow.confirm(visit_of(request), request.signed_in, request.form.get("code", ""))
    if refusal is None:
        return request.redirect(ACCOUNT, toast="From now on, signing in asks for a code of your app.")
    # The secret stays on the page, so that the code can be typed again.
    form = request.form
    request.refusal = shown(refusal, form)
    answer = await show_account(request, Offered(form.get("secret", ""), form.get("uri", "")))
    return answer._replace(status=status_of(refusal))


@action("POST", "/account/second-factor/remove", Audience.SIGNED_IN)
async def remove_second_factor(request: ConsoleRequest) -> Answer:
    refusal = await flow.remove(visit_of(request), request.signed_in)
    if refusal is not None:
        return request.refused(refusal, ACCOUNT)
    return request.redirect(ACCOUNT, toast="The second factor is removed.")


# Choose light or dark colours, or those of the device.

THEMES = ("light", "dark", "auto")


@action("POST", "/theme", Audience.SIGNED_IN)
async def choose_theme(request: ConsoleRequest) -> Answer:
    chosen, back = request.form.get("theme", ""), request.form.get("back", "")
    answer = request.redirect(back if is_own_path(back) else "/console/")
    if chosen not in THEMES:
        return answer
    return answer._replace(headers=(*answer.headers, cookies.theme(chosen, secure=request.secure)))
