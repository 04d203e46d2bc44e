"""The forms about a booking: cancel it by the policy, without its fee, or for the studio; undo that; choose a spot;
check in although something stops it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple
from uuid import UUID

from studiogate.console.framework import Action, ConsoleRequest, Done, Form, Subject, UndoAction, Values, own_page
from studiogate.console.framework.formats import day_and_time, money
from studiogate.console.framework.inputs import REQUIRED_REASON, Input, Row, optional_id, optional_text
from studiogate.console.framework.words import WORDS
from studiogate.console.members import words
from studiogate.domain.access import Access
from studiogate.domain.bookings.cancellation import CancellationCause, CancellationType, ReceiptJson
from studiogate.domain.bookings.overrides import Override
from studiogate.domain.bookings.states import BookingStatus
from studiogate.domain.names import MAX_REASON
from studiogate.domain.refusals import NOT_FOUND, Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import fault
from studiogate.flows.bookings import desk, previews, staff_bookings
from studiogate.flows.bookings.staff_bookings import Charge
from studiogate.storage import sales_list
from studiogate.storage.bookings import read, staff
from studiogate.storage.db.pool import Connection
from studiogate.storage.sales_list import PurchaseFilters

BOOKING = Subject(
    "booking",
    "/bookings/{booking_id}",
    Permission.BOOKINGS,
    staff.read_booking,
    lambda row: f"/console/today?class={row['class_id']}",
    lambda row: f"{row['member']} · {row['title']}, {day_and_time(row['start_time'], row['timezone'])}",
)


class Choice(NamedTuple):
    """One way to cancel, with what it costs."""

    charge: Charge
    label: str
    effect: str


_TIMES: Mapping[str, str] = WORDS["cancellation_times"]


def effect_of(receipt: ReceiptJson, *, waives: bool = False) -> str:
    """Return what a cancellation costs, in a sentence."""
    fee = receipt["late_fee"]
    parts = ["no fee"]
    if fee is not None:
        parts = [f"{'without the' if waives else 'a'} fee of {money(fee['amount'], fee['currency'])}"]
    if receipt["credits_returned"]:
        parts.append("the credit is returned")
    elif receipt["credits_forfeited"]:
        parts.append("the credit is not returned")
    text, when = ", ".join(parts), _TIMES.get(receipt["cancellation_type"])
    return f"{when}: {text}." if when else f"{text.capitalize()}."


async def _preview(request: ConsoleRequest, connection: Connection, row: Row) -> Values | Refusal:
    """Return the ways to cancel, and who would be promoted."""
    planned = [
        await previews.plan_cancellation(connection, request.access, row["id"], cause)
        for cause in (CancellationCause.POLICY, CancellationCause.STUDIO)
    ]
    by_policy, by_studio = planned
    if isinstance(by_policy, Refusal):
        return by_policy
    if isinstance(by_studio, Refusal):
        return by_studio
    choices = [Choice(Charge.POLICY, "By the policy", effect_of(by_policy.receipt))]
    if by_policy.receipt["late_fee"] and request.may(Permission.SALES):
        choices.append(Choice(Charge.WAIVED, "Waive the fee", effect_of(by_policy.receipt, waives=True)))
    choices.append(Choice(Charge.STUDIO, "Cancelled by the studio", effect_of(by_studio.receipt)))
    return {
        "choices": choices,
        "promoted": await staff.names_of(connection, request.access, by_policy.promoted),
        "waits": row["status"] == BookingStatus.WAITLISTED,
    }


class Cancelled(NamedTuple):
    receipt: ReceiptJson
    promoted: Sequence[str]


async def _cancel(
    connection: Connection, access: Access, booking_id: UUID, charge: Charge, reason: str | None
) -> Cancelled | Refusal:
    planned = await previews.plan_cancellation(connection, access, booking_id, CancellationCause.POLICY)
    receipt = await staff_bookings.cancel_booking(connection, access, booking_id, reason, charge)
    if isinstance(receipt, Refusal):
        return receipt
    promoted = [] if isinstance(planned, Refusal) or not receipt["promoted"] else planned.promoted
    return Cancelled(receipt, await staff.names_of(connection, access, promoted))


def _said(done: Done) -> str:
    result: Cancelled = done.result
    if result.receipt["cancellation_type"] == CancellationType.WAITLIST_LEFT:
        return f"{done.row['member']} is off the waitlist."
    effect = effect_of(result.receipt, waives=done.given["charge"] is Charge.WAIVED)
    text = f"The booking of {done.row['member']} is cancelled. {effect}"
    if result.promoted:
        text += f" {' and '.join(result.promoted)} {'is' if len(result.promoted) == 1 else 'are'} promoted."
    return text


def _undo(done: Done) -> UndoAction | None:
    """Offer to undo a cancellation that gave the seat to nobody."""
    if done.row["status"] != BookingStatus.CONFIRMED or done.result.receipt["promoted"]:
        return None
    given = {"spot": str(done.row["class_spot_id"] or ""), "next": own_page(done.request.form.get("next"))}
    return UndoAction(f"/console/bookings/{done.row['id']}/uncancel", given)


def _restored(done: Done) -> str:
    fee = " The fee is withdrawn." if done.result.fee_withdrawn else ""
    return f"{done.row['member']} is booked again.{fee}"


def _charge(name: str, typed: str, _row: Row) -> object:
    """Return what is charged; nothing, if the form has no choice."""
    return Charge(typed or Charge.STUDIO) if typed in ("", *Charge) else fault(name, "must be one of the choices")


# What stops a check-in: the missing waiver to sign, open fees to settle; and checking in all the same.

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


SPOT = Input("spot", read=optional_id)
ACTIONS = (
    Action(
        BOOKING,
        "cancel",
        _cancel,
        _said,
        [
            Input("charge", read=_charge),
            Input("reason", "Reason", read=optional_text, attributes={"maxlength": MAX_REASON}),
        ],
        Form("Cancel the booking", "Cancel the booking", kind="danger", template="desk/cancel.html", values=_preview),
        undo=_undo,
    ),
    Action(
        BOOKING,
        "spot",
        staff_bookings.choose_spot,
        "The spot of {member} is changed.",
        [SPOT],
    ),
    Action(BOOKING, "uncancel", desk.undo_cancellation, _restored, [SPOT]),
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
