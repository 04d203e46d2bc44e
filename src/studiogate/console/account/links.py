"""One-time links: an invitation, a new password, a sign-in. Opening the page uses nothing up: mail scanners open links
too."""

from studiogate.console.account.sign_in import HOME, visit_of, with_session
from studiogate.console.framework.page import Audience, action, page
from studiogate.console.framework.refusals import shown, status_of
from studiogate.console.framework.request import ORIGIN_ONLY, ConsoleRequest
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff.tokens import Purpose
from studiogate.flows.staff import passwords
from studiogate.flows.staff import sign_in as flow
from studiogate.flows.staff.passwords import Acceptance
from studiogate.flows.staff.visits import Started, open_link
from studiogate.storage.accounts.links import StoredLink
from studiogate.web.response import Answer

TEMPLATES = {
    Purpose.INVITATION: "account/invitation.html",
    Purpose.RESET: "account/new_password.html",
    Purpose.SIGN_IN: "account/link.html",
}


@page("GET", "/link/{token}", Audience.ANYBODY)
async def show(request: ConsoleRequest) -> Answer:
    link = await _link(request)
    return _expired(request, link) if isinstance(link, Refusal) else _page(request, link)


@action("POST", "/link/{token}", Audience.ANYBODY)
async def use(request: ConsoleRequest) -> Answer:
    link = await _link(request)
    if isinstance(link, Refusal):
        return _expired(request, link)
    outcome = await _use(request, link)
    if isinstance(outcome, Started):
        return with_session(request, outcome, HOME)
    if outcome is None:
        return request.redirect("/console/sign-in?reset=done")
    if outcome.code is Code.LINK_EXPIRED:
        return _expired(request, outcome)
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


async def _link(request: ConsoleRequest) -> StoredLink | Refusal:
    async with request.database.connection() as connection:
        return await open_link(connection, request.params["token"], *Purpose)


def _page(request: ConsoleRequest, link: StoredLink, *, status: int = 200, **values: object) -> Answer:
    answer = request.render(TEMPLATES[link.purpose], status=status, **{"ask_code": False, **values})
    # The address contains the secret: it must not be sent to other sites as the referrer.
    return answer._replace(headers=(*answer.headers, ORIGIN_ONLY))


def _expired(request: ConsoleRequest, refusal: Refusal) -> Answer:
    return request.render("error_signed_out.html", status=status_of(refusal), refusal=shown(refusal, {}))
