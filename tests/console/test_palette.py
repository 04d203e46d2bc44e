"""The search of the console: pages, members and classes, by role and location."""

import re
from pathlib import Path

import pytest

from studiogate.console import screens
from studiogate.console.navigation import entries_of, menu_of
from studiogate.domain.staff import PERMISSIONS, Role
from tests.support.console import Console, texts

pytestmark = pytest.mark.anyio


async def test_pages_are_found_by_their_names(console: Console) -> None:
    assert "Your account" in texts(await console.post("/console/search", {"q": "password"}, htmx=True))
    assert "Your account" in texts(await console.fragment("/console/search"))
    nothing = texts(await console.post("/console/search", {"q": "zzz yyy"}, htmx=True))
    assert nothing == "Nothing matches “zzz yyy”."


async def test_it_is_a_page_of_its_own_without_scripts(console: Console) -> None:
    page = await console.post("/console/search", {"q": "account"})
    assert page.text.startswith("<!doctype html>")
    assert 'value="account"' in page.text
    assert 'href="/console/account"' in page.text


async def test_a_developer_finds_only_their_pages(console: Console) -> None:
    developer = await console.as_role(Role.DEVELOPER)
    page = texts(await developer.fragment("/console/search"))
    for label in ("Today", "Members", "Sales", "Schedule"):
        assert label not in page


async def test_members_are_found_by_those_who_may_see_them(console: Console) -> None:
    member = await console.studio.new_member(first_name="Ada", last_name="Moss", email="ada@example.com")
    page = await console.post("/console/search", {"q": "moss"}, htmx=True)
    assert f'href="/console/members/{member}"' in page.text
    assert "ada@example.com" in texts(page)
    for role in (Role.DEVELOPER, Role.INSTRUCTOR):
        other = await console.as_role(role)
        assert "Moss" not in texts(await other.post("/console/search", {"q": "ada"}, htmx=True))


async def test_what_is_searched_for_is_in_no_address(console: Console) -> None:
    assert 'method="post" action="/console/search"' in (await console.get("/console/search")).text
    assert "Nothing matches" not in texts(await console.get("/console/search?q=zzz"))


def test_the_guide_names_the_pages_that_each_role_has() -> None:
    page = (Path(__file__).parents[2] / "docs/guides/console.md").read_text()
    rows = dict(re.findall(r"^\| ([a-z ]+) \| (.+) \|$", page, re.MULTILINE))
    entries = entries_of([route.path for route in screens.routes()])
    for role in Role:
        labels = [each.label for each in menu_of(entries, PERMISSIONS[role].__contains__)]
        assert len(labels) <= 8, role
        described = rows[role.value.replace("_", " ")]
        assert re.findall(r"[A-Z]\w+", described.partition(":")[0]) == labels, role
