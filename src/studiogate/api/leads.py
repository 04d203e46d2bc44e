"""Leads."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import Field

from studiogate.api.answers import found, listed
from studiogate.api.errors import Answer
from studiogate.api.execution import Caller, LeanRoute, needs
from studiogate.api.operations import LISTING, READING, Email, Instant, ListEnvelope, Uuid, Wire, operation
from studiogate.api.params import LIMIT, Cursor, EmailFilter, Limit, PathId, UpdatedAfter
from studiogate.domain.access import Scope
from studiogate.domain.paging import PageRequest
from studiogate.storage import leads as storage

Reader = Annotated[Caller, needs(Scope.LEADS_READ)]
routes = APIRouter(route_class=LeanRoute, tags=["leads"])


class Lead(Wire):
    id: Uuid = Field(examples=["6b1f6f0f-5a3c-5c1e-9d3e-0b3f2a777a01"])
    object: Literal["lead"] = "lead"
    email: Email = Field(description="Normalized, one lead an email and studio.", examples=["sam@example.com"])
    first_name: str = Field(examples=["Sam"])
    source: str | None = Field(examples=["partner_api"])
    status: Literal["new", "contacted", "qualified", "unqualified", "converted", "lost"] = Field(examples=["new"])
    lifecycle_stage: Literal["lead", "trial", "member", "former_member"] | None = Field(examples=["lead"])
    metadata: dict[str, Any] = Field(examples=[{"utm": {"source": "newsletter"}}])
    created_at: Instant = Field(examples=["2026-11-01T09:00:00+00:00"])
    updated_at: Instant = Field(examples=["2026-11-01T09:00:00+00:00"])


class LeadList(ListEnvelope):
    data: list[Lead]


@routes.get("/leads", **operation("List leads", LeadList, *LISTING))
async def list_leads(
    caller: Reader,
    email: EmailFilter = None,
    updated_after: UpdatedAfter = None,
    cursor: Cursor = None,
    limit: Limit = LIMIT,
) -> Answer:
    """Newest first. One lead an email address and studio."""
    return listed(caller, await caller.read(storage.list_leads, PageRequest(cursor, limit), email, updated_after))


@routes.get("/leads/{lead_id}", **operation("Read a lead", Lead, *READING))
async def read_lead(caller: Reader, lead_id: PathId) -> Answer:
    """Without staff notes."""
    return found(caller, await caller.read(storage.read_lead, lead_id))
