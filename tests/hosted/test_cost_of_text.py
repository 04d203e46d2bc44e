"""In every field of a form, a text of maximum length costs about as much to process as a short one."""

from collections.abc import AsyncIterator
from urllib.parse import quote

import pytest

from studiogate import settings
from studiogate.hosted.app import HostedApp
from studiogate.runtime import Runtime
from tests.support.asgi import ask
from tests.support.counted_work import HOSTILE, LONGEST, Cost, counted_lines
from tests.support.hosted_forms import everything
from tests.support.page_reader import token_of
from tests.support.site import Site

pytestmark = pytest.mark.anyio
# Executed lines that a long text may cost beyond those of a short one; the longest signature needs most of them.
EXTRA_LINES = 30_000
NAMES = ["submitter_email", "submitter_name", "token", "step", "action", "website", "shown", "unknown"]
NAMES += [f"f.{each['key']}" for each in everything(required=False)] + ["t.sign", "a.0.home"]


@pytest.fixture
async def app(site: Site) -> AsyncIterator[HostedApp]:
    runtime = Runtime.open(settings.load(database_url=site.database_url, data_dir=site.data, rate_limit=0))
    yield HostedApp(runtime)
    await runtime.close()


async def _cost(app: HostedApp, site: Site, name: str, text: str) -> Cost:
    given = {"token": token_of(site, "everything"), "submitter_email": "a@example.com", "f.line": "x", name: text}
    body = "&".join(
        f"{quote(each)}={quote(value, safe='') if each == name else value}" for each, value in given.items()
    )
    path = f"//f/{site.studio['slug']}/everything"
    headers = [("content-type", "application/x-www-form-urlencoded")]
    with counted_lines() as cost:
        response = await ask(app, "POST", path, headers=headers, body=body.encode())
    assert response.status < 500, response.body
    return cost


@pytest.mark.parametrize("name", NAMES)
async def test_text_in_a_field(app: HostedApp, site: Site, name: str) -> None:
    short = await _cost(app, site, name, "x" * 9)
    for kind, text in HOSTILE.items():
        # Percent-encoded, a combining mark takes six bytes of the body, a space three.
        long = await _cost(app, site, name, text[: len(text) // 2])
        assert {each: size for each, size in long.longest.items() if size > LONGEST} == {}, kind
        assert long.lines <= short.lines + EXTRA_LINES, kind
