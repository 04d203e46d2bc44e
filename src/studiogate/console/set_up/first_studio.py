"""Create the first studio and its owner, with the link that `studiogate up` prints, and do what comes first in it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from studiogate import clock
from studiogate.console.account.sign_in import refused_signed_out, visit_of, with_session
from studiogate.console.framework import ORIGIN_ONLY, Audience, ConsoleRequest, about, action, page, shown, status_of
from studiogate.console.settings.countries import CHOICES, COUNTRIES, ZONES
from studiogate.domain.names import slug_of
from studiogate.domain.refusals import Refusal
from studiogate.flows.staff import set_up as flow
from studiogate.flows.staff.sessions import Visit
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
_BESIDE = Markup(' data-{}="{}"')
# The lists of the form; beside each time zone its country, beside each country its currency, for the script.
LISTS: dict[str, Any] = {
    "zones": [(each.name, each.name.replace("_", " "), _BESIDE.format("country", each.country)) for each in ZONES],
    "countries": [(each.code, each.name, _BESIDE.format("currency", each.currency)) for each in COUNTRIES],
    "currencies": [(*each, "") for each in CHOICES["currency"]],
}


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
    values |= {"name": name, "slug": form.get("slug", "").strip() or slug_of(name) or "studio"}
    owner = Owner(form.get("person_name", ""), form.get("email", ""), form.get("password", ""))
    started = await flow.create_studio(visit, values, owner)
    if isinstance(started, Refusal):
        # The form's own names: both the studio and its owner have a name.
        faults = [fault._replace(loc=(FIELD_NAMES.get(fault.loc, fault.loc[0]),)) for fault in started.faults]
        request.typed, request.refusal = form, shown(replace(started, faults=faults), form)
        return _form(request, status_of(started))
    return with_session(request, started, "/console/welcome")


def _form(request: ConsoleRequest, status: int = 200) -> Answer:
    answer = request.render(TEMPLATE, status=status, **LISTS)
    return answer._replace(headers=(*answer.headers, ORIGIN_ONLY))
