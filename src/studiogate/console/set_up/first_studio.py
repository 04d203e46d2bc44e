"""Create the first studio and its owner, with the link that `studiogate up` prints."""

import re
from collections.abc import Mapping
from dataclasses import replace
from zoneinfo import available_timezones

from studiogate import clock
from studiogate.console.account.sign_in import visit_of, with_session
from studiogate.console.framework.page import Audience, action, page
from studiogate.console.framework.refusals import shown, status_of
from studiogate.console.framework.request import ORIGIN_ONLY, ConsoleRequest
from studiogate.domain.refusals import Refusal
from studiogate.flows.staff import set_up as flow
from studiogate.flows.staff.set_up import Owner
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


@page("GET", "/set-up/{token}", Audience.ANYBODY)
async def show(request: ConsoleRequest) -> Answer:
    refusal = await flow.check(visit_of(request), request.params["token"], clock.now())
    return _form(request) if refusal is None else _expired(request, refusal)


@action("POST", "/set-up/{token}", Audience.ANYBODY)
async def create(request: ConsoleRequest) -> Answer:
    visit, form = visit_of(request), request.form
    refusal = await flow.check(visit, request.params["token"], clock.now())
    if refusal is not None:
        return _expired(request, refusal)
    name = form.get("studio_name", "").strip()
    values = {each: form.get(each, "").strip() for each in STUDIO_FIELDS}
    values |= {"name": name, "slug": form.get("slug", "").strip() or slug_of(name)}
    owner = Owner(form.get("person_name", ""), form.get("email", ""), form.get("password", ""))
    started = await flow.create_studio(visit, values, owner)
    if isinstance(started, Refusal):
        request.typed, request.refusal = form, shown(_with_field_names(started), form)
        return _form(request, status_of(started))
    return with_session(request, started, "/console/welcome")


def _with_field_names(refusal: Refusal) -> Refusal:
    """Return a refusal whose faults name the fields of this form: both the studio and its owner have a name."""
    renamed = [fault._replace(loc=(FIELD_NAMES.get(fault.loc, fault.loc[0]),)) for fault in refusal.faults]
    return replace(refusal, faults=renamed)


def slug_of(name: str) -> str:
    """Return a slug made from a name, such as north-loop."""
    return _NOT_IN_SLUG.sub("-", name.casefold()).strip("-")[:60].strip("-")


def _form(request: ConsoleRequest, status: int = 200) -> Answer:
    answer = request.render(TEMPLATE, status=status, zones=ZONES)
    return answer._replace(headers=(*answer.headers, ORIGIN_ONLY))


def _expired(request: ConsoleRequest, refusal: Refusal) -> Answer:
    return request.render("error_signed_out.html", status=status_of(refusal), refusal=shown(refusal, {}))
