"""studiogate class: staff actions whose effects partners see."""

from typing import Annotated

import typer

from studiogate.cli import lists
from studiogate.cli.actions import RowId, StudioOption, act
from studiogate.cli.context import AsJson, DataFolder, counted, print_json, screen
from studiogate.flows.bookings import staff as flow

classes = typer.Typer(help="Cancel a class or change its capacity.", no_args_is_help=True)


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


classes.command("list")(lists.list_classes)
