"""The search of the console: pages, members and classes, by role and location."""

import re
from pathlib import Path

import pytest

from studiogate.console import screens
from studiogate.console.home import is_named_by
from studiogate.console.navigation import ENTRIES, Group, entries_of, menu_of
from studiogate.domain.staff import PERMISSIONS, Role
from tests.support.console import Console, texts

pytestmark = pytest.mark.anyio


async def test_pages_are_found_by_their_names(console: Console) -> None:
    assert "Your account" in texts(await console.post("/console/search", {"q": "password"}, htmx=True))
    assert "Your account" in texts(await console.fragment("/console/search"))
    nothing = texts(await console.post("/console/search", {"q": "zzz yyy"}, htmx=True))
    assert nothing == "Nothing matches “zzz yyy”."


# What people call things, and the page or action that they look for.
EVERYDAY = {
    "refund": "Sales", "cash up": "Sums of sales", "takings": "Sums of sales", "till": "Sales", "receipt": "Sales",
    "timetable": "Schedule", "calendar": "Schedule", "sub": "Schedule", "cover": "Schedule", "holiday": "Closures",
    "price": "Products", "pass": "Products", "pack": "Products", "membership": "Products", "late fee": "Open fees",
    "unpaid": "Open fees", "failed payment": "Renewals due", "past due": "Renewals due", "recurring": "Weekly series",
    "trainer": "Instructors", "coach": "Instructors", "teacher": "Instructors", "waiver": "Forms", "qr": "Forms",
    "signed": "Inbox of forms", "submission": "Inbox of forms", "api key": "Keys", "token": "Keys",
    "webhook": "Webhooks",
    "errors": "Requests", "customer": "Members", "client": "Members", "freeze": "Members", "credits": "Members",
    "export": "Members", "add member": "New member", "sign up": "New member", "new class": "New class",
    "workshop": "New class", "copy week": "Copy a week", "duplicate": "Copy a week", "check-in": "Today",
    "walk-in": "Today", "no-show": "Today", "roster": "Today", "cancellation": "Rules", "policy": "Rules",
    "waitlist": "Rules", "email": "Mails", "reminder": "Mails", "logo": "Studio", "currency": "Studio",
    "time zone": "Studio", "room": "Locations", "spot map": "Locations", "address": "Locations", "yoga": "Class types",
    "invite": "Invite a colleague", "hire": "Invite a colleague", "permissions": "Staff", "who changed": "Audit log",
    "report": "Insights", "revenue": "Insights", "csv": "Import a file", "password": "Your account",
    "dark": "Your account", "2fa": "Your account", "trial": "Leads", "enquiry": "Leads", "survey": "New form",
    "sell": "Members", "merge": "Members", "erase": "Members", "suspend": "Members", "money": "Sales",
    "owes": "Open fees", "opening hours": "Closures", "time format": "Studio", "log out": "Your account",
    "sign out": "Your account",
}  # fmt: skip


@pytest.mark.parametrize("words", EVERYDAY)
def test_pages_and_actions_are_found_by_everyday_words(words: str) -> None:
    assert EVERYDAY[words] in [each.label for each in ENTRIES if is_named_by(each, words.split())]


def test_every_entry_is_a_page_and_needs_the_permission_of_its_page() -> None:
    needs = {route.path: route.needs for route in screens.routes() if route.method == "GET"}
    for each in ENTRIES:
        assert each.permission is None or needs[each.path] == each.permission, each.label
    assert not any(is_named_by(each, []) for each in ENTRIES if each.group is Group.ACTION)


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


async def test_a_day_is_opened_by_typing_it(console: Console) -> None:
    page = await console.post("/console/search", {"q": "3 dec 2027"}, htmx=True)
    assert 'href="/console/schedule?day=2027-12-03"' in page.text
    assert 'href="/console/today?day=2027-12-03"' in page.text
    assert "Fri 3 Dec 2027" in texts(page)
    week = texts(await console.get("/console/schedule?day=2027-12-03"))
    assert "29 Nov" in week
    for text in ("3 dec 1999", "mia"):
        assert "day=" not in (await console.post("/console/search", {"q": text}, htmx=True)).text
    developer = await console.as_role(Role.DEVELOPER)
    assert "day=" not in (await developer.post("/console/search", {"q": "tomorrow"}, htmx=True)).text
