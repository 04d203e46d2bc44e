"""One-time links: an invitation, a new password, a sign-in. Opening the page uses nothing up: mail scanners open links
too."""

from typing import Any

from studiogate.console.account.sign_in import HOME, refused_signed_out, visit_of, with_session
from studiogate.console.framework import ORIGIN_ONLY, Audience, ConsoleRequest, about, action, page, shown, status_of
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff.tokens import Purpose
from studiogate.flows.staff import passwords
from studiogate.flows.staff import sign_in as flow
from studiogate.flows.staff.passwords import Acceptance
from studiogate.flows.staff.sessions import Started, open_link
from studiogate.storage.accounts.links import StoredLink
from studiogate.web.response import Answer

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
async def show(request: ConsoleRequest, link: StoredLink) -> Answer:
    return _page(request, link)


@action("/link/{token}", Audience.ANYBODY)
@about(_link)
async def use(request: ConsoleRequest, link: StoredLink) -> Answer:
    outcome = await _use(request, link)
    if isinstance(outcome, Started):
        return with_session(request, outcome, HOME)
    if outcome is None:
        return request.redirect("/console/sign-in?reset=done")
    if outcome.code is Code.LINK_EXPIRED:
        return refused_signed_out(request, outcome)
    asks = outcome.code in (Code.SECOND_FACTOR_REQUIRED, Code.SIGN_IN_FAILED)
    request.typed = request.form
    return _page(request, link, status=status_of(outcome), ask_code=asks, refusal=shown(outcome, request.form))


async def _use(request: ConsoleRequest, link: StoredLink) -> Started | Refusal | None:
    visit, token, form = visit_of(request), request.params["token"], request.form
    if link.purpose is Purpose.INVITATION:
        given = Acceptance(form.get("name", ""), form.get("password", ""))
        return await passwords.accept_invitation(visit, token, given)
    if link.purpose is Purpose.RESET:
        return await passwords.reset_password(visit, token, form.get("password", ""))
    return await flow.sign_in_by_link(visit, token, form.get("code", "").strip() or None)


def _page(request: ConsoleRequest, link: StoredLink, *, status: int = 200, **values: Any) -> Answer:
    answer = request.render(TEMPLATES[link.purpose], status=status, **{"ask_code": False, **values})
    # The address contains the secret: it must not be sent to other sites as the referrer.
    return answer._replace(headers=(*answer.headers, ORIGIN_ONLY))
