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
from studiogate.console.set_up.first_studio import slug_of
from studiogate.domain.access import Scope
from studiogate.domain.keys import GIVING_NEEDS
from studiogate.domain.staff import Role
from studiogate.domain.staff.second_factor import new_totp_secret
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


def ticked(text: str) -> set[str]:
    """The scopes that a page proposes for a new key."""
    return set(re.findall(r'name="scopes" type="checkbox" value="([^"]*)" checked', text))


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


@pytest.mark.parametrize(
    ("name", "slug"),
    [("North Loop", "north-loop"), ("  Über Yoga! ", "ber-yoga"), ("a" * 80, "a" * 60), ("--", "")],
)
def test_a_slug_is_made_from_the_name(name: str, slug: str) -> None:
    assert slug_of(name) == slug


async def test_a_colleague_is_invited_and_a_key_is_made(console: Console) -> None:
    answer = await console.post("/console/welcome/invite", {"email": "noor@example.com", "role": "front_desk"})
    assert answer.status_code == 303
    assert "noor@example.com is invited." in texts(await console.get("/console/welcome"))
    again = await console.post("/console/welcome/invite", {"email": "noor", "role": "manager"})
    assert again.status_code == 422
    assert 'value="noor"' in again.text
    assert ticked(again.text) == set(Scope), "the other form stays as it was"
    made = await console.post("/console/welcome/key", {"name": "CityPass", "scopes": ["studio:read", "nonsense"]})
    found = re.search(r"<code>(sgk_[A-Za-z0-9_]+)</code>", made.text)
    assert found is not None
    assert f"curl -H 'X-Service-Key: …' {ORIGIN}/partner/v1/studio" in texts(made)
    response = await console.studio.api.get("/studio", found[1])
    assert response.status_code == 200
    assert (await console.studio.api.get("/members", found[1])).status_code == 403
    assert "sgk_" not in (await console.get("/console/welcome")).text
    none = await console.post("/console/welcome/key", {"name": ""})
    assert (none.status_code, ticked(none.text)) == (422, set())
    two = await console.post("/console/welcome/key", {"name": "", "scopes": ["studio:read", "members:read"]})
    assert (two.status_code, ticked(two.text)) == (422, {"studio:read", "members:read"})
    entries = await console.studio.rows("audit_log", "action = 'key.create'")
    assert len(entries) == 1


async def test_a_key_may_do_no_more_than_the_person_who_makes_it(console: Console) -> None:
    """A developer sees no people's data, also not by a key of their own making."""
    path, developer = "/console/welcome/key", await console.as_role(Role.DEVELOPER)
    for scope in GIVING_NEEDS:
        assert (await developer.post(path, {"name": "Mine", "scopes": ["studio:read", scope]})).status_code == 403
    harmless = [each.value for each in Scope if each not in GIVING_NEEDS]
    made = await developer.post(path, {"name": "Events", "scopes": harmless})
    assert made.status_code == 200
    assert (await console.post(path, {"name": "All", "scopes": [each.value for each in Scope]})).status_code == 200
    rows = await console.studio.rows("credentials", "name in ('Mine', 'Events', 'All') order by name")
    assert [each["name"] for each in rows] == ["All", "Events"]
