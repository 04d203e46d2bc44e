"""Members and memberships."""

from collections.abc import Mapping
from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import Field

from studiogate.api.framework import operations, params
from studiogate.api.framework.idempotency import IDEMPOTENT, OptionalIdempotencyKey, Success, write
from studiogate.api.framework.operations import (
    LISTING,
    READING,
    WRITING,
    Instant,
    Uuid,
    Wire,
    described,
    list_of,
    operation,
)
from studiogate.api.framework.params import LIMIT, LIMIT_WHERE_ALL_FIT, Cursor, Limit, PathId, UpdatedAfter
from studiogate.api.framework.route import Caller, JudgedByStudio, LeanRoute, needs
from studiogate.domain.access import Scope
from studiogate.domain.bookings.states import MembershipStatus
from studiogate.domain.fields.people import MemberRole
from studiogate.domain.paging import PageRequest
from studiogate.domain.refusals import Code, Fault, Refusal
from studiogate.flows import leads
from studiogate.flows.members import create as flow
from studiogate.storage import members as storage
from studiogate.storage.paging import read_one
from studiogate.storage.resources import MEMBER, MEMBERSHIP
from studiogate.web.response import Answer

Reader = Annotated[Caller, needs(Scope.MEMBERS_READ)]
Writer = Annotated[Caller, needs(Scope.MEMBERS_WRITE)]
routes = APIRouter(route_class=LeanRoute, tags=["members"])


class Member(Wire):
    """A profile, without private staff notes and payment credentials."""

    id: Uuid = Field(examples=["1d2c3b4a-6c3e-5c19-9b0e-5a1f7ad0e0bb"])
    object: Literal["member"] = "member"
    name: str = described("First and last name, derived from both.", "Jordan Rivera")
    first_name: str = described("The first name.", "Jordan")
    last_name: str = described("The last name.", "Rivera")
    email: operations.Email | None = described("Normalized; null where the studio has none.", "jordan@example.com")
    phone: str | None = described("E.164.", "+12125550100")
    role: MemberRole | str = described(
        "`member` and `user`: profiles of members; `lead`: a person who has not become a member yet.", "member"
    )
    membership_type: str | None = described("The studio's own label of what the member has.", "intro")
    membership_start_date: Instant | None = described(
        "Since when, in the studio's own records. Memberships have the dates that count.", "2026-10-01T00:00:00+00:00"
    )
    membership_end_date: Instant | None = described("Until when, in the studio's own records.", None)
    erased_at: Instant | None = described("When the person was erased: the names are placeholders since then.", None)
    created_at: Instant = Field(examples=["2026-09-30T15:04:05+00:00"])
    updated_at: Instant = Field(examples=["2026-10-01T08:00:00+00:00"])


class MemberCreate(JudgedByStudio):
    """A member to create."""

    email: params.EmailAddress = described("One member per email: compared in normalized form.", "jordan@example.com")
    first_name: params.NonEmptyName = described("The first name.", "Jordan")
    last_name: params.NonEmptyName = described("The last name.", "Rivera")
    phone: params.Phone | None = Field(None, description=params.PHONE_TEXT, examples=["+12125550100"])

    @classmethod
    async def studio_faults(cls, caller: Caller, values: Mapping[str, object], body: object) -> list[Fault]:
        phone = body.get("phone") if isinstance(body, dict) else None
        return await caller.read(leads.phone_faults, phone)


class Membership(Wire):
    """What a member has bought to take part in classes."""

    id: Uuid = Field(examples=["4a3b2c1d-6c3e-5c19-9b0e-5a1f7ad0e0cc"])
    object: Literal["membership"] = "membership"
    member_id: Uuid = described("Whose membership it is.", "1d2c3b4a-6c3e-5c19-9b0e-5a1f7ad0e0bb")
    product_id: Uuid = described(
        "What was bought. It says which classes are covered.", "c7c2a1b8-6c3e-5c19-9b0e-5a1f7ad0e0aa"
    )
    status: MembershipStatus | str = described("Only an `active` one pays for classes.", "active")
    auto_renew: bool = described("Whether a new period begins at `current_period_end`.", False)
    state_version: int = described("Rises by 1 with every change.", 3)
    started_at: Instant | None = described("Usable from then on.", "2026-10-01T00:00:00+00:00")
    current_period_start: Instant | None = described("When the current period began.", "2026-10-01T00:00:00+00:00")
    current_period_end: Instant | None = described(
        "When the current period ends; null: it does not end.", "2027-01-01T00:00:00+00:00"
    )
    paused_at: Instant | None = described("When the pause took effect, while it is paused.", None)
    pause_starts_at: Instant | None = described("When a pause begins, where one is planned or current.", None)
    pause_ends_at: Instant | None = described("When the pause ends; null: until staff end it.", None)
    pause_reason: str | None = described("Why it is paused.", None)
    cancel_at_period_end: bool = described("Whether it ends with the current period.", False)
    cancel_at: Instant | None = described("When a planned cancellation takes effect.", None)
    cancelled_at: Instant | None = described("When it was cancelled.", None)
    cancellation_reason: str | None = described("Why it was cancelled.", None)
    ended_at: Instant | None = described("When it stopped being usable.", None)
    credits_granted: int | None = described("Credits per period. Null: unlimited.", 10)
    credits_remaining: int | None = described("Credits left. Null: unlimited.", 8)
    updated_at: Instant = Field(examples=["2026-11-10T17:30:00+00:00"])


@routes.get("/members", **operation("List members", list_of(Member), *LISTING))
async def list_members(
    caller: Reader,
    email: params.EmailFilter = None,
    updated_after: UpdatedAfter = None,
    cursor: Cursor = None,
    limit: Limit = LIMIT,
) -> Answer:
    """Profiles of members, users and leads with a profile. Find one by `email` before you create one."""
    return caller.listed(await caller.read(storage.list_members, PageRequest(cursor, limit), email, updated_after))


@routes.post(
    "/members", **operation("Create a member", Member, *WRITING, *IDEMPOTENT, Code.MEMBER_EXISTS, status_code=201)
)
async def create_member(caller: Writer, body: MemberCreate, idempotency_key: OptionalIdempotencyKey = None) -> Answer:
    """Create a member once and keep the id. The lead with the same email, if there is one, becomes `converted`."""
    return await write(caller, idempotency_key, body, Success(201), flow.create, dict(body))


@routes.get("/members/{member_id}", **operation("Read a member", Member, *READING))
async def read_member(caller: Reader, member_id: PathId) -> Answer:
    """A profile, without staff notes and payment credentials. One that was merged into another one is 404, with
    `details.merged_into`."""
    wire = await caller.read(read_one, MEMBER, member_id)
    if wire is None:
        return caller.refuse(await caller.read(storage.missing_member, member_id))
    return caller.found(wire)


@routes.get(
    "/members/{member_id}/memberships",
    **operation("List a member's memberships", list_of(Membership), *LISTING, *READING),
)
async def list_memberships(
    caller: Reader,
    member_id: PathId,
    updated_after: UpdatedAfter = None,
    cursor: Cursor = None,
    limit: Limit = LIMIT_WHERE_ALL_FIT,
) -> Answer:
    """Memberships in every state, newest first."""
    page = await caller.read(storage.list_memberships, PageRequest(cursor, limit), member_id, updated_after)
    if isinstance(page, Refusal) and page.code is Code.NOT_FOUND:
        page = await caller.read(storage.missing_member, member_id, "member_id")
    return caller.listed(page)


@routes.get("/memberships/{membership_id}", **operation("Read a membership", Membership, *READING))
async def read_membership(caller: Reader, membership_id: PathId) -> Answer:
    """Status, renewal, pause, cancellation and credits. `state_version` tells whether it changed."""
    return caller.found(await caller.read(read_one, MEMBERSHIP, membership_id))
