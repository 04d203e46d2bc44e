"""The search of the console: pages and classes, by role and location."""

import pytest

from studiogate.domain.staff import Role
from tests.support.console import Console, texts

pytestmark = pytest.mark.anyio


async def test_pages_are_found_by_their_names(console: Console) -> None:
    assert "Your account" in texts(await console.fragment("/console/search?q=password"))
    assert "Your account" in texts(await console.fragment("/console/search"))
    nothing = texts(await console.fragment("/console/search?q=zzz+yyy"))
    assert nothing == "Nothing matches “zzz yyy”."


async def test_it_is_a_page_of_its_own_without_scripts(console: Console) -> None:
    page = await console.get("/console/search?q=account")
    assert page.text.startswith("<!doctype html>")
    assert 'value="account"' in page.text
    assert 'href="/console/account"' in page.text


async def test_a_developer_finds_only_their_pages(console: Console) -> None:
    developer = await console.as_role(Role.DEVELOPER)
    page = texts(await developer.fragment("/console/search"))
    for label in ("Today", "Members", "Sales", "Schedule"):
        assert label not in page
