"""The page between a form and its effect: what would change, who is affected, what clashes; and where forms lead."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit
from zoneinfo import ZoneInfo

from studiogate.console.framework.formats import counted, day_and_time
from studiogate.console.framework.request import ConsoleRequest, UndoAction, is_own_path
from studiogate.console.schedule.week import PATH, View
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.schedule.warnings import WarningCode, conflict_text
from studiogate.flows.bookings.staff import AffectedMember
from studiogate.storage.schedule.classes import BookedClass
from studiogate.web.response import Answer

NAMED = 60


class Question(NamedTuple):
    """What a person is asked before a change: its effects, the form that carries it out, and the way back."""

    title: str
    subtitle: str
    action: str
    button: str
    back: str
    fields: Mapping[str, str]
    effects: Sequence[str] = ()
    warnings: Sequence[str] = ()
    members: Sequence[AffectedMember] = ()
    classes: Sequence[BookedClass] = ()
    kind: str = "primary"
    asks_reason: bool = False


def ask(request: ConsoleRequest, question: Question) -> Answer:
    members, unnamed = question.members[:NAMED], max(0, len(question.members) - NAMED)
    return request.render("schedule/confirm.html", question=question, members=members, unnamed=unnamed)


def done(request: ConsoleRequest, href: str, toast: str, undo: UndoAction | None = None) -> Answer:
    """Lead to a page after a form took effect; a form in the drawer leads the whole page there. A person who changed a
    class from Today or from its own page stays there, and a week stays arranged as it was."""
    shown = _current_page(request)
    path = shown.partition("?")[0]
    is_of_desk = path == "/console/today" or path.startswith("/console/classes/")
    return request.go_to(shown if is_of_desk and is_own_path(shown) else arranged(request, href), toast, undo)


def arranged(request: ConsoleRequest, href: str) -> str:
    """Return the address of a week, arranged by rooms or instructors as on the page that sent the request."""
    shown, address = urlsplit(_current_page(request)), urlsplit(href)
    by = dict(parse_qsl(shown.query)).get("by", "")
    if (shown.path, address.path) != (PATH, PATH) or by not in set(View):
        return href
    return f"{PATH}?{urlencode({**dict(parse_qsl(address.query)), 'by': by})}"


def _current_page(request: ConsoleRequest) -> str:
    """Return path and query of the page that sent the request, or over which the drawer is open."""
    headers = request.http.headers
    address = (headers.get(b"hx-current-url") or headers.get(b"referer") or b"").decode("latin-1")
    return "/" + address.partition("://")[2].partition("/")[2]


def off_waitlist(waiting: int) -> str:
    """Return the end of a sentence about cancelled bookings: members who waited had none."""
    return f", {counted(waiting, 'member')} taken off the waitlist" if waiting else ""


def conflict_texts(refusal: Refusal, zone: ZoneInfo) -> list[str] | None:
    """Return the warnings of a strict refusal, or None if it is another one."""
    return warning_texts(refusal.details["warnings"], zone) if refusal.code is Code.SCHEDULE_CONFLICT else None


def warning_texts(warnings: Iterable[Mapping[str, Any]], zone: ZoneInfo) -> list[str]:
    """Return the sentences of warnings, with times as the location's clocks show them."""
    texts = []
    for each in warnings:
        if "start_time" in each:
            when = day_and_time(datetime.fromisoformat(each["start_time"]), zone.key)
            texts.append(conflict_text(WarningCode(each["code"]), f"{each['title']!r} on {when}"))
        else:
            texts.append(str(each["message"]))
    return texts
