"""The documentation over the front ends: every page, its links, its Markdown, search, and what browsers may do."""

import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urldefrag

import pytest

from studiogate import demo
from studiogate.docs import app as docs
from studiogate.docs import contents
from studiogate.docs.contents import CONTENTS, ENTRIES
from studiogate.docs.site import ASSETS
from studiogate.server.api_process import FrontEnds
from tests.support.asgi import AsgiResponse, ask, assert_refused
from tests.support.partner_api import PartnerApi
from tests.support.seed import seed_studio

pytestmark = pytest.mark.anyio
BROWSER = ("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
PAGES = [entry.path for entry in ENTRIES.values()]
OTHERS = ["/", "/docs/search", "/docs/search?q=retry", "/no/such/page"]
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
async def site(shared_api: PartnerApi) -> FrontEnds:
    return FrontEnds(shared_api.app._runtime)


async def get(site: FrontEnds, target: str, *headers: tuple[str, str]) -> AsgiResponse:
    return await ask(site, "GET", "/" + target, headers=headers or [BROWSER])


class Outline(HTMLParser):
    """Collects the ids, the links, and the inline styles and scripts of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.inline: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("id"):
            self.ids.append(str(given["id"]))
        self.links += [str(given[name]) for name in ("href", "src", "srcset", "action") if given.get(name)]
        if tag == "style" or "style" in given or (tag == "script" and "src" not in given):
            self.inline.append(tag)


@pytest.mark.parametrize("path", PAGES)
async def test_every_page_answers(site: FrontEnds, path: str) -> None:
    response = await get(site, path)
    outline = Outline(response.body.decode())
    assert (response.status, response.header("content-type")) == (200, "text/html; charset=utf-8")
    assert re.search(rb"<title>[^<]{4,} \xc2\xb7 Studiogate</title>", response.body)
    assert response.body.count(b"<h1") == 1
    assert f'href="{path}" aria-current="page"' in response.body.decode()
    assert [each for each, count in Counter(outline.ids).items() if count > 1] == []


@pytest.mark.parametrize("path", [*PAGES, *OTHERS])
async def test_pages_carry_a_strict_policy(site: FrontEnds, path: str) -> None:
    response = await get(site, path)
    policy = response.header("content-security-policy") or ""
    assert policy.startswith("default-src 'none'; ")
    assert "frame-ancestors 'none'" in policy
    assert not re.search(r"unsafe|https?:|\*", policy)
    assert response.header("x-content-type-options") == "nosniff"
    assert Outline(response.body.decode()).inline == []


@pytest.mark.parametrize("path", [*PAGES, *OTHERS])
async def test_every_link_and_anchor_leads_somewhere(site: FrontEnds, path: str) -> None:
    ids: dict[str, list[str]] = {}
    for link in sorted({*Outline((await get(site, path)).body.decode()).links}):
        if link.startswith("https://"):
            assert urldefrag(link).url not in PAGES
            continue
        target, anchor = urldefrag(link)
        target = target or path
        if target.startswith(("/console/", "/f/")):
            continue
        assert not target.startswith("http:"), link
        if target not in ids:
            response = await get(site, target)
            assert response.status == (404 if target == "/no/such/page" else 200), link
            html = (response.header("content-type") or "").startswith("text/html")
            ids[target] = Outline(response.body.decode()).ids if html else []
        assert not anchor or anchor in ids[target], link


async def test_links_of_the_markdown_lead_to_markdown(site: FrontEnds) -> None:
    for path in PAGES:
        text = (await get(site, path + ".md")).body.decode()
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            assert link.startswith(("https://", "/", "#")), (path, link)
            if link.startswith("/docs"):
                assert urldefrag(link).url.endswith((".md", ".webp", ".png")), (path, link)
                assert (await get(site, urldefrag(link).url)).status == 200, (path, link)


def test_pages_link_to_pages_that_the_site_has() -> None:
    """A link to a file of the repository that the site does not have is shown as text: only from these pages."""
    texts = contents.read_sources()
    lost = {
        (name, target)
        for name, text in texts.items()
        for target in re.findall(r"\]\(([^)\s]+)\)", text)
        if contents.resolve(target, ENTRIES[name]) is None
    }
    assert {name for name, _ in lost} <= {"operating", "operations", "changelog", "studio-file"}, lost


def test_every_guide_is_in_the_contents() -> None:
    listed = {entry.file for entry in ENTRIES.values()}
    guides = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs/guides").glob("*.md")}
    assert guides <= listed
    assert len(ENTRIES) == sum(map(len, CONTENTS.values()))


@pytest.mark.parametrize("path", PAGES)
async def test_every_page_is_markdown_too(site: FrontEnds, path: str) -> None:
    by_name = await get(site, path + ".md")
    by_type = await get(site, path, ("accept", "text/markdown, text/plain;q=0.8"))
    assert by_name.header("content-type") == by_type.header("content-type") == "text/markdown; charset=utf-8"
    assert by_name.body == by_type.body
    assert by_name.body.startswith(b"# ")
    assert "accept," in (by_type.header("vary") or "")


async def test_texts_for_programs_have_every_page(site: FrontEnds) -> None:
    for prefix in ("", "/docs"):
        summary = await get(site, prefix + "/llms.txt", ("accept", "*/*"))
        everything = await get(site, prefix + "/llms-full.txt", ("accept", "*/*"))
        assert summary.header("content-type") == everything.header("content-type") == "text/plain; charset=utf-8"
        assert summary.body.startswith(b"# Studiogate\n\n> ")
        for path in PAGES:
            assert f"{path}.md): " in summary.body.decode()
            title = (await get(site, path + ".md")).body.partition(b"\n")[0]
            assert title in everything.body


@pytest.mark.parametrize("path", ["/docs", "/docs/booking", "/docs/booking.md", "/llms-full.txt"])
async def test_a_known_page_is_not_sent_again(site: FrontEnds, path: str) -> None:
    first = await get(site, path)
    etag = first.header("etag") or ""
    again = await get(site, path, BROWSER, ("if-none-match", etag))
    assert (again.status, again.body, again.header("etag")) == (304, b"", etag)
    assert (await get(site, path, BROWSER, ("if-none-match", 'W/"other"'))).status == 200


@pytest.mark.parametrize(
    ("before", "after"),
    [("/docs/", "/docs"), ("/docs/guides", "/docs"), ("/docs/guides/", "/docs"),
     ("/docs/guides/booking.md", "/docs/booking.md"), ("/docs/guides/events", "/docs/events")],
)  # fmt: skip
async def test_paths_of_the_repository_lead_to_the_page(site: FrontEnds, before: str, after: str) -> None:
    response = await get(site, before)
    assert (response.status, response.header("location")) == (301, after)


# Search


@pytest.mark.parametrize(
    ("query", "address"),
    [("retry", "/docs/booking#retry-safely"), ("cancel fee", "/docs/booking#cancel"),
     ("webhook signature", "/docs/events#verify"), ("pagination", "/docs/conventions#lists"),
     ("rate limit", "/docs/conventions#rate-limits"), ("class is full", "/docs/errors#class_full"),
     ("class_full", "/docs/errors#class_full"), ("authentication", "/docs/conventions#authentication"),
     ("api key", "/docs/conventions#authentication"), ("waitlist", "/docs/booking#the-waitlist"),
     ("upload a file", "/docs/leads-and-forms#4-files"), ("missed events", "/docs/events#catch-up-after-an-outage"),
     ("getting started", "/docs/quickstart"), ("delete a person", "/docs/peoples-rights"),
     ("double booking", "/docs/booking#retry-safely"), ("forgot password", "/docs/console#signing-in"),
     ("backup", "/docs/operations"), ("breaking change", "/docs/versioning"), ("time zone", "/docs/conventions")],
)  # fmt: skip
async def test_search_finds_by_everyday_words(site: FrontEnds, query: str, address: str) -> None:
    response = await get(site, "/docs/search?q=" + query.replace(" ", "+"))
    found = re.findall(r'<li><a href="([^"]+)">', response.body.decode())
    assert any(each.startswith(address) for each in found[:5]), found


@pytest.mark.parametrize("query", ["", "zzzz", "%00", "<script>alert(1)</script>", "a" * 5000, "%F0%9F%A6%84", "*+(["])
async def test_any_search_is_a_page(site: FrontEnds, query: str) -> None:
    response = await get(site, "/docs/search?q=" + query)
    assert response.status == 200
    assert b"<script>alert" not in response.body
    assert len(response.body) < 100_000


# The front page, and pages that do not exist


async def test_a_browser_gets_the_front_page(site: FrontEnds) -> None:
    for headers in ([BROWSER], [("accept", "*/*")], []):
        response = await ask(site, "GET", "//", headers=headers)
        assert (response.status, response.header("content-type")) == (200, "text/html; charset=utf-8")
        assert b'href="/docs/quickstart"' in response.body
        assert b"/f/demo/" not in response.body


async def test_a_client_of_the_api_gets_json(site: FrontEnds) -> None:
    for accept in ("application/json", "application/problem+json, application/json"):
        assert_refused(await ask(site, "GET", "//", headers=[("accept", accept)]), "not_found")
    for path in ("/nothing", "/partner", "/partner/v2/studio"):
        assert_refused(await ask(site, "GET", "/" + path, headers=[("accept", "*/*")]), "not_found")


async def test_an_unknown_address_is_a_page_for_browsers(site: FrontEnds) -> None:
    for path in ("/nothing", "/docs/nothing", "/docs/nothing.md", "/docs/assets/x/docs.css", "/docs/errors/"):
        response = await get(site, path)
        assert (response.status, response.header("content-type")) == (404, "text/html; charset=utf-8"), path
        assert b'href="/docs"' in response.body
    for path in ("/partner/v1/nothing", "/partner/v2"):
        assert (await get(site, path)).header("content-type") == "application/json"
    for path in ("/livez", "/metrics"):
        assert (await get(site, path)).status == 200


@pytest.mark.parametrize("path", ["/docs", "/docs/errors", "/docs/booking.md", "/llms.txt", "/docs/search"])
async def test_pages_can_only_be_read(site: FrontEnds, path: str) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        response = await ask(site, method, "/" + path, headers=[BROWSER])
        assert (response.status, response.header("allow")) == (405, "GET, HEAD, OPTIONS")
    options = await ask(site, "OPTIONS", "/" + path)
    assert (options.status, options.header("allow")) == (204, "GET, HEAD, OPTIONS")
    got, head = [await ask(site, method, "/" + path) for method in ("GET", "HEAD")]
    assert (got.status, head.status, head.body) == (200, 200, b"")
    assert got.header("x-request-id")


async def test_published_forms_of_the_demo_studio_only(api: PartnerApi) -> None:
    assert docs.DEMO == demo.SLUG
    studio = await seed_studio(api.connection)
    await api.connection.execute("update forms set status = 'published', title = 'A <b>title</b>'")

    async def front() -> bytes:
        return (await ask(FrontEnds(api.app._runtime), "GET", "//")).body

    assert b"<b>title" not in await front()
    await api.connection.execute("update studios set slug = 'demo', test = true where studio_id = $1", studio.studio_id)
    shown = await front()
    assert b'href="/f/demo/' in shown
    assert b"A &lt;b&gt;title&lt;/b&gt;" in shown
    await api.connection.execute("update forms set status = 'draft'")
    assert b"/f/demo/" not in await front()


# Size and cost


@pytest.mark.parametrize("path", [path for path in PAGES if path != "/docs/reference"])
async def test_a_page_with_all_that_it_loads_is_small(site: FrontEnds, path: str) -> None:
    """Pictures that pages show in one of two colours count once."""
    zipped = ("accept-encoding", "gzip")
    page = await get(site, path, BROWSER, zipped)
    plain = await get(site, path)
    assert page.header("content-encoding") == "gzip"
    links = {each for each in Outline(plain.body.decode()).links if each.startswith("/docs/assets/")}
    loaded = [await get(site, each, BROWSER, zipped) for each in links if "-dark." not in each]
    assert len(page.body) + sum(len(each.body) for each in loaded) < 200_000


async def test_a_page_is_rendered_once(site: FrontEnds, monkeypatch: pytest.MonkeyPatch) -> None:
    first = await get(site, "/docs/metrics")
    monkeypatch.setattr(docs.DocsApp, "_make", None)
    assert (await get(site, "/docs/metrics")).body == first.body


def test_pictures_are_those_that_pages_show() -> None:
    assert {path.name for path in contents.images()} <= set(ASSETS.names)
    assert contents.images()
