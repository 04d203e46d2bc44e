"""POST /forms, PUT /forms/{id}, POST /forms/{id}/submissions."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field, PlainSerializer, SkipValidation, StringConstraints, WithJsonSchema, field_serializer

from studiogate.api.framework.idempotency import IDEMPOTENT, OptionalIdempotencyKey, Partial, Success, write
from studiogate.api.framework.operations import READING, WRITING, described, operation, reference
from studiogate.api.framework.params import Name, NonEmptyName, PathId, Text
from studiogate.api.framework.route import Caller, Judged, JudgedByStudio, LeanRoute, needs
from studiogate.api.resources.forms.read import Form, FormFieldInput, FormSettings, FormSubmission
from studiogate.domain.access import Scope
from studiogate.domain.form_body import MAX_DESCRIPTION, content_faults
from studiogate.domain.forms.canonical import MAX_DEFINITION, fields_without_defaults
from studiogate.domain.forms.definition import MAX_FIELDS, MAX_OPTIONS
from studiogate.domain.forms.states import MAX_SLUG, SLUG_PATTERN, FormStatus
from studiogate.domain.ids import lower_ids
from studiogate.domain.people import MAX_EMAIL
from studiogate.domain.refusals import Code, Fault
from studiogate.flows.forms import save as flow
from studiogate.flows.forms import submit
from studiogate.storage.forms.save import FormContent
from studiogate.web.response import Answer

Writer = Annotated[Caller, needs(Scope.FORMS_WRITE)]
Submitter = Annotated[Caller, needs(Scope.FORM_SUBMISSIONS_WRITE)]
routes = APIRouter(route_class=LeanRoute, tags=["forms"])

FIELDS = [
    {"key": "goals", "label": "What brings you here?", "type": "textarea", "required": True},
    {"key": "injured", "label": "Any injuries?", "type": "select", "options": ["no", "yes"]},
    {
        "key": "injury",
        "label": "Tell us more",
        "type": "text",
        "display_when": {"field_key": "injured", "op": "equals", "value": "yes"},
    },
]
SETTINGS = {"confirmation_message": "Thank you!", "create_lead": True}
FIELDS_TEXT = (
    f"At most {MAX_FIELDS} fields with {MAX_OPTIONS} options each. Fields and settings together have at most "
    f"{MAX_DEFINITION // 1024} KiB."
)
SETTINGS_TEXT = (
    "`opens_at` and `closes_at` are answered in UTC. The `redirect_url` is an https URL; it is answered with its host "
    "in IDNA form and percent-encoded. Other keys are kept."
)
DESCRIPTION_TEXT = "A text above the fields."
Slug = Annotated[str, StringConstraints(pattern=SLUG_PATTERN, max_length=MAX_SLUG)]
Description = Annotated[Text, StringConstraints(max_length=MAX_DESCRIPTION)]
# Validated by the domain and kept as given, including their order and extra members; pydantic would normalize them.
# Requests are compared by their serialized body, in which a default counts as absent, whether it is written or not.
Fields = Annotated[list[Annotated[FormFieldInput, SkipValidation]], PlainSerializer(fields_without_defaults)]
Settings = Annotated[dict[str, Any], WithJsonSchema(reference(FormSettings))]
_ANSWER = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
Answers = Annotated[dict[str, Any], WithJsonSchema({"type": "object", "additionalProperties": _ANSWER})]


class PartnerFormCreate(Judged):
    """A form to create."""

    title: NonEmptyName = described("The form's title.", "New client intake")
    slug: Slug | None = Field(
        None,
        description="Its part of the address of its hosted page; else made from the title.",
        examples=["new-client-intake"],
    )
    description: Description | None = Field(None, description=DESCRIPTION_TEXT)
    fields: Fields = Field([], description=FIELDS_TEXT, examples=[FIELDS])
    settings: Settings = Field({}, description=SETTINGS_TEXT, examples=[SETTINGS])
    status: FormStatus = Field(FormStatus.DRAFT, description="Only a `published` form takes submissions.")

    @classmethod
    def own_faults(cls, body: object) -> list[Fault]:
        return content_faults(body)

    def wanted(self) -> FormContent:
        return FormContent(self.title, self.slug or "", self.description, self.fields, self.settings, self.status)


class StudioFormUpdate(Partial):
    """At least one field. An absent one stays, a given one replaces the old one whole."""

    title: NonEmptyName = Field(default_factory=str, description="The title.", examples=["New client intake"])
    slug: Slug = Field(
        default_factory=str, description="Its part of the address of its hosted page.", examples=["new-client-intake"]
    )
    description: Description | None = Field(None, description=DESCRIPTION_TEXT)
    fields: Fields = Field(default_factory=list, description=FIELDS_TEXT, examples=[FIELDS])
    settings: Settings = Field(default_factory=dict, description=SETTINGS_TEXT, examples=[SETTINGS])
    status: FormStatus = Field(
        default_factory=lambda: FormStatus.DRAFT,
        description="From `draft` to `published` to `archived` and back to `draft`.",
        examples=["published"],
    )

    @classmethod
    def own_faults(cls, body: object) -> list[Fault]:
        return super().own_faults(body) + content_faults(body)


class FormSubmissionCreate(JudgedByStudio):
    """The answers of one person to a form."""

    submitter_name: Name | None = Field(None, description="Who submits.", examples=["Sam Lee"])
    submitter_email: Annotated[Text, StringConstraints(max_length=MAX_EMAIL)] = Field(
        json_schema_extra={"format": "email"},
        description="Links the submission to the lead or the member with this email.",
        examples=["sam@example.com"],
    )
    data: Answers = Field(
        default_factory=dict,
        description="Answers of visible fields by their key: strings, or arrays of strings.",
        examples=[{"goals": "Get stronger", "injured": "no"}],
    )

    @classmethod
    async def studio_faults(cls, caller: Caller, values: Mapping[str, Any], body: object) -> list[Fault]:
        if not isinstance(body, dict):
            return []
        email, data = body.get("submitter_email"), body.get("data", {})
        return await caller.read(submit.answer_faults, values.get("form_id"), email, data)

    @field_serializer("data")
    def _fingerprinted(self, data: dict[str, object]) -> dict[str, object]:
        """Return the answers with file ids in lower case: requests are compared by their serialized body."""
        return {key: lower_ids(answer) for key, answer in data.items()}

    def wanted(self) -> submit.SubmissionToStore:
        return submit.SubmissionToStore(self.submitter_email, self.submitter_name or None, self.data)


@routes.post("/forms", **operation("Create a form", Form, *WRITING, *IDEMPOTENT, Code.SLUG_TAKEN, status_code=201))
async def create_form(
    caller: Writer, body: PartnerFormCreate, idempotency_key: OptionalIdempotencyKey = None
) -> Answer:
    wanted = body.wanted()
    return await write(caller, idempotency_key, body, Success(201), flow.create, wanted)


@routes.put(
    "/forms/{form_id}",
    **operation("Update a form", Form, *WRITING, *READING, *IDEMPOTENT, Code.SLUG_TAKEN, Code.INVALID_TRANSITION),
)
async def update_form(
    caller: Writer, form_id: PathId, body: StudioFormUpdate, idempotency_key: OptionalIdempotencyKey = None
) -> Answer:
    """Each change raises `version`; submissions keep the version they were made with. States go from `draft` to
    `published` to `archived` and back to `draft`; from `published` to `draft` only while there is no submission.
    """
    given = body.given()
    return await write(caller, idempotency_key, body, Success(200), flow.update, form_id, given)


@routes.post(
    "/forms/{form_id}/submissions",
    **operation(
        "Submit a form",
        FormSubmission,
        *WRITING,
        *READING,
        *IDEMPOTENT,
        Code.FORM_NOT_ACCEPTING_SUBMISSIONS,
        status_code=201,
    ),
)
async def create_submission(
    caller: Submitter, form_id: PathId, body: FormSubmissionCreate, idempotency_key: OptionalIdempotencyKey = None
) -> Answer:
    """Send answers of visible fields only. All faults come at once, each at `["body", "data", key]`. Files are
    uploaded first, and named here by their ids.
    """
    wanted = body.wanted()
    mails = caller.runtime.settings.smtp_url is not None
    return await write(caller, idempotency_key, body, Success(201), submit.submit, form_id, wanted, mails=mails)
