"""The page of one's own account: password, second factor, sessions, studios."""

from contextlib import suppress

import segno
from markupsafe import Markup

from studiogate.console.account.sign_in import session_cookies, visit_of
from studiogate.console.framework import Audience, ConsoleRequest, action, cookies, own_page, page, shown, status_of
from studiogate.console.framework.parse import as_id
from studiogate.domain.refusals import Refusal
from studiogate.flows.staff import passwords, sessions
from studiogate.flows.staff import second_factor as flow
from studiogate.flows.staff.second_factor import Offered
from studiogate.storage import console as reads
from studiogate.storage.accounts import accounts
from studiogate.storage.accounts import sessions as stored_sessions
from studiogate.web.response import Answer

ACCOUNT = "/console/account"


@page("/account", Audience.SIGNED_IN)
async def show_account(request: ConsoleRequest, offered: Offered | None = None) -> Answer:
    """Show the account; ``offered`` is a second factor that has to be confirmed. It is shown once."""
    session = request.signed_in.session
    async with request.database.connection() as connection:
        account = await accounts.read(connection, session.account_id)
        open_sessions = await stored_sessions.list_sessions(connection, session.account_id)
        studios = await reads.own_studios(connection, session.account_id)
    if account is None:
        return request.not_found()
    code = None
    if offered is not None:
        with suppress(segno.DataOverflowError):  # the form may send back an address that is too long
            drawn = segno.make_qr(offered.uri, error="l", boost_error=False)
            # Numbers only.
            svg = drawn.svg_inline(border=4, light="#fff", svgclass="qr-code", lineclass=None, omitsize=True)
            code = Markup(svg)  # noqa: S704 # nosec B704
    return request.render(
        "account/account.html",
        account=account,
        sessions=open_sessions,
        own_session=session.id,
        studios=studios,
        studio_id=session.studio_id,
        offered=offered,
        code=code,
    )


@action("/account/password", Audience.SIGNED_IN)
async def change_password(request: ConsoleRequest) -> Answer:
    current, new = request.form.get("current_password") or None, request.form.get("password", "")
    token = await passwords.change_password(visit_of(request), request.signed_in, current, new)
    if isinstance(token, Refusal):
        return request.refused(token, ACCOUNT)
    request.renew_session(token)
    answer = request.redirect(ACCOUNT, toast="Your password is changed. Your other sessions have ended.")
    return answer._replace(headers=(*answer.headers, *session_cookies(request, token)))


@action("/account/sessions/{session_id}/end", Audience.SIGNED_IN)
async def end_session(request: ConsoleRequest) -> Answer:
    refusal = await sessions.end_session(request.database, request.signed_in, request.param_id("session_id"))
    if isinstance(refusal, Refusal):
        return request.refused(refusal, ACCOUNT)
    return request.redirect(ACCOUNT, toast="The session has ended.")


@action("/account/sessions/end-others", Audience.SIGNED_IN)
async def end_others(request: ConsoleRequest) -> Answer:
    ended = await sessions.end_other_sessions(request.database, request.signed_in)
    return request.redirect(ACCOUNT, toast=f"Sessions ended: {ended}.")


@action("/account/studio", Audience.SIGNED_IN)
async def choose_studio(request: ConsoleRequest) -> Answer:
    """Work in another studio of the account, in this session."""
    studio_id = as_id(request.form.get("studio_id", ""))
    if studio_id is None:
        return request.not_found()
    refusal = await sessions.choose_studio(request.database, request.signed_in, studio_id)
    return request.redirect("/console/") if refusal is None else request.refused(refusal, ACCOUNT)


@action("/account/second-factor", Audience.SIGNED_IN)
async def set_up_second_factor(request: ConsoleRequest) -> Answer:
    """Offer a second factor. The page with the secret is the answer itself: nothing else ever shows it."""
    offered = await flow.set_up(visit_of(request), request.signed_in)
    if isinstance(offered, Refusal):
        return request.refused(offered, ACCOUNT)
    return await show_account(request, offered)


@action("/account/second-factor/confirm", Audience.SIGNED_IN)
async def confirm_second_factor(request: ConsoleRequest) -> Answer:
    refusal = await flow.confirm(visit_of(request), request.signed_in, request.form.get("code", ""))
    if refusal is None:
        return request.redirect(ACCOUNT, toast="From now on, signing in asks for a code of your app.")
    # The secret stays on the page, so that the code can be typed again.
    form = request.form
    request.refusal = shown(refusal, form)
    answer = await show_account(request, Offered(form.get("secret", ""), form.get("uri", "")))
    return answer._replace(status=status_of(refusal))


@action("/account/second-factor/remove", Audience.SIGNED_IN)
async def remove_second_factor(request: ConsoleRequest) -> Answer:
    refusal = await flow.remove(visit_of(request), request.signed_in)
    if refusal is not None:
        return request.refused(refusal, ACCOUNT)
    return request.redirect(ACCOUNT, toast="The second factor is removed.")


@action("/theme", Audience.SIGNED_IN)
async def choose_theme(request: ConsoleRequest) -> Answer:
    chosen = request.form.get("theme", "")
    answer = request.redirect(own_page(request.form.get("back")) or "/console/")
    if chosen not in ("light", "dark", "auto"):
        return answer
    theme = cookies.remembered(cookies.THEME, chosen, secure=request.secure)
    return answer._replace(headers=(*answer.headers, theme))
