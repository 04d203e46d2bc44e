"""What the commands of the studio's side share: options for values, running a flow in a studio, and its refusals."""

import json
from collections.abc import Awaitable, Callable, Iterable
from typing import Annotated, Any, TypeVar
from uuid import UUID

import typer
from rich.markup import escape

from studiogate.cli.context import (
    CommandError,
    DataFolder,
    complaints,
    no_studio,
    no_such,
    on_database,
    operator_of,
    parse_row_id,
    print_json,
    screen,
)
from studiogate.domain.access import Access
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.schedule.warnings import ScheduleWarning
from studiogate.flows import retry
from studiogate.flows.schedule.rows import Saved
from studiogate.storage import studio as studios
from studiogate.storage.db.pool import Connection

Result = TypeVar("Result")
RowId = Annotated[UUID, typer.Argument(metavar="ID", parser=parse_row_id)]
Clear = Annotated[
    list[str] | None, typer.Option("--clear", metavar="FIELD", help="Set this field to null, such as room_id.")
]
Policy = Annotated[
    str | None, typer.Option("--policy", metavar="JSON", help="Booking rules that apply here; replaces all of them.")
]
Strict = Annotated[bool, typer.Option("--strict", help="Refuse what would only be a warning.")]


def option_id(name: str, text: str) -> Any:
    """Return the declaration of an option that takes an id."""
    return typer.Option(name, metavar="ID", parser=parse_row_id, help=text)


def given(clear: list[str] | None, policy: str | None = None, **values: Any) -> dict[str, Any]:
    """Return the values that were given, by field; a cleared field is null."""
    chosen = {name: str(value) if isinstance(value, UUID) else value for name, value in values.items()}
    chosen = {name: value for name, value in chosen.items() if value is not None}
    if policy is not None:
        chosen["policy"] = _object(policy)
    both = sorted(set(chosen) & set(clear or ()))
    if both:
        raise CommandError(f"{both[0]} is given and cleared: choose one.")
    return {**chosen, **dict.fromkeys(clear or ())}


def _object(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        example = '{"cancellation_window_minutes": 720}'
        raise CommandError(f"--policy is not JSON: write an object such as '{example}'.") from None


def in_studio(
    data: DataFolder, slug: str, action: Callable[[Connection, Access], Awaitable[Result | Refusal]]
) -> Result:
    """Run a flow in the studio with this slug, as whoever runs the command; a refusal ends the command."""

    async def work(connection: Connection) -> Result:
        studio = await studios.find_studio(connection, slug)
        if studio is None:
            raise no_studio(slug)
        return await carried_out(connection, operator_of(studio["studio_id"]), action)

    return on_database(data, work)


async def carried_out(
    connection: Connection, access: Access, action: Callable[[Connection, Access], Awaitable[Result | Refusal]]
) -> Result:
    """Run a flow and return its result; repeat it after a conflict."""
    outcome = await retry.repeated_on(connection, lambda: action(connection, access))
    if isinstance(outcome, Refusal):
        raise CommandError(explain(outcome))
    return outcome


def explain(refusal: Refusal) -> str:
    """Return what a refusal means for whoever runs the command."""
    if refusal.code is Code.VALIDATION_ERROR:
        return "; ".join(f"{'.'.join(map(str, fault.loc))} {fault.msg}" for fault in refusal.faults) + "."
    if refusal.code is Code.SCHEDULE_CONFLICT:
        texts = " ".join(str(warning["message"]) for warning in refusal.details["warnings"])
        return f"{texts} Nothing was changed. Repeat the command without --strict if this is meant."
    if refusal.code is Code.SLUG_TAKEN:
        return "Another studio has this slug: choose another one."
    if "booked_count" in refusal.details:
        booked = refusal.details["booked_count"]
        return f"{booked} seats are taken: cancel bookings first, or choose a capacity of {booked} or more."
    if "spots_chosen" in refusal.details:
        return "Members have chosen spots of this room: move or cancel their bookings first."
    if "series" in refusal.details:
        return f"{refusal.details['series']} series use it: end or change them first (`studiogate series list`)."
    if "fields" in refusal.details:
        return f"{refusal.message} Only its title and its instructor can still be changed."
    if "spots_with_bookings" in refusal.details:
        labels = ", ".join(refusal.details["spots_with_bookings"])
        return f"Bookings refer to these spots: {labels}. Keep them in the list; their place may change."
    return f"{refusal.message} Nothing was changed."


def act_on(
    data: DataFolder,
    slug: str,
    kind: str,
    row_id: UUID,
    action: Callable[[Connection, Access], Awaitable[Result | Refusal]],
) -> Result:
    """Run a flow on one row; an unknown row ends the command with the list that shows the others."""

    async def checked(connection: Connection, access: Access) -> Result | Refusal:
        outcome = await action(connection, access)
        if isinstance(outcome, Refusal) and outcome.code is Code.NOT_FOUND:
            raise no_such(kind, row_id)
        return outcome

    return in_studio(data, slug, checked)


def print_warnings(warnings: Iterable[ScheduleWarning]) -> None:
    for warning in warnings:
        complaints.print(f"[yellow]warning:[/] {escape(warning.message)}", soft_wrap=True)


def print_saved(saved: Saved, text: str, as_json: bool, **more: Any) -> None:
    """Print the result of a flow that created or changed a row, and its warnings."""
    if as_json:
        print_json({"id": str(saved.id), **more, "warnings": [each.as_json() for each in saved.warnings]})
        return
    screen.print(f"{text} {saved.id}", soft_wrap=True)
    print_warnings(saved.warnings)
