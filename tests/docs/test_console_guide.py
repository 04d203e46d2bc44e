"""The guide to the console is true: it names every page, each opens, and what it calls by a name is called so there."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from studiogate.console.navigation import ENTRIES, Group
from tests.support.desk import Desk
from tests.support.desk_classes import new_class

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs/guides/console.md").read_text()
SECTIONS = dict(re.findall(r"^## (.+)\n((?:(?!## ).*\n)+)", GUIDE, re.MULTILINE))
# The pages that each section describes; a table in braces is the id of one of its rows.
PAGES = {
    "Signing in": ["/sign-in", "/forgotten", "/account", "/welcome", "/staff", "/staff/{account}"],
    "Finding things": ["/search", "/today", "/schedule", "/members/{members}/merge"],
    "What a role sees": ["/import", "/welcome", "/account", "/sales/sums", "/schedule/closures", "/forms/inbox"],
    "Partners": ["/settings", "/partners/keys", "/partners/keys/new", "/partners/keys/{credentials}",
                 "/partners/requests", "/partners/requests?group=error", "/partners/events",
                 "/partners/webhooks", "/partners/webhooks/new"],
    "Saving": [],
    "Members": ["/members", *(f"/members/{{members}}{each}" for each in (
        "", "/credits", "/bookings", "/purchases", "/forms", "/history", "/book", "/sell", "/merge"))],
    "Forms": ["/forms", "/forms/inbox", "/forms/submissions/{form_submissions}", "/forms/{forms}",
              "/forms/{forms}/edit", "/forms/{forms}/links", "/forms/new"],
    "Sales": ["/sales", "/sales/fees", "/sales/renewals", "/sales/purchases/{purchases}", "/sales/sums"],
    "Leads": ["/leads", "/leads/{leads}"],
    "Insights": ["/insights"],
    "Settings": ["/settings/studio", "/settings/rules", "/settings/mails", "/settings/locations",
                 "/settings/locations/{locations}", "/settings/locations/rooms/{rooms}",
                 "/settings/locations/rooms/{rooms}/spots", "/settings/class-types",
                 "/settings/class-types/{class_types}", "/settings/instructors",
                 "/settings/instructors/{instructors}", "/settings/products", "/settings/products/{products}"],
    "Staff": ["/staff", "/staff/invite", "/staff/{account}", "/audit"],
    "Importing": ["/import"],
    "For operators": ["/members/{members}"],
}  # fmt: skip
SIGNED_OUT = ("/sign-in", "/forgotten")
# What some state shows, such as a failed delivery, is looked for where pages are made.
CONSOLE = ROOT / "src/studiogate/console"
SOURCES = "\n".join(each.read_text() for end in ("html", "js", "py", "toml") for each in CONSOLE.rglob(f"*.{end}"))


@pytest.fixture(scope="module")
def owner(desk_site: Desk) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=desk_site.origin, headers={"Origin": desk_site.origin}, timeout=60) as client:
        new_class(desk_site)  # it has a key
        signed_in = client.post(desk_site.sign_in_url(), data={"code": ""})
        assert signed_in.status_code == 303, signed_in.text
        yield client


def address(desk: Desk, path: str) -> str:
    """Return a path with the id of a row in the place of each table."""
    for table in re.findall(r"{(\w+)}", path):
        statement = f"select id from {table} where studio_id = $1 order by created_at desc limit 1"
        if table == "account":
            statement = "select account_id as id from staff_roles where studio_id = $1 limit 1"
        (row,) = desk.sql(statement, desk.studio_id)
        path = path.replace(f"{{{table}}}", str(row["id"]))
    return "/console" + path


@pytest.mark.parametrize("section", SECTIONS)
def test_the_pages_of_a_section_open(desk_site: Desk, owner: httpx2.Client, section: str) -> None:
    for path in PAGES[section]:
        client = httpx2.Client(base_url=desk_site.origin) if path in SIGNED_OUT else owner
        answer = client.get(address(desk_site, path))
        assert (answer.status_code, answer.headers["content-type"][:9]) == (200, "text/html"), path


@pytest.mark.parametrize("section", SECTIONS)
def test_what_the_guide_names_is_called_so(section: str) -> None:
    """Names are in italics."""
    for name in re.findall(r"(?<!\*)\*([^*]+)\*(?!\*)", SECTIONS[section]):
        assert re.search(rf"\b{re.escape(' '.join(name.split()))}\b", SOURCES, re.IGNORECASE), name


def test_it_names_every_page_that_is_offered() -> None:
    text = " ".join(GUIDE.split()).casefold()
    pages = [each.label for each in ENTRIES if each.group is not Group.ACTION]
    assert [each for each in pages if each.casefold() not in text] == []
