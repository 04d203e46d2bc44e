"""An empty service is set up in the browser: the studio, a colleague, a key."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import asyncpg
import httpx2
import pytest

from studiogate import clock, settings
from studiogate.console.app import ConsoleApp
from studiogate.domain.staff import Role
from studiogate.domain.staff.tokens import new_totp_secret
from studiogate.flows.staff.set_up import set_up_path
from studiogate.runtime import Runtime
from tests.support.console import ORIGIN, Console, new_client, texts
from tests.support.staff_people import PASSWORD

pytestmark = pytest.mark.anyio
FORM = {
    "studio_name": "North Loop",
    "timezone": "Europe/Berlin",
    "currency": "EUR",
    "country": "DE",
    "person_name": "Rosa Lindqvist",
    "email": "rosa@example.com",
    "password": PASSWORD,
}


@pytest.fixture
async def empty(database_url: str, tmp_path: Path) -> AsyncIterator[tuple[Runtime, httpx2.AsyncClient]]:
    """A service without a studio."""
    runtime = Runtime.open(settings.load(database_url=database_url, data_dir=tmp_path))
    async with new_client(ConsoleApp(runtime)) as client:
        yield runtime, client
    await runtime.close()


def hidden(text: str, action: str) -> dict[str, str]:
    """The hidden fields of the form with this action."""
    form = text[text.index(f'action="{action}"') :].partition("</form>")[0]
    return dict(re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', form))


async def test_the_link_creates_the_first_studio_and_signs_its_owner_in(
    empty: tuple[Runtime, httpx2.AsyncClient], connection: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    runtime, client = empty
    path = set_up_path(runtime.sealer, clock.now())
    assert "Set up your studio" in texts(await client.get(path))
    created = await client.post(path, data=FORM, headers={"Origin": ORIGIN})
    assert (created.status_code, created.headers["location"]) == (303, "/console/welcome")
    assert (await client.get("/console/")).headers["location"] == "/console/welcome"
    page = texts(await client.get("/console/welcome"))
    assert "First steps for North Loop" in page
    assert "Rosa Lindqvist" in page
    studio = await connection.fetchrow("select slug, timezone, currency, country from studios")
    assert tuple(studio or ()) == ("north-loop", "Europe/Berlin", "EUR", "DE")
    used = await client.post(path, data={**FORM, "slug": "another"}, headers={"Origin": ORIGIN})
    assert used.status_code == 410
    assert await connection.fetchval("select count(*) from studios") == 1


async def test_all_faults_are_shown_and_nothing_is_created(
    empty: tuple[Runtime, httpx2.AsyncClient], connection: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    runtime, client = empty
    path = set_up_path(runtime.sealer, clock.now())
    wrong = {
        **FORM,
        "timezone": "Nowhere",
        "currency": "euro",
        "email": "rosa",
        "password": "short",
        "person_name": " ",
    }
    answer = await client.post(path, data=wrong, headers={"Origin": ORIGIN})
    assert answer.status_code == 422
    assert answer.text.count('class="fault"') == 5
    assert "Use at least 12 characters." in answer.text
    assert 'value="North Loop"' in answer.text
    assert "short" not in answer.text
    for table in ("studios", "staff_accounts", "staff_sessions"):
        assert await connection.fetchval(f"select count(*) from {table}") == 0, table


async def test_a_link_that_we_did_not_make_or_that_is_old_does_not_work(
    empty: tuple[Runtime, httpx2.AsyncClient],
) -> None:
    runtime, client = empty
    old = set_up_path(runtime.sealer, clock.now() - timedelta(days=2))
    for path in (old, "/console/set-up/x", "/console/set-up/" + new_totp_secret().hex()):
        assert (await client.get(path)).status_code == 410
        assert (await client.post(path, data=FORM, headers={"Origin": ORIGIN})).status_code == 410


@pytest.mark.parametrize(("name", "slug"), [("  Über Yoga! ", "uber-yoga"), ("名前", "studio")])
async def test_the_short_name_is_made_from_the_name(
    empty: tuple[Runtime, httpx2.AsyncClient], connection: "asyncpg.Connection[asyncpg.Record]", name: str, slug: str
) -> None:
    runtime, client = empty
    path = set_up_path(runtime.sealer, clock.now())
    await client.post(path, data={**FORM, "studio_name": name}, headers={"Origin": ORIGIN})
    assert await connection.fetchval("select slug from studios") == slug


def steps(text: str) -> dict[str, str]:
    """The steps of the page by title: done, skipped or open."""
    found = re.findall(r'<li class="step.*?</li>', text, re.DOTALL)
    titles = [re.sub("<[^>]*>", "", each.partition("<h2>")[2].partition("</h2>")[0]) for each in found]
    states = ["done" if "Done:" in each else "skipped" if "Skipped." in each else "open" for each in found]
    return dict(zip(titles, states, strict=True))


async def test_the_steps_know_what_is_done(
    empty: tuple[Runtime, httpx2.AsyncClient], connection: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    runtime, client = empty
    await client.post(set_up_path(runtime.sealer, clock.now()), data=FORM, headers={"Origin": ORIGIN})
    found = steps((await client.get("/console/welcome")).text)
    assert set(found.values()) == {"open"}
    assert "Next: " in texts(await client.get("/console/today"))
    studio = await connection.fetchval("select studio_id from studios")
    await connection.execute("update studios set policy = '{\"allow_overlapping\": true}'")
    columns = "(studio_id, id, title, start_time, end_time, capacity)"
    await connection.execute(
        f"insert into classes {columns} values ($1, gen_random_uuid(), 'Flow', now(), now() + interval '1 hour', 5)",
        studio,
    )
    after = steps((await client.get("/console/welcome")).text)
    assert {title for title, state in after.items() if state == "done"} == {
        "Look over the rules",
        "Plan the first class",
    }
    assert set(after) == set(found)


async def test_steps_are_skipped_and_dismissed_and_come_back(console: Console) -> None:
    open_steps = [
        title for title, state in steps((await console.get("/console/welcome")).text).items() if state == "open"
    ]
    assert "Invite colleagues" in open_steps
    await console.post("/console/welcome/skip", {"step": "colleagues"})
    page = await console.get("/console/welcome")
    assert steps(page.text)["Invite colleagues"] == "skipped"
    await console.post("/console/welcome/skip", {"step": "colleagues", "state": "open"})
    assert steps((await console.get("/console/welcome")).text)["Invite colleagues"] == "open"
    assert "All steps" in texts(await console.get("/console/today"))
    dismissed = await console.post("/console/welcome/skip", {"step": "all"})
    assert dismissed.headers["location"] == "/console/today"
    assert "All steps" not in texts(await console.get("/console/today"))
    await console.post("/console/welcome/skip", {"step": "all", "state": "open"})
    assert "All steps" in texts(await console.get("/console/today"))
    assert (await console.post("/console/welcome/skip", {"step": "nonsense"})).status_code == 404
    console.client.cookies.set("studiogate_steps", "0" * 32 + ".all", domain="console.test", path="/console")
    assert "All steps" in texts(await console.get("/console/today")), "skipped for another studio"


async def test_the_first_booking_ends_the_steps_on_today(console: Console) -> None:
    assert "All steps" in texts(await console.get("/console/today"))
    await console.studio.booked(await console.studio.new_class(), await console.studio.new_member())
    assert "All steps" not in texts(await console.get("/console/today"))
    assert "The first booking is there" in texts(await console.get("/console/welcome"))


async def test_others_see_no_steps(console: Console) -> None:
    desk = await console.as_role(Role.FRONT_DESK)
    assert "All steps" not in texts(await desk.get("/console/today"))
    manager = await console.as_role(Role.MANAGER)
    found = steps((await manager.get("/console/welcome")).text)
    assert not {"Invite colleagues", "Make a key for a partner"} & set(found), "not theirs to do"
