"""The first page of the settings: what each of its pages is for."""

from collections.abc import Mapping

from studiogate.console.framework import ConsoleRequest, page
from studiogate.domain.staff import Permission
from studiogate.web.response import Answer

ABOUT: Mapping[str, str] = {
    "/settings/studio": "Name, logo, colour, time zone and currency",
    "/settings/rules": "When members may book and cancel, what a late cancellation costs, how waitlists move",
    "/settings/mails": "Which mails members get, and what they say",
    "/settings/locations": "Addresses, rooms and their spots",
    "/settings/class-types": "What you teach, with pictures",
    "/settings/instructors": "Who teaches",
    "/settings/products": "Memberships, packs and passes with their prices",
    "/staff": "Colleagues, what each may do, their sessions and new passwords",
    "/audit": "Who changed what, and when",
    "/partners/keys": "Access for partners and apps",
    "/partners/requests": "What partners asked for, and what was refused",
    "/partners/events": "What has happened, as partners read it",
    "/partners/webhooks": "Where events are delivered to",
}


@page("/settings", Permission.STUDIO)
async def show(request: ConsoleRequest) -> Answer:
    return request.render("settings/index.html", about=ABOUT)
