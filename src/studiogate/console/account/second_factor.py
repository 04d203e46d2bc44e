"""Set up, confirm and remove the second factor of one's own account."""

from studiogate.console.account.profile import ACCOUNT, show_account
from studiogate.console.account.sign_in import visit_of
from studiogate.console.framework.page import Audience, action
from studiogate.console.framework.refusals import shown, status_of
from studiogate.console.framework.request import ConsoleRequest
from studiogate.domain.refusals import Refusal
from studiogate.flows.staff import second_factor as flow
from studiogate.flows.staff.second_factor import Offered
from studiogate.web.response import Answer


@action("POST", "/account/second-factor", Audience.SIGNED_IN)
async def set_up(request: ConsoleRequest) -> Answer:
    """Offer a second factor. The page with the secret is the answer itself: nothing else ever shows it."""
    offered = await flow.set_up(visit_of(request), request.signed_in)
    if isinstance(offered, Refusal):
        return request.refused(offered, ACCOUNT)
    return await show_account(request, offered)


@action("POST", "/account/second-factor/confirm", Audience.SIGNED_IN)
async def confirm(request: ConsoleRequest) -> Answer:
    refusal = await flow.confirm(visit_of(request), request.signed_in, request.form.get("code", ""))
    if refusal is None:
        return request.redirect(ACCOUNT, toast="From now on, signing in asks for a code of your app.")
    # The secret stays on the page, so that the code can be typed again.
    form = request.form
    request.refusal = shown(refusal, form)
    answer = await show_account(request, Offered(form.get("secret", ""), form.get("uri", "")))
    return answer._replace(status=status_of(refusal))


@action("POST", "/account/second-factor/remove", Audience.SIGNED_IN)
async def remove(request: ConsoleRequest) -> Answer:
    refusal = await flow.remove(visit_of(request), request.signed_in)
    if refusal is not None:
        return request.refused(refusal, ACCOUNT)
    return request.redirect(ACCOUNT, toast="The second factor is removed.")
