"""The API reference: complete, small, and usable without scripts. Requests that are tried go to the real service."""

import gzip
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Browser, ViewportSize, expect

from studiogate.api import app
from tests.support.axe import complaints_in_light_and_dark
from tests.support.desk import Desk
from tests.support.watched_page import Watched, watched

pytestmark = pytest.mark.timeout(700)
DOCUMENT = app.document()
PAGES = {"/docs/reference": None} | {f"/docs/reference/{tag['name']}": tag["name"] for tag in DOCUMENT["tags"]}
DESKTOP: ViewportSize = {"width": 1440, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
LARGEST = 40_000  # bytes of a page as it is sent


class Outline(HTMLParser):
    """Collects the ids and the links of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids += [str(given["id"])] if given.get("id") else []
        self.links += [str(given["href"])] if tag == "a" and given.get("href") else []


def fetched(url: str) -> bytes:
    with urlopen(Request(url, headers={"Accept-Encoding": "gzip"})) as answer:  # noqa: S310
        body: bytes = answer.read()
        return body


@pytest.fixture(scope="module")
def sent(desk_site: Desk) -> dict[str, bytes]:
    """The pages, compressed as they are sent."""
    return {path: fetched(desk_site.origin + path) for path in PAGES}


@pytest.fixture(scope="module")
def pages(sent: dict[str, bytes]) -> dict[str, str]:
    return {path: gzip.decompress(body).decode() for path, body in sent.items()}


def operations_of(tag: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in DOCUMENT["paths"].items():
        for method, operation in item.items():
            if tag in operation["tags"]:
                yield method.upper(), path, operation


def section(html: str, anchor: str) -> str:
    (found,) = [each for each in html.split("<section ") if f'aria-labelledby="{anchor}"' in each.split(">")[0]]
    return found


@pytest.mark.parametrize("path", [path for path, tag in PAGES.items() if tag])
def test_every_operation_is_on_its_page_with_parameters_and_examples(pages: dict[str, str], path: str) -> None:
    for method, target, operation in operations_of(str(PAGES[path])):
        shown = section(pages[path], str(operation["operationId"]))
        assert f'data-method="{method}" data-path="{target}"' in shown
        assert operation["x-required-scope"] is None or f"<code>{operation['x-required-scope']}</code>" in shown
        for parameter in operation["parameters"]:
            name = (
                parameter.get("name") or DOCUMENT["components"]["parameters"][parameter["$ref"].split("/")[-1]]["name"]
            )
            if name not in ("API-Version", "X-Request-Id", "If-None-Match"):
                assert f'data-name="{name}"' in shown, (target, name)
        for media in operation.get("requestBody", {}).get("content", {}).values():
            schema = media["schema"]
            schema = DOCUMENT["components"]["schemas"][schema["$ref"].split("/")[-1]] if "$ref" in schema else schema
            assert all(f'<code class="name">{each}</code>' in shown for each in schema["properties"]), target
        assert "X-Service-Key" in shown, "a request"
        assert all(f">{status}</span>" in shown for status in operation["responses"]), "each answer"
        assert shown.count('data-language="json"') >= len(operation["responses"]) - 2, "but for 204 and 304"


def test_every_event_is_there_with_its_own_example(pages: dict[str, str]) -> None:
    for type_ in DOCUMENT["webhooks"]:
        shown = re.sub(r"<[^>]+>", "", section(pages["/docs/reference/webhooks"], type_).partition(">")[2])
        assert f"&quot;type&quot;: &quot;{type_}&quot;" in shown.replace('"', "&quot;")


def test_links_lead_somewhere(pages: dict[str, str], desk_site: Desk) -> None:
    """To a section that is there, on the same page or another one; the index has an anchor for everything."""
    outlines = {path: Outline(html) for path, html in pages.items()}
    known = {path: set(outline.ids) for path, outline in outlines.items()}
    errors = set(Outline(gzip.decompress(fetched(desk_site.origin + "/docs/errors")).decode()).ids)
    for path, outline in outlines.items():
        assert len(outline.ids) == len(set(outline.ids)), path
        for link in outline.links:
            target, _, anchor = link.partition("#")
            ids = errors if target == "/docs/errors" else known.get(target or path)
            assert not anchor or ids is None or anchor in ids, (path, link)
    everything = {
        str(operation["operationId"]) for tag in filter(None, PAGES.values()) for *_, operation in operations_of(tag)
    }
    assert everything | set(DOCUMENT["webhooks"]) <= known["/docs/reference"]


def test_pages_are_small(sent: dict[str, bytes]) -> None:
    assert {path: len(body) for path, body in sent.items() if len(body) > LARGEST} == {}


def test_pages_are_there_as_markdown(desk_site: Desk) -> None:
    for path, tag in PAGES.items():
        text = gzip.decompress(fetched(f"{desk_site.origin}{path}.md")).decode()
        assert text.startswith("# ")
        for method, target, operation in operations_of(tag) if tag else ():
            assert f"`{method} {target}`" in text
            assert f"## {operation['summary']}\n" in text


@pytest.fixture
def seen(browser: Browser, desk_site: Desk) -> Iterator[Watched]:
    with watched(browser, desk_site.origin, viewport=DESKTOP, reduced_motion="reduce") as opened:
        yield opened


@pytest.mark.parametrize("path", ["/docs/reference", "/docs/reference/bookings", "/docs/reference/webhooks"])
def test_pages_are_accessible_and_fit_a_phone(seen: Watched, path: str) -> None:
    page = seen.page
    page.goto(seen.origin + path)
    page.locator("main details").evaluate_all("all => all.slice(0, 20).forEach((each) => { each.open = true; })")
    assert complaints_in_light_and_dark(page) == []
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing makes the page scroll sideways"
    expect(page.locator("#contents")).to_be_hidden()


def test_it_needs_no_script(browser: Browser, desk_site: Desk) -> None:
    with watched(browser, desk_site.origin, script=False) as opened:
        opened.page.goto(desk_site.origin + "/docs/reference/bookings#create_booking")
        expect(opened.page.get_by_role("heading", name="Book a class")).to_be_in_viewport()


def test_an_operation_is_tried_with_a_real_key(seen: Watched, desk_site: Desk) -> None:
    page, key = seen.page, (desk_site.site.data / "demo.key").read_text().strip()
    page.goto(seen.origin + "/docs/reference/leads#create_lead")
    operation = page.locator('section[aria-labelledby="create_lead"]')
    operation.get_by_role("button", name="Try it").click()
    operation.get_by_label("Service key").fill(key)
    operation.get_by_label("Body").fill(json.dumps({"email": "reference@example.com", "first_name": "Rae"}))
    with page.expect_response(lambda answer: answer.url.endswith("/partner/v1/leads")) as made:
        operation.get_by_role("button", name="Send").click()
    assert made.value.status == 201
    expect(operation.get_by_role("status")).to_contain_text("201")
    lead_id = made.value.json()["id"]
    assert key not in page.evaluate("JSON.stringify(localStorage) + document.cookie + location")
    page.goto(seen.origin + "/docs/reference/leads#read_lead")
    operation = page.locator('section[aria-labelledby="read_lead"]')
    operation.get_by_role("button", name="Try it").click()
    expect(operation.get_by_label("Service key")).to_have_value(key)
    operation.get_by_label("lead_id").fill(lead_id)
    operation.get_by_role("button", name="Send").click()
    expect(operation.locator(".try pre")).to_contain_text("reference@example.com")
    assert seen.outside() == []
