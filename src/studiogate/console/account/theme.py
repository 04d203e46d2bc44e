"""Choose light or dark colours, or those of the device."""

from studiogate.console.framework import cookies
from studiogate.console.framework.page import Audience, action
from studiogate.console.framework.request import ConsoleRequest, is_own_path
from studiogate.web.response import Answer

THEMES = ("light", "dark", "auto")


@action("POST", "/theme", Audience.SIGNED_IN)
async def choose(request: ConsoleRequest) -> Answer:
    chosen, back = request.form.get("theme", ""), request.form.get("back", "")
    answer = request.redirect(back if is_own_path(back) else "/console/")
    if chosen not in THEMES:
        return answer
    return answer._replace(headers=(*answer.headers, cookies.theme(chosen, secure=request.secure)))
