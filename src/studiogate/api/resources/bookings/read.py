"""GET /bookings and /waitlist, what a cancellation would cost, and the receipt of one."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from studiogate.api.framework.operations import LISTING, READING, Instant, Money, Uuid, Wire, list_of, operation
from studiogate.api.framework.params import LIMIT, Cursor, Id, Limit, PathId, UpdatedAfter
from studiogate.api.framework.route import Caller, LeanRoute, needs
from studiogate.domain.access import Scope
from studiogate.domain.bookings.cancellation import CancellationType
from studiogate.domain.bookings.policy import LateAction, WaitlistMode
from studiogate.domain.paging import PageRequest
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows.bookings import previews
from studiogate.storage.bookings import read as storage
from studiogate.storage.paging import read_one
from studiogate.storage.resources import BOOKING, WAITLIST_ENTRY
from studiogate.web.response import Answer

Reader = Annotated[Caller, needs(Scope.BOOKINGS_READ)]
BookingStatus = Literal["waitlisted", "confirmed", "checked_in", "no_show", "cancelled"]
WaitlistStatus = Literal["waiting", "offered", "converted", "expired", "cancelled"]
IdFilter = Annotated[Id | None, Query()]
routes = APIRouter(route_class=LeanRoute, tags=["bookings"])


class Booking(Wire):
    id: Uuid = Field(examples=["d0e0aabb-6c3e-5c19-9b0e-5a1f7a1d2c3b"])
    object: Literal["booking"] = "booking"
    class_id: Uuid = Field(examples=["f2f1a0c4-9c1b-5c8f-b0a6-4d1c9f3b7e01"])
    member_id: Uuid = Field(examples=["1d2c3b4a-6c3e-5c19-9b0e-5a1f7ad0e0bb"])
    status: BookingStatus = Field(examples=["confirmed"])
    booking_source: str | None = Field(examples=["partner_api"])
    class_spot_id: Uuid | None = Field(examples=[None])
    waitlist_position: int | None = Field(description="Set while waitlisted.", examples=[None])
    moved_to_booking_id: Uuid | None = Field(
        description="The booking in another class that replaced this one when staff moved it.", examples=[None]
    )
    moved_from_booking_id: Uuid | None = Field(description="The booking that this one replaced.", examples=[None])
    created_at: Instant | None = Field(examples=["2026-11-15T08:00:00+00:00"])
    updated_at: Instant | None = Field(examples=["2026-11-15T08:00:00+00:00"])


class WaitlistEntry(Wire):
    id: Uuid = Field(examples=["e0ccd0e0-6c3e-5c19-9b0e-5a1f7a4a3b2c"])
    object: Literal["waitlist"] = "waitlist"
    class_id: Uuid = Field(examples=["f2f1a0c4-9c1b-5c8f-b0a6-4d1c9f3b7e01"])
    member_id: Uuid = Field(examples=["1d2c3b4a-6c3e-5c19-9b0e-5a1f7ad0e0bb"])
    position: int | None = Field(description="1 to n while waiting, else null.", examples=[1])
    status: WaitlistStatus = Field(examples=["waiting"])
    converted_to_booking: bool = Field(examples=[False])
    booking_id: Uuid = Field(examples=["d0e0aabb-6c3e-5c19-9b0e-5a1f7a1d2c3b"])
    joined_at: Instant = Field(examples=["2026-11-15T08:00:00+00:00"])
    promoted_at: Instant | None = Field(examples=[None])
    skip_reason: str | None = Field(description="Why the last free seat went to the next entry.", examples=[None])
    updated_at: Instant = Field(examples=["2026-11-15T08:00:00+00:00"])


class LateFee(Wire):
    amount: Money = Field(examples=["15.00"])
    currency: str = Field(examples=["USD"])
    status: Literal["pending"] = "pending"
    purchase_id: Uuid | None = Field(examples=["8a430d6d-8f5b-5f0e-8a43-5e0c7a3e0f6f"])


class BookingPolicy(BaseModel):
    """The policy as it was resolved when the booking was made."""

    require_entitlement: bool = Field(examples=[True])
    booking_opens_minutes_before: int | None = Field(examples=[None])
    booking_closes_minutes_before: int = Field(examples=[0])
    cancellation_window_minutes: int = Field(examples=[720])
    late_action: LateAction = Field(examples=["fee"])
    late_fee_amount: Money = Field(examples=["15.00"])
    late_fee_currency: str | None = Field(examples=[None])
    free_late_cancels: int = Field(examples=[0])
    free_late_cancels_days: int = Field(examples=[30])
    waitlist_mode: WaitlistMode = Field(examples=["auto"])
    waitlist_capacity: int | None = Field(examples=[None])
    promotion_cutoff_minutes: int = Field(examples=[60])
    promotion_grace_minutes: int = Field(examples=[15])
    max_bookings_per_day: int | None = Field(examples=[None])
    allow_overlapping: bool = Field(examples=[False])
    waiver_form_id: Uuid | None = Field(examples=[None])


class BookingCancellation(Wire):
    """The receipt of a cancellation; with status `preview`, what it would be."""

    id: Uuid | None = Field(examples=["c0ffee00-9c1b-5c8f-b0a6-4d1c9f3b7e01"])
    object: Literal["booking_cancellation"] = "booking_cancellation"
    booking_id: Uuid = Field(examples=["d0e0aabb-6c3e-5c19-9b0e-5a1f7a1d2c3b"])
    class_id: Uuid = Field(examples=["f2f1a0c4-9c1b-5c8f-b0a6-4d1c9f3b7e01"])
    member_id: Uuid = Field(examples=["1d2c3b4a-6c3e-5c19-9b0e-5a1f7ad0e0bb"])
    status: Literal["cancelled", "preview"] = Field(examples=["cancelled"])
    cancelled_at: Instant | None = Field(examples=["2026-11-19T18:00:00+00:00"])
    cancelled_by: str = Field(examples=["partner_api"])
    reason: str | None = Field(examples=["Feeling unwell"])
    cancellation_type: CancellationType = Field(examples=["late"])
    late: bool = Field(examples=[True])
    cutoff_at: Instant = Field(examples=["2026-11-19T12:00:00+00:00"])
    late_fee: LateFee | None
    credit_forfeited: bool = Field(examples=[False])
    credits_forfeited: int = Field(examples=[0])
    credits_returned: int = Field(examples=[1])
    membership_id: Uuid | None = Field(examples=["4a3b2c1d-6c3e-5c19-9b0e-5a1f7ad0e0cc"])
    credits_remaining: int | None = Field(examples=[8])
    spot_released: bool = Field(examples=[True])
    promoted: bool = Field(description="Somebody from the waitlist has the seat now; never who.", examples=[False])
    policy: BookingPolicy


@routes.get("/bookings", **operation("List bookings", list_of(Booking), *LISTING))
async def list_bookings(
    caller: Reader,
    class_id: IdFilter = None,
    member_id: IdFilter = None,
    status: Annotated[BookingStatus | None, Query()] = None,
    updated_after: UpdatedAfter = None,
    cursor: Cursor = None,
    limit: Limit = LIMIT,
) -> Answer:
    """Newest first. Filters combine; an unknown class or member gives an empty list."""
    wanted = storage.BookingFilters(class_id, member_id, status, updated_after)
    return caller.listed(await caller.read(storage.list_bookings, PageRequest(cursor, limit), wanted))


@routes.get("/bookings/{booking_id}", **operation("Read a booking", Booking, *READING))
async def read_booking(caller: Reader, booking_id: PathId) -> Answer:
    """Visible when its class is at a permitted location."""
    return caller.found(await caller.read(read_one, BOOKING, booking_id))


@routes.get("/waitlist", **operation("List waitlist entries", list_of(WaitlistEntry, "WaitlistList"), *LISTING))
async def list_waitlist(
    caller: Reader,
    class_id: IdFilter = None,
    member_id: IdFilter = None,
    status: Annotated[WaitlistStatus | None, Query()] = None,
    updated_after: UpdatedAfter = None,
    cursor: Cursor = None,
    limit: Limit = LIMIT,
) -> Answer:
    """Newest first. `position` is set while an entry waits."""
    wanted = storage.BookingFilters(class_id, member_id, status, updated_after)
    return caller.listed(await caller.read(storage.list_waitlist, PageRequest(cursor, limit), wanted))


@routes.get("/waitlist/{waitlist_id}", **operation("Read a waitlist entry", WaitlistEntry, *READING))
async def read_waitlist_entry(caller: Reader, waitlist_id: PathId) -> Answer:
    """Position, status, and whether it became a booking."""
    return caller.found(await caller.read(read_one, WAITLIST_ENTRY, waitlist_id))


@routes.get(
    "/bookings/{booking_id}/cancellation-preview",
    **operation(
        "What cancelling would cost now",
        BookingCancellation,
        *READING,
        Code.CLASS_STARTED,
        Code.BOOKING_ALREADY_CANCELLED,
        Code.INVALID_TRANSITION,
    ),
)
async def preview_cancellation(caller: Reader, booking_id: PathId) -> Answer:
    """The receipt that cancelling at this moment would give; nothing happens."""
    preview = await caller.read(previews.preview_cancellation, booking_id)
    if isinstance(preview, Refusal):
        return caller.refuse(preview)
    return caller.found(preview)


@routes.get(
    "/bookings/{booking_id}/cancellation",
    **operation("Read the receipt of a cancelled booking", BookingCancellation, *READING),
)
async def read_cancellation(caller: Reader, booking_id: PathId) -> Answer:
    """Exactly what the cancellation answered."""
    return caller.found(await caller.read(storage.read_cancellation, booking_id))
