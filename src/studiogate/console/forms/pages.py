"""The lists of the screen Forms, forms and the inbox of submissions, whose filters are in the address; and the page of
a form: its questions and versions in words, its links, and what changes its status."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple
from uuid import UUID

import segno
from markupsafe import Markup, escape

from studiogate.console.forms import words as form_words
from studiogate.console.framework import Action, ConsoleRequest, Form, Subject, Values, action, page, page_of
from studiogate.console.framework.actions import show_about
from studiogate.console.framework.formats import with_query
from studiogate.console.framework.inputs import Input, Row
from studiogate.console.framework.parse import Days, as_id, read_instant
from studiogate.console.members import words
from studiogate.domain.access import Access
from studiogate.domain.forms.states import FormStatus, SubmissionStatus
from studiogate.domain.names import MAX_NAME
from studiogate.domain.refusals import NOT_FOUND, Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.forms import drafts
from studiogate.flows.forms import staff as flows
from studiogate.storage import member_search
from studiogate.storage.db.pool import Connection
from studiogate.storage.forms import inbox as storage
from studiogate.storage.forms.inbox import MAX_WAITING, FormRow, SubmissionFilters
from studiogate.storage.member_list import MemberFilters
from studiogate.web.public_address import known_address
from studiogate.web.response import Answer

PATH = "/console/forms"
INBOX = f"{PATH}/inbox"
PAGE = 50
MAX_TITLES = 200


@page("/forms", Permission.SUBMISSIONS)
async def forms(request: ConsoleRequest) -> Answer:
    asked, after = request.query.get("status"), as_id(request.query.get("after"))
    is_builder = request.may(Permission.FORMS)
    statuses = [each for each in FormStatus if is_builder or each is not FormStatus.DRAFT]
    status = asked if asked in statuses else None
    async with request.database.connection() as connection:
        found = await storage.list_forms(connection, request.access, status, after, PAGE, drafts=is_builder)
        waiting = await storage.count_waiting(connection, request.access)
    chosen = [("", "All"), *((each.value, each.value.capitalize()) for each in statuses)]
    return request.render(
        "forms/list.html",
        section="forms",
        rows=found.rows,
        next_href=found.next and with_query(PATH, status=status, after=found.next),
        chosen=status,
        statuses=[(name, label, with_query(PATH, status=name)) for name, label in chosen],
        **_shared(waiting),
    )


def _shared(waiting: int) -> FormRow:
    shown = f"{waiting}+" if waiting == MAX_WAITING else str(waiting)
    return {"waiting": shown if waiting else "", "words": words, "form_words": form_words, "storage": storage}


class Wanted(NamedTuple):
    """The filters of the inbox, and the same as they are in its address."""

    filters: SubmissionFilters
    given: dict[str, object]


def wanted_of(request: ConsoleRequest) -> Wanted:
    """Read the filters of the address, or of the form that exports what it shows. The inbox begins with what waits for
    a decision."""
    sent = request.form if request.http.method == "POST" else request.query
    asked = sent.get("status", SubmissionStatus.PENDING.value)
    status = SubmissionStatus(asked) if asked in set(SubmissionStatus) else None
    form_id, days = as_id(sent.get("form")), Days.of(sent)
    given: dict[str, object] = {"form": form_id, "status": asked if status else "all", **days.query}
    return Wanted(SubmissionFilters(form_id, status, *days.between(request.frame.timezone)), given)


@page("/forms/inbox", Permission.SUBMISSIONS)
async def inbox(request: ConsoleRequest) -> Answer:
    wanted, after = wanted_of(request), as_id(request.query.get("after"))
    async with request.database.connection() as connection:
        found = await storage.list_submissions(connection, request.access, wanted.filters, after, PAGE)
        waiting = await storage.count_waiting(connection, request.access)
        titles = await storage.form_titles(connection, request.access, MAX_TITLES)
    given = wanted.given
    statuses = [
        (each.value, words.SUBMISSION[each][0].capitalize(), with_query(INBOX, **{**given, "status": each.value}))
        for each in SubmissionStatus
    ]
    return request.render(
        "forms/inbox.html",
        section="inbox",
        rows=found.rows,
        next_href=found.next and with_query(INBOX, **given, after=found.next),
        given=given,
        statuses=[*statuses, ("all", "All", with_query(INBOX, **{**given, "status": "all"}))],
        titles=[(each["id"], each["title"]) for each in titles],
        here=with_query(INBOX, **given, after=after),
        **_shared(waiting),
    )


# The page of a form.

MAX_VERSIONS = 50
FOUND = 10
LINKS = "forms/links.html"
_VERSION_DIGITS = 9
TITLE = Input("title", "Title", required=True, attributes={"maxlength": MAX_NAME, "autocomplete": "off"})
ABOUT_ARCHIVING = "Its page closes for everybody, links that were sent included. Submissions and their files stay."
ABOUT_DISCARDING = "What was changed since the last version is forgotten. The published form stays as it is."


def is_builder(access: Access) -> bool:
    return access.staff is not None and Permission.FORMS in access.staff.permissions


async def read(connection: Connection, access: Access, form_id: UUID) -> Row | None:
    """Return a form; a draft exists only for those who build forms."""
    return await storage.read_form(connection, access, form_id, drafts=is_builder(access))


def address(form_id: UUID | str, section: str = "") -> str:
    return f"{PATH}/{form_id}{'/' if section else ''}{section}"


FORM = Subject(
    "form",
    "/forms/{form_id}",
    Permission.FORMS,
    read,
    lambda row: address(row["id"]),
    lambda row: str(row["title"]),
    {"words": words, "form_words": form_words},
)
NEW = Subject("form", "/forms", Permission.FORMS, None, lambda _row: PATH)


@page_of(FORM, "/forms/{form_id}", Permission.SUBMISSIONS, "forms/form.html")
async def show(request: ConsoleRequest, connection: Connection, form: Row) -> Values | Refusal:
    """Show the questions in words, of the form as it is or of an earlier version."""
    asked = request.query.get("version", "")
    number = int(asked) if asked.isascii() and asked.isdigit() and len(asked) <= _VERSION_DIGITS else None
    versions = await storage.list_versions(connection, request.access, form["id"], MAX_VERSIONS)
    fields = form["fields"]
    if number is not None:
        chosen = await storage.list_versions(connection, request.access, form["id"], 1, number)
        if not chosen:
            return NOT_FOUND
        fields = chosen[0]["fields"]
    return {
        "section": "questions",
        "shown": form_words.shown_fields(fields),
        "number": number or form["version"],
        "versions": versions,
        "opens_at": read_instant(form["settings"].get("opens_at")),
        "closes_at": read_instant(form["settings"].get("closes_at")),
    }


@page_of(FORM, "/forms/{form_id}/links", Permission.SUBMISSIONS, LINKS)
async def links(request: ConsoleRequest, connection: Connection, form: Row) -> Values:
    """Show the address of the form's page as text and as a QR code, and find a member to whom it is sent."""
    text, found = request.form.get("text", "").strip(), None
    if text and request.may(Permission.MEMBERS):
        place = (request.form.get("after"), FOUND)
        found = await member_search.search(connection, request.access, text, MemberFilters(), place)
    name, title = f"{form['studio_slug']}/{form['slug']}", escape(form["title"])
    origin = known_address(request.runtime.settings)
    url = f"{origin}/f/{name}"
    code = segno.make_qr(url, error="m")
    # Numbers only.
    drawn = Markup(code.svg_inline(border=2, light="#fff", svgclass="qr-code", lineclass=None, omitsize=True))  # noqa: S704 # nosec B704
    return {
        "section": "links",
        "page": url,
        "snippet": f'<script src="{origin}/f/embed.js" data-form="{name}" data-title="{title}"></script>',
        "code": drawn,
        "picture": code.png_data_uri(scale=10, border=2),
        "found": found,
        "text": text,
    }


@action("/forms/{form_id}/links", Permission.SUBMISSIONS)
async def find_member(request: ConsoleRequest) -> Answer:
    return await show_about(request, FORM, LINKS, links)


def _set_status(status: FormStatus) -> Callable[[Connection, Access, UUID], Awaitable[object]]:
    return lambda connection, access, form_id: flows.change(connection, access, form_id, {"status": status.value})


async def _create(connection: Connection, access: Access, title: str) -> FormRow | Refusal:
    return await flows.create(connection, access, {"title": title})


async def _copy(connection: Connection, access: Access, form_id: UUID, title: str) -> FormRow | Refusal:
    """Create a draft with the questions and settings of another form, except when that one opens and closes."""
    if (form := await storage.read_form(connection, access, form_id)) is None:
        return NOT_FOUND
    settings = {name: value for name, value in form["settings"].items() if name not in ("opens_at", "closes_at")}
    kept = {"title": title, "description": form["description"], "fields": form["fields"], "settings": settings}
    return await flows.create(connection, access, kept)


async def _affected(request: ConsoleRequest, connection: Connection, form: Row) -> Values:
    return {"waiver_of": await storage.waiver_of(connection, request.access, form["id"]), "row": form}


ACTIONS = (
    Action(
        NEW,
        "new",
        _create,
        "",
        [TITLE],
        Form("New form", "Create and edit", "It is a draft that only your team sees until you publish it."),
        leads_to=lambda done: address(done.result["id"], "edit"),
    ),
    Action(
        FORM,
        "copy",
        _copy,
        lambda done: f"This is a copy of {done.row['title']}.",
        [TITLE],
        Form("Copy the form", "Copy and edit", "The copy is a draft with the same questions and settings."),
        leads_to=lambda done: address(done.result["id"], "edit"),
    ),
    Action(
        FORM,
        "archive",
        _set_status(FormStatus.ARCHIVED),
        "{title} is archived. It takes no submissions any more.",
        form=Form("Archive the form", "Archive", ABOUT_ARCHIVING, "danger", "forms/archive.html", _affected),
        is_offered=lambda form: bool(form["status"] == FormStatus.PUBLISHED),
    ),
    Action(
        FORM,
        "reopen",
        _set_status(FormStatus.DRAFT),
        "{title} is a draft again. Publish it to open its page.",
        is_offered=lambda form: bool(form["status"] == FormStatus.ARCHIVED),
    ),
    Action(
        FORM,
        "discard",
        drafts.discard_draft,
        "Discarded the changes to {title}.",
        form=Form("Discard the changes", "Discard the changes", ABOUT_DISCARDING, "danger"),
        is_offered=lambda form: form["draft_saved_at"] is not None,
    ),
)
