"""POST /bookings, what it would answer, and DELETE /bookings/{id}."""

import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from studiogate.api.framework.errors import STATUS
from studiogate.api.framework.idempotency import IDEMPOTENT, IdempotencyHeader, answered, write_context
from studiogate.api.framework.operations import READING, WRITING, Uuid, Wire, described, open_enum, operation
from studiogate.api.framework.params import Id, PathId, Text
from studiogate.api.framework.route import Caller, LeanRoute, needs
from studiogate.api.resources.bookings.read import Booking, BookingCancellation
from studiogate.domain.access import Scope
from studiogate.domain.refusals import Code, Refusal, RefusalType
from studiogate.flows.bookings import previews
from studiogate.flows.bookings.book import NO_MEMBER, BookClass
from studiogate.flows.bookings.cancel import CancelBooking
from studiogate.flows.bookings.executor import PendingRequest
from studiogate.flows.idempotency import Replay, Stored
from studiogate.storage import members
from studiogate.storage.bookings import read
from studiogate.storage.db.statement import read_id
from studiogate.telemetry import metrics
from studiogate.web.response import Answer

Reader = Annotated[Caller, needs(Scope.BOOKINGS_READ)]
Writer = Annotated[Caller, needs(Scope.BOOKINGS_WRITE)]
Canceller = Annotated[Caller, needs(Scope.BOOKINGS_CANCEL)]
Reason = Annotated[
    Annotated[Text, StringConstraints(min_length=1, max_length=500)] | None,
    Query(description="Why, in at most 500 characters; kept on the receipt."),
]
BookingOutcome = Annotated[str, open_enum("BookingOutcome", "confirmed", "waitlisted", "refused")]
routes = APIRouter(route_class=LeanRoute, tags=["bookings"])

BOOKING_REFUSALS = tuple(
    code
    for code, (kind, _) in STATUS.items()
    if kind is RefusalType.BOOKING and code is not Code.BOOKING_ALREADY_CANCELLED
)


class PartnerBookingCreate(BaseModel):
    """A class to book for a member."""

    model_config = ConfigDict(extra="forbid")

    class_id: Id = described("The class to book.", "f2f1a0c4-9c1b-5c8f-b0a6-4d1c9f3b7e01")
    member_id: Id = described(
        "Who books. Find a member by `GET /members?email=…`, or create one once.",
        "1d2c3b4a-6c3e-5c19-9b0e-5a1f7ad0e0bb",
    )
    join_waitlist: bool = Field(False, strict=True, description="Join the waitlist when the class is full.")
    class_spot_id: Id | None = Field(None, description="A spot from `GET /classes/{class_id}/spots`.")

    def command(self) -> BookClass:
        spot = None if self.class_spot_id is None else read_id(self.class_spot_id)
        return BookClass(read_id(self.class_id), read_id(self.member_id), self.join_waitlist, spot)


class ValidationReason(Wire):
    """A rule that the booking would break."""

    code: Code | str = described("The code that booking would answer.", "class_full")
    message: str = described("For people.", Code.CLASS_FULL.message)
    details: dict[str, Any] = described(
        "As in the error of this code.", {"waitlist_available": True, "available_count": 0}
    )


class BookingValidation(Wire):
    """What POST /bookings would answer at this moment."""

    object: Literal["booking_validation"] = "booking_validation"
    bookable: bool = described("Whether it would be confirmed or waitlisted.", True)
    outcome: BookingOutcome = described("What the booking would become.", "confirmed")
    reasons: list[ValidationReason] = described("All rules that refuse it; empty where none does.", [])
    membership_id: Uuid | None = described("The membership that would pay.", "4a3b2c1d-6c3e-5c19-9b0e-5a1f7ad0e0cc")
    credits_required: int = described("How many credits it would take.", 1)


@routes.post(
    "/bookings",
    **operation("Book a class", Booking, *WRITING, *READING, *IDEMPOTENT, *BOOKING_REFUSALS, status_code=201),
)
async def create_booking(caller: Writer, idempotency_key: IdempotencyHeader, body: PartnerBookingCreate) -> Answer:
    """Runs every rule. With `join_waitlist` a full class answers with a waitlisted booking.

    Within the promotion cutoff a free seat is open to everybody: the request of a waiting member confirms their
    waitlisted booking, which keeps its id.
    """
    context = write_context(caller, idempotency_key, body, status=201)
    outcome = await caller.runtime.bookings.submit(PendingRequest(context, body.command()))
    if isinstance(outcome, Refusal):
        outcome = await _naming_merged(caller, outcome, body.member_id)
    if not isinstance(outcome, Replay):
        metrics.BOOKINGS.labels(_label(outcome)).inc()
    return answered(caller, outcome)


async def _naming_merged(caller: Caller, refusal: Refusal, member_id: str) -> Refusal:
    """Return the refusal; if there is no such member, with the one into which it was merged."""
    if refusal != NO_MEMBER:
        return refusal
    return await caller.read(members.missing_member, member_id, NO_MEMBER.param)


def _label(outcome: Stored | Refusal) -> str:
    """Return the label for the metrics: confirmed, waitlisted, or the code of the refusal."""
    if isinstance(outcome, Refusal):
        return outcome.code.value
    body = json.loads(outcome.body)
    label: str = body["status"] if outcome.status == 201 else body["error"]["code"]
    return label


@routes.post(
    "/bookings/validate", **operation("Ask what booking would answer now", BookingValidation, *WRITING, *READING)
)
async def validate_booking(caller: Reader, body: PartnerBookingCreate) -> Answer:
    """The same rules without any effect and without a key. The answer can change until you book."""
    validation = await caller.read(previews.validate_booking, body.command())
    if isinstance(validation, Refusal):
        return caller.refuse(await _naming_merged(caller, validation, body.member_id))
    return Answer(200, json.dumps(validation, separators=(",", ":")).encode())


@routes.delete(
    "/bookings/{booking_id}",
    **operation(
        "Cancel a booking",
        BookingCancellation,
        *READING,
        *IDEMPOTENT,
        Code.CLASS_STARTED,
        Code.BOOKING_ALREADY_CANCELLED,
        Code.INVALID_TRANSITION,
    ),
)
async def cancel_booking(
    caller: Canceller, booking_id: PathId, idempotency_key: IdempotencyHeader, reason: Reason = None
) -> Answer:
    """Applies the policy frozen on the booking: it may charge a fee or forfeit a credit. Use a new
    `Idempotency-Key` for each cancellation.
    """
    wanted = read_id(booking_id)
    # If there is no such booking, no other request waits for its id either, and the flow returns not_found.
    class_id, member_id = await caller.read(read.class_and_member, wanted) or (wanted, None)
    command = CancelBooking(class_id, wanted, reason, member_id=member_id)
    context = write_context(caller, idempotency_key, None, status=200)
    return answered(caller, await caller.runtime.bookings.submit(PendingRequest(context, command)))
