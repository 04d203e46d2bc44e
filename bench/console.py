"""Measure pages of the console: CPU time of the server and size, in a studio with many members and bookings."""

import asyncio
import gzip
import http.client
from contextlib import closing
from dataclasses import dataclass

from bench import dataset, labels, live, processes
from bench.dataset import STUDIO_ID, Size, id_of
from bench.results import Figure
from bench.service import Service
from studiogate import settings as configuration
from studiogate.console import screens
from studiogate.domain.access import operator_access
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Grant, Role
from studiogate.domain.staff.sign_in import Origin
from studiogate.flows.staff import passwords, roles
from studiogate.flows.staff.passwords import Acceptance
from studiogate.flows.staff.roles import Invitation
from studiogate.flows.staff.visits import Visit
from studiogate.runtime import Runtime

LARGE = Size(classes=50_000, members=100_000, per_class=20)  # 1,000,000 bookings
EMAIL, PASSWORD = "bench@studio1.example", "many long words for a measurement"
COOKIE = "studiogate"


@dataclass(frozen=True)
class Effort:
    rounds: int = 7
    requests: int = 40  # per round and page
    warming_up: int = 20


def pages(size: Size) -> dict[str, str]:
    """Return the measured pages by name, of the screens that there are. The class is one that starts about now."""
    now = id_of(f"class1-{size.classes // 2}")
    known = {route.segments[0] for route in screens.routes()}
    addresses = {
        labels.TODAY: f"/console/today?location={id_of('location1-1')}",
        labels.CLASS_PAGE: f"/console/classes/{now}",
        labels.SCHEDULE: "/console/schedule",
        labels.MEMBERS: "/console/members",
    }
    return {name: path for name, path in addresses.items() if path.split("/")[2].partition("?")[0] in known}


def measure(dsn: str, size: Size, effort: Effort) -> list[Figure]:
    """Fill the database and measure every page with one worker, one request at a time; then its updates."""
    token, service_key = asyncio.run(_prepare(dsn, size))
    with Service(dsn, workers=1) as service:
        figures = [
            figure for name, path in pages(size).items() for figure in _measure(service, token, (name, path), effort)
        ]
        with closing(live.Desk(service, f"{COOKIE}={token}", service_key)) as desk:
            return [*figures, live.measure(desk, size)]


async def _prepare(dsn: str, size: Size) -> tuple[str, str]:
    """Fill the database; return the session of a manager and a partner's key."""
    service_key = await dataset.prepare_large(dsn, size)
    await live.add_class(dsn, size)
    runtime = Runtime.open(configuration.load(database_url=dsn))
    visit = Visit(runtime.database, runtime.sealer, Origin("127.0.0.1", "bench"))
    async with runtime.database.connection() as connection:
        invitation = Invitation(EMAIL, Grant(Role.MANAGER))
        invited = await roles.invite(connection, operator_access(STUDIO_ID), invitation)
    if isinstance(invited, Refusal) or invited.link is None:
        raise RuntimeError(f"nobody could be invited: {invited}")
    started = await passwords.accept_invitation(visit, invited.link.token, Acceptance("Bench", PASSWORD))
    await runtime.close()
    if isinstance(started, Refusal):
        raise RuntimeError(f"nobody could sign in: {started}")
    return started.token, service_key


def _measure(service: Service, token: str, page: tuple[str, str], effort: Effort) -> list[Figure]:
    name, path = page
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    body = _ask(connection, token, path, effort.warming_up)
    rounds = []
    for _ in range(effort.rounds):
        before = processes.cpu_seconds(service.api_pids())
        _ask(connection, token, path, effort.requests)
        rounds.append((processes.cpu_seconds(service.api_pids()) - before) / effort.requests * 1000)
    connection.close()
    return [
        Figure(name, labels.STUDIOGATE, labels.PAGE_CPU, "ms per request", tuple(rounds)),
        _size(name, labels.PAGE_BYTES, gzip.decompress(body)),
        _size(name, labels.PAGE_ZIPPED, body),
    ]


def _size(name: str, measure_: str, body: bytes) -> Figure:
    return Figure(name, labels.STUDIOGATE, measure_, "KB", (len(body) / 1024,))


def _ask(connection: http.client.HTTPConnection, token: str, path: str, count: int) -> bytes:
    """Send the same request some times; return the last body as it was sent."""
    headers = {"Cookie": f"{COOKIE}={token}", "Accept-Encoding": "gzip", "Accept": "text/html"}
    body = b""
    for _ in range(count):
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status}")
    return body
