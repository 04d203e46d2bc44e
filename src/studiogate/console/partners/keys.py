"""Keys of partners: the list, one key with its use, and what is done with it. A new secret is on the page that answers
the form, and nowhere else."""

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime, timedelta

from studiogate import clock
from studiogate.console.framework import ConsoleRequest, Values, about, action, page
from studiogate.console.framework.downloads import csv_table
from studiogate.console.framework.formats import day as day_name
from studiogate.console.framework.formats import local, with_query
from studiogate.console.framework.inputs import Row, whole_number
from studiogate.console.framework.parse import read_date, start_of_day
from studiogate.console.framework.posted import SEEN, seen_text, untouched
from studiogate.console.partners import words
from studiogate.domain.keys import giveable, key_id
from studiogate.domain.refusals import Fault, Refusal
from studiogate.domain.retention import REQUEST_DAYS
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import fault, refused
from studiogate.flows import keys as flows
from studiogate.flows.keys import KeyRequest
from studiogate.storage import keys, request_log
from studiogate.web.response import Answer

PATH = "/console/partners/keys"
PER_PAGE = 50
OVERLAPS: Mapping[str, timedelta] = {
    "at once": timedelta(0),
    "after 1 hour": timedelta(hours=1),
    "after 24 hours": timedelta(hours=24),
    "after 7 days": flows.MAX_OVERLAP,
}


@page("/partners/keys", Permission.KEYS)
async def show_keys(request: ConsoleRequest) -> Answer:
    revoked, after = request.query.get("state") == "revoked", key_id(request.query.get("after", ""))
    found = await request.read(keys.list_keys, revoked=revoked, after=after, limit=PER_PAGE)
    state = "revoked" if revoked else None
    return request.render(
        "partners/keys.html",
        rows=found.rows,
        next_href=found.next and with_query(PATH, state=state, after=found.next),
        revoked=revoked,
        now=clock.now(),
        words=words,
    )


async def _key(request: ConsoleRequest) -> Row | None:
    if key_id(request.params["key"]) is None:
        return None
    return await request.read(keys.read_credential, request.params["key"])


@page("/partners/keys/{key}", Permission.KEYS)
@about(_key)
async def show_key(request: ConsoleRequest, key: Row) -> Answer:
    return await _key_page(request, key)


async def _key_page(request: ConsoleRequest, key: Row, secret: str | None = None) -> Answer:
    """Show a key with its use; ``secret`` is one that was made just now."""
    plotted = [(day_name(day), requests, refusals) for day, requests, refusals in await _use(request, key["id"])]
    return request.render("partners/key.html", key=key, secret=secret, plotted=plotted, now=clock.now(), words=words)


async def _use(request: ConsoleRequest, key_id: str) -> Sequence[tuple[date, int, int]]:
    """Return the last days with their requests and refusals; days without any too."""
    timezone, today = request.frame.timezone, local(clock.now(), request.frame.timezone).date()
    counted = await request.read(request_log.per_day, key_id, timezone)
    found = {each["day"]: (each["requests"], each["refused"]) for each in counted}
    days = [today - timedelta(days=number) for number in range(REQUEST_DAYS, -1, -1)]
    return [(day, *found.get(day, (0, 0))) for day in days if day in found or day > days[0]]


@page("/partners/keys/{key}/use.csv", Permission.KEYS)
@about(_key)
async def download_use(request: ConsoleRequest, key: Row) -> Answer:
    return csv_table(f"use-of-{key['id']}", [("day", "requests", "refused"), *await _use(request, key["id"])])


# Creating and changing: one form.


def _form(request: ConsoleRequest, template: str, stored: Values, more: Values) -> Answer:
    """Show the form of a key's limits with what is stored, or with what was typed if it was refused."""
    shown = stored
    if request.typed is not None:
        chosen = {name: request.posted.lists.get(name, []) for name in ("scopes", "location_ids")}
        shown = {**stored, **request.typed, **chosen}
    seen = (request.typed or {}).get(SEEN) or seen_text(stored)
    values: Values = {"stored": shown, "seen": seen, "given": giveable(request.access), **more}
    return request.render(template, words=words, **values)


@page("/partners/keys/new", Permission.KEYS)
async def show_new(request: ConsoleRequest) -> Answer:
    asked = request.query.get("preset", "")
    preset = asked if asked in words.PRESETS else "booking"
    scopes = [each for each in words.PRESETS[preset][1] if each in giveable(request.access)]
    empty = {"name": "", "scopes": scopes, "location_ids": [], "expires_at": "", "rate_limit": ""}
    return _form(request, "partners/key_new.html", empty, {"preset": preset})


@action("/partners/keys/new", Permission.KEYS)
async def create(request: ConsoleRequest) -> Answer:
    limits = _read_limits(request)
    if isinstance(limits, Refusal):
        return request.refused(limits, f"{PATH}/new")
    wanted = KeyRequest(**limits, created_by=request.frame.email)
    return await _issued(request, await request.run(flows.issue, wanted), f"{PATH}/new")


async def _issued(request: ConsoleRequest, issued: flows.IssuedKey | Refusal, form: str) -> Answer:
    if isinstance(issued, Refusal):
        return request.refused(issued, form)
    key = await request.read(keys.read_credential, issued.id)
    return request.not_found() if key is None else await _key_page(request, key, issued.key)


def _read_limits(request: ConsoleRequest, same: Collection[str] = ()) -> Values | Refusal:
    """Return the limits that a form names, as the flow takes them, without those that came back as they were shown."""
    form, lists = request.form, request.posted.lists
    rate = form.get("rate_limit", "").strip()
    limits = {
        "name": form.get("name", ""),
        "scopes": lists.get("scopes", []),
        "location_ids": lists.get("location_ids") or None,
        "expires_at": _end(request, form.get("expires_at", "")),
        "rate_limit": whole_number("rate_limit", rate) if rate else None,
    }
    limits = {name: value for name, value in limits.items() if name not in same}
    faults = [each for each in limits.values() if isinstance(each, Fault)]
    return refused(*faults) if faults else limits


def _end(request: ConsoleRequest, typed: str) -> datetime | Fault | None:
    """Return the end of the last day on which a key works."""
    if not typed.strip():
        return None
    day = read_date(typed.strip())
    if day is None or day == date.max:
        return fault("expires_at", "must be a day, such as 2027-12-24")
    ends = start_of_day(day + timedelta(days=1), request.frame.timezone)
    return ends if ends > clock.now() else fault("expires_at", "has passed")


def _stored(request: ConsoleRequest, key: Row) -> Values:
    last = key["expires_at"] and local(key["expires_at"] - timedelta(seconds=1), request.frame.timezone).date()
    return {
        "name": key["name"],
        "scopes": list(key["scopes"]),
        "location_ids": [str(each) for each in key["location_ids"] or ()],
        "expires_at": str(last or ""),
        "rate_limit": str(key["rate_limit"] or ""),
    }


@page("/partners/keys/{key}/change", Permission.KEYS)
@about(_key)
async def show_change(request: ConsoleRequest, key: Row) -> Answer:
    return _form(request, "partners/key_change.html", _stored(request, key), {"key": key, "label": key["name"]})


@action("/partners/keys/{key}/change", Permission.KEYS)
@about(_key)
async def change(request: ConsoleRequest, key: Row) -> Answer:
    back = f"{PATH}/{key['id']}"
    limits = _read_limits(request, untouched(request.posted.lists, _stored(request, key)))
    if isinstance(limits, Refusal):
        return request.refused(limits, f"{back}/change")
    changed = await request.run(flows.change_key, key["id"], limits)
    if isinstance(changed, Refusal):
        return request.refused(changed, f"{back}/change")
    return request.go_to(back, "Saved. It takes effect within 5 seconds." if changed else "Nothing was changed.")


@page("/partners/keys/{key}/rotate", Permission.KEYS)
@about(_key)
async def show_rotate(request: ConsoleRequest, key: Row) -> Answer:
    return request.render("partners/key_rotate.html", key=key, label=key["name"], overlaps=OVERLAPS)


@action("/partners/keys/{key}/rotate", Permission.KEYS)
@about(_key)
async def rotate(request: ConsoleRequest, key: Row) -> Answer:
    form = f"{PATH}/{key['id']}/rotate"
    overlap = OVERLAPS.get(request.form.get("overlap", ""))
    if overlap is None:
        return request.refused(refused(fault("overlap", "must be one of the choices")), form)
    return await _issued(request, await request.run(flows.rotate_key, key["id"], overlap), form)


@page("/partners/keys/{key}/revoke", Permission.KEYS)
@about(_key)
async def show_revoke(request: ConsoleRequest, key: Row) -> Answer:
    days = await _use(request, key["id"])
    return request.render("partners/key_revoke.html", key=key, label=key["name"], recent=sum(row[1] for row in days))


@action("/partners/keys/{key}/revoke", Permission.KEYS)
@about(_key)
async def revoke(request: ConsoleRequest, key: Row) -> Answer:
    revoked = await request.run(flows.revoke_key, key["id"])
    if isinstance(revoked, Refusal):
        return request.refused(revoked, f"{PATH}/{key['id']}/revoke")
    return request.go_to(PATH, f"{key['name']} is revoked.")
