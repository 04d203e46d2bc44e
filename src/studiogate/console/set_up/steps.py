"""Create the first studio and its owner, with the link that `studiogate up` prints. The steps from a new studio to its
first booking: what is done, what was skipped, and where each is done.

A step is offered if its page exists and the person's role permits it, like an entry of the menu. What somebody skips is
remembered by their browser, for this studio: it hides a hint and decides nothing, so it must not hide the hint from a
colleague who would do the step, and needs no row, no permission and no line in the audit log.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from studiogate import clock
from studiogate.console.account.sign_in import refused_signed_out, visit_of, with_session
from studiogate.console.framework import ORIGIN_ONLY, Audience, ConsoleRequest, UndoAction, about, action, cookies, page
from studiogate.console.framework.refusals import shown, status_of
from studiogate.console.settings.countries import CHOICES, COUNTRIES, ZONES
from studiogate.domain.names import slug_of
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.staff import set_up as flow
from studiogate.flows.staff.sessions import Visit
from studiogate.flows.staff.set_up import Owner
from studiogate.storage.console import read_first_rows
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


# The first steps.

WELCOME = "/console/welcome"
ALL = "all"  # skipped: the steps are no longer shown on Today


class Step(NamedTuple):
    name: str
    title: str
    text: str
    button: str
    page: str
    rows: str
    path: str = ""

    @property
    def href(self) -> str:
        return "/console" + (self.path or self.page)


_STEPS = tomllib.loads((Path(__file__).parent / "steps.toml").read_text(encoding="utf-8"))
STEPS = [Step(**each) for each in _STEPS["steps"]]


class Shown(NamedTuple):
    step: Step
    is_done: bool
    is_skipped: bool


class Checklist(NamedTuple):
    steps: Sequence[Shown]
    is_dismissed: bool
    has_booking: bool

    @property
    def done(self) -> int:
        return sum(each.is_done for each in self.steps)

    @property
    def next(self) -> Step | None:
        """The first step that is neither done nor skipped."""
        return next((each.step for each in self.steps if not each.is_done and not each.is_skipped), None)


async def read_checklist(request: ConsoleRequest) -> Checklist:
    rows = await request.read(read_first_rows)
    skipped = _skipped(request)
    pages = {each.path for each in request.navigation if each.is_for(request.may)}
    steps = [
        Shown(each, getattr(rows, each.rows), each.name in skipped) for each in STEPS if each.page in pages
    ]  # of the roles that set up a studio, managers make no keys and invite nobody
    return Checklist(steps, ALL in skipped, rows.bookings)


async def open_checklist(request: ConsoleRequest) -> Checklist | None:
    """Return the steps for the page Today: until the first booking, unless they are done, skipped or dismissed."""
    if not request.frame.is_new or not request.may(Permission.STUDIO) or ALL in _skipped(request):
        return None
    found = await read_checklist(request)
    return None if found.next is None else found


@page("/welcome", Permission.STUDIO)
async def show_welcome(request: ConsoleRequest) -> Answer:
    return request.render("set_up/welcome.html", checklist=await read_checklist(request))


@action("/welcome/skip", Permission.STUDIO)
async def skip(request: ConsoleRequest) -> Answer:
    """Skip a step or all of them, or take that back: ``state`` is then "open"."""
    name, skipped = request.form.get("step", ""), _skipped(request)
    titles = {each.name: each.title for each in STEPS} | {ALL: "The first steps"}
    if name not in titles:
        return request.not_found()
    is_open = request.form.get("state") == "open"
    skipped = skipped - {name} if is_open else skipped | {name}
    undo = None if is_open else UndoAction("/console/welcome/skip", {"step": name, "state": "open"})
    text = f"{titles[name]}: {'back on the list' if is_open else 'skipped'}."
    answer = request.redirect("/console/today" if name == ALL and not is_open else WELCOME, toast=text, undo=undo)
    value = ".".join([_mark(request), *sorted(skipped)])
    cookie = cookies.remembered(cookies.STEPS, value, secure=request.secure)
    return answer._replace(headers=(*answer.headers, cookie))


def _mark(request: ConsoleRequest) -> str:
    return request.access.studio_id.hex


def _skipped(request: ConsoleRequest) -> frozenset[str]:
    """Return the names of the steps that this browser has skipped for this studio."""
    studio, *names = request.cookies.get(cookies.STEPS, "").split(".")
    return frozenset(names) & {ALL, *(each.name for each in STEPS)} if studio == _mark(request) else frozenset()
