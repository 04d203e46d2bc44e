"""The request log: what partners' keys asked for and what became of it. Filters are in the address. Entries have the
route of a request, never its path, query or body, so nothing here says who a member is."""

import json
from typing import NamedTuple

from studiogate import clock
from studiogate.console.framework import ConsoleRequest, Values, page
from studiogate.console.framework.formats import with_query
from studiogate.console.framework.inputs import Row
from studiogate.console.framework.parse import Days, as_id
from studiogate.console.partners import words
from studiogate.domain.staff import Permission
from studiogate.storage import keys, request_log
from studiogate.storage.request_log import RequestFilters
from studiogate.web.public_address import known_address
from studiogate.web.response import Answer

PATH = "/console/partners/requests"
PER_PAGE = 50
KEYS_OFFERED = 200
HOURS = 24
STATUSES: dict[str, tuple[str, tuple[int, int]]] = {
    "": ("All", (0, 999)),
    "2xx": ("Succeeded", (0, 399)),
    "4xx": ("Refused", (400, 499)),
    "5xx": ("Failed", (500, 999)),
}
NAMES = ("key", "status", "code", "route", "request", "from", "to", "reads", "group")
NO_ROUTE = "none"
SPARK = (100, 24)


@page("/partners/requests", Permission.REQUESTS_READ)
async def show_requests(request: ConsoleRequest) -> Answer:
    given = {name: request.query.get(name, "")[:200].replace("\0", "").strip() for name in NAMES}
    filters, after, now = _filters(request, given), as_id(request.query.get("after")), clock.now()
    grouped = given["group"] == "error"
    async with request.database.connection() as connection:
        access = request.access
        names = await keys.key_names(connection, access, KEYS_OFFERED)
        hours = await request_log.per_hour(connection, access, now)
        if grouped:
            rows, following = await request_log.by_error(connection, access, filters), None
        else:
            rows, following = await request_log.search(connection, access, filters, after, PER_PAGE)
    return request.render(
        "partners/requests.html",
        rows=rows,
        grouped=grouped,
        given=given,
        keys=names,
        figures=figures(hours),
        statuses=[(name, label, _href(given, status=name)) for name, (label, _) in STATUSES.items()],
        href=lambda **changed: _href(given, **changed),
        next_href=following and _href(given, after=following),
        is_filtered=any(given[name] for name in ("key", "status", "code", "route", "request", "from", "to")),
        words=words,
        route_name=route_name,
    )


def _filters(request: ConsoleRequest, given: dict[str, str]) -> RequestFilters:
    """Return the filters that an address names; what is none of ours does not filter."""
    return RequestFilters(
        given["key"] or None,
        STATUSES.get(given["status"], STATUSES[""])[1],
        given["code"] or None,
        given["route"] or None,
        given["request"] or None,
        *Days.of(given).between(request.frame.timezone),
        reads=bool(given["reads"] or given["request"]),
    )


def _href(given: dict[str, str], **changed: str | None) -> str:
    return with_query(PATH, **{**given, **changed})


def route_name(route: str) -> str:
    """Return a route without the prefix that all of them have."""
    return "an unknown path" if route == NO_ROUTE else route.removeprefix("/partner/v1")


class Figure(NamedTuple):
    """A number of the last 24 hours, with its course as the points of a line."""

    label: str
    value: str
    points: str
    look: str


def figures(hours: list[Row]) -> list[Figure]:
    by_hour = {min(HOURS - 1, max(0, each["hours_ago"])): each for each in hours}

    def figure(label: str, name: str, look: str) -> Figure:
        values = [float(by_hour[hour][name]) if hour in by_hour else 0.0 for hour in reversed(range(HOURS))]
        value = f"{max(values):,.0f} ms" if name == "slowest" else f"{sum(values):,.0f}"
        return Figure(label, value, line_of(values), look)

    return [
        figure("Requests, 24 h", "requests", "accent"),
        figure("Writes", "writes", "accent"),
        figure("Refused", "refused", "warn"),
        figure("p99 of the slowest hour", "slowest", "info"),
    ]


def line_of(values: list[float]) -> str:
    """Return the points of a line over the width of a small drawing."""
    width, height = SPARK
    top, step = max(*values, 1.0), width / (len(values) - 1)
    return " ".join(
        f"{number * step:.1f},{height - each / top * (height - 2):.1f}" for number, each in enumerate(values)
    )


@page("/partners/requests/{request_id}", Permission.REQUESTS_READ)
async def show_request(request: ConsoleRequest) -> Answer:
    entry = await request.read(request_log.read_entry, request.param_id("request_id"))
    if entry is None:
        return request.not_found()
    address = known_address(request.runtime.settings)
    values: Values = {"entry": entry, "curl": curl(entry, address), "label": "", "words": words}
    return request.render("partners/request.html", route_name=route_name, list_path=PATH, **values)


def curl(entry: Row, address: str) -> str:
    """Return the request as a command for a shell: the key comes from the environment, and what the log does not keep
    (ids, query, body) is to be filled in."""
    route = "/partner/v1/…" if entry["route"] == NO_ROUTE else entry["route"]
    lines = [f"curl -X {entry['method']} {json.dumps(address + route, ensure_ascii=False)}"]
    lines.append('-H "X-Service-Key: $STUDIOGATE_KEY"')
    if entry["method"] not in ("GET", "HEAD"):
        lines.append('-H "Idempotency-Key: $(uuidgen)"')
    if entry["method"] in ("POST", "PUT", "PATCH"):
        lines += ['-H "Content-Type: application/json"', "-d @body.json"]
    return " \\\n  ".join(lines)
