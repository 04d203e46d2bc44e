"""GET /bookings and /waitlist, what a cancellation would cost, and the receipt of one."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import Field

from studiogate.api.framework.operations import (
    LISTING,
    READING,
    Currency,
    Instant,
    Money,
    Uuid,
    Wire,
    described,
    list_of,
    open_enum,
    operation,
)
from studiogate.api.framework.params import LIMIT, Cursor, Id, Limit, PathId, UpdatedAfter
from studiogate.api.framework.route import Caller, LeanRoute, needs
from studiogate.domain.access import Scope
from studiogate.domain.bookings.cancellation import CancellationCause, CancellationType
from studiogate.domain.bookings.policy import LateAction, WaitlistMode
from studiogate.domain.bookings.states import BookingStatus, WaitlistStatus
from studiogate.domain.fields.catalog import PurchaseStatus
from studiogate.domain.paging import PageRequest
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows.bookings import previews
from studiogate.storage.bookings import read as storage
from studiogate.storage.paging import read_one
from studiogate.storage.resources import BOOKING, WAITLIST_ENTRY
from studiogate.web.response import Answer

Reader = Annotated[Caller, needs(Scope.BOOKINGS_READ)]
ReceiptStatus = Annotated[str, open_enum("CancellationStatus", "cancelled", "preview")]
CancelledBy = Annotated[str, open_enum("CancelledBy", *dict.fromkeys(each.by for each in CancellationCause))]
IdFilter = Annotated[Id | None, Query()]
routes = APIRouter(route_class=LeanRoute, tags=["bookings"])


class Booking(Wire):
    """A member's place in a class, or on its waitlist."""

    id: Uuid = Field(examples=["d0e0aabb-6c3e-5c19-9b0e-5a1f7a1d2c3b"])
    object: Literal["booking"] = "booking"
    class_id: Uuid = described("The class that is booked.", "f2f1a0c4-9c1b-5c8f-b0a6-4d1c9f3b7e01")
    member_id: Uuid = described("Who has booked.", "1d2c3b4a-6c3e-5c19-9b0e-5a1f7ad0e0bb")
    status: BookingStatus | str = described("A `waitlisted` booking holds no seat; `cancelled` is final.", "confirmed")
    booking_source: str | None = described("Who made it: `partner_api`, `staff` or `import`.", "partner_api")
    class_spot_id: Uuid | None = described("The spot, where the class has spots.", None)
    waitlist_position: int | None = described("1 for the next in line; null unless waitlisted.", None)
    moved_to_booking_id: Uuid | None = described(
        "The booking in another class that replaced this one when staff moved it.", None
    )
    moved_from_booking_id: Uuid | None = described("The booking that this one replaced.", None)
    created_at: Instant = Field(examples=["2026-11-15T08:00:00+00:00"])
    updated_at: Instant = Field(examples=["2026-11-15T08:00:00+00:00"])


class WaitlistEntry(Wire):
    """A member's place on a class's waitlist."""

    id: Uuid = Field(examples=["e0ccd0e0-6c3e-5c19-9b0e-5a1f7a4a3b2c"])
    object: Literal["waitlist"] = "waitlist"
    class_id: Uuid = described("The class that the member waits for.", "f2f1a0c4-9c1b-5c8f-b0a6-4d1c9f3b7e01")
    member_id: Uuid = described("The member on the waitlist.", "1d2c3b4a-6c3e-5c19-9b0e-5a1f7ad0e0bb")
    position: int | None = described("1 to n while waiting, else null.", 1)
    status: WaitlistStatus | str = described(
        "`converted`: the booking is confirmed. `expired`: the class began first.", "waiting"
    )
    converted_to_booking: bool = described("Whether the member got a seat.", False)
    booking_id: Uuid = described(
        "The waitlisted booking; it keeps its id when it is confirmed.", "d0e0aabb-6c3e-5c19-9b0e-5a1f7a1d2c3b"
    )
    joined_at: Instant = described("When the member joined the waitlist.", "2026-11-15T08:00:00+00:00")
    promoted_at: Instant | None = described("When the member got a seat.", None)
    skip_reason: Code | str | None = described("Why the last free seat went to the next entry.", None)
    updated_at: Instant = Field(examples=["2026-11-15T08:00:00+00:00"])


class LateFee(Wire):
    """A fee for cancelling late, which is a purchase."""

    amount: Money = Field(examples=["15.00"])
    currency: Currency = Field(examples=["USD"])
    status: PurchaseStatus | str = described(
        "No payment is taken here; the purchase tells when it was paid.", "pending"
    )
    purchase_id: Uuid | None = described(
        "The fee's purchase; null in a preview.", "8a430d6d-8f5b-5f0e-8a43-5e0c7a3e0f6f"
    )


class BookingPolicy(Wire):
    """The policy as it was resolved when the booking was made."""

    require_entitlement: bool = described("Whether a membership or credit must cover the class.", True)
    booking_opens_minutes_before: int | None = described(
        "Booking opens this long before the start; null: at any time.", None
    )
    booking_closes_minutes_before: int = described("Booking closes this long before the start.", 0)
    cancellation_window_minutes: int = described("Cancelling later than this before the start is late.", 720)
    late_action: LateAction | str = described("What a late cancellation costs.", "fee")
    late_fee_amount: Money = described("The fee for cancelling late, as a decimal.", "15.00")
    late_fee_currency: Currency | None = described("The fee's currency; null: the studio's.", None)
    free_late_cancels: int = described("That many late cancellations cost nothing …", 0)
    free_late_cancels_days: int = described("… in that many days.", 30)
    waitlist_mode: WaitlistMode | str = described(
        "`auto` promotes by itself, `manual` waits for staff, `off`: there is no waitlist.", "auto"
    )
    waitlist_capacity: int | None = described("The most who may wait; null: no limit.", None)
    promotion_cutoff_minutes: int = described("Nobody is promoted closer to the start than this.", 60)
    promotion_grace_minutes: int = described("A just-promoted member may leave free of charge for this long.", 15)
    max_bookings_per_day: int | None = described("Per member, in the studio's timezone; null: no limit.", None)
    allow_overlapping: bool = described("Whether a member may book two classes at the same time.", False)
    waiver_form_id: Uuid | None = described("A form that the member must have submitted.", None)


class BookingCancellation(Wire):
    """The receipt of a cancellation; with status `preview`, what it would be."""

    id: Uuid | None = described("Null in a preview.", "c0ffee00-9c1b-5c8f-b0a6-4d1c9f3b7e01")
    object: Literal["booking_cancellation"] = "booking_cancellation"
    booking_id: Uuid = described("The booking.", "d0e0aabb-6c3e-5c19-9b0e-5a1f7a1d2c3b")
    class_id: Uuid = described("The booking's class.", "f2f1a0c4-9c1b-5c8f-b0a6-4d1c9f3b7e01")
    member_id: Uuid = described("Who had booked.", "1d2c3b4a-6c3e-5c19-9b0e-5a1f7ad0e0bb")
    status: ReceiptStatus = described("Whether it happened, or what would happen now.", "cancelled")
    cancelled_at: Instant | None = described("Null in a preview.", "2026-11-19T18:00:00+00:00")
    cancelled_by: CancelledBy = described("Who cancelled: a key, the studio, or the clock.", "partner_api")
    reason: str | None = described("The reason that was given.", "Feeling unwell")
    cancellation_type: CancellationType | str = described(
        "`graced`: late, but free of charge. `studio`, `moved` and `class_cancelled`: by the studio, free of charge."
        " `waitlist_left`: it held no seat.",
        "late",
    )
    late: bool = described("Whether it came after `cutoff_at`.", True)
    cutoff_at: Instant = described("The last instant at which cancelling was on time.", "2026-11-19T12:00:00+00:00")
    late_fee: LateFee | None = Field(description="Null where there is none.")
    credit_forfeited: bool = described("Whether a credit was lost.", False)
    credits_forfeited: int = described("How many credits were lost.", 0)
    credits_returned: int = described("How many credits went back; 0 for an unlimited membership.", 1)
    membership_id: Uuid | None = described("The membership that had paid.", "4a3b2c1d-6c3e-5c19-9b0e-5a1f7ad0e0cc")
    credits_remaining: int | None = described("Credits left on it afterwards; null: unlimited.", 8)
    spot_released: bool = described("Whether a spot became free.", True)
    promoted: bool = described("Somebody from the waitlist has the seat now; never who.", False)
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
