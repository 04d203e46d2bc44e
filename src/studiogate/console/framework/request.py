"""What the function of a page gets: who asks, for what, and the ways to answer."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar
from urllib.parse import urlsplit
from uuid import UUID

from markupsafe import Markup

from studiogate.console import navigation
from studiogate.console.framework import cookies, refusals, templating
from studiogate.console.framework.posted import CSRF, TOKEN, Posted
from studiogate.console.framework.refusals import Resolution, ShownRefusal
from studiogate.console.navigation import Entry
from studiogate.domain.access import Access
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff.tokens import new_token, token_hash
from studiogate.flows import staff_flow
from studiogate.flows.retry import repeated
from studiogate.flows.staff.sessions import SignedIn
from studiogate.runtime import Runtime
from studiogate.storage.console import Frame
from studiogate.storage.db.pool import Connection, Database
from studiogate.web.request import Request
from studiogate.web.response import Answer, Header

HTML: Header = (b"content-type", b"text/html; charset=utf-8")
STREAM_TYPE = b"text/event-stream"
# For pages whose own address holds a secret. Not "no-referrer": browsers then send no origin with the page's form.
ORIGIN_ONLY: Header = (b"referrer-policy", b"strict-origin")
HIDDEN = Markup('<input type="hidden" name="{}" value="{}">')
NO_FIELDS: Mapping[str, str] = {}
Given = ParamSpec("Given")
Result = TypeVar("Result")


class UndoAction(NamedTuple):
    """A form that takes an action back: the path that it is sent to, and its fields."""

    path: str
    fields: Mapping[str, str] = NO_FIELDS
    label: str = "Undo"


class Person(NamedTuple):
    """The person who is signed in, and the studio as the shell shows it."""

    signed_in: SignedIn
    access: Access
    frame: Frame


class Refused(NamedTuple):
    """A form that was refused, to be shown again on the page ``back`` with what was typed."""

    refusal: Refusal
    back: str
    resolution: Resolution | None = None


@dataclass(slots=True)
class ConsoleRequest:
    """One request to the console, after all checks. ``typed`` and ``refusal`` are set when a page is shown again
    because its form was refused: ``field`` of ui/forms.html fills them in."""

    http: Request
    runtime: Runtime
    person: Person | None = None
    params: Mapping[str, str] = field(default_factory=dict)
    posted: Posted = field(default_factory=Posted)
    typed: Mapping[str, str] | None = None
    refusal: ShownRefusal | None = None
    refused_form: Refused | None = None
    secure: bool = False
    navigation: Sequence[Entry] = ()
    _new_device: str = field(default_factory=new_token)

    @property
    def device(self) -> str:
        """The token of the browser's device cookie, or a new one if it has none."""
        sent = self.cookies.get(cookies.device_name(secure=self.secure), "")
        return sent if token_hash(sent) is not None else self._new_device

    def renew_session(self, token: str) -> None:
        """Go on with another token of the same session."""
        self.person = self._person._replace(signed_in=replace(self.signed_in, token=token))

    @property
    def signed_in(self) -> SignedIn:
        return self._person.signed_in

    @property
    def access(self) -> Access:
        """The access of the signed-in person, with the token of the form that they sent."""
        return self._person.access

    @property
    def frame(self) -> Frame:
        return self._person.frame

    @property
    def _person(self) -> Person:
        if self.person is None:
            raise AssertionError("a page for anybody must not ask who is signed in")
        return self.person

    @property
    def database(self) -> Database:
        return self.runtime.database

    @property
    def sends_mail(self) -> bool:
        return self.runtime.settings.smtp_url is not None

    @property
    def query(self) -> Mapping[str, str]:
        return self.http.query

    @property
    def form(self) -> Mapping[str, str]:
        """The first value of each posted field."""
        return self.posted.first

    def param_id(self, name: str) -> UUID:
        """Return an id of the path. That it is one was checked before."""
        return UUID(self.params[name])

    @property
    def is_fragment(self) -> bool:
        """Whether htmx asks for a part of a page. A boosted link, or a step back, needs a whole page."""
        headers = self.http.headers
        whole = headers.get(b"hx-boosted") == b"true" or headers.get(b"hx-history-restore-request") == b"true"
        return headers.get(b"hx-request") == b"true" and not whole

    def may(self, permission: Permission) -> bool:
        """Return whether the person's role has a permission, to decide what a page offers."""
        staff = None if self.person is None else self.access.staff
        return staff is not None and permission in staff.permissions

    async def read(
        self,
        read: Callable[Concatenate[Connection, Access, Given], Awaitable[Result]],
        *given: Given.args,
        **options: Given.kwargs,
    ) -> Result:
        """Call a function of storage, or in ``run`` a flow, with the access of the signed-in person."""
        async with self.database.connection() as connection:
            return await read(connection, self.access, *given, **options)

    async def run(self, flow: Callable[..., Awaitable[Result]], *arguments: object, **options: object) -> Result:
        """Run a flow with the access of the signed-in person, again after a conflict."""
        return await repeated(lambda: self.read(flow, *arguments, **options))

    async def try_out(self, flow: Callable[..., Awaitable[Result]], *arguments: object) -> Result:
        """Return what a flow would do now; nothing is changed."""
        return await self.run(staff_flow.previewed, lambda *given: flow(*given, *arguments))

    # Answers.

    def render(self, template: str, *, part: str | None = None, status: int = 200, **values: Any) -> Answer:
        """Return a page: with the shell, or only the template ``part``, else its block ``content``, if htmx asks for a
        part."""
        if part is not None and self.is_fragment:
            return self.fragment(part, status=status, **values)
        value = self.cookies.get(cookies.TOAST, "")
        toast = cookies.read_toast(self.signed_in.token, value) if value and self.person is not None else None
        context = {**self._context(), "toast": toast, **values}
        if self.is_fragment:
            html = templating.render_block(template, "content", context)
            if toast is not None:
                html += templating.render("ui/toast_swap.html", context)
        else:
            html = templating.render(template, context)
        shown = () if toast is None else (cookies.no_toast(secure=self.secure),)
        return Answer(status, html.encode(), (HTML, *shown))

    def fragment(self, template: str, *, status: int = 200, toast: str | None = None, **values: Any) -> Answer:
        """Return a part of a page. ``toast`` shows a message beside it."""
        context = {**self._context(), "toast": {"text": toast, "undo": None}, **values}
        html = templating.render(template, context)
        if toast is not None:
            html += templating.render("ui/toast_swap.html", context)
        return Answer(status, html.encode(), (HTML,))

    def redirect(self, location: str, *, toast: str | None = None, undo: UndoAction | None = None) -> Answer:
        """Lead the browser to another page of the console, which shows the message and offers to undo."""
        if not is_own_path(location):
            raise ValueError("the console leads to its own pages only")
        headers: list[Header] = [(b"location", location.encode("ascii"))]
        if toast:
            message = {"text": toast, "undo": undo._asdict() if undo is not None else None}
            headers.append(cookies.toast(self.signed_in.token, message, secure=self.secure))
        return Answer(303, b"", headers)

    def go_to(self, location: str, toast: str, undo: UndoAction | None = None) -> Answer:
        """Lead to a page after a form took effect. A form in a drawer, which htmx sent, leaves its page for the other
        one."""
        answer = self.redirect(location, toast=toast, undo=undo)
        if not self.is_fragment:
            return answer
        headers = [(b"hx-redirect" if name == b"location" else name, each) for name, each in answer.headers]
        return Answer(200, b"", headers)

    def refused(self, refusal: Refusal, back: str | None = None, resolve: Resolution | None = None) -> Answer:
        """Show why a form was refused. The page ``back`` is shown again with what was typed; htmx shows the refusal in
        the form's element with the attribute data-refusal, and leaves the form as it is."""
        if refusal.code in refusals.QUESTIONS:
            return self.ask_again(refusal)
        status = refusals.status_of(refusal)
        if self.is_fragment:
            slot: tuple[Header, ...] = ((b"hx-retarget", b"find [data-refusal]"), (b"hx-reswap", b"innerHTML"))
            answer = self.fragment(
                "ui/refusal.html", status=status, refusal=refusals.shown(refusal, self.posted.lists, resolve)
            )
            return answer._replace(headers=(*answer.headers, *slot, (b"x-refusal", refusal.code.value.encode())))
        if back is not None and is_own_path(back):
            self.refused_form = Refused(refusal, back, resolve)
            return Answer(status, b"")
        return self.error(refusal, resolve)

    def ask_again(self, refusal: Refusal) -> Answer:
        """Ask for what a form lacks, such as the password, and keep the form: it is sent again afterwards."""
        values: dict[str, Any] = {
            "refusal": refusals.shown(refusal, self.posted.lists),
            "kept": refusals.packed(self.posted.typed_and_token),
            "owner": cookies.owner_of(self.form.get(CSRF, "")),
            "target": self.http.path,
            "email": "",
        }
        page, dialog = refusals.QUESTIONS[refusal.code]
        answer = self.render(page, part=dialog, status=refusals.status_of(refusal), **values)
        return answer._replace(headers=(*answer.headers, *refusals.IN_DIALOG)) if self.is_fragment else answer

    def error(self, refusal: Refusal, resolve: Resolution | None = None) -> Answer:
        """Return a page that says only what happened, and what to do."""
        status = refusals.status_of(refusal)
        template = "error.html" if self.person is not None else "error_signed_out.html"
        return self.render(template, status=status, refusal=refusals.shown(refusal, self.posted.lists, resolve))

    def not_found(self) -> Answer:
        return self.error(Refusal(Code.NOT_FOUND))

    # What templates use.

    def form_fields(self) -> Markup:
        """Return the hidden fields of every form: the CSRF token, and a fresh token of this form."""
        return self.csrf_field() + HIDDEN.format(TOKEN, new_token()[:24])

    def csrf_field(self) -> Markup:
        return HIDDEN.format(CSRF, cookies.masked_token(self.signed_in) if self.person is not None else "")

    def _context(self) -> dict[str, object]:
        theme = self.cookies.get(cookies.THEME, "")
        shared = {
            "request": self,
            "may": self.may,
            "form_fields": self.form_fields,
            "csrf_field": self.csrf_field,
            "typed": self.typed,
            "refusal": self.refusal,
            "path": self.http.path,
            "theme": theme if theme in ("light", "dark") else "",
            "Permission": Permission,
        }
        if self.person is None:
            return {**shared, "frame": None, "mark": None}
        frame, session = self.frame, self.signed_in.session
        menu = navigation.menu_of(self.navigation, self.may)
        offered = {
            "navigation": menu,
            "current": navigation.current_of(menu, self.navigation, self.http.path),
            "settings": navigation.settings_of(self.navigation, self.may),
        }
        return {**shared, **offered, "frame": frame, "mark": None, "timezone": frame.timezone, "role": session.role}

    @property
    def location(self) -> str:
        """The page's own path and query, to return to it."""
        return self.http.path + (f"?{self.http.query_text}" if self.http.query_text else "")

    @property
    def cookies(self) -> dict[str, str]:
        return cookies.read(self.http.headers.get(b"cookie", b""))


def is_own_path(location: str) -> bool:
    """Return whether a location is a path of the console: no other site, nothing that browsers read as one."""
    if not location.startswith("/console/") and location != "/console":
        return False
    if "\\" in location or not location.isascii() or not location.isprintable():
        return False
    parts = urlsplit(location)
    return not parts.scheme and not parts.netloc and ".." not in parts.path.split("/")


def own_page(wanted: str | None) -> str:
    """Return the page of the console to which an action leads back, or nothing."""
    return wanted if wanted and is_own_path(wanted) else ""
