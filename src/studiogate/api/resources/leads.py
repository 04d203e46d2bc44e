"""Leads."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import Field, StringConstraints, field_serializer

from studiogate.api.framework import operations, params
from studiogate.api.framework.idempotency import IDEMPOTENT, OptionalIdempotencyKey, Partial, Success, write, write_once
from studiogate.api.framework.operations import (
    LISTING,
    NAMED,
    READING,
    WRITING,
    Instant,
    Uuid,
    Wire,
    described,
    list_of,
    open_enum,
    operation,
)
from studiogate.api.framework.params import LIMIT, Cursor, Limit, Name, PathId, UpdatedAfter
from studiogate.api.framework.route import Caller, JudgedByStudio, LeanRoute, needs
from studiogate.domain.access import Scope
from studiogate.domain.leads import LeadContact, LeadStatus, with_campaign
from studiogate.domain.paging import PageRequest
from studiogate.domain.refusals import Code, Fault, Refusal
from studiogate.flows import leads as flow
from studiogate.flows.idempotency import EmailWork, Stored, WriteContext
from studiogate.storage import leads as storage
from studiogate.storage.db.pool import Connection
from studiogate.storage.paging import read_one
from studiogate.storage.resources import LEAD
from studiogate.web.response import Answer

Reader = Annotated[Caller, needs(Scope.LEADS_READ)]
Writer = Annotated[Caller, needs(Scope.LEADS_WRITE)]
Notes = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=10_000)]
WritableStatus = Annotated[
    Literal["new", "contacted", "qualified", "unqualified", "lost"],
    Field(json_schema_extra={NAMED: "WritableLeadStatus"}),
]
LifecycleStage = Annotated[str, open_enum("LifecycleStage", "lead", "trial", "member", "former_member")]


def _nothing() -> Any:
    """Return a placeholder for an absent member of an update; it is never read."""
    return None


UTM = "Kept in `metadata.utm`."
UPDATING = (*WRITING, *READING, *IDEMPOTENT, Code.INVALID_TRANSITION, Code.LIMIT_REACHED)
routes = APIRouter(route_class=LeanRoute, tags=["leads"])


class Lead(Wire):
    """Somebody who showed interest in the studio."""

    id: Uuid = Field(examples=["6b1f6f0f-5a3c-5c1e-9d3e-0b3f2a777a01"])
    object: Literal["lead"] = "lead"
    email: operations.Email = described("Normalized; one lead per email and studio.", "sam@example.com")
    first_name: str = described("Empty where it is not known.", "Sam")
    last_name: str = described("Empty where it is not known.", "Lee")
    phone: str | None = described("E.164.", "+12125550100")
    source: str | None = described(
        "Where the lead came from: yours, else `partner_api`; `form` for one that a form made.", "partner_api"
    )
    status: LeadStatus | str = described("`converted`: a member has this email. Set by the system, and final.", "new")
    lifecycle_stage: LifecycleStage | None = described("How far the person has come with the studio.", "lead")
    metadata: dict[str, Any] = described(
        "At most 16 KiB as stored, without the system's own `form_submissions`.", {"utm": {"utm_source": "newsletter"}}
    )
    created_at: Instant = Field(examples=["2026-11-01T09:00:00+00:00"])
    updated_at: Instant = Field(examples=["2026-11-01T09:00:00+00:00"])


class MutationResult(Wire):
    """Which lead it is, and whether this request made it."""

    id: Uuid = described("The lead's id.", "6b1f6f0f-5a3c-5c1e-9d3e-0b3f2a777a01")
    object: Literal["lead"] = "lead"
    created: bool = described("Whether this request created the lead; an update never does.", True)


class LeadCreate(JudgedByStudio):
    """A lead to create or to identify."""

    email: params.EmailAddress = described("Identifies the lead: compared in normalized form.", "sam@example.com")
    first_name: Name | None = Field(None, description="The first name.", examples=["Sam"])
    last_name: Name | None = Field(None, description="The last name.")
    phone: params.Phone | None = Field(None, description=params.PHONE_TEXT)
    source: Name | None = Field(
        None, description="Where the lead came from. Default: `partner_api`.", examples=["spring-fair"]
    )
    metadata: dict[str, object] | None = Field(
        None,
        description="Your own data, at most 16 KiB as stored. Without `form_submissions`, which only the service "
        "writes.",
        examples=[{"interest": "reformer"}],
    )
    utm_source: Name | None = Field(None, description=UTM, examples=["newsletter"])
    utm_medium: Name | None = Field(None, description=UTM)
    utm_campaign: Name | None = Field(None, description=UTM, examples=["spring"])
    utm_term: Name | None = Field(None, description=UTM)
    utm_content: Name | None = Field(None, description=UTM)
    utm_id: Name | None = Field(None, description=UTM)

    @field_serializer("source")
    def _fingerprinted(self, source: str | None) -> str | None:
        """Return None for the default, which the flow applies: requests are compared by their serialized body."""
        return None if source in ("", flow.DEFAULT_SOURCE) else source

    @classmethod
    async def studio_faults(cls, caller: Caller, values: Mapping[str, object], body: object) -> list[Fault]:
        if not isinstance(body, dict):
            return []
        metadata = body.get("metadata")
        known = metadata if isinstance(metadata, dict) else {}
        return await caller.read(flow.create_faults, body.get("email"), body.get("phone"), known)

    def contact(self) -> LeadContact:
        given = {name: value for name, value in self if name.startswith("utm_") and value}
        metadata = with_campaign(self.metadata or {}, given)
        return LeadContact(self.first_name or "", self.last_name or "", self.phone, self.source or None, metadata)


class LeadUpdate(Partial, JudgedByStudio):
    """At least one field; what is absent stays."""

    first_name: Name = Field(default_factory=str, description="The first name.", examples=["Sam"])
    last_name: Name = Field(default_factory=str, description="The last name.", examples=["Lee"])
    phone: params.Phone | None = Field(None, description="Null takes it away.", examples=["+1 212 555 0100"])
    status: WritableStatus = Field(
        default_factory=_nothing,
        description="`converted` is set by the system only; a converted lead keeps it.",
        examples=["qualified"],
    )
    notes: Notes = Field(
        default_factory=str,
        description="Appended to the staff's notes, which are never returned and may have 64 KiB in all.",
        examples=["Asked about mornings."],
    )
    metadata: dict[str, object] = Field(
        default_factory=dict,
        description="Merged key by key; null deletes a key. The result may have 16 KiB as stored. Only the service "
        "changes `form_submissions`.",
        examples=[{"interest": "reformer", "old": None}],
    )

    @classmethod
    async def studio_faults(cls, caller: Caller, values: Mapping[str, object], body: object) -> list[Fault]:
        if not isinstance(body, dict):
            return []
        lead_id = values.get("lead_id")
        known = lead_id if isinstance(lead_id, str) else None
        return await caller.read(flow.update_faults, known, body.get("phone"), body.get("metadata"))

    def wanted(self) -> storage.LeadChange:
        given = self.given()
        return storage.LeadChange(**given, sets_phone="phone" in given)


@routes.get("/leads", **operation("List leads", list_of(Lead), *LISTING))
async def list_leads(
    caller: Reader,
    email: params.EmailFilter = None,
    updated_after: UpdatedAfter = None,
    cursor: Cursor = None,
    limit: Limit = LIMIT,
) -> Answer:
    """Newest first. One lead per email and studio."""
    return caller.listed(await caller.read(storage.list_leads, PageRequest(cursor, limit), email, updated_after))


@routes.get("/leads/{lead_id}", **operation("Read a lead", Lead, *READING))
async def read_lead(caller: Reader, lead_id: PathId) -> Answer:
    """Without staff notes."""
    return caller.found(await caller.read(read_one, LEAD, lead_id))


@routes.post("/leads", **operation("Create or identify a lead", MutationResult, *WRITING, *IDEMPOTENT, status_code=201))
async def create_lead(caller: Writer, body: LeadCreate, idempotency_key: OptionalIdempotencyKey = None) -> Answer:
    """One lead per email: `created` tells whether this request made it. Of a lead that exists, only empty fields are
    filled; `metadata` merges, and what you send wins. A lead whose email is a member's is `converted` at once.
    """
    contact = body.contact()

    async def create(connection: Connection, context: WriteContext) -> Stored | str | Refusal:
        return await flow.create_or_identify(connection, context, body.email, contact)

    return await write_once(caller, idempotency_key, body, Success(201), EmailWork(body.email, create))


@routes.patch("/leads/{lead_id}", **operation("Update a lead", MutationResult, *UPDATING, example={"created": False}))
async def update_lead(
    caller: Writer, lead_id: PathId, body: LeadUpdate, idempotency_key: OptionalIdempotencyKey = None
) -> Answer:
    wanted = body.wanted()
    return await write(caller, idempotency_key, body, Success(200), flow.update, lead_id, wanted)


@routes.post(
    "/leads/{lead_id}/update",
    **operation("Update a lead, for clients without PATCH", MutationResult, *UPDATING, example={"created": False}),
)
async def update_lead_by_post(
    caller: Writer, lead_id: PathId, body: LeadUpdate, idempotency_key: OptionalIdempotencyKey = None
) -> Answer:
    return await update_lead(caller, lead_id, body, idempotency_key)
