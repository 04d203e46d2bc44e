"""Actions that are declared: a form, the flow that it runs, what is said afterwards and where it leads.

    Action(MEMBER, "note", flows.add_note, "Added the note.", [NOTE], Form("Add a note", "Add the note"))

A module lists its actions in ``ACTIONS``. The path is that of the subject and the action's name. GET shows the form, in
the drawer or as a page. POST runs the flow with the id of the row that the path names and the values of the inputs in
their order, then leads to the page that the form names as ``next``, else to that of the row. A refusal is shown in the
form, with what was typed. An action without a form is sent by a button elsewhere. What does not fit is a function with
``@page`` or ``@action`` (page.py).
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial, wraps
from typing import Any, NamedTuple
from uuid import UUID

from studiogate.console.framework import paging
from studiogate.console.framework.formats import with_query
from studiogate.console.framework.inputs import Input, Row, shown_text
from studiogate.console.framework.page import Handler, Route, page
from studiogate.console.framework.posted import SEEN, seen_text, untouched
from studiogate.console.framework.refusals import Resolution
from studiogate.console.framework.request import ConsoleRequest, UndoAction, own_page
from studiogate.domain.access import Access
from studiogate.domain.refusals import NOT_FOUND, Fault, Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import refused
from studiogate.storage.db.pool import Connection
from studiogate.web.response import Answer

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Subject:
    """A kind of row that paths name, such as a member: how it is read, where it is shown, how a form names it.

    Templates get the row by the name of its kind, the address of its page as ``base``, and ``values``."""

    name: str
    path: str
    needs: Permission
    read: Callable[[Connection, Access, UUID], Awaitable[Row | None]] | None
    address: Callable[[Row], str]
    label: Callable[[Row], str] = lambda _row: ""
    values: Values = field(default_factory=dict)
    absent: Handler | None = None  # None: there is no such page

    async def find(self, connection: Connection, request: ConsoleRequest) -> Row | None:
        """Return the row that the path names, nothing where an action creates it."""
        if self.read is None:
            return {}
        return await self.read(connection, request.access, request.param_id(f"{self.name}_id"))

    async def of_path(self, request: ConsoleRequest) -> Row | None:
        async with request.database.connection() as connection:
            return await self.find(connection, request)

    def shown(self, row: Row) -> Values:
        return {self.name: row, "base": self.address(row), "label": self.label(row), **self.values}


# Reads what a page shows besides its row, or says why it is not shown.
ValuesReader = Callable[[ConsoleRequest, Connection, Row], Awaitable[Values | Refusal]]


def page_of(subject: Subject, path: str, needs: Permission, template: str) -> Callable[[ValuesReader], ValuesReader]:
    """Declare a page about the row that its path names; the function reads what else the template shows."""

    def declare(read: ValuesReader) -> ValuesReader:
        @page(path, needs)
        @wraps(read)
        async def show(request: ConsoleRequest) -> Answer:
            return await show_about(request, subject, template, read)

        return read

    return declare


async def show_about(
    request: ConsoleRequest, subject: Subject, template: str, read: ValuesReader, **more: object
) -> Answer:
    async with request.database.connection() as connection:
        row = await subject.find(connection, request)
        values = None if row is None else await read(request, connection, row)
    if row is None or values is None:
        return request.not_found() if subject.absent is None else await subject.absent(request)
    if isinstance(values, Refusal):
        return request.error(values)
    return request.render(template, **{**subject.shown(row), **values, **more})


class Done(NamedTuple):
    """An action that took effect: the row as it was before, the values of the inputs, what the flow returned."""

    request: ConsoleRequest
    row: Row
    given: Values
    result: Any


@dataclass(frozen=True, slots=True)
class Form:
    """How the inputs of an action are shown."""

    title: str
    button: str
    about: str = ""  # what to know before, above the inputs
    kind: str = "primary"  # or danger
    template: str = "ui/action.html"
    values: ValuesReader | None = None  # what else the template shows; ``options`` has those of choices, by input


@dataclass(frozen=True, slots=True)
class Action:
    """Something that staff do with a row by a form or a button, or by which they create one."""

    subject: Subject
    name: str
    flow: Callable[..., Awaitable[object]]
    toast: str | Callable[[Done], str]  # a text with names of the row's columns in braces
    inputs: Sequence[Input] = ()
    form: Form | None = None
    _: KW_ONLY
    needs: Permission | None = None  # None: what pages about the row need
    edits: bool = False  # the form shows the row; the flow gets a mapping of the inputs that were changed
    is_offered: Callable[[Row], bool] = lambda _row: True
    leads_to: Callable[[Done], str] | None = None
    undo: str | Callable[[Done], UndoAction | None] = ""  # the name of the action that undoes this one
    resolve: Callable[[ConsoleRequest, Row, Refusal], Resolution | None] = lambda _request, _row, _refusal: None

    @property
    def routes(self) -> Sequence[Route]:
        path, needs = f"{self.subject.path}/{self.name}", self.needs or self.subject.needs
        post = Route("POST", path, needs, partial(_run, self))
        return (post,) if self.form is None else (post, Route("GET", path, needs, partial(_show, self, self.form)))


async def _show(action: Action, form: Form, request: ConsoleRequest) -> Answer:
    """Show the form. After a refusal, ``seen`` still says what it showed first."""

    async def read(request: ConsoleRequest, connection: Connection, row: Row) -> Values | Refusal:
        if not action.is_offered(row):
            return NOT_FOUND
        values = await form.values(request, connection, row) if form.values else {}
        if isinstance(values, Refusal):
            return values
        hidden = {"next": own_page(request.query.get("next")), paging.AFTER: paging.cursor_of(request)}
        stored = {each.name: shown_text(row.get(each.name)) for each in action.inputs} if action.edits else {}
        if stored:
            hidden[SEEN] = (request.typed or {}).get(SEEN) or seen_text(stored)
        return {"action": action, "form": form, "stored": stored, "hidden": hidden, "options": {}, **values}

    return await show_about(request, action.subject, form.template, read)


async def _run(action: Action, request: ConsoleRequest) -> Answer:
    row = await action.subject.of_path(request)
    if row is None or not action.is_offered(row):
        return request.refused(NOT_FOUND)
    given = _given(action, _texts(action, request), row)
    faults = [each for each in given.values() if isinstance(each, Fault)]
    named = (request.param_id(f"{action.subject.name}_id"),) if action.subject.read else ()
    arguments = [given] if action.edits else given.values()
    result = refused(*faults) if faults else await request.run(action.flow, *named, *arguments)
    after = own_page(request.form.get("next"))
    if isinstance(result, Refusal):
        form = with_query(request.http.path, next=after, after=paging.cursor_of(request))
        back = form if action.form else after or action.subject.address(row)
        # The faults of a JSON body name its fields; here these are the inputs of the form.
        by_input = [each._replace(loc=each.loc[each.loc[:1] == ("body",) :]) for each in result.faults]
        return request.refused(replace(result, faults=by_input), back, action.resolve(request, row, result))
    done = Done(request, row, given, result)
    leads_to = action.leads_to(done) if action.leads_to else action.subject.address(row)
    text = action.toast.format_map(row) if isinstance(action.toast, str) else action.toast(done)
    if isinstance(action.undo, str):
        undo = UndoAction(f"{request.http.path.rpartition('/')[0]}/{action.undo}") if action.undo else None
    else:
        undo = action.undo(done)
    return request.go_to(after or leads_to, text, undo)


def _texts(action: Action, request: ConsoleRequest) -> Mapping[str, str]:
    """Return the text of each posted field; of choices, all that were ticked."""
    lists = request.posted.lists
    chosen = [each.name for each in action.inputs if each.type == "choices" and each.name in lists]
    return {**request.form, **{name: shown_text([each for each in lists[name] if each]) for name in chosen}}


def _given(action: Action, form: Mapping[str, str], row: Row) -> dict[str, object]:
    """Return what was read from each input; of a form that edits a row, from those that were changed."""
    if not action.edits:
        return {each.name: each.read(each.name, form.get(each.name, ""), row) for each in action.inputs}
    same = untouched(form, [each.name for each in action.inputs])
    changed = [each for each in action.inputs if each.name in form and each.name not in same]
    return {each.name: each.read(each.name, form[each.name], row) for each in changed}
