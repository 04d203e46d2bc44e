"""What people read when the database is lost while their form is being saved: it may or may not have taken effect."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import httpx2
import pytest

from studiogate import clock
from studiogate.console.app import ConsoleApp
from studiogate.flows.staff.set_up import set_up_path
from studiogate.runtime import Runtime
from tests.console.test_member_actions import priced
from tests.console.test_set_up import FORM, empty
from tests.support.console import ORIGIN, Console, new_client, texts
from tests.support.postgres_proxy import Proxy, proxy_of

__all__ = ["empty"]
pytestmark = pytest.mark.anyio
UNSURE = "It may or may not have been saved: look before you repeat it."
CANNOT = "The database cannot be reached. Retry after a moment."


@pytest.fixture
async def proxy(console: Console) -> AsyncIterator[Proxy]:
    async with proxy_of(str(console.app._runtime.settings.database_url)) as made:
        yield made


@pytest.fixture
async def behind(console: Console, proxy: Proxy) -> AsyncIterator[Console]:
    """Yield the console of the same person, served by a process with the proxy in front of its database."""
    settings = console.app._runtime.settings.model_copy(update={"database_url": proxy.url})
    runtime = Runtime.open(settings)
    app = ConsoleApp(runtime)
    async with new_client(app) as client:
        client.cookies = console.client.cookies
        yield Console(app, console.studio, console.people, client, console.person)
    proxy.cut_at = None
    await runtime.close()


async def sell(console: Console, member: UUID, token: str, **options: Any) -> httpx2.Response:
    product, price = await priced(console.studio, granted=10)
    wanted = {
        "offer": f"{product}:{price}",
        "quantity": "1",
        "paid": "yes",
        "location_id": str(console.studio.location),
    }
    return await console.post(f"/console/members/{member}/sell", wanted, token=token, **options)


@pytest.mark.parametrize("htmx", [False, True])
@pytest.mark.parametrize(("moment", "kept"), [("before", 0), ("after", 1)])
async def test_a_sale_may_or_may_not_have_been_saved(
    behind: Console, proxy: Proxy, moment: str, kept: int, htmx: bool
) -> None:
    member = await behind.studio.new_member(membership=False)
    proxy.cut_at, proxy.once = (moment, b"COMMIT;"), True
    answer = await sell(behind, member, "t" * 24, htmx=htmx)
    assert proxy.cuts == 1
    assert (answer.status_code, answer.headers.get("x-outcome")) == (503, "unknown")
    assert UNSURE in texts(answer)
    assert CANNOT not in texts(answer)
    assert len(await behind.studio.rows("purchases")) == kept
    again = await sell(behind, member, "t" * 24)
    assert again.status_code == 303
    assert len(await behind.studio.rows("purchases")) == 1, "the same form takes effect once"


async def test_a_database_that_is_lost_before_has_saved_nothing(behind: Console, proxy: Proxy) -> None:
    member = await behind.studio.new_member(membership=False)
    proxy.cut_at, proxy.once = ("before", b"BEGIN;"), True
    answer = await sell(behind, member, "u" * 24)
    assert proxy.cuts == 1
    assert (answer.status_code, answer.headers.get("x-outcome")) == (503, None)
    assert CANNOT in texts(answer)
    assert await behind.studio.rows("purchases") == []


async def test_a_page_that_is_only_opened_saves_nothing(behind: Console, proxy: Proxy) -> None:
    """Only the use of the session is noted, in a transaction of its own."""
    await behind.people.sql("update staff_sessions set last_used_at = now() - interval '1 hour'")
    proxy.cut_at, proxy.once = ("before", b"commit"), True
    answer = await behind.get("/console/today")
    assert proxy.cuts == 1
    assert (answer.status_code, answer.headers.get("x-outcome")) == (503, None)
    assert UNSURE not in texts(answer)


@pytest.mark.parametrize(("moment", "kept"), [("before", 0), ("after", 1)])
async def test_the_first_studio_may_or_may_not_have_been_created(
    empty: tuple[Runtime, httpx2.AsyncClient], moment: str, kept: int
) -> None:
    runtime, _ = empty
    async with proxy_of(str(runtime.settings.database_url)) as proxy:
        lost = Runtime.open(runtime.settings.model_copy(update={"database_url": proxy.url}))
        proxy.cut_at = (moment, b"COMMIT;")
        async with new_client(ConsoleApp(lost)) as client:
            path = set_up_path(lost.sealer, clock.now())
            answer = await client.post(path, data=FORM, headers={"Origin": ORIGIN})
        await lost.close()
    assert proxy.cuts == 1
    assert answer.status_code == 503
    assert UNSURE in texts(answer)
    async with runtime.database.connection() as connection:
        assert await connection.fetchval("select count(*) from studios") == kept
