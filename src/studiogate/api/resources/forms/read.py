"""GET /forms and the paths below it: submissions, and their files as attachments."""

import asyncio
import re
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from studiogate.api.framework.errors import refused
from studiogate.api.framework.operations import LISTING, READING, Email, Instant, Uuid, Wire, list_of, operation
from studiogate.api.framework.params import LIMIT, LIMIT_WHERE_ALL_FIT, Boolean, Cursor, Limit, PathId, UpdatedAfter
from studiogate.api.framework.route import Caller, LeanRoute, also_needs, needs
from studiogate.domain.access import Scope
from studiogate.domain.paging import PageRequest
from studiogate.domain.refusals import Code, Refusal
from studiogate.storage.forms import save as storage
from studiogate.storage.forms import uploads
from studiogate.storage.upload_folder import UploadFolder
from studiogate.web.response import Answer, OpenFile

Reader = Annotated[Caller, needs(Scope.FORMS_READ)]
SubmissionReader = Annotated[Caller, needs(Scope.FORM_SUBMISSIONS_READ)]
routes = APIRouter(route_class=LeanRoute, tags=["forms"])

FieldType = Literal[
    "text",
    "textarea",
    "number",
    "email",
    "phone",
    "date",
    "select",
    "checkbox",
    "checkbox_group",
    "signature",
    "file_upload",
    "address",
    "rating",
    "section_break",
    "consent",
]


class ConditionalRule(BaseModel):
    field_key: str = Field(examples=["has_injury"])
    op: str = Field(examples=["equals"])
    value: Any = Field(None, examples=["yes"])


class FormFieldInput(BaseModel):
    """What a field may have when a form is saved. Further fields are kept as they were given."""

    model_config = ConfigDict(extra="allow")

    key: str = Field(description="The answer's key in submissions and rules.", examples=["goals"])
    label: str = Field(examples=["What brings you here?"])
    type: FieldType = Field(examples=["textarea"])
    required: bool = False
    placeholder: str | None = None
    options: list[Any] | None = None
    options_layout: Literal["select", "buttons"] | None = None
    order: int = 0
    help_text: str | None = None
    display_when: ConditionalRule | None = None
    step_index: int | None = None
    signature_purpose: str | None = None
    consent_policy_slug: str | None = None
    consent_policy_version: str | None = None
    consent_label: str | None = None
    accept: str | None = None
    max_file_size: int | None = None
    multiple: bool | None = None
    max_rating: int | None = None
    min: float | None = None
    max: float | None = None


class FormField(FormFieldInput):
    """A field with all that it can have: with its default or null where the form does not say. Further fields are
    kept as they were given."""

    model_config = ConfigDict(extra="allow", json_schema_serialization_defaults_required=True)


class Form(Wire):
    id: Uuid = Field(examples=["b0a64d1c-9c1b-5c8f-b0a6-f2f1a0c49f3b"])
    object: Literal["form"] = "form"
    title: str = Field(examples=["New client intake"])
    slug: str = Field(examples=["new-client-intake"])
    description: str | None = Field(examples=[None])
    fields: list[FormField]
    settings: dict[str, Any] = Field(
        description="Times are in UTC. `notification_emails` is shown to keys with `forms:write` only.",
        examples=[{"confirmation_message": "Thank you!"}],
    )
    status: Literal["draft", "published", "archived"] = Field(examples=["published"])
    version: int = Field(description="Rises by 1 with every change.", examples=[1])


class FormSubmission(Wire):
    id: Uuid = Field(examples=["9f3b7e01-9c1b-5c8f-b0a6-f2f1a0c44d1c"])
    object: Literal["form_submission"] = "form_submission"
    form_id: Uuid = Field(examples=["b0a64d1c-9c1b-5c8f-b0a6-f2f1a0c49f3b"])
    form_version: int = Field(examples=[1])
    submitter_name: str | None = Field(examples=["Sam Lee"])
    submitter_email: Email = Field(examples=["sam@example.com"])
    data: dict[str, Any] = Field(examples=[{"goals": "Get stronger"}])
    status: Literal["pending", "confirmed", "rejected", "spam"] = Field(
        description="Moved by the studio's staff. What is rejected or spam satisfies no waiver.", examples=["pending"]
    )
    verified: bool = Field(
        description="True where the submitter is known to own the email: it came through a key, by a member's signed "
        "link, from staff, or the link in the confirmation mail was opened. Only verified submissions belong to a "
        "member, satisfy a waiver or count for `allow_multiple: false`.",
        examples=[True],
    )
    member_id: Uuid | None = Field(examples=[None])
    lead_id: Uuid | None = Field(examples=[None])
    created_at: Instant = Field(examples=["2026-11-01T09:00:00+00:00"])
    updated_at: Instant = Field(examples=["2026-11-01T09:00:00+00:00"])


@routes.get("/forms", **operation("List forms, published ones by default", list_of(Form), *LISTING))
@also_needs(Scope.FORMS_WRITE, lambda request: request.query.get("include_drafts") == "true")
async def list_forms(
    caller: Reader,
    include_drafts: Annotated[
        Boolean, Query(description="Drafts and archived forms too; needs the scope forms:write.")
    ] = False,
    cursor: Cursor = None,
    limit: Limit = LIMIT_WHERE_ALL_FIT,
) -> Answer:
    """Published forms; with `include_drafts` all of them, for keys that may write forms."""
    return caller.listed(await caller.read(storage.list_forms, PageRequest(cursor, limit), include_drafts))


@routes.get("/forms/{form_id}", **operation("Read a form", Form, *READING))
async def read_form(caller: Reader, form_id: PathId) -> Answer:
    """A form that is not published is 404 to a key without `forms:write`."""
    return caller.found(await caller.read(storage.read_form, form_id))


@routes.get(
    "/forms/{form_id}/submissions",
    **operation("List a form's submissions", list_of(FormSubmission), *LISTING, *READING),
)
async def list_submissions(
    caller: SubmissionReader,
    form_id: PathId,
    updated_after: UpdatedAfter = None,
    cursor: Cursor = None,
    limit: Limit = LIMIT,
) -> Answer:
    """Newest first, also of forms that are archived by now. A draft is 404 to a key without `forms:write`."""
    page = PageRequest(cursor, limit)
    return caller.listed(await caller.read(storage.list_submissions, page, form_id, updated_after))


@routes.get("/forms/{form_id}/submissions/{submission_id}", **operation("Read a submission", FormSubmission, *READING))
async def read_submission(caller: SubmissionReader, form_id: PathId, submission_id: PathId) -> Answer:
    """The answers, by the keys of the form as it was at `form_version`."""
    return caller.found(await caller.read(storage.read_submission, form_id, submission_id))


# Characters outside printable ASCII, or with a special meaning inside a quoted string.
_UNSAFE = re.compile(r"[^ -~]|[\"\\%]")
FILE = {
    "200": {
        "description": "The file, as it was uploaded.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@routes.get(
    "/forms/{form_id}/submissions/{submission_id}/files/{upload_id}",
    **operation(
        "Read a file of a submission", None, *READING, openapi_extra={"responses": FILE}, response_class=Response
    ),
)
async def read_file(caller: SubmissionReader, form_id: PathId, submission_id: PathId, upload_id: PathId) -> Answer:
    """The file that a submission's answer names by `upload_id`. It is always an attachment: visitors upload what they
    like, so show nothing of it in a browser without checking it. `Content-Type` is by the file's content.
    """
    stored = await caller.read(uploads.find_file, form_id, submission_id, upload_id)
    if stored is None:
        return caller.refuse(Refusal(Code.NOT_FOUND))
    folder = UploadFolder(caller.runtime.settings.data_dir)
    try:
        stream = await asyncio.to_thread(folder.open, caller.access.studio_id, stored.stored_name)
    except OSError:
        return refused(Refusal(Code.STORAGE_UNAVAILABLE), caller.request_id)
    # As RFC 6266 has it: the name in ASCII for old clients, in UTF-8 for all others; never inline.
    plain = _UNSAFE.sub("_", stored.filename)
    disposition = f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(stored.filename, safe='')}"
    headers = (
        (b"content-type", stored.content_type.encode("ascii", "replace")),
        (b"content-disposition", disposition.encode("ascii")),
    )
    return Answer(200, b"", headers, OpenFile(stream, stored.size))
