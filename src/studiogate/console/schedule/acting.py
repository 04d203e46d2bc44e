"""What the pages of the schedule share: warnings in local time, and where a form leads."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from studiogate.console.framework.formats import day_and_time
from studiogate.console.framework.request import ConsoleRequest, UndoAction, is_own_path
from studiogate.domain.refusals import Code, Refusal
from studiogate.web.response import Answer

NOT_FOUND = Refusal(Code.NOT_FOUND)


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
    return request.go_to(_desk_page(request) or href, toast, undo)


def _desk_page(request: ConsoleRequest) -> str | None:
    """Return the page that sent the form, or over which the drawer was open, if it shows a class of the desk."""
    headers = request.http.headers
    address = (headers.get(b"hx-current-url") or headers.get(b"referer") or b"").decode("latin-1")
    shown = "/" + address.partition("://")[2].partition("/")[2]
    path = shown.partition("?")[0]
    is_of_desk = path == "/console/today" or path.startswith("/console/classes/")
    return shown if is_of_desk and is_own_path(shown) else None
