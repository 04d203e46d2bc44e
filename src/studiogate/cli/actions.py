"""Run a staff flow from a command: find the studio, repeat after a conflict, explain a refusal."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Annotated, Any, TypeVar
from uuid import UUID

import typer

from studiogate.cli.context import (
    CommandError,
    DataFolder,
    counted,
    no_studio,
    no_such,
    on_database,
    operator_of,
    parse_row_id,
)
from studiogate.domain.access import Access
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff_input import NO_SETTING
from studiogate.domain.studio_file.values import WrongValueError, instant
from studiogate.flows import retry
from studiogate.storage import studio as studios
from studiogate.storage.bookings import staff as storage
from studiogate.storage.db.pool import Connection

Result = TypeVar("Result")
Action = Callable[[Connection, Access], Awaitable[Result | Refusal]]
RowId = Annotated[UUID, typer.Argument(metavar="ID", parser=parse_row_id)]
StudioOption = Annotated[str | None, typer.Option("--studio", help="The studio's slug; needed only where ids repeat.")]
Undo = Annotated[bool, typer.Option("--undo", help="Take it back.")]


def parse_instant(text: str) -> datetime:
    """Parse a time given on the command line."""
    try:
        return instant(text, NO_SETTING)
    except WrongValueError:
        raise typer.BadParameter(f"{text!r} is not a time with an offset, such as 2026-03-01T09:30:00+01:00.") from None


def option_id(text: str) -> Any:
    """Return the declaration of an option that takes an id."""
    return typer.Option(metavar="ID", parser=parse_row_id, help=text)


def option_time(text: str, *names: str) -> Any:
    """Return the declaration of an option that takes a time."""
    return typer.Option(*names, metavar="TIME", parser=parse_instant, help=text)


def act(data: DataFolder, slug: str | None, kind: str, row_id: UUID, action: Action[Result]) -> Result:
    """Run a flow on one row, in the studio that has it."""

    async def work(connection: Connection) -> Result:
        access = await _access(connection, slug, kind, row_id)
        outcome = await retry.repeated_on(connection, lambda: action(connection, access))
        if isinstance(outcome, Refusal):
            missing = outcome.code is Code.NOT_FOUND and outcome.param is None
            raise no_such(kind, row_id) if missing else CommandError(explain(kind, outcome))
        return outcome

    return on_database(data, work)


def act_in_studio(data: DataFolder, slug: str, kind: str, action: Action[Result]) -> Result:
    """Run a flow that creates something in a studio."""

    async def work(connection: Connection) -> Result:
        access = await _operator(connection, slug)
        outcome = await retry.repeated_on(connection, lambda: action(connection, access))
        if isinstance(outcome, Refusal):
            raise CommandError(explain(kind, outcome))
        return outcome

    return on_database(data, work)


async def _access(connection: Connection, slug: str | None, kind: str, row_id: UUID) -> Access:
    if slug is not None:
        return await _operator(connection, slug)
    owners = await storage.studios_of(connection, kind, row_id)
    if len(owners) > 1:
        raise CommandError(f"Several studios have a {kind} {row_id}: say which with --studio SLUG.")
    if not owners:
        raise no_such(kind, row_id)
    return operator_of(owners[0])


async def _operator(connection: Connection, slug: str) -> Access:
    studio = await studios.find_studio(connection, slug)
    if studio is None:
        raise no_studio(slug)
    return operator_of(studio["studio_id"])


def explain(kind: str, refusal: Refusal) -> str:
    """Return what was refused and why, for a person."""
    details = refusal.details
    if refusal.faults:
        return "\n".join(f"{_option(each.loc)} {each.msg}." for each in refusal.faults)
    if refusal.code is Code.NOT_FOUND and refusal.param is not None:
        named = refusal.param.removesuffix("_id").replace("_", " ")
        return f"There is no such {named} in this studio."
    if "booked_count" in details:
        booked = int(str(details["booked_count"]))
        taken = f"{counted(booked, 'seat')} {'is' if booked == 1 else 'are'} taken"
        return f"{taken}: cancel bookings first, or choose a capacity of {booked} or more."
    if "undoes" in details:
        return f"The {kind} is {details['is']}, not {details['undoes']}: there is nothing to take back."
    if "possible_from" in details:
        when = datetime.fromisoformat(str(details["possible_from"]))
        what = "checked in" if details["to"] == "checked_in" else "marked as no-show"
        return f"The {kind} can be {what} from {when:%Y-%m-%d %H:%M} UTC on."
    if "from" in details:
        return f"The {kind} is {details['from']} and cannot become {details['to']}."
    return refusal.message


def _option(loc: tuple[str | int, ...]) -> str:
    """Return the name of a value at fault as people know it: ``location_ids[1]`` is the second location."""
    name = str(loc[0]).removesuffix("_id").removesuffix("_ids").replace("_", " ")
    numbers = "".join(f" {part + 1}" for part in loc[1:] if isinstance(part, int))
    return f"The {name}{numbers}"
