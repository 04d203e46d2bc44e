"""The documentation pages: complete, strict about what they load, and usable in a browser without external requests."""

import hashlib
import re
import socket
import threading
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Browser, Page

from studiogate.api import docs
from studiogate.api.app import ROUTES
from studiogate.api.framework import openapi
from studiogate.api.framework.errors import STATUS, chapters, example_body
from studiogate.domain.events import EventType
from studiogate.domain.refusals import MESSAGES, Code
from studiogate.web.response import Answer
from studiogate.web.static_assets import StaticAssets
from tests.support.browser import browser, chromium

PAGES = docs.pages()
VENDORED = Path(docs.__file__).parent / "vendor" / "swagger-ui"
HTML_PAGES = ("/docs", "/docs/errors")
__all__ = ["browser", "chromium"]


class _Outline(HTMLParser):
    """Collects the ids, the links, and the inline styles and scripts of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.inline: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("id"):
            self.ids.append(str(given["id"]))
        self.addresses += [str(given[name]) for name in ("href", "src") if given.get(name)]
        if tag == "style" or "style" in given or (tag == "script" and "src" not in given):
            self.inline.append(tag)


def _html(path: str) -> str:
    return PAGES[path].body.decode()


def _headers(path: str) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in PAGES[path].headers}


@pytest.mark.parametrize("code", list(Code))
def test_every_code_is_explained(code: Code) -> None:
    kind, status = STATUS[code]
    entry = chapters()[kind].entries[code]
    assert all(len(text.split()) >= least for text, least in ((entry.meaning, 15), (entry.action, 4), (entry.retry, 1)))
    section = _html("/docs/errors").split(f'<section class="code" id="{code.value}">')[1].split("</section>")[0]
    assert f">{status}</span>" in section
    assert kind.value in section
    assert MESSAGES[code] in section.replace("&#39;", "'")
    assert all(name in section for name in example_body(code)["error"]["details"])


def test_codes_stand_in_the_chapter_of_their_type_and_order() -> None:
    explained = [code for chapter in chapters().values() for code in chapter.entries]
    assert sorted(explained, key=list(Code).index) == list(Code)
    for kind, chapter in chapters().items():
        assert [code for code in Code if STATUS[code][0] is kind] == list(chapter.entries)


@pytest.mark.parametrize("path", HTML_PAGES)
def test_pages_stay_inside(path: str) -> None:
    outline = _Outline(_html(path))
    known = {*PAGES, openapi.PREFIX + "/openapi.json"}
    for address in outline.addresses:
        target, _, anchor = address.partition("#")
        assert address.startswith("data:image/svg+xml,") or (target or path) in known
        assert not anchor or target or anchor in outline.ids
    assert {"/docs", "/docs/errors", openapi.PREFIX + "/openapi.json"} <= set(outline.addresses)
    assert len(outline.ids) == len(set(outline.ids))
    assert outline.inline == []


@pytest.mark.parametrize("path", HTML_PAGES)
def test_pages_carry_a_strict_policy(path: str) -> None:
    headers = _headers(path)
    policy = headers["content-security-policy"]
    assert headers["content-type"] == "text/html; charset=utf-8"
    assert policy.startswith("default-src 'none'; ")
    assert "frame-ancestors 'none'" in policy
    assert not re.search(r"unsafe|https?:|\*", policy)


def test_assets_are_kept_by_browsers_under_a_hash_of_all_of_them(tmp_path: Path) -> None:
    assets = [path for path in PAGES if path.startswith("/docs/assets/")]
    assert assets
    for path in assets:
        assert "immutable" in _headers(path)["cache-control"]
    assert len({path.split("/")[3] for path in assets}) == 1
    (tmp_path / "docs.css").write_text("a {}")
    before = StaticAssets("/docs/assets/", tmp_path).address("docs.css")
    (tmp_path / "docs.css").write_text("b {}")
    assert StaticAssets("/docs/assets/", tmp_path).address("docs.css") != before


def test_vendored_files_are_the_ones_that_were_recorded() -> None:
    recorded = dict(re.findall(r"^\| (\S+) \| ([0-9a-f]{64}) \|$", (VENDORED / "README.md").read_text(), re.MULTILINE))
    served = {file.name for file in VENDORED.iterdir() if file.suffix in (".js", ".css")}
    assert served == set(recorded)
    for name, digest in recorded.items():
        assert hashlib.sha256((VENDORED / name).read_bytes()).hexdigest() == digest
    assert (VENDORED / "LICENSE").exists()


class _Site:
    """Serves the pages over real HTTP, with the OpenAPI document and one endpoint to try out."""

    def __init__(self) -> None:
        self.answers = {
            **PAGES,
            openapi.PREFIX + "/openapi.json": _json(openapi.document_bytes(ROUTES)),
            openapi.PREFIX + "/studio": _json(b'{"object":"studio","name":"Northside Movement"}'),
        }

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        answer = self.answers.get(scope["path"], Answer(404, b""))
        await send({"type": "http.response.start", "status": answer.status, "headers": list(answer.headers)})
        await send({"type": "http.response.body", "body": answer.body})


def _json(body: bytes) -> Answer:
    return Answer(200, body, ((b"content-type", b"application/json"),))


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(_Site(), lifespan="off", log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    thread.join()


@pytest.fixture(params=["light", "dark"])
def page(browser: Browser, origin: str, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page on which any external request and any warning or error in the console fails the test."""
    context = browser.new_context(color_scheme=request.param, viewport={"width": 1360, "height": 900})
    context.set_default_timeout(120_000)  # a busy machine takes long to render the reference
    page, asked, complaints = context.new_page(), [], []
    page.on("request", lambda each: asked.append(each.url))
    page.on("console", lambda each: complaints.append(each.text) if each.type in ("error", "warning") else None)
    page.on("pageerror", lambda each: complaints.append(str(each)))
    yield page
    context.close()
    assert asked
    assert [url for url in asked if not url.startswith((origin + "/", "data:"))] == []
    assert complaints == []


@pytest.mark.timeout(700)
@pytest.mark.parametrize("page", ["dark"], indirect=True)
def test_reference_in_a_browser(page: Page, origin: str) -> None:
    """Rendered only once, in dark mode, because it takes seconds. The colours follow the system at any time."""
    page.goto(origin + "/docs")
    links = page.locator("#contents li a")
    links.first.wait_for()
    operations = page.locator(".opblock")
    assert operations.count() == len(ROUTES) + len(EventType) + 1, "every route, every event, the test event"
    assert links.count() == len(ROUTES) + page.locator(".info .description h2").count()
    page.get_by_role("link", name="Read the studio").click()
    block = page.locator("#operations-studio-read_studio")
    block.get_by_role("button", name="Try it out").click()
    with page.expect_response(origin + "/partner/v1/studio"):
        block.get_by_role("button", name="Execute").click()
    block.get_by_text("Northside Movement").first.wait_for()
    assert page.locator("html.dark-mode").count() == 1
    page.emulate_media(color_scheme="light")
    page.locator("html:not(.dark-mode)").wait_for()


@pytest.mark.timeout(700)
def test_errors_in_a_browser(page: Page, origin: str) -> None:
    page.goto(origin + "/docs/errors#class_full")
    section = page.locator("#class_full")
    assert page.evaluate("document.querySelector(':target').id") == "class_full"
    section.get_by_text("Example").click()
    assert "waitlist_available" in section.locator("pre").inner_text()
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    assert (background != "rgb(255, 255, 255)") == dark
