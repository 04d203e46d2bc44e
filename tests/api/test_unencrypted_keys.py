"""A key that a proxy received over plain http is refused: whoever was in between may have read it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.asgi import ask
from tests.support.partner_api import PartnerApi, open_partner_api
from tests.support.seed import issue_key, seed_studio

pytestmark = pytest.mark.anyio
FORWARDED = "X-Forwarded-Proto"


@pytest.fixture
async def behind_https(database_url: str, tmp_path: Path) -> AsyncIterator[PartnerApi]:
    async for opened in open_partner_api(database_url, data_dir=tmp_path, public_url="https://api.studio.example"):
        yield opened


@pytest.fixture
async def key(behind_https: PartnerApi) -> str:
    return await issue_key(behind_https.connection, await seed_studio(behind_https.connection))


@pytest.mark.parametrize("protocol", ["http", "HTTP", " http ", "http, https"])
async def test_it_is_refused_with_the_advice_to_rotate_it(behind_https: PartnerApi, key: str, protocol: str) -> None:
    for method, path in (("GET", "/studio"), ("POST", "/leads"), ("GET", "/no-such-path")):
        answer = await ask(behind_https.app, method, path, key=key, headers=[(FORWARDED, protocol)])
        assert (answer.status, answer.code) == (403, "https_required"), "never a redirect"
        assert "Rotate it" in answer.json()["error"]["message"]
        assert answer.header("location") is None


@pytest.mark.parametrize("protocol", [None, "https", "https, http", ""])
async def test_a_key_that_came_by_https_works(behind_https: PartnerApi, key: str, protocol: str | None) -> None:
    headers = [] if protocol is None else [(FORWARDED, protocol)]
    assert (await ask(behind_https.app, "GET", "/studio", key=key, headers=headers)).status == 200


async def test_a_wrong_key_is_reported_first(behind_https: PartnerApi) -> None:
    answer = await ask(behind_https.app, "GET", "/studio", key="sgk_live_wrong", headers=[(FORWARDED, "http")])
    assert answer.code == "invalid_api_key"


async def test_pages_without_a_key_are_served(behind_https: PartnerApi) -> None:
    answer = await ask(behind_https.app, "GET", "/openapi.json", headers=[(FORWARDED, "http")])
    assert answer.status == 200


async def test_without_a_public_https_address_it_is_allowed(database_url: str, tmp_path: Path) -> None:
    async for opened in open_partner_api(database_url, data_dir=tmp_path, public_url="http://127.0.0.1:8080"):
        studio_key = await issue_key(opened.connection, await seed_studio(opened.connection))
        answer = await ask(opened.app, "GET", "/studio", key=studio_key, headers=[(FORWARDED, "http")])
        assert answer.status == 200
