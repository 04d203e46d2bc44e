"""Run a staff flow for a request, and read the ids, days and numbers of its form."""

import re
from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime, time
from typing import Any, TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

from studiogate.console.framework.request import ConsoleRequest, UndoAction
from studiogate.console.schedule.week import read_date
from studiogate.domain.ids import parse_id
from studiogate.domain.refusals import Fault, Refusal
from studiogate.domain.staff_input import fault
from studiogate.flows.retry import repeated
from studiogate.web.response import Answer

Result = TypeVar("Result")
Flow = Callable[..., Awaitable[Result | Refusal]]
_WHOLE = re.compile(r"[+-]?[0-9]{1,9}", re.ASCII)
PAGE = 40
# Rows with forms of their own: each form has tokens of its own, which do not compress.
PAGE_OF_FORMS = 25


async def run(request: ConsoleRequest, flow: Flow[Result], *arguments: Any, **options: Any) -> Result | Refusal:
    """Run a flow with the access of the signed-in person, again after a conflict; its events are numbered at once."""

    async def once() -> Result | Refusal:
        async with request.database.connection() as connection:
            return await flow(connection, request.access, *arguments, **options)

    outcome = await repeated(once)
    request.runtime.sequencer.kick(request.access.studio_id)
    return outcome


def go_to(request: ConsoleRequest, location: str, toast: str, undo: UndoAction | None = None) -> Answer:
    """Lead to a page after an action. A form in a drawer, which htmx sent, leaves its page for the other one."""
    answer = request.redirect(location, toast=toast, undo=undo)
    if not request.is_fragment:
        return answer
    headers = [(b"hx-redirect" if name == b"location" else name, each) for name, each in answer.headers]
    return Answer(200, b"", headers)


def id_of(text: str | None) -> UUID | None:
    """Return the id that a path, a query or a form names, or None if it is none."""
    found = parse_id(text)
    return None if found is None else UUID(found)


def read_whole(name: str, text: str) -> int | Fault:
    """Return a whole number that somebody typed, with or without a sign."""
    typed = text.strip().replace("\N{MINUS SIGN}", "-")
    return int(typed) if _WHOLE.fullmatch(typed) else fault(name, "must be a whole number")


def read_day(name: str, text: str, timezone: str) -> datetime | Fault | None:
    """Return the beginning of a day of the studio's calendar; None if the field is empty."""
    if not text.strip():
        return None
    day = read_date(text.strip())
    return fault(name, "must be a day, such as 2026-03-01") if day is None else start_of_day(day, timezone)


def start_of_day(day: date, timezone: str) -> datetime:
    """Return the first instant of a day at a place."""
    return datetime.combine(day, time.min, ZoneInfo(timezone)).astimezone(UTC)


def only_faults(*read: object) -> list[Fault]:
    """Return the faults among what was read from a form."""
    return [each for each in read if isinstance(each, Fault)]


def value(read: Any) -> Any:
    """Return what was read from a field, None in place of a fault. Callers have refused faults before."""
    return None if isinstance(read, Fault) else read
