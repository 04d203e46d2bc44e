"""studiogate closure create, remove, list."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

import typer

from studiogate.cli import lists
from studiogate.cli.actions import RowId, Strict, act, act_in_studio, given, option_id, print_warnings
from studiogate.cli.context import AsJson, DataFolder, counted, print_json, print_result, screen
from studiogate.cli.lists import Slug
from studiogate.domain.studio_file.series import ClosureMode
from studiogate.flows.schedule import closures as flow
from studiogate.flows.schedule.rows import Given

app = lists.group("closure", "Days without classes.")
LocationId = Annotated[UUID | None, option_id("Only this location; else all.", "--location")]


@app.command("create")
def create(
    studio: Slug,
    first: Annotated[datetime, typer.Option("--from", formats=["%Y-%m-%d"], help="The first closed day.")],
    last: Annotated[datetime, typer.Option("--until", formats=["%Y-%m-%d"], help="The last closed day.")],
    mode: Annotated[
        ClosureMode, typer.Option("--mode", help="What happens to classes that exist: cancel them, or skip.")
    ],
    location: LocationId = None,
    reason: Annotated[str | None, typer.Option("--reason", help="Kept in the audit log of cancelled classes.")] = None,
    strict: Strict = False,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Close a location, or all, for some days. Series create no classes on them."""
    values = given(
        None,
        first_date=f"{first:%Y-%m-%d}",
        last_date=f"{last:%Y-%m-%d}",
        mode=mode.value,
        location_id=location,
        reason=reason,
    )
    saved = act_in_studio(data, studio, "closure", lambda c, access: flow.create(c, access, Given(values, strict)))
    if as_json:
        counts = {"cancelled": saved.cancelled, "bookings_cancelled": saved.bookings_cancelled}
        print_json({"id": str(saved.id), **counts, "warnings": [each.as_json() for each in saved.warnings]})
        return
    bookings = counted(saved.bookings_cancelled, "booking")
    cancelled = f"{counted(saved.cancelled, 'class')} and {bookings} cancelled"
    screen.print(f"The closure is created: {saved.id}" + (f" ({cancelled})" if saved.cancelled else ""))
    print_warnings(saved.warnings)


@app.command("remove")
def remove(closure_id: RowId, studio: Slug, as_json: AsJson = False, data: DataFolder = None) -> None:
    """Remove a closure. Series create their classes again; classes that were cancelled stay cancelled."""
    saved = act(data, studio, "closure", closure_id, lambda c, access: flow.remove(c, access, closure_id))
    print_result(
        {"id": str(saved.id), "created": saved.created},
        f"The closure is removed; {counted(saved.created, 'class')} created.",
        as_json,
    )
