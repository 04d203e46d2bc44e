"""The mails to members: which kinds are sent, and what each of them says."""

import json
from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from studiogate import clock
from studiogate.console.framework import ConsoleRequest, UndoAction, action, page
from studiogate.console.framework.words import WORDS
from studiogate.domain.mails import MailKind, is_switched_on
from studiogate.domain.refusals import NOT_FOUND, Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.bookings import mail_texts
from studiogate.flows.bookings.mails import switch_mails
from studiogate.storage.bookings import mails as storage
from studiogate.storage.mails import worker_sends
from studiogate.web.response import Answer

PATH = "/console/settings/mails"
MAX_LATE = 1000
# An invented booking, for the examples.
EXAMPLE: Mapping[str, Any] = WORDS["mail_example"]


class Line(NamedTuple):
    """A kind of mail; ``late`` counts those of the last week that came too late to be sent."""

    kind: MailKind
    is_on: bool
    late: int
    subject: str
    text: str


@page("/settings/mails", Permission.STUDIO)
async def show(request: ConsoleRequest) -> Answer:
    async with request.database.connection() as connection:
        place = await storage.read_place(connection, request.access)
        late = Counter(row["kind"] for row in await storage.dropped(connection, request.access, MAX_LATE))
        sends = await worker_sends(connection)
    lines = []
    for kind in MailKind:
        example = mail_texts.content(_example(request, kind))
        is_on = is_switched_on(kind, place.switches, test=place.test)
        lines.append(Line(kind, is_on, late[kind], example.subject, example.text))
    problem = "" if sends else WORDS["no_mail"]["unknown" if sends is None else "not_set_up"]
    return request.render("settings/mails.html", lines=lines, problem=problem, test=place.test)


def _example(request: ConsoleRequest, kind: MailKind) -> dict[str, object]:
    """Return the facts of an invented booking, as the worker reads those of a real one."""
    place = next(iter(request.frame.locations), None)
    start = (clock.now() + timedelta(days=2)).replace(minute=0, second=0, microsecond=0)
    earlier = {"start_time": (start - timedelta(hours=1)).isoformat(), "end_time": start.isoformat()}
    return {
        **EXAMPLE,
        "kind": kind.value,
        "studio": request.frame.name,
        "timezone": request.frame.timezone if place is None else place.timezone,
        "hour_cycle": request.frame.hour_cycle,
        "date_order": request.frame.date_order,
        "country": request.frame.country,
        "start_time": start,
        "end_time": start + timedelta(hours=1),
        "location": "Main studio" if place is None else place.name,
        "room": None,
        "spot": None,
        "previous": json.dumps(earlier if kind is MailKind.CLASS_CHANGED else {}),
        "receipt": json.dumps({**EXAMPLE["receipt"], "cancelled_at": clock.now().isoformat()}),
    }


@action("/settings/mails", Permission.STUDIO)
async def switch(request: ConsoleRequest) -> Answer:
    kind = next((each for each in MailKind if each == request.form.get("kind")), None)
    if kind is None:
        return request.refused(NOT_FOUND, PATH)
    switched = await request.run(switch_mails, kind, request.form.get("state") == "on")
    if isinstance(switched, Refusal):
        return request.refused(switched, PATH)
    text = f"When {kind.sent_when}, {'a mail is sent now' if switched else 'no mail is sent any more'}."
    undo = UndoAction(PATH, {"kind": kind.value, "state": "off" if switched else "on"})
    return request.redirect(PATH, toast=text, undo=undo)
