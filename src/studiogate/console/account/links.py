"""One-time links that sign somebody in. Opening the page uses nothing up: mail scanners open links too."""

from studiogate.console.account.sign_in import HOME, visit_of, with_session
from studiogate.console.framework.page import Audience, action, page
from studiogate.console.framework.refusals import shown, status_of
from studiogate.console.framework.request import ConsoleRequest
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff.tokens import Purpose
from studiogate.flows.staff import sign_in as flow
from studiogate.flows.staff.visits import open_link
from studiogate.web.response import Answer


@page("GET", "/link/{token}", Audience.ANYBODY)
async def show(request: ConsoleRequest) -> Answer:
    async with request.database.connection() as connection:
        link = await open_link(connection, request.params["token"], *Purpose)
    if isinstance(link, Refusal):
        return request.render("error_signed_out.html", status=status_of(link), refusal=shown(link, {}))
    return request.render("account/link.html", ask_code=False)


@action("POST", "/link/{token}", Audience.ANYBODY)
async def use(request: ConsoleRequest) -> Answer:
    code = request.form.get("code", "").strip() or None
    started = await flow.sign_in_by_link(visit_of(request), request.params["token"], code)
    if isinstance(started, Refusal):
        if started.code is Code.LINK_EXPIRED:
            return request.render("error_signed_out.html", status=status_of(started), refusal=shown(started, {}))
        refusal = shown(started, request.form)
        return request.render("account/link.html", status=status_of(started), ask_code=True, refusal=refusal)
    return with_session(request, started, HOME)
