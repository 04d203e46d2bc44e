"""The steps from a new studio to its first booking: what is done, what was skipped, and where each is done.

A step is offered if its page exists and the person's role permits it, like an entry of the menu. What somebody skips is
remembered by their browser, for this studio: it hides a hint and decides nothing, so it must not hide the hint from a
colleague who would do the step, and needs no row, no permission and no line in the audit log.
"""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from studiogate.console.framework import ConsoleRequest, UndoAction, action, cookies, page
from studiogate.domain.staff import Permission
from studiogate.storage.console import read_first_rows
from studiogate.web.response import Answer

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
