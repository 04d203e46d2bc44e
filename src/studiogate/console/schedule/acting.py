"""What the pages of the schedule share: run a flow, preview one, and show warnings in local time."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

from studiogate.console.framework.formats import day_and_time
from studiogate.console.framework.request import ConsoleRequest, UndoAction, is_own_path
from studiogate.domain.access import Access
from studiogate.domain.ids import parse_id
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows import preview, retry
from studiogate.storage.db.ids import read_id
from studiogate.storage.db.pool import Connection
from studiogate.web.response import Answer

NOT_FOUND = Refusal(Code.NOT_FOUND)
Result = TypeVar("Result")
Flow = Callable[[Connection, Access], Awaitable[Result]]


async def act(request: ConsoleRequest, flow: Flow[Result]) -> Result:
    """Run a flow as the signed-in person; repeat it after a conflict."""

    async def once() -> Result:
        async with request.database.connection() as connection:
            return await flow(connection, request.access)

    return await retry.repeated(once)


async def try_out(request: ConsoleRequest, flow: Flow[Result]) -> Result:
    """Return what a flow would do now; nothing is changed."""

    async def once() -> Result:
        async with request.database.connection() as connection:
            return await preview.previewed(connection, request.access, flow)

    return await retry.repeated(once)


def id_of(text: str | None) -> UUID | None:
    """Return an id that a page sent, or None if it is none."""
    found = parse_id(text)
    return None if found is None else read_id(found)


def conflict_warnings(refusal: Refusal) -> list[Mapping[str, Any]] | None:
    """Return the warnings of a strict refusal, or None if it is another one."""
    return list(refusal.details["warnings"]) if refusal.code is Code.SCHEDULE_CONFLICT else None


def warning_texts(warnings: Iterable[Mapping[str, Any]], zone: ZoneInfo) -> list[str]:
    """Return the sentences of warnings, with times as the location's clocks show them."""
    return [_in_local_time(each, zone) for each in warnings]


def _in_local_time(warning: Mapping[str, Any], zone: ZoneInfo) -> str:
    text = str(warning["message"])
    if "start_time" not in warning:
        return text
    start = datetime.fromisoformat(warning["start_time"])
    return text.replace(f"at {start:%Y-%m-%d %H:%M} UTC", f"on {day_and_time(start, zone.key)}")


def done(request: ConsoleRequest, href: str, toast: str, undo: UndoAction | None = None) -> Answer:
    """Lead to a page after a form took effect; a form in the drawer leads the whole page there. Whoever changed a class
    from Today or from its own page stays there."""
    answer = request.redirect(_desk_page(request) or href, toast=toast, undo=undo)
    if not request.is_fragment:
        return answer
    headers = [(b"hx-redirect" if name == b"location" else name, value) for name, value in answer.headers]
    return Answer(200, b"", headers)


def _desk_page(request: ConsoleRequest) -> str | None:
    """Return the page that sent the form, or over which the drawer was open, if it shows a class of the desk."""
    headers = request.http.headers
    address = (headers.get(b"hx-current-url") or headers.get(b"referer") or b"").decode("latin-1")
    shown = "/" + address.partition("://")[2].partition("/")[2]
    path = shown.partition("?")[0]
    is_of_desk = path == "/console/today" or path.startswith("/console/classes/")
    return shown if is_of_desk and is_own_path(shown) else None
