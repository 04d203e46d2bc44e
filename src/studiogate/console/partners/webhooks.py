"""The event log, and the webhook endpoints that it is delivered to: how each does, what was delivered, and how a
receiver that was broken gets what it missed."""

import json
from datetime import datetime, timedelta
from functools import partial
from urllib.parse import urlsplit
from uuid import UUID

from studiogate import clock
from studiogate.console.framework import Action, ConsoleRequest, Form, Subject, Values, about, action, page
from studiogate.console.framework.formats import counted, with_query
from studiogate.console.framework.inputs import Row
from studiogate.console.framework.parse import Days, as_id, read_instant
from studiogate.console.framework.posted import SEEN, seen_text, untouched
from studiogate.console.partners import words
from studiogate.domain import event_masks
from studiogate.domain.events import EVERYTHING, PATTERNS, EventType, types_of
from studiogate.domain.keys import giveable
from studiogate.domain.refusals import Fault, Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import fault, refused
from studiogate.flows import webhook_staff as flows
from studiogate.storage import event_log, events, keys
from studiogate.storage.event_log import EventSearch
from studiogate.storage.webhooks import overview
from studiogate.web.response import Answer

PATH = "/console/partners/webhooks"
PER_PAGE = 50
MAX_URL, MAX_DESCRIPTION = 2_048, 500
KEYS_OFFERED = 200
FAMILIES = [each for each in PATTERNS if each.endswith(".*")]
# How far back a receiver can recover at once; the log keeps thirty days.
SINCE = {
    "the last hour": timedelta(hours=1),
    "the last 6 hours": timedelta(hours=6),
    "the last 24 hours": timedelta(days=1),
    "the last 3 days": timedelta(days=3),
    "the last 7 days": timedelta(days=7),
    "the last 30 days": timedelta(days=30),
}


def host(url: str) -> str:
    return urlsplit(url).netloc


ENDPOINT = Subject(
    "endpoint",
    "/partners/webhooks/{endpoint_id}",
    Permission.WEBHOOKS,
    overview.read_endpoint,
    lambda row: f"{PATH}/{row['id']}",
    lambda row: host(row["url"]),
    {"words": words},
)


@page("/partners/webhooks", Permission.WEBHOOKS)
async def show_endpoints(request: ConsoleRequest) -> Answer:
    found = await request.read(overview.list_endpoints)
    return request.render("partners/webhooks.html", rows=found, words=words, now=clock.now())


@page("/partners/webhooks/{endpoint_id}", Permission.WEBHOOKS)
@about(ENDPOINT.of_path)
async def show_endpoint(request: ConsoleRequest, endpoint: Row) -> Answer:
    return await _page_of(request, endpoint)


async def _page_of(request: ConsoleRequest, endpoint: Row, secret: str | None = None) -> Answer:
    """Show an endpoint with its deliveries; ``secret`` is one that was made just now."""
    waiting, place = request.query.get("show") == "waiting", (as_id(request.query.get("after")), PER_PAGE)
    async with request.database.connection() as connection:
        args = (connection, request.access, endpoint["id"], place)
        found = await overview.list_deliveries(*args, waiting=waiting)
    path = f"{PATH}/{endpoint['id']}"
    values: Values = {"endpoint": endpoint, "rows": found.rows, "secret": secret, "waiting": waiting, "words": words}
    next_href = found.next and with_query(path, show="waiting" if waiting else None, after=found.next)
    return request.render("partners/webhook.html", base=path, next_href=next_href, now=clock.now(), **values)


@page("/partners/webhooks/{endpoint_id}/deliveries/{delivery_id}", Permission.WEBHOOKS)
async def show_delivery(request: ConsoleRequest) -> Answer:
    """Show the attempts of a delivery. What a receiver answered may repeat what was sent to it."""
    ids = request.param_id("endpoint_id"), request.param_id("delivery_id")
    found = await request.read(overview.read_delivery, *ids)
    if found is None:
        return request.not_found()
    delivery, attempts = found
    sees = event_masks.sees(request.access, delivery["event_type"])
    values: Values = {"delivery": delivery, "attempts": attempts, "sees": sees, "words": words}
    return request.render("partners/delivery.html", label=host(delivery["url"]), base=f"{PATH}/{ids[0]}", **values)


# Creating and changing.


def _form(request: ConsoleRequest, template: str, stored: Values, more: Values) -> Answer:
    shown = stored
    if request.typed is not None:
        shown = {**stored, **request.typed, "event_types": request.posted.lists.get("event_types", [])}
    seen = (request.typed or {}).get(SEEN) or seen_text(stored)
    values: Values = {"stored": shown, "seen": seen, "families": FAMILIES, "every": EVERYTHING, **more}
    return request.render(template, **values)


@page("/partners/webhooks/new", Permission.WEBHOOKS)
async def show_new(request: ConsoleRequest) -> Answer:
    offered = await request.read(keys.key_names, KEYS_OFFERED)
    given = giveable(request.access)
    usable = [(each["id"], each["name"]) for each in offered if given.issuperset(each["scopes"])]
    stored = {"url": "", "key": request.query.get("key", ""), "event_types": [EVERYTHING], "description": ""}
    more = {"keys": usable, "hidden": len(offered) - len(usable), "label": ""}
    return _form(request, "partners/webhook_new.html", stored, more)


@action("/partners/webhooks/new", Permission.WEBHOOKS)
async def create(request: ConsoleRequest) -> Answer:
    details = await _read(request)
    if isinstance(details, Refusal):
        return request.refused(details, f"{PATH}/new")
    key_id, given = request.form.get("key", ""), {**details, "enabled": True}
    made = await request.run(flows.create, key_id, given, request.runtime.sealer)
    return await _with_secret(request, made, f"{PATH}/new")


async def _with_secret(request: ConsoleRequest, made: dict[str, object] | Refusal, form: str) -> Answer:
    if isinstance(made, Refusal):
        return request.refused(made, form)
    endpoint = await request.read(overview.read_endpoint, UUID(str(made["id"])))
    return request.not_found() if endpoint is None else await _page_of(request, endpoint, str(made["secret"]))


async def _read(request: ConsoleRequest) -> Values | Refusal:
    """Return what a form says about an endpoint: its address, the types of events, a description."""
    form, faults = request.form, list[Fault]()
    url, description = form.get("url", "").strip(), form.get("description", "").strip()
    types = [each for each in dict.fromkeys(request.posted.lists.get("event_types", [])) if each in PATTERNS]
    wrong = await request.runtime.resolver.fault_of(url) if 0 < len(url) <= MAX_URL else "should be an https address"
    if wrong is not None:
        faults.append(fault("url", wrong))
    if not types:
        faults.append(fault("event_types", "choose at least one kind of event"))
    if len(description) > MAX_DESCRIPTION:
        faults.append(fault("description", f"must have at most {MAX_DESCRIPTION} characters"))
    return refused(*faults) if faults else {"url": url, "event_types": types, "description": description or None}


@page("/partners/webhooks/{endpoint_id}/change", Permission.WEBHOOKS)
@about(ENDPOINT.of_path)
async def show_change(request: ConsoleRequest, endpoint: Row) -> Answer:
    stored = {name: endpoint[name] or "" for name in ("url", "event_types", "description")}
    return _form(request, "partners/webhook_change.html", stored, {"label": endpoint["key"]})


@action("/partners/webhooks/{endpoint_id}/change", Permission.WEBHOOKS)
@about(ENDPOINT.of_path)
async def change(request: ConsoleRequest, endpoint: Row) -> Answer:
    back, details = f"{PATH}/{endpoint['id']}", await _read(request)
    if isinstance(details, Refusal):
        return request.refused(details, f"{back}/change")
    same = untouched(request.posted.lists, details)
    differing = {name: each for name, each in details.items() if name not in same and each != endpoint[name]}
    if differing:
        changed = await request.run(flows.change, endpoint["id"], differing)
        if isinstance(changed, Refusal):
            return request.refused(changed, f"{back}/change")
    return request.go_to(back, "Saved." if differing else "Nothing was changed.")


@page("/partners/webhooks/{endpoint_id}/rotate", Permission.WEBHOOKS)
@about(ENDPOINT.of_path)
async def show_rotate(request: ConsoleRequest, endpoint: Row) -> Answer:
    return request.render("partners/webhook_rotate.html", label=host(endpoint["url"]))


@action("/partners/webhooks/{endpoint_id}/rotate", Permission.WEBHOOKS)
@about(ENDPOINT.of_path)
async def rotate(request: ConsoleRequest, endpoint: Row) -> Answer:
    made = await request.run(flows.rotate_secret, endpoint["id"], request.runtime.sealer)
    return await _with_secret(request, made, f"{PATH}/{endpoint['id']}/rotate")


# Sending again.


@page("/partners/webhooks/{endpoint_id}/recover", Permission.WEBHOOKS)
@about(ENDPOINT.of_path)
async def show_recover(request: ConsoleRequest, endpoint: Row) -> Answer:
    label = host(endpoint["url"])
    return request.render("partners/webhook_recover.html", endpoint=endpoint, choices=list(SINCE), label=label)


@action("/partners/webhooks/{endpoint_id}/recover", Permission.WEBHOOKS)
@about(ENDPOINT.of_path)
async def recover(request: ConsoleRequest, endpoint: Row) -> Answer:
    back, asked = f"{PATH}/{endpoint['id']}", request.form.get("since", "")
    # When it began to fail comes from the form: by now it can have recovered by itself, without what it missed.
    since = clock.now() - SINCE[asked] if asked in SINCE else read_instant(asked)
    if since is None:
        return request.refused(refused(fault("since", "must be one of the choices")), f"{back}/recover")
    # The event that failed first is older than its first attempt.
    count = await request.run(flows.recover, endpoint["id"], since - timedelta(minutes=1))
    if isinstance(count, Refusal):
        return request.refused(count, f"{back}/recover")
    return request.go_to(back, f"{counted(count, 'event')} on the way again, oldest first.")


@action("/partners/webhooks/{endpoint_id}/deliveries/{delivery_id}/resend", Permission.WEBHOOKS)
@about(ENDPOINT.of_path)
async def resend(request: ConsoleRequest, endpoint: Row) -> Answer:
    back, delivery_id = f"{PATH}/{endpoint['id']}", request.param_id("delivery_id")
    sent = await request.run(flows.resend, endpoint["id"], delivery_id)
    if isinstance(sent, Refusal):
        return request.refused(sent, back)
    return request.go_to(back, "Sent again." if endpoint["enabled"] else "It is sent once the endpoint is on.")


_ON, _OFF = (partial(flows.switch, enabled=each) for each in (True, False))
ACTIONS = (
    Action(ENDPOINT, "on", _ON, "On. What waited is delivered now.", undo="off"),
    Action(ENDPOINT, "off", _OFF, "Off. What is pending waits; later events are not queued.", undo="on"),
    Action(ENDPOINT, "test", flows.send_test, "A test message is on its way. It appears below."),
    Action(
        ENDPOINT,
        "delete",
        flows.delete,
        "Deleted. Nothing more is sent to it.",
        form=Form("Delete the endpoint", "Delete the endpoint", kind="danger", template="partners/webhook_delete.html"),
        leads_to=lambda _done: PATH,
    ),
)


# The event log: what happened, as partners read it, and what became of its deliveries.

EVENTS = "/console/partners/events"
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
        next_href=found.next and with_query(EVENTS, **given, after=found.next),
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
