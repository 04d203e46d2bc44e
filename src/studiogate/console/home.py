"""The console's own address leads to the first page that the person's role permits."""

from studiogate.console.framework.page import Audience, page
from studiogate.console.framework.request import ConsoleRequest
from studiogate.web.response import Answer


@page("GET", "/", Audience.SIGNED_IN)
async def home(request: ConsoleRequest) -> Answer:
    for entry in request.navigation:
        if entry.is_for(request.may):
            return request.redirect(entry.href)
    return request.render("home.html")
