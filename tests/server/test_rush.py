"""What keeps reads quick during a rush is connected: reads are counted, writes begin a few at a time."""

from collections.abc import AsyncIterator

import pytest

from studiogate import settings
from studiogate.runtime import Runtime
from studiogate.server.front_ends import FrontEnds
from studiogate.web.admission import Admission
from tests.support.asgi import ask

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
    assert runtime.class_queue.reads == 2


async def test_what_the_service_reads_by_itself_is_not_counted(runtime: Runtime) -> None:
    """Otherwise a crowd would pause for the numbering of its own events."""
    await ask(FrontEnds(runtime), "POST", "/bookings", key="sgk_live_12345678_wrong")
    async with runtime.database.connection() as connection:
        await connection.fetchval("select 1")
    assert runtime.class_queue.reads == 0


async def test_writes_of_partners_enter_and_reads_do_not(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    entered: list[str] = []

    async def enter(_: Admission) -> None:
        entered.append(method)

    monkeypatch.setattr(Admission, "enter", enter)
    app = FrontEnds(runtime)
    for method in ("GET", "POST", "HEAD", "PATCH", "DELETE"):
        await ask(app, method, "/bookings")
    assert entered == ["POST", "PATCH", "DELETE"]
