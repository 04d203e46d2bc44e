"""GET /forms and the paths below it: submissions, and their files as attachments."""

import re
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from studiogate.api.framework.errors import refused
from studiogate.api.framework.operations import (
    LISTING,
    NAMED,
    READING,
    Email,
    Instant,
    Uuid,
    Wire,
    closed_enum,
    described,
    list_of,
    open_enum,
    operation,
)
from studiogate.api.framework.params import LIMIT, LIMIT_WHERE_ALL_FIT, Boolean, Cursor, Limit, PathId, UpdatedAfter
from studiogate.api.framework.route import Caller, LeanRoute, also_needs, needs
from studiogate.domain.access import Scope
from studiogate.domain.forms.canonical import FIELD_DEFAULTS
from studiogate.domain.forms.definition import FieldType, RuleOp
from studiogate.domain.forms.states import FormStatus, SubmissionStatus
from studiogate.domain.paging import PageRequest
from studiogate.domain.refusals import Code, Refusal
from studiogate.storage.forms import save as storage
from studiogate.storage.forms import uploads
from studiogate.storage.upload_store import in_thread
from studiogate.web.response import Answer, OpenFile

Reader = Annotated[Caller, needs(Scope.FORMS_READ)]
SubmissionReader = Annotated[Caller, needs(Scope.FORM_SUBMISSIONS_READ)]
routes = APIRouter(route_class=LeanRoute, tags=["forms"])

LAYOUTS = ("OptionsLayout", "select", "buttons")
OptionsLayout = Annotated[str, closed_enum(*LAYOUTS)]
KnownOptionsLayout = Annotated[str, open_enum(*LAYOUTS)]


class ConditionalRuleInput(BaseModel):
    """Shows a field only if the answer of another one fits."""

    field_key: str = described("The other field's `key`.", "has_injury")
    op: RuleOp = described("How its answer is compared. `in` and `not_in` take an array.", "equals")
    value: Any = Field(None, description="What it is compared with; `is_empty` needs none.", examples=["yes"])


class ConditionalRule(ConditionalRuleInput):
    """Shows a field only if the answer of another one fits."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    op: RuleOp | str = described("How its answer is compared.", "equals")  # type: ignore[assignment]


class FormFieldOption(BaseModel):
    """A choice whose answer differs from what people read."""

    value: str = described("The answer.", "yes")
    label: str = described("What people read.", "Yes, I do")


class FormFieldInput(BaseModel):
    """What a field may have when a form is saved. Further fields are kept as they were given."""

    # Named: pydantic writes out a model that it does not validate, wherever it occurs.
    model_config = ConfigDict(extra="allow", json_schema_extra={NAMED: "FormFieldInput"})

    key: str = described("The answer's key in submissions and rules.", "goals")
    label: str = described("What people read above the field.", "What brings you here?")
    type: FieldType = described("What kind of answer it takes.", "textarea")
    required: bool = Field(False, description="Whether it must be answered while it is visible.")
    placeholder: str | None = Field(None, description="A hint inside the empty field.")
    options: list[str | FormFieldOption] | None = Field(
        None, description="The choices of a `select` or `checkbox_group`, which needs at least one."
    )
    options_layout: OptionsLayout | None = Field(None, description="How the choices are shown.")
    order: int = Field(0, description="Fields are shown by this number, then in their order here.")
    help_text: str | None = Field(None, description="An explanation beside the field.")
    display_when: ConditionalRuleInput | None = Field(None, description="Null: always shown.")
    step_index: int | None = Field(None, description="Groups fields into the steps of a form.")
    signature_purpose: str | None = Field(None, description="What a `signature` is given for.")
    consent_policy_slug: str | None = Field(None, description="Which policy a `consent` agrees to.")
    consent_policy_version: str | None = Field(None, description="Which version of that policy.")
    consent_label: str | None = Field(None, description="The sentence that a `consent` agrees to.")
    accept: str | None = Field(
        None, description="What a `file_upload` takes: extensions and media types, separated by commas."
    )
    max_file_size: int | None = Field(None, description="The most bytes of a file; null: 10 MiB.")
    multiple: bool | None = Field(None, description="Whether a `file_upload` takes several files.")
    max_rating: int | None = Field(None, description="The highest `rating`, at most 10.")
    min: float | None = Field(None, description="The least number.")
    max: float | None = Field(None, description="The greatest number.")


def _with_examples(schema: dict[str, Any]) -> None:
    for name, default in FIELD_DEFAULTS.items():
        schema["properties"][name].setdefault("examples", [default])


class FormField(FormFieldInput):
    """A field with all that it can have: with its default or null where the form does not say. Further fields are
    kept as they were given."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True, json_schema_extra=_with_examples)

    type: FieldType | str = described("What kind of answer it takes.", "textarea")  # type: ignore[assignment]
    options_layout: KnownOptionsLayout | None = Field(None, description="How the choices are shown.")
    display_when: ConditionalRule | None = Field(None, description="Null: always shown.")


class FormSettings(BaseModel):
    """How a form behaves. Further members are kept as they were given."""

    model_config = ConfigDict(extra="allow")

    require_auth: bool | None = Field(
        None, description="Whether the hosted page opens only by a signed link made for one member."
    )
    notify_on_submit: bool | None = Field(None, description="Whether `notification_emails` get a mail per submission.")
    notification_emails: list[Email] | None = Field(
        None, description="Who gets those mails, at most 20. Shown to keys with `forms:write` only."
    )
    send_confirmation_email: bool | None = Field(None, description="Whether the submitter gets a mail.")
    confirmation_message: str | None = Field(
        None, description="What the submitter reads afterwards.", examples=["Thank you!"]
    )
    redirect_url: str | None = Field(
        None,
        description="An https URL that the submitter is sent to; answered with its host in IDNA form and"
        " percent-encoded.",
    )
    submit_label: str | None = Field(None, description="The text on the button.")
    allow_multiple: bool | None = Field(
        None, description="Whether one email may submit several times; true where absent."
    )
    opens_at: Instant | None = Field(None, description="Submissions are taken from then on; answered in UTC.")
    closes_at: Instant | None = Field(None, description="Submissions are taken until then; answered in UTC.")
    max_submissions: int | None = Field(None, description="The most submissions.")
    create_lead: bool | None = Field(None, description="Whether an unknown email becomes a lead with source `form`.")


class Form(Wire):
    """A form with its fields and rules."""

    id: Uuid = Field(examples=["b0a64d1c-9c1b-5c8f-b0a6-f2f1a0c49f3b"])
    object: Literal["form"] = "form"
    title: str = described("The form's title.", "New client intake")
    slug: str = described("The form's part of the address of its hosted page.", "new-client-intake")
    description: str | None = described("A text above the fields.", None)
    fields: list[FormField] = Field(description="The fields, with all that they can have.")
    settings: FormSettings = described(
        "Times are in UTC. `notification_emails` is shown to keys with `forms:write` only.",
        {"confirmation_message": "Thank you!"},
    )
    status: FormStatus | str = described("Only a `published` form takes submissions.", "published")
    version: int = described("Rises by 1 with every change.", 1)


class FormSubmission(Wire):
    """What somebody answered to a form."""

    id: Uuid = Field(examples=["9f3b7e01-9c1b-5c8f-b0a6-f2f1a0c44d1c"])
    object: Literal["form_submission"] = "form_submission"
    form_id: Uuid = described("The form.", "b0a64d1c-9c1b-5c8f-b0a6-f2f1a0c49f3b")
    form_version: int = described("The form's version at that time.", 1)
    submitter_name: str | None = described("The name that was given.", "Sam Lee")
    submitter_email: Email = described("The email that was given, normalized.", "sam@example.com")
    data: dict[str, Any] = described(
        "The answers, by the `key` of their field: strings, or arrays of strings.", {"goals": "Get stronger"}
    )
    status: SubmissionStatus | str = described(
        "Moved by the studio's staff. What is rejected or spam satisfies no waiver.", "pending"
    )
    verified: bool = described(
        "True where the submitter is known to own the email: it came through a key, by a member's signed "
        "link, from staff, or the link in the confirmation mail was opened. Only verified submissions belong to a "
        "member, satisfy a waiver or count for `allow_multiple: false`.",
        True,
    )
    member_id: Uuid | None = described("The member with this email, once verified.", None)
    lead_id: Uuid | None = described("The lead with this email.", None)
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
    ids = (caller.access.studio_id, stored.stored_name, stored.place)
    opened = await in_thread(caller.runtime.uploads.open_or_refuse, *ids)
    if isinstance(opened, Refusal):
        return refused(opened, caller.request_id)
    # As RFC 6266 has it: the name in ASCII for old clients, in UTF-8 for all others; never inline.
    plain = _UNSAFE.sub("_", stored.filename)
    disposition = f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(stored.filename, safe='')}"
    headers = (
        (b"content-type", stored.content_type.encode("ascii", "replace")),
        (b"content-disposition", disposition.encode("ascii")),
    )
    return Answer(200, b"", headers, OpenFile(opened.stream, stored.size))
