"""The event log: what happened, as partners read it, and what became of its deliveries."""

import json
from datetime import datetime

from studiogate.console.framework import ConsoleRequest, Values, page
from studiogate.console.framework.formats import with_query
from studiogate.console.framework.parse import Days, as_id
from studiogate.console.partners import words
from studiogate.domain import event_masks
from studiogate.domain.events import PATTERNS, EventType, types_of
from studiogate.domain.staff import Permission
from studiogate.storage import event_log, events
from studiogate.storage.event_log import EventSearch
from studiogate.web.response import Answer

PATH = "/console/partners/events"
PER_PAGE = 50
NAMES = ("type", "resource", "from", "to")


@page("/partners/events", Permission.EVENTS_READ)
async def show_events(request: ConsoleRequest) -> Answer:
    given = {name: request.query.get(name, "")[:200].replace("\0", "").strip() for name in NAMES}
    after = request.query.get("after", "")
    before = int(after) if after.isascii() and after.isdigit() and len(after) < len(str(2**62)) else None
    types = [each.value for each in types_of([given["type"]])] if given["type"] in PATTERNS else None
    resource = as_id(given["resource"])
    wanted = EventSearch(types, resource, *Days.of(given).between(request.frame.timezone))
    found = await request.read(event_log.search, wanted, before, PER_PAGE)
    is_nothing = bool(given["resource"]) and resource is None
    return request.render(
        "partners/events.html",
        rows=[] if is_nothing else found.rows,
        given=given,
        families=[each for each in PATTERNS if each.endswith(".*")],
        types=list(EventType),
        is_filtered=any(given.values()),
        next_href=found.next and with_query(PATH, **given, after=found.next),
        words=words,
    )


@page("/partners/events/{event_id}", Permission.EVENTS_READ)
async def show_event(request: ConsoleRequest) -> Answer:
    """Show an event with its content as the person's role permits, and its deliveries."""
    event_id, may_see_deliveries = request.param_id("event_id"), request.may(Permission.WEBHOOKS)
    async with request.database.connection() as connection:
        wire = await events.read_event(connection, request.access, str(event_id))
        if wire is None:
            return request.not_found()
        sent = await event_log.deliveries_of(connection, request.access, event_id) if may_see_deliveries else []
    event = json.loads(wire)
    is_whole = event_masks.sees(request.access, event["type"])
    content = json.dumps(event if is_whole else event_masks.masked(event), indent=2, ensure_ascii=False)
    values: Values = {"event": event, "content": content, "is_whole": is_whole, "deliveries": sent}
    created_at = datetime.fromisoformat(event["created_at"])
    return request.render("partners/event.html", label="", created_at=created_at, words=words, **values)
