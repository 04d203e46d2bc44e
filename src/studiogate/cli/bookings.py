"""studiogate booking and waitlist: book, cancel and move for members, attendance, promotion by hand."""

from typing import Annotated
from uuid import UUID

import typer

from studiogate.cli.commands import Group, InStudio
from studiogate.cli.context import CommandError, counted, no_such, parse_row_id
from studiogate.cli.explanations import explain
from studiogate.cli.field_options import RowId, Undo, option_id
from studiogate.cli.rows import add_list
from studiogate.domain.access import Access
from studiogate.domain.bookings.cancellation import ReceiptJson
from studiogate.domain.bookings.overrides import NO_OVERRIDE, Override, can_override
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows.bookings import desk, staff_bookings
from studiogate.flows.bookings.staff_bookings import Charge, Mark
from studiogate.storage.db.pool import Connection

bookings = Group("Book, cancel or move for a member, check in, mark as no-show.")
waitlist = Group("List waiting members, and promote one of them.")
ClassId = Annotated[UUID, option_id("The class.", "--class")]
ToClass = Annotated[UUID, typer.Option("--to", metavar="CLASS_ID", parser=parse_row_id, help="The other class.")]
MemberId = Annotated[UUID, option_id("The member.", "--member")]
Spot = Annotated[UUID | None, option_id("A spot of the class; `room spots` lists them.", "--spot")]
JoinWaitlist = Annotated[bool, typer.Option("--waitlist", help="Join the waitlist if the class is full.")]
Overriding = Annotated[
    bool, typer.Option("--override", help="Override the booking rules, except seats and one place per class.")
]
OverrideReason = Annotated[str | None, typer.Option("--reason", help="Kept in the audit log; needed for --override.")]
CheckingInAnyway = Annotated[
    bool, typer.Option("--override", help="Check in although a waiver is missing or a fee is open.")
]
Charged = Annotated[
    Charge,
    typer.Option(
        "--charge",
        help="studio: no fee. policy: what the member's own cancellation would cost. waived: the same without the fee, "
        "which needs --reason.",
    ),
]
ReceiptReason = Annotated[
    str | None, typer.Option("--reason", help="Kept in the audit log and on the receipt; partners see it.")
]


@bookings.command("create")
def create(
    call: InStudio,
    class_id: ClassId,
    member_id: MemberId,
    spot: Spot = None,
    join_waitlist: JoinWaitlist = False,
    override: Overriding = False,
    reason: OverrideReason = None,
) -> None:
    """Book a class for a member. Credits are taken as for any booking."""
    wanted = desk.StaffBooking(class_id, member_id, join_waitlist, spot, Override(override, reason))

    async def action(connection: Connection, access: Access) -> desk.Booked:
        booked = await desk.book_for_member(connection, access, wanted)
        if isinstance(booked, Refusal):
            raise _problem(booked, {"class_id": class_id, "member_id": member_id}, waits=join_waitlist)
        return booked

    booked = call.act("class", class_id, action)
    rules = ", ".join(booked.overridden)
    overridden = f"; overridden: {rules}" if rules else ""
    text = f"Booked: booking {booked.booking['id']} is {booked.booking['status']}{overridden}."
    call.show({**booked.booking, **_overridden(booked)}, text)


@bookings.command("move")
def move_booking(
    call: InStudio,
    booking_id: RowId,
    class_id: ToClass,
    spot: Spot = None,
    join_waitlist: JoinWaitlist = False,
    override: Overriding = False,
    reason: ReceiptReason = None,
) -> None:
    """Move a booking to another class: cancelled free of charge here, booked there, or nothing happens."""
    wanted = desk.Move(booking_id, class_id, join_waitlist, spot, Override(override, reason))

    async def action(connection: Connection, access: Access) -> desk.Moved:
        moved = await desk.move_booking(connection, access, wanted)
        if isinstance(moved, Refusal):
            raise _problem(moved, {"booking_id": booking_id, "class_id": class_id}, waits=join_waitlist)
        return moved

    moved = call.act("booking", booking_id, action)
    promoted = "; a waiting member has the old seat now" if moved.receipt["promoted"] else ""
    call.show(
        {"cancellation": moved.receipt, "booking": moved.booked.booking, **_overridden(moved.booked)},
        f"Moved: booking {moved.booked.booking['id']} is {moved.booked.booking['status']}{promoted}.",
    )


def _overridden(booked: desk.Booked | staff_bookings.PromotedEntry) -> dict[str, list[str]]:
    return {"overridden_rules": [code.value for code in booked.overridden]}


def _problem(refusal: Refusal, ids: dict[str, UUID], *, waits: bool = False) -> CommandError:
    """Return what was refused, by which rules, and whether an override helps."""
    if refusal.code is Code.NOT_FOUND:
        name = refusal.param or next(iter(ids))
        return no_such(name.removesuffix("_id"), ids[name])
    if refusal.faults:
        return CommandError(" ".join(fault.msg for fault in refusal.faults), refusal)
    rules = [Code(code) for code in refusal.details.get("reasons", ())]
    text = refusal.message if rules else explain("booking", refusal)
    if len(rules) > 1:
        text += f" All reasons: {', '.join(rules)}."
    if can_override(rules, waits=waits):
        text += " To book all the same, add --override --reason TEXT."
    return CommandError(text, refusal)


@bookings.command("cancel")
def cancel_booking(
    call: InStudio, booking_id: RowId, charge: Charged = Charge.STUDIO, reason: ReceiptReason = None, undo: Undo = False
) -> None:
    """Cancel a booking for the studio: no fee, the credit returns, and the seat goes to the waitlist."""
    if undo:
        return _undo_cancellation(call, booking_id)

    async def action(connection: Connection, access: Access) -> ReceiptJson:
        receipt = await staff_bookings.cancel_booking(connection, access, booking_id, reason, charge)
        if isinstance(receipt, Refusal):
            raise _problem(receipt, {"booking_id": booking_id})
        return receipt

    receipt = call.act("booking", booking_id, action)
    promoted = "; a waiting member has the seat now" if receipt["promoted"] else ""
    returned = counted(receipt["credits_returned"], "credit")
    fee = receipt["late_fee"]
    waived = " waived" if charge is Charge.WAIVED else ""
    charged = "" if fee is None else f"; a fee of {fee['amount']} {fee['currency']}{waived}"
    call.show(receipt, f"Cancelled; {returned} returned{charged}{promoted}.")
    return None


def _undo_cancellation(call: InStudio, booking_id: UUID) -> None:
    done = call.act("booking", booking_id, lambda c, access: desk.undo_cancellation(c, access, booking_id))
    fee = "; the fee is withdrawn" if done.fee_withdrawn else ""
    call.show(done.booking, f"Booked again: booking {done.booking['id']} replaces the cancelled one{fee}.")


@waitlist.command("promote")
def promote_entry(
    call: InStudio,
    entry_id: Annotated[UUID, typer.Argument(metavar="ENTRY_ID", parser=parse_row_id)],
    override: Overriding = False,
    reason: OverrideReason = None,
) -> None:
    """Give a free seat to a waiting member, whatever their position. The booking rules are checked again."""

    async def action(connection: Connection, access: Access) -> staff_bookings.PromotedEntry:
        done = await staff_bookings.promote_entry(connection, access, entry_id, Override(override, reason))
        if isinstance(done, Refusal):
            if done.code is Code.NOT_FOUND:
                raise no_such("waitlist entry", entry_id)
            if done.code is Code.INVALID_TRANSITION:
                raise CommandError(explain("waitlist entry", done), done)
            raise _problem(done, {})
        return done

    done = call.act("waitlist entry", entry_id, action)
    value = {"id": str(entry_id), "status": "converted", "booking_id": str(done.booking_id), **_overridden(done)}
    call.show(value, f"Promoted: booking {done.booking_id} is confirmed now.")


@bookings.command("check-in")
def check_in(
    call: InStudio,
    booking_id: RowId,
    undo: Undo = False,
    override: CheckingInAnyway = False,
    reason: OverrideReason = None,
) -> None:
    """The member is here. Possible from 12 hours before the class on, once nothing is open that the policy asks for."""
    _mark(call, booking_id, ("confirmed", "checked_in") if undo else ("checked_in", None), Override(override, reason))


@bookings.command("no-show")
def no_show(call: InStudio, booking_id: RowId, undo: Undo = False) -> None:
    """The member did not come. Possible once the class has started; taken back, they are checked in."""
    _mark(call, booking_id, ("checked_in", "no_show") if undo else ("no_show", None))


def _mark(call: InStudio, booking_id: UUID, marks: tuple[Mark, Mark | None], override: Override = NO_OVERRIDE) -> None:
    status, undoes = marks

    async def action(connection: Connection, access: Access) -> str | Refusal:
        if override.wanted:
            return await staff_bookings.check_in_anyway(connection, access, booking_id, override)
        return await staff_bookings.mark(connection, access, booking_id, status, undoes=undoes)

    done = call.act("booking", booking_id, action)
    call.show({"id": str(booking_id), "status": done}, f"The booking is {done} now.")


add_list(bookings, "booking", "List bookings, the latest class first.")
add_list(waitlist, "waitlist", "List waitlist entries, the newest first.")
