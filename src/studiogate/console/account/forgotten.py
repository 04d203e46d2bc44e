"""Ask for a mail with a link to set a new password. The answer does not tell whether there is such an account."""

from studiogate.console.account.sign_in import visit_of
from studiogate.console.framework.page import Audience, action, page
from studiogate.console.framework.refusals import shown, status_of
from studiogate.console.framework.request import ConsoleRequest
from studiogate.flows.staff import passwords
from studiogate.web.response import Answer

TEMPLATE = "account/forgotten.html"


@page("GET", "/forgotten", Audience.ANYBODY)
async def show(request: ConsoleRequest) -> Answer:
    return request.render(TEMPLATE, sends_mail=_sends_mail(request), asked=False)


@action("POST", "/forgotten", Audience.ANYBODY)
async def ask(request: ConsoleRequest) -> Answer:
    refusal = await passwords.request_reset(visit_of(request), request.form.get("email", ""))
    sends = _sends_mail(request)
    if refusal is not None:
        status, why = status_of(refusal), shown(refusal, request.form)
        return request.render(TEMPLATE, status=status, sends_mail=sends, asked=False, refusal=why)
    return request.render(TEMPLATE, sends_mail=sends, asked=True)


def _sends_mail(request: ConsoleRequest) -> bool:
    return request.runtime.settings.smtp_url is not None
