"""GET /bookings and /waitlist."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import Field

from studiogate.api.framework.operations import LISTING, READING, Instant, ListEnvelope, Uuid, Wire, operation
from studiogate.api.framework.params import LIMIT, Cursor, Id, Limit, PathId, UpdatedAfter
from studiogate.api.framework.reads import found, listed
from studiogate.api.framework.route import Caller, LeanRoute, needs
from studiogate.domain.access import Scope
from studiogate.domain.paging import PageRequest
from studiogate.storage.bookings import read as storage
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
    created_at: Instant | None = Field(examples=["2026-11-15T08:00:00+00:00"])
    updated_at: Instant | None = Field(examples=["2026-11-15T08:00:00+00:00"])


class BookingList(ListEnvelope):
    data: list[Booking]


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


class WaitlistList(ListEnvelope):
    data: list[WaitlistEntry]


@routes.get("/bookings", **operation("List bookings", BookingList, *LISTING))
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
    return listed(caller, await caller.read(storage.list_bookings, PageRequest(cursor, limit), wanted))


@routes.get("/bookings/{booking_id}", **operation("Read a booking", Booking, *READING))
async def read_booking(caller: Reader, booking_id: PathId) -> Answer:
    """Visible when its class is at a permitted location."""
    return found(caller, await caller.read(storage.read_booking, booking_id))


@routes.get("/waitlist", **operation("List waitlist entries", WaitlistList, *LISTING))
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
    return listed(caller, await caller.read(storage.list_waitlist, PageRequest(cursor, limit), wanted))


@routes.get("/waitlist/{waitlist_id}", **operation("Read a waitlist entry", WaitlistEntry, *READING))
async def read_waitlist_entry(caller: Reader, waitlist_id: PathId) -> Answer:
    """Position, status, and whether it became a booking."""
    return found(caller, await caller.read(storage.read_waitlist_entry, waitlist_id))
