"""The console's own address leads to the first page that the person's role permits; an empty studio's to its first
steps."""

from studiogate.console.framework.page import Audience, page
from studiogate.console.framework.request import ConsoleRequest
from studiogate.domain.staff import Permission
from studiogate.storage.console import count_first_rows
from studiogate.web.response import Answer


@page("GET", "/", Audience.SIGNED_IN)
async def home(request: ConsoleRequest) -> Answer:
    if request.may(Permission.STUDIO) and await _is_empty(request):
        return request.redirect("/console/welcome")
    for entry in request.navigation:
        if entry.is_for(request.may):
            return request.redirect(entry.href)
    return request.render("home.html")


async def _is_empty(request: ConsoleRequest) -> bool:
    async with request.database.connection() as connection:
        rows = await count_first_rows(connection, request.access)
    return not rows.classes and not rows.members
