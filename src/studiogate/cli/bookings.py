"""studiogate booking and waitlist: book, cancel and move for members, attendance, promotion by hand."""

from typing import Annotated
from uuid import UUID

import typer

from studiogate.cli import lists
from studiogate.cli.actions import RowId, StudioOption, Undo, act
from studiogate.cli.context import (
    AsJson,
    CommandError,
    DataFolder,
    counted,
    no_such,
    parse_row_id,
    print_json,
    print_result,
    screen,
)
from studiogate.cli.explanations import explain
from studiogate.domain.access import Access
from studiogate.domain.bookings.overrides import Override, can_override
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows.bookings import attendance, desk, move, staff_bookings
from studiogate.flows.bookings.attendance import Mark
from studiogate.storage.db.pool import Connection

bookings = typer.Typer(help="Book, cancel or move for a member, check in, mark as no-show.", no_args_is_help=True)
waitlist = typer.Typer(help="Promote a waiting member.", no_args_is_help=True)
ClassId = Annotated[UUID, typer.Option("--class", metavar="ID", parser=parse_row_id, help="The class.")]
ToClass = Annotated[UUID, typer.Option("--to", metavar="CLASS_ID", parser=parse_row_id, help="The other class.")]
MemberId = Annotated[UUID, typer.Option("--member", metavar="ID", parser=parse_row_id, help="The member.")]
Spot = Annotated[
    UUID | None,
    typer.Option("--spot", metavar="ID", parser=parse_row_id, help="A spot of the class; `room spots` lists them."),
]
JoinWaitlist = Annotated[bool, typer.Option("--waitlist", help="Join the waitlist if the class is full.")]
Overriding = Annotated[
    bool, typer.Option("--override", help="Override the booking rules, except seats and one place per class.")
]
Reason = Annotated[str | None, typer.Option("--reason", help="Kept in the audit log; needed for --override.")]
ReceiptReason = Annotated[
    str | None, typer.Option("--reason", help="Kept in the audit log and on the receipt; partners see it.")
]


@bookings.command("create")
def create(
    class_id: ClassId,
    member_id: MemberId,
    spot: Spot = None,
    join_waitlist: JoinWaitlist = False,
    override: Overriding = False,
    reason: Reason = None,
    studio: StudioOption = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Book a class for a member. Credits are taken as for any booking."""
    wanted = desk.StaffBooking(class_id, member_id, join_waitlist, spot, Override(override, reason))

    async def action(connection: Connection, access: Access) -> desk.Booked:
        booked = await desk.book_for_member(connection, access, wanted)
        if isinstance(booked, Refusal):
            raise _problem(booked, {"class_id": class_id, "member_id": member_id}, waits=join_waitlist)
        return booked

    _print_booked(act(data, studio, "class", class_id, action), as_json)


@bookings.command("move")
def move_booking(
    booking_id: RowId,
    class_id: ToClass,
    spot: Spot = None,
    join_waitlist: JoinWaitlist = False,
    override: Overriding = False,
    reason: ReceiptReason = None,
    studio: StudioOption = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Move a booking to another class: cancelled free of charge here, booked there, or nothing happens."""
    wanted = move.Move(booking_id, class_id, join_waitlist, spot, Override(override, reason))

    async def action(connection: Connection, access: Access) -> move.Moved:
        moved = await move.move_booking(connection, access, wanted)
        if isinstance(moved, Refusal):
            raise _problem(moved, {"booking_id": booking_id, "class_id": class_id}, waits=join_waitlist)
        return moved

    moved = act(data, studio, "booking", booking_id, action)
    if as_json:
        print_json({"cancellation": moved.receipt, "booking": moved.booked.booking, **_overridden(moved.booked)})
        return
    promoted = "; a waiting member has the old seat now" if moved.receipt["promoted"] else ""
    screen.print(f"Moved: booking {moved.booked.booking['id']} is {moved.booked.booking['status']}{promoted}.")


def _print_booked(booked: desk.Booked, as_json: bool) -> None:
    if as_json:
        print_json({**booked.booking, **_overridden(booked)})
        return
    rules = ", ".join(booked.overridden)
    overridden = f"; overridden: {rules}" if rules else ""
    screen.print(f"Booked: booking {booked.booking['id']} is {booked.booking['status']}{overridden}.")


def _overridden(booked: desk.Booked) -> dict[str, list[str]]:
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
    booking_id: RowId,
    reason: ReceiptReason = None,
    studio: StudioOption = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Cancel a booking for the studio: no fee, the credit returns, and the seat goes to the waitlist."""

    async def action(connection: Connection, access: Access) -> dict[str, object]:
        receipt = await staff_bookings.cancel_booking(connection, access, booking_id, reason)
        if isinstance(receipt, Refusal):
            raise _problem(receipt, {"booking_id": booking_id})
        return receipt

    receipt = act(data, studio, "booking", booking_id, action)
    if as_json:
        print_json(receipt)
        return
    promoted = "; a waiting member has the seat now" if receipt["promoted"] else ""
    screen.print(f"Cancelled; {counted(int(str(receipt['credits_returned'])), 'credit')} returned{promoted}.")


@waitlist.command("promote")
def promote_entry(
    entry_id: Annotated[UUID, typer.Argument(metavar="ENTRY_ID", parser=parse_row_id)],
    override: Overriding = False,
    reason: Reason = None,
    studio: StudioOption = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Give a free seat to a waiting member, whatever their position. The booking rules are checked again."""

    async def action(connection: Connection, access: Access) -> staff_bookings.PromotedEntry:
        done = await staff_bookings.promote_entry(connection, access, entry_id, Override(override, reason))
        if isinstance(done, Refusal):
            raise no_such("waitlist entry", entry_id) if done.code is Code.NOT_FOUND else _of_entry(done)
        return done

    done = act(data, studio, "waitlist entry", entry_id, action)
    if as_json:
        rules = {"overridden_rules": [code.value for code in done.overridden]}
        print_json({"id": str(entry_id), "status": "converted", "booking_id": str(done.booking_id), **rules})
        return
    screen.print(f"Promoted: booking {done.booking_id} is confirmed now.")


def _of_entry(refusal: Refusal) -> CommandError:
    if refusal.code is Code.INVALID_TRANSITION:
        return CommandError(explain("waitlist entry", refusal), refusal)
    return _problem(refusal, {})


@bookings.command("check-in")
def check_in(
    booking_id: RowId, undo: Undo = False, studio: StudioOption = None, as_json: AsJson = False, data: DataFolder = None
) -> None:
    """The member is here. Possible from 12 hours before the class on."""
    marks: tuple[Mark, Mark | None] = ("confirmed", "checked_in") if undo else ("checked_in", None)
    _mark(data, studio, booking_id, marks, as_json)


@bookings.command("no-show")
def no_show(
    booking_id: RowId, undo: Undo = False, studio: StudioOption = None, as_json: AsJson = False, data: DataFolder = None
) -> None:
    """The member did not come. Possible once the class has started; taken back, they are checked in."""
    marks: tuple[Mark, Mark | None] = ("checked_in", "no_show") if undo else ("no_show", None)
    _mark(data, studio, booking_id, marks, as_json)


def _mark(
    data: DataFolder, studio: str | None, booking_id: UUID, marks: tuple[Mark, Mark | None], as_json: bool
) -> None:
    status, undoes = marks

    async def action(connection: Connection, access: Access) -> str | Refusal:
        return await attendance.mark(connection, access, booking_id, status, undoes=undoes)

    done = act(data, studio, "booking", booking_id, action)
    print_result({"id": str(booking_id), "status": done}, f"The booking is {done} now.", as_json)


bookings.command("list")(lists.list_bookings)
waitlist.command("list")(lists.list_waitlist)
