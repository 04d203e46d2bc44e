"""The people who work at the studio, and links with which they set a new password."""

from typing import Any

from studiogate.console.framework import ConsoleRequest, action, page
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff.tokens import link_path
from studiogate.flows.staff import roles
from studiogate.storage import staff
from studiogate.storage.accounts import accounts
from studiogate.web.public_address import known_address
from studiogate.web.response import Answer

STAFF = "/console/staff"


@page("/staff", Permission.STAFF)
async def show_staff(request: ConsoleRequest, **link: Any) -> Answer:
    """Show the staff; ``link`` is one that was made just now and is shown once."""
    own = request.signed_in.session.account_id
    async with request.database.connection() as connection:
        people = await staff.list_staff(connection, request.access)
        beyond = await accounts.beyond(connection, own, [each["id"] for each in people])
    values = {"people": people, "beyond": beyond, "own": own, "url": None, **link}
    return request.render("staff/list.html", **values)


@action("/staff/{account_id}/reset-link", Permission.STAFF)
async def make_reset_link(request: ConsoleRequest) -> Answer:
    """Make a link that sets a new password. The page with it is the answer itself: nothing else ever shows it."""
    account_id = request.param_id("account_id")
    async with request.database.connection() as connection:
        made = await roles.make_reset_link(connection, request.access, account_id, mail=request.sends_mail)
    if isinstance(made, Refusal):
        return request.refused(made, STAFF)
    url = known_address(request.runtime.settings) + link_path(made.token)
    return await show_staff(request, url=url, expires_at=made.expires_at, account_id=account_id)
