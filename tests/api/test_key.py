"""GET /key, the expiry of a rotated secret, and absolute links in errors."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from studiogate.domain.access import Scope
from tests.support.direct_client import DirectResponse, ask
from tests.support.keys import rotate
from tests.support.partner_api import PartnerApi, open_partner_api
from tests.support.seed import Studio, issue_key, seed_studio

pytestmark = pytest.mark.anyio
EXPIRES = b"x-service-key-expires"


async def read(api: PartnerApi, key: str, path: str = "/key") -> DirectResponse:
    return await ask(api.app, "GET", path, key)


@pytest.fixture
async def studio(api: PartnerApi) -> Studio:
    return await seed_studio(api.connection)


async def test_a_key_reads_itself_whatever_its_scopes(api: PartnerApi, studio: Studio) -> None:
    locations = sorted(studio.ids["location"])
    for scopes, permitted in ((["leads:write"], None), (["studio:read", "events:read"], locations)):
        key = await issue_key(api.connection, studio, *scopes, locations=permitted)
        answer = await read(api, key)
        assert answer.json() == {
            "id": key.split("_")[2],
            "object": "service_key",
            "name": "test",
            "scopes": scopes,
            "location_ids": None if permitted is None else [str(each) for each in permitted],
            "test": False,
            "expires_at": None,
        }
    assert (await ask(api.app, "GET", "/key")).code == "missing_api_key"


async def test_it_says_when_it_expires_and_whether_the_studio_is_a_test(api: PartnerApi, studio: Studio) -> None:
    key = await issue_key(api.connection, studio)
    await api.connection.execute("update studios set test = true")
    await api.connection.execute("update credentials set expires_at = '2031-02-03T04:05:06.7Z'")
    found = (await read(api, key)).json()
    assert (found["test"], found["expires_at"]) == (True, "2031-02-03T04:05:06.7+00:00")
    assert found["scopes"] == [scope.value for scope in Scope]


@pytest.mark.parametrize("key_ends", [None, timedelta(minutes=30)])
async def test_a_response_to_the_old_secret_says_when_it_ends(
    api: PartnerApi, studio: Studio, key_ends: timedelta | None
) -> None:
    old = await issue_key(api.connection, studio)
    assert EXPIRES not in dict((await read(api, old)).headers)
    if key_ends is not None:
        await api.connection.execute("update credentials set expires_at = now() + $1", key_ends)
    rotated = await rotate(api.connection, old.split("_")[2], timedelta(hours=1))
    headers = dict((await read(api, rotated.key)).headers)
    assert EXPIRES not in headers
    for path, status in (("/key", 200), ("/studio", 200), ("/nothing", 404)):
        answer = await read(api, old, path)
        assert answer.status == status
        # Retry without the cache of this process, which may have seen the key before the rotation.
        if EXPIRES not in dict(answer.headers):
            api.app.authenticator._cache.clear()
            answer = await read(api, old, path)
        text = dict(answer.headers)[EXPIRES].decode()
        assert text.endswith("+00:00")
        left = datetime.fromisoformat(text) - datetime.now(UTC)
        assert left <= (key_ends or timedelta(hours=1))
        assert left > (key_ends or timedelta(hours=1)) - timedelta(minutes=10)


@pytest.fixture
async def public(database_url: str) -> AsyncIterator[PartnerApi]:
    async for opened in open_partner_api(database_url, public_url="https://api.studio.example/"):
        yield opened


async def test_links_are_absolute_where_the_address_is_known(public: PartnerApi) -> None:
    key = await issue_key(public.connection, await seed_studio(public.connection))
    base = "https://api.studio.example/docs/errors#"
    for asked in (None, key):
        for path in ("/nothing", "/leads?x=1", "/leads?cursor=x"):
            answer = await public.get(path, asked)
            error = answer.json()["error"]
            assert error["doc_url"] == base + error["code"]
    assert (await public.client.get("/nothing")).json()["error"]["doc_url"] == base + "not_found"


async def test_links_are_relative_otherwise(api: PartnerApi) -> None:
    assert (await api.get("/nothing", None)).json()["error"]["doc_url"] == "/docs/errors#missing_api_key"
