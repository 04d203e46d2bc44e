"""Create the first studio and its owner, with the link that `studiogate up` prints, and do what comes first in it."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from zoneinfo import available_timezones

from studiogate import clock
from studiogate.console.account.sign_in import refused_signed_out, visit_of, with_session
from studiogate.console.framework import ORIGIN_ONLY, Audience, ConsoleRequest, about, action, page, shown, status_of
from studiogate.domain.access import SCOPE_GRANTS, Scope
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Grant, Permission, Role
from studiogate.flows import keys
from studiogate.flows.keys import KeyRequest
from studiogate.flows.staff import roles
from studiogate.flows.staff import set_up as flow
from studiogate.flows.staff.roles import Invitation
from studiogate.flows.staff.sessions import Visit
from studiogate.flows.staff.set_up import Owner
from studiogate.storage.console import count_first_rows
from studiogate.web.public_address import address_of
from studiogate.web.response import Answer

TEMPLATE = "set_up/first_studio.html"
STUDIO_FIELDS = ("timezone", "currency", "country")
FIELD_NAMES: Mapping[tuple[str | int, ...], str] = {
    ("name",): "studio_name",
    ("owner", "name"): "person_name",
    ("owner", "email"): "email",
    ("owner", "password"): "password",
}
# Read once: a process that gave up its privileges may not be allowed to list them later.
ZONES = sorted(each for each in available_timezones() if "/" in each and not each.startswith("Etc/"))
_NOT_IN_SLUG = re.compile(r"[^a-z0-9]+")


async def _visit(request: ConsoleRequest) -> Visit | Answer:
    """Return the visit of a person whose link works."""
    visit = visit_of(request)
    refusal = await flow.check(visit, request.params["token"], clock.now())
    return visit if refusal is None else refused_signed_out(request, refusal)


@page("/set-up/{token}", Audience.ANYBODY)
@about(_visit)
async def show(request: ConsoleRequest, _visit: Visit) -> Answer:
    return _form(request)


@action("/set-up/{token}", Audience.ANYBODY)
@about(_visit)
async def create(request: ConsoleRequest, visit: Visit) -> Answer:
    form = request.form
    name = form.get("studio_name", "").strip()
    values = {each: form.get(each, "").strip() for each in STUDIO_FIELDS}
    values |= {"name": name, "slug": form.get("slug", "").strip() or slug_of(name)}
    owner = Owner(form.get("person_name", ""), form.get("email", ""), form.get("password", ""))
    started = await flow.create_studio(visit, values, owner)
    if isinstance(started, Refusal):
        # The form's own names: both the studio and its owner have a name.
        faults = [fault._replace(loc=(FIELD_NAMES.get(fault.loc, fault.loc[0]),)) for fault in started.faults]
        request.typed, request.refusal = form, shown(replace(started, faults=faults), form)
        return _form(request, status_of(started))
    return with_session(request, started, "/console/welcome")


def slug_of(name: str) -> str:
    """Return a slug made from a name, such as north-loop."""
    return _NOT_IN_SLUG.sub("-", name.casefold()).strip("-")[:60].strip("-")


def _form(request: ConsoleRequest, status: int = 200) -> Answer:
    answer = request.render(TEMPLATE, status=status, zones=ZONES)
    return answer._replace(headers=(*answer.headers, ORIGIN_ONLY))


# What to do first: the steps of a new studio, each with its own form.

WELCOME = "/console/welcome"
# An instructor needs the instructor whose classes are theirs: that is for the page of staff.
ROLES = (Role.OWNER, Role.MANAGER, Role.FRONT_DESK, Role.DEVELOPER)


@page("/welcome", Permission.STUDIO)
async def show_welcome(request: ConsoleRequest, key: str | None = None) -> Answer:
    """Show the steps; ``key`` is one that was made just now and is shown once."""
    async with request.database.connection() as connection:
        rows = await count_first_rows(connection, request.access)
    settings = request.runtime.settings
    # Without a public address, the one under which the person opened the page, as the form's origin says: it was
    # checked before.
    origin = request.http.headers.get(b"origin", b"").decode("latin-1")
    values: dict[str, Any] = {"rows": rows, "roles": ROLES, "scopes": SCOPE_GRANTS}
    values["address"] = address_of(settings) if settings.public_url else origin
    return request.render("set_up/welcome.html", key=key, **values)


@action("/welcome/invite", Permission.STAFF)
async def invite(request: ConsoleRequest) -> Answer:
    form = request.form
    role = Role(form["role"]) if form.get("role") in [each.value for each in ROLES] else Role.FRONT_DESK
    invitation = Invitation(form.get("email", ""), Grant(role), mail=request.sends_mail)
    async with request.database.connection() as connection:
        invited = await roles.invite(connection, request.access, invitation)
    if isinstance(invited, Refusal):
        return request.refused(invited, WELCOME)
    then = "A mail with a link is on its way." if request.sends_mail else "Ask an operator for the link."
    return request.redirect(WELCOME, toast=f"{invited.email} is invited. {then}")


@action("/welcome/key", Permission.KEYS)
async def make_key(request: ConsoleRequest) -> Answer:
    """Create a key. The page with it is the answer itself: nothing else ever shows it."""
    name = request.form.get("name", "")
    scopes = [each for each in request.posted.lists.get("scopes", []) if each in set(Scope)]
    async with request.database.connection() as connection:
        issued = await keys.issue(connection, request.access, KeyRequest(name, scopes, created_by=request.frame.email))
    if isinstance(issued, Refusal):
        return request.refused(issued, WELCOME)
    return await show_welcome(request, issued.key)
