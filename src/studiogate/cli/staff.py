"""studiogate class, booking and waitlist: staff actions whose effects partners see."""

from typing import Annotated
from uuid import UUID

import typer

from studiogate.cli import lists
from studiogate.cli.actions import RowId, StudioOption, Undo, act
from studiogate.cli.context import AsJson, CommandError, DataFolder, counted, parse_row_id, print_json, screen
from studiogate.domain.access import Access
from studiogate.domain.refusals import Refusal
from studiogate.flows.bookings import staff as flow
from studiogate.flows.bookings import staff_bookings as by_hand
from studiogate.storage.db.pool import Connection

REASON_CHARACTERS = 500
classes = typer.Typer(help="Cancel a class or change its capacity.", no_args_is_help=True)
bookings = typer.Typer(help="Cancel, check in, or mark as no-show.", no_args_is_help=True)
waitlist = typer.Typer(help="Promote a waiting member.", no_args_is_help=True)


@classes.command("cancel")
def cancel_class(
    class_id: RowId, studio: StudioOption = None, as_json: AsJson = False, data: DataFolder = None
) -> None:
    """Cancel a class: its bookings are cancelled free of charge, credits return, the waitlist expires."""
    done = act(data, studio, "class", class_id, lambda c, access: flow.cancel_class(c, access, class_id))
    if as_json:
        cancelled = {"bookings_cancelled": done.bookings_cancelled, "credits_returned": done.credits_returned}
        print_json({"id": str(class_id), "status": "cancelled", **cancelled})
        return
    bookings_cancelled, credits_returned = done.bookings_cancelled, done.credits_returned
    screen.print(
        f"Cancelled, with {counted(bookings_cancelled, 'booking')}; {counted(credits_returned, 'credit')} returned."
    )


@classes.command("capacity")
def change_capacity(
    class_id: RowId,
    capacity: Annotated[int, typer.Argument(min=0, max=100_000)],
    studio: StudioOption = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Set a class's capacity. New seats go to the waitlist; below the booked count it is refused."""
    done = act(data, studio, "class", class_id, lambda c, access: flow.change_capacity(c, access, class_id, capacity))
    if as_json:
        print_json({"id": str(class_id), "capacity": done.capacity, "promoted": done.promoted})
        return
    screen.print(f"The capacity is {done.capacity} now; {counted(done.promoted, 'member')} promoted from the waitlist.")


@bookings.command("cancel")
def cancel_booking(
    booking_id: RowId,
    reason: Annotated[str | None, typer.Option("--reason", help="Kept on the receipt; partners see it.")] = None,
    studio: StudioOption = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Cancel a booking for the studio: no fee, the credit returns, and the seat goes to the waitlist."""
    if reason is not None and not 1 <= len(reason) <= REASON_CHARACTERS:
        raise CommandError(f"A reason has 1 to {REASON_CHARACTERS} characters.")
    receipt = act(
        data, studio, "booking", booking_id, lambda c, access: by_hand.cancel_booking(c, access, booking_id, reason)
    )
    if as_json:
        print_json(receipt)
        return
    promoted = "; a waiting member has the seat now" if receipt["promoted"] else ""
    screen.print(f"Cancelled; {counted(receipt['credits_returned'], 'credit')} returned{promoted}.")


@waitlist.command("promote")
def promote_entry(
    entry_id: Annotated[UUID, typer.Argument(metavar="ENTRY_ID", parser=parse_row_id)],
    studio: StudioOption = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Give a free seat to a waiting member, whatever their position. The booking rules are checked again."""
    done = act(data, studio, "waitlist entry", entry_id, lambda c, access: by_hand.promote_entry(c, access, entry_id))
    if as_json:
        print_json({"id": str(entry_id), "status": "converted", "booking_id": str(done.booking_id)})
        return
    screen.print(f"Promoted: booking {done.booking_id} is confirmed now.")


@bookings.command("check-in")
def check_in(
    booking_id: RowId, undo: Undo = False, studio: StudioOption = None, as_json: AsJson = False, data: DataFolder = None
) -> None:
    """The member is here. Possible from 12 hours before the class on."""
    if undo:
        _mark(data, studio, booking_id, "confirmed", as_json, undoes="checked_in")
    else:
        _mark(data, studio, booking_id, "checked_in", as_json)


@bookings.command("no-show")
def no_show(
    booking_id: RowId, undo: Undo = False, studio: StudioOption = None, as_json: AsJson = False, data: DataFolder = None
) -> None:
    """The member did not come. Possible once the class has started; taken back, they are checked in."""
    if undo:
        _mark(data, studio, booking_id, "checked_in", as_json, undoes="no_show")
    else:
        _mark(data, studio, booking_id, "no_show", as_json)


def _mark(
    data: DataFolder,
    studio: str | None,
    booking_id: UUID,
    status: flow.Mark,
    as_json: bool,
    undoes: flow.Mark | None = None,
) -> None:
    async def action(connection: Connection, access: Access) -> flow.Mark | Refusal:
        return await flow.mark(connection, access, booking_id, status, undoes=undoes)

    done = act(data, studio, "booking", booking_id, action)
    if as_json:
        print_json({"id": str(booking_id), "status": done})
        return
    screen.print(f"The booking is {done} now.")


classes.command("list")(lists.list_classes)
bookings.command("list")(lists.list_bookings)
waitlist.command("list")(lists.list_waitlist)
