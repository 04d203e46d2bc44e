"""The API reference: complete, small, and usable without scripts; requests that are tried go to the real service."""

import gzip
import json
import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from studiogate.api import app, guides
from studiogate.docs.app import DocsApp
from studiogate.docs.site import Site
from studiogate.web.request import Request
from tests.support.axe import complaints_in_light_and_dark
from tests.support.desk import Desk
from tests.support.watched_page import Watched, watched

pytestmark = pytest.mark.timeout(700)
ADDRESS = "https://api.studio.example"
DOCUMENT = app.document()
OPERATIONS = [
    (tag, method.upper(), path, operation)
    for path, item in DOCUMENT["paths"].items()
    for method, operation in item.items()
    for tag in operation["tags"]
]
WORDS = [tag["name"] for tag in DOCUMENT["tags"]]
PAGES = ["reference", *(f"reference/{word}" for word in WORDS)]
DESKTOP, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
LARGEST = 40_000


@cache
def _site() -> Site:
    return Site(guides.TEXTS, app.document, lambda: ADDRESS)


class _Outline(HTMLParser):
    """Collects the ids and the links of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("id"):
            self.ids.append(str(given["id"]))
        if tag == "a" and given.get("href"):
            self.links.append(str(given["href"]))


@pytest.fixture(scope="module")
def pages(desk_site: Desk) -> dict[str, str]:
    """The pages by path, as the service sends them."""
    from urllib.request import urlopen

    found = {}
    for name in PAGES:
        with urlopen(f"{desk_site.origin}/docs/{name}") as answer:
            found[f"/docs/{name}"] = answer.read().decode()
    return found


@pytest.mark.parametrize(("tag", "method", "path", "operation"), OPERATIONS, ids=lambda each: str(each)[:40])
def test_every_operation_is_on_its_page(tag: str, method: str, path: str, operation: dict) -> None:  # type: ignore[type-arg]
    (shown,) = [each for each in _site().reference.chapters[tag].operations if each.id == operation["operationId"]]
    assert (shown.method, shown.path, shown.scope) == (method, path, operation["x-required-scope"])
