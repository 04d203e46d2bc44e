"""Run a staff flow from a command: its options, the studio it runs in, the repetition after a conflict, its result."""

import json
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
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
from studiogate.cli.explanations import explain
from studiogate.domain.access import Access
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.schedule.warnings import ScheduleWarning
from studiogate.domain.staff_input import NO_SETTING
from studiogate.domain.studio_file.values import WrongValueError, instant
from studiogate.flows import retry
from studiogate.flows.schedule.rows import Saved
from studiogate.storage import studio as studios
from studiogate.storage.bookings import staff as storage
from studiogate.storage.db.pool import Connection

Result = TypeVar("Result")
Action = Callable[[Connection, Access], Awaitable[Result | Refusal]]
RowId = Annotated[UUID, typer.Argument(metavar="ID", parser=parse_row_id)]
StudioOption = Annotated[str | None, typer.Option("--studio", help="The studio's slug; needed only where ids repeat.")]
Undo = Annotated[bool, typer.Option("--undo", help="Take it back.")]
Reason = Annotated[str | None, typer.Option("--reason", help="Kept in the audit log.")]
Clear = Annotated[
    list[str] | None, typer.Option("--clear", metavar="FIELD", help="Set this field to null, such as room_id.")
]
Policy = Annotated[
    str | None, typer.Option("--policy", metavar="JSON", help="Booking rules that apply here; replaces all of them.")
]
Strict = Annotated[bool, typer.Option("--strict", help="Refuse what would only be a warning.")]


def parse_instant(text: str) -> datetime:
    """Parse a time given on the command line."""
    try:
        return instant(text, NO_SETTING)
    except WrongValueError:
        raise typer.BadParameter(f"{text!r} is not a time with an offset, such as 2026-03-01T09:30:00+01:00.") from None


def option_id(text: str, *names: str) -> object:
    """Return the declaration of an option that takes an id."""
    return typer.Option(*names, metavar="ID", parser=parse_row_id, help=text)


def option_time(text: str, *names: str) -> object:
    """Return the declaration of an option that takes a time."""
    return typer.Option(*names, metavar="TIME", parser=parse_instant, help=text)


def given(clear: list[str] | None, policy: str | None = None, **values: object) -> dict[str, object]:
    """Return the values that were given, by field; a cleared field is null."""
    cleared = {name.replace("-", "_"): None for name in clear or ()}
    chosen = {name: str(value) if isinstance(value, UUID) else value for name, value in values.items()}
    chosen = {name: value for name, value in chosen.items() if value is not None}
    if policy is not None:
        chosen["policy"] = _object(policy)
    both = sorted(set(chosen) & set(cleared))
    if both:
        raise CommandError(f"{both[0]} is given and cleared: choose one.")
    return {**chosen, **cleared}


def changes(clear: list[str] | None, *policy: str | None, **values: Any) -> dict[str, object]:
    """Return what was given for a change, as ``given`` does; refuse a change of nothing and name the fields."""
    return some_of(given(clear, *policy, **values), (*values, *("policy" for _ in policy)))


def some_of(wanted: dict[str, object], fields: Iterable[str]) -> dict[str, object]:
    """Return the wanted changes; refuse if there are none, and name the fields that can be changed."""
    if not wanted:
        raise typer.BadParameter(f"Nothing to change. Give at least one of these fields: {', '.join(sorted(fields))}.")
    return wanted


def _object(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        example = '{"cancellation_window_minutes": 720}'
        raise CommandError(f"--policy is not JSON: write an object such as '{example}'.") from None


def act(data: DataFolder, slug: str | None, kind: str, row_id: UUID, action: Action[Result]) -> Result:
    """Run a flow on one row, in the studio that has it."""

    async def found(connection: Connection, access: Access) -> Result | Refusal:
        outcome = await action(connection, access)
        if isinstance(outcome, Refusal) and outcome.code is Code.NOT_FOUND and outcome.param is None:
            raise no_such(kind, row_id)
        return outcome

    async def work(connection: Connection) -> Result:
        return await carried_out(connection, await _access(connection, slug, kind, row_id), kind, found)

    return on_database(data, work)


def act_in_studio(data: DataFolder, slug: str, kind: str, action: Action[Result]) -> Result:
    """Run a flow that creates something in a studio."""

    async def work(connection: Connection) -> Result:
        return await carried_out(connection, await studio_access(connection, slug), kind, action)

    return on_database(data, work)


async def carried_out(connection: Connection, access: Access, kind: str, action: Action[Result]) -> Result:
    """Run a flow and return its result; repeat it after a conflict. A refusal ends the command."""
    outcome = await retry.repeated_on(connection, lambda: action(connection, access))
    if isinstance(outcome, Refusal):
        raise CommandError(explain(kind, outcome), outcome)
    return outcome


async def _access(connection: Connection, slug: str | None, kind: str, row_id: UUID) -> Access:
    if slug is not None:
        return await studio_access(connection, slug)
    owners = await storage.studios_of(connection, kind, row_id)
    if len(owners) > 1:
        raise CommandError(f"Several studios have a {kind} {row_id}: say which with --studio SLUG.")
    if not owners:
        raise no_such(kind, row_id)
    return operator_of(owners[0])


async def studio_access(connection: Connection, slug: str) -> Access:
    """Return the access of whoever runs the command to the studio with this slug."""
    studio = await studios.find_studio(connection, slug)
    if studio is None:
        raise no_studio(slug)
    return operator_of(studio["studio_id"])


def print_warnings(warnings: Iterable[ScheduleWarning]) -> None:
    for warning in warnings:
        complaints.print(f"[yellow]warning:[/] {escape(warning.message)}", soft_wrap=True)


def print_saved(saved: Saved, text: str, as_json: bool, **more: object) -> None:
    """Print the result of a flow that created or changed a row, and its warnings."""
    if as_json:
        print_json({"id": str(saved.id), **more, "warnings": [each.as_json() for each in saved.warnings]})
        return
    screen.print(f"{text} {saved.id}", soft_wrap=True)
    print_warnings(saved.warnings)
