"""What people read when the database is lost while their form is being saved: it may or may not have taken effect."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx2
import pytest

from studiogate import clock
from studiogate.console.app import ConsoleApp
from studiogate.console.members import merge
from studiogate.flows.staff.set_up import set_up_path
from studiogate.runtime import Runtime
from tests.console.test_member_actions import priced
from tests.console.test_set_up import FORM, empty
from tests.support.booking_studio import BookingStudio
from tests.support.console import ORIGIN, Console, new_client, texts
from tests.support.postgres_proxy import Decide, Proxy, proxy_of

__all__ = ["empty"]
pytestmark = pytest.mark.anyio
UNSURE = "It may or may not have been saved: look before you repeat it."
CANNOT = "The database cannot be reached. Retry after a moment."


@pytest.fixture
async def proxy(console: Console) -> AsyncIterator[Proxy]:
    async with proxy_of(str(console.app._runtime.settings.database_url)) as made:
        yield made


class SeveringProxy(Proxy):
    """Lets a COMMIT of a staff flow pass with its answer, and cuts every connection at whatever it sends next."""

    is_severed = False

    def watch(self, client: asyncio.StreamWriter) -> Decide:
        def decide(kind: bytes, body: bytes) -> str | None:
            if self.is_severed and kind in (b"P", b"B", b"Q"):
                return "before"
            self.is_severed = self.is_severed or body == b"COMMIT;\0"
            return None

        return decide


@asynccontextmanager
async def served_through(proxy: Proxy, console: Console) -> AsyncIterator[Console]:
    """Yield the console of the same person, served by a process with the proxy in front of its database."""
    settings = console.app._runtime.settings.model_copy(update={"database_url": proxy.url})
    runtime = Runtime.open(settings)
    app = ConsoleApp(runtime)
    async with new_client(app) as client:
        client.cookies = console.client.cookies
        yield Console(app, console.studio, console.people, client, console.person)
    proxy.cut_at = None
    await runtime.close()


@pytest.fixture
async def behind(console: Console, proxy: Proxy) -> AsyncIterator[Console]:
    async with served_through(proxy, console) as made:
        yield made


Form = tuple[str, dict[str, str]]
"""The path and the fields of a form."""


async def a_sale(studio: BookingStudio) -> Form:
    member = await studio.new_member(membership=False)
    product, price = await priced(studio, granted=10)
    sale = {"offer": f"{product}:{price}", "quantity": "1", "paid": "yes", "location_id": str(studio.location)}
    return f"/console/members/{member}/sell", sale


async def a_move(studio: BookingStudio) -> Form:
    booking = await studio.booked(await studio.new_class(), await studio.new_member())
    return f"/console/bookings/{booking['id']}/move", {"class_id": str(await studio.new_class())}


async def an_erasure(studio: BookingStudio) -> Form:
    return f"/console/members/{await studio.new_member()}/erase", {"word": merge.WORD}


async def a_promotion(studio: BookingStudio) -> Form:
    class_id, _ = await studio.full_class()
    booking = await studio.waits(class_id, await studio.new_member())
    await studio.change("classes", class_id, capacity=2)
    return f"/console/waitlist/{(await studio.entry(booking))['id']}/promote", {}


@pytest.mark.parametrize("htmx", [False, True])
@pytest.mark.parametrize(("moment", "kept"), [("before", 0), ("after", 1)])
async def test_a_sale_may_or_may_not_have_been_saved(
    behind: Console, proxy: Proxy, moment: str, kept: int, htmx: bool
) -> None:
    path, fields = await a_sale(behind.studio)
    proxy.cut_at, proxy.once = (moment, b"COMMIT;"), True
    answer = await behind.post(path, fields, token="t" * 24, htmx=htmx)
    assert proxy.cuts == 1
    assert (answer.status_code, answer.headers.get("x-outcome")) == (503, "unknown")
    assert UNSURE in texts(answer)
    assert CANNOT not in texts(answer)
    assert len(await behind.studio.rows("purchases")) == kept
    again = await behind.post(path, fields, token="t" * 24)
    assert again.status_code == 303
    assert len(await behind.studio.rows("purchases")) == 1, "the same form takes effect once"


async def test_a_database_that_is_lost_before_has_saved_nothing(behind: Console, proxy: Proxy) -> None:
    path, fields = await a_sale(behind.studio)
    proxy.cut_at, proxy.once = ("before", b"BEGIN;"), True
    answer = await behind.post(path, fields)
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


@pytest.mark.parametrize("form_of", [a_sale, a_move, a_promotion, an_erasure])
async def test_what_took_effect_is_not_refused(
    console: Console, form_of: Callable[[BookingStudio], Awaitable[Form]]
) -> None:
    """The database is lost right after the commit: the answer is a success, and only where it led is not noted."""
    path, fields = await form_of(console.studio)
    csrf = await console.csrf()
    proxy = SeveringProxy(str(console.app._runtime.settings.database_url))
    await proxy.start()
    async with served_through(proxy, console) as severed:
        answer = await severed.post(path, {**fields, "csrf": csrf}, token="v" * 24)
        assert answer.status_code == 303, texts(answer)
        assert proxy.cuts, "something was tried after the commit"
    await proxy.close()
    assert await console.studio.rows("staff_form_tokens", "token = $2 and location is null", "v" * 24)
    again = await console.post(path, fields, token="v" * 24, Referer=f"{ORIGIN}/console/members?page=2")
    assert (again.status_code, again.headers["location"]) == (303, "/console/members?page=2")
