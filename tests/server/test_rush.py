"""What keeps reads quick during a rush is connected: reads are counted, writes begin a few at a time."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from uuid import uuid4

import pytest

from studiogate import settings
from studiogate.api.framework import auth
from studiogate.flows.bookings.scheduler import Scheduler
from studiogate.runtime import Runtime
from studiogate.server.api_process import FrontEnds
from studiogate.storage.db import load_shedding
from studiogate.storage.db.pool import OverloadedError
from studiogate.web.limits import Admission
from tests.support.asgi import ask, post
from tests.support.seed import issue_key, seed_studio

pytestmark = pytest.mark.anyio


@pytest.fixture
async def runtime(database_url: str) -> AsyncIterator[Runtime]:
    opened = Runtime.open(settings.load(database_url=database_url))
    yield opened
    await opened.close()


@pytest.mark.parametrize("path", ["/classes", "//console/sign-in", "//f/studio/form", "//"])
async def test_reads_of_every_front_end_are_counted(runtime: Runtime, path: str) -> None:
    app = FrontEnds(runtime)
    for method in ("GET", "HEAD", "POST", "DELETE"):
        await ask(app, method, path)
    assert runtime.bookings.reads == 2


async def test_what_the_service_reads_by_itself_is_not_counted(runtime: Runtime) -> None:
    """Otherwise a crowd would pause for the numbering of its own events."""
    await ask(FrontEnds(runtime), "POST", "/bookings", key="sgk_live_12345678_wrong")
    async with runtime.database.connection() as connection:
        await connection.fetchval("select 1")
    assert runtime.bookings.reads == 0


async def test_writes_of_partners_enter_and_reads_do_not(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    entered: list[str] = []

    async def enter(_: Admission) -> None:
        entered.append(method)

    monkeypatch.setattr(Admission, "enter", enter)
    app = FrontEnds(runtime)
    for method in ("GET", "POST", "HEAD", "PATCH", "DELETE"):
        await ask(app, method, "/bookings")
    assert entered == ["POST", "PATCH", "DELETE"]


def lead() -> dict[str, str]:
    return {"first_name": "Ada", "email": f"{uuid4()}@example.com"}


def booking() -> dict[str, str]:
    return {"class_id": str(uuid4()), "member_id": str(uuid4())}


@pytest.mark.parametrize(
    ("method", "path", "is_shed"),
    [
        ("POST", "/bookings", True),
        ("DELETE", "/bookings/f2f1a0c4-9c1b-5c8f-b0a6-4d1c9f3b7e01", True),
        ("POST", "/bookings/validate", False),
        ("POST", "/leads", False),
        ("GET", "/bookings", False),
    ],
)
async def test_a_long_queue_of_bookings_refuses_only_these(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch, method: str, path: str, is_shed: bool
) -> None:
    def shed(_: Scheduler) -> None:
        raise OverloadedError

    monkeypatch.setattr(Scheduler, "shed_if_overloaded", shed)
    answer = await ask(FrontEnds(runtime), method, path, key="sgk_live_12345678_wrong")
    assert answer.status == (503 if is_shed else 401)


@pytest.mark.parametrize("is_cached", [True, False])
@pytest.mark.parametrize(("path", "body", "status"), [("/leads", lead, 201), ("/bookings", booking, 404)])
async def test_writes_that_arrive_together_do_not_overfill_the_queue(
    runtime: Runtime,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    body: Callable[[], dict[str, str]],
    status: int,
    is_cached: bool,
) -> None:
    """None waits for a connection when they arrive; whoever begins later finds the others waiting."""
    app, database, requests, most = FrontEnds(runtime), runtime.database, 100, 10
    runtime.bookings.largest = 1  # what waits is counted in batches
    async with database.connection() as connection:
        key = await issue_key(connection, await seed_studio(connection))
    if is_cached:
        monkeypatch.setattr(auth, "CACHE_SECONDS", math.inf)
        monkeypatch.setattr(auth, "REFRESH_SECONDS", math.inf)
        assert (await ask(app, "GET", "/studio", key=key)).status == 200
    monkeypatch.setattr(
        load_shedding.WaitEstimate, "would_time_out", lambda _estimate, ahead, maximum_wait=None: ahead >= most
    )
    held = [await database.acquire() for _ in range(database.use[0])]
    once = [("idempotency-key", str(uuid4())) for _ in range(requests)]
    sent = [asyncio.create_task(post(app, path, key, body(), header)) for header in once]
    for _ in range(requests):  # enough iterations for all to begin; without a cached credential, they await one lookup
        await asyncio.sleep(0)
    for connection in held:
        database.release(connection)
    statuses = [answer.status for answer in await asyncio.gather(*sent)]
    assert set(statuses) == {status, 503}
    assert most <= statuses.count(status) <= most + len(held)
