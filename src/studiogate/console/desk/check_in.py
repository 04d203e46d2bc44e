"""What stops a check-in: the missing waiver to sign, open fees to settle; and checking in all the same."""

from dataclasses import replace
from uuid import UUID

from studiogate.console.desk.cancellation import BOOKING
from studiogate.console.framework import Action, ConsoleRequest, Form, Values
from studiogate.console.framework.inputs import REQUIRED_REASON, Row, optional_text
from studiogate.console.members import words
from studiogate.domain.access import Access
from studiogate.domain.bookings.overrides import Override
from studiogate.domain.bookings.states import BookingStatus
from studiogate.domain.refusals import NOT_FOUND, Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.bookings import staff_bookings
from studiogate.storage import sales_list
from studiogate.storage.bookings import read
from studiogate.storage.db.pool import Connection
from studiogate.storage.sales_list import PurchaseFilters

MAX_FEES = 20


async def _stops(request: ConsoleRequest, connection: Connection, row: Row) -> Values | Refusal:
    """Return what is not settled, and the fees that the person may settle."""
    if (situation := await read.find_class(connection, request.access, row["class_id"])) is None:
        return NOT_FOUND
    stops = await staff_bookings.check_in_stops_of(connection, request.access, row["id"], situation)
    fees = PurchaseFilters(member_id=row["member_id"], open_fees=True)
    sees_fees = request.may(Permission.SALES)
    found = await sales_list.list_purchases(connection, request.access, fees, None, MAX_FEES) if sees_fees else None
    return {
        "stops": stops,
        "fees": found.rows if found else [],
        "can_check_in": row["status"] == BookingStatus.CONFIRMED,
        "words": words,
    }


async def _check_in(connection: Connection, access: Access, booking_id: UUID, reason: str | None) -> str | Refusal:
    override = Override(wanted=reason is not None, reason=reason)
    return await staff_bookings.check_in_anyway(connection, access, booking_id, override)


ACTIONS = (
    Action(
        BOOKING,
        "check-in",
        _check_in,
        "Checked in {member}.",
        [replace(REQUIRED_REASON, read=optional_text)],
        Form("Before the check-in", "Check in anyway", template="desk/check_in.html", values=_stops),
        needs=Permission.ATTENDANCE,
    ),
)
