"""What to do first: the steps of a new studio, each with its own form."""

from typing import Any

from studiogate.console.framework.page import action, page
from studiogate.console.framework.request import ConsoleRequest
from studiogate.domain.access import SCOPE_GRANTS, Scope
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Grant, Permission, Role
from studiogate.flows import keys
from studiogate.flows.keys import KeyRequest
from studiogate.flows.staff import roles
from studiogate.flows.staff.roles import Invitation
from studiogate.storage.console import count_first_rows
from studiogate.web.public_address import address_of
from studiogate.web.response import Answer

WELCOME = "/console/welcome"
# An instructor needs the instructor whose classes are theirs: that is for the page of staff.
ROLES = (Role.OWNER, Role.MANAGER, Role.FRONT_DESK, Role.DEVELOPER)


@page("GET", "/welcome", Permission.STUDIO)
async def show(request: ConsoleRequest) -> Answer:
    return await _steps(request)


async def _steps(request: ConsoleRequest, key: str | None = None) -> Answer:
    """Show the steps; ``key`` is one that was made just now and is shown once."""
    async with request.database.connection() as connection:
        rows = await count_first_rows(connection, request.access)
    sends_mail = request.runtime.settings.smtp_url is not None
    values: dict[str, Any] = {"rows": rows, "sends_mail": sends_mail, "roles": ROLES, "scopes": SCOPE_GRANTS}
    return request.render("set_up/welcome.html", key=key, address=_address(request), **values)


def _address(request: ConsoleRequest) -> str:
    """Return the public address, else the one under which the person opened the page, as the form's origin says: it was
    checked before."""
    settings = request.runtime.settings
    return address_of(settings) if settings.public_url else request.http.headers.get(b"origin", b"").decode("latin-1")


@action("POST", "/welcome/invite", Permission.STAFF)
async def invite(request: ConsoleRequest) -> Answer:
    form = request.form
    role = Role(form["role"]) if form.get("role") in [each.value for each in ROLES] else Role.FRONT_DESK
    sends_mail = request.runtime.settings.smtp_url is not None
    async with request.database.connection() as connection:
        invitation = Invitation(form.get("email", ""), Grant(role), mail=sends_mail)
        invited = await roles.invite(connection, request.access, invitation)
    if isinstance(invited, Refusal):
        return request.refused(invited, WELCOME)
    mailed = "A mail with a link is on its way." if sends_mail else "Ask whoever runs the service for the link."
    return request.redirect(WELCOME, toast=f"{invited.email} is invited. {mailed}")


@action("POST", "/welcome/key", Permission.KEYS)
async def make_key(request: ConsoleRequest) -> Answer:
    """Create a key. The page with it is the answer itself: nothing else ever shows it."""
    name = request.form.get("name", "")
    scopes = [each for each in request.form_lists.get("scopes", []) if each in set(Scope)]
    async with request.database.connection() as connection:
        issued = await keys.issue(connection, request.access, KeyRequest(name, scopes, created_by=request.frame.email))
    if isinstance(issued, Refusal):
        return request.refused(issued, WELCOME)
    return await _steps(request, issued.key)
