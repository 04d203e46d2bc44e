"""GET / is a page for people; a client that requests JSON gets the same response as on any unknown path."""

import pytest

from studiogate import demo
from studiogate.api import public_pages
from tests.support.asgi import ask, assert_refused
from tests.support.partner_api import PartnerApi
from tests.support.seed import seed_studio

pytestmark = pytest.mark.anyio
BROWSER = ("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")


async def test_a_browser_gets_a_page(api: PartnerApi) -> None:
    for headers in ([BROWSER], [("accept", "*/*")], []):
        response = await ask(api.app, "GET", "//", headers=headers)
        assert response.status == 200
        assert response.header("content-type") == "text/html; charset=utf-8"
        assert b'href="/docs"' in response.body
        assert b"/f/demo/" not in response.body
        assert "default-src 'none'" in (response.header("content-security-policy") or "")


async def test_a_client_of_the_api_gets_json(api: PartnerApi) -> None:
    for accept in ("application/json", "application/problem+json, application/json"):
        assert_refused(await ask(api.app, "GET", "//", headers=[("accept", accept)]), "not_found")
    response = await ask(api.app, "POST", "//", headers=[BROWSER])
    assert_refused(response, "method_not_allowed")


async def test_published_forms_of_the_demo_studio_only(api: PartnerApi) -> None:
    assert public_pages.DEMO == demo.SLUG
    studio = await seed_studio(api.connection)
    await api.connection.execute("update forms set status = 'published', title = 'A <b>title</b>'")
    assert b"<b>title" not in (await ask(api.app, "GET", "//")).body
    api.app._pages._front.answer.__self__._made = None  # type: ignore[attr-defined]
    await api.connection.execute("update studios set slug = 'demo', test = true where studio_id = $1", studio.studio_id)
    response = await ask(api.app, "GET", "//")
    assert b'href="/f/demo/' in response.body
    assert b"A &lt;b&gt;title&lt;/b&gt;" in response.body
    api.app._pages._front.answer.__self__._made = None  # type: ignore[attr-defined]
    await api.connection.execute("update forms set status = 'draft'")
    assert b"/f/demo/" not in (await ask(api.app, "GET", "//")).body
