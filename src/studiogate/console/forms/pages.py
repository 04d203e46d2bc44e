"""The page of a form: its questions and versions in words, its links, and what changes its status."""

from collections.abc import Awaitable, Callable
from uuid import UUID

import segno
from markupsafe import Markup, escape

from studiogate.console.forms import words as form_words
from studiogate.console.forms.lists import PATH
from studiogate.console.framework import Action, ConsoleRequest, Form, Subject, Values, action, page_of, show_about
from studiogate.console.framework.inputs import Input, Row
from studiogate.console.framework.parse import read_instant
from studiogate.console.members import words
from studiogate.domain.access import Access
from studiogate.domain.forms.states import FormStatus
from studiogate.domain.names import MAX_NAME
from studiogate.domain.refusals import NOT_FOUND, Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.forms import drafts
from studiogate.flows.forms import staff as flows
from studiogate.storage import member_search
from studiogate.storage.db.pool import Connection
from studiogate.storage.forms import inbox as storage
from studiogate.storage.forms.inbox import FormRow
from studiogate.storage.member_list import MemberFilters
from studiogate.web.public_address import known_address
from studiogate.web.response import Answer

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


def page_address(request: ConsoleRequest, form: Row) -> str:
    return f"{known_address(request.runtime.settings)}/f/{form['studio_slug']}/{form['slug']}"


@page_of(FORM, "/forms/{form_id}/links", Permission.SUBMISSIONS, LINKS)
async def links(request: ConsoleRequest, connection: Connection, form: Row) -> Values:
    """Show the address of the form's page as text and as a QR code, and find a member to whom it is sent."""
    text, found = request.form.get("text", "").strip(), None
    if text and request.may(Permission.MEMBERS):
        place = (request.form.get("after"), FOUND)
        found = await member_search.search(connection, request.access, text, MemberFilters(), place)
    url, origin = page_address(request, form), known_address(request.runtime.settings)
    name, title = f"{form['studio_slug']}/{form['slug']}", escape(form["title"])
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
