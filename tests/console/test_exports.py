"""The file of each list has the rows that the list shows, whatever filters it."""

import csv
import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from html import unescape
from io import StringIO
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest

from studiogate.flows.forms import staff as flows
from studiogate.flows.housekeeping import keep_figures
from tests.support.console import Console, Fields, texts
from tests.support.staff import did

pytestmark = pytest.mark.anyio
PEOPLE = {"Ann", "Bob", "Cid"}


def forms_of(page: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The forms of a page that are sent by POST: their addresses and hidden fields."""
    for form in re.findall(r'<form [^>]*method="post".*?</form>', page, re.DOTALL):
        action = re.search(r'action="([^"]*)"', form)
        hidden = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form))
        yield unescape(action[1]) if action else "", {name: unescape(value) for name, value in hidden.items()}


async def file_of(console: Console, page: Any) -> str:
    """Take the file that a page offers, by its link or form, through the drawer that may come before it."""
    while True:
        form = next(((path, fields) for path, fields in forms_of(page.text) if path.endswith("/export")), None)
        if form is not None:
            fields: Fields = {name: each for name, each in form[1].items() if name not in ("csrf", "idempotency")}
            return (await console.post(form[0], fields)).text
        link = re.search(r'href="([^"]*(?:/export|csv)[^"]*)"', page.text)
        assert link is not None
        page = await console.get(unescape(link[1]))
        if page.headers["content-type"].startswith("text/csv"):
            return str(page.text)


async def seeded(console: Console) -> Mapping[str, Any]:
    """Three people: one of today and here, one of last month and elsewhere, one of neither."""
    studio, now = console.studio, await console.studio.now()
    field = {"key": "note", "label": "Note", "type": "text"}
    form = (await did(studio, flows.create, {"title": "Intake", "fields": [field], "status": "published"}))["id"]
    old, here, there = now - timedelta(days=40), studio.location, studio.other_location
    class_id = await studio.new_class(location_id=here)
    for name, place, at, status in (("Ann", here, now, "completed"), ("Bob", there, old, "pending"),
                                    ("Cid", None, old - timedelta(days=99), "failed")):  # fmt: skip
        member = await studio.new_member(first_name=name, last_name="Moss", suspended=name == "Bob")
        paid = {"currency": "USD", "amount_total": 9, "created_at": at, "location_id": place, "status": status}
        await studio.add("purchases", member_id=member, product_key="mat", product_type="retail", **paid)
        fee = {**paid, "status": "failed" if name == "Cid" else "pending"}
        await studio.add("purchases", member_id=member, product_key="late", product_type="fee", **fee)
        sent = {"form_id": form, "form_version": 1, "submitter_email": f"{name}@example.com", "submitter_name": name}
        decided = {"completed": "confirmed", "pending": "pending", "failed": "spam"}[status]
        await studio.add("form_submissions", data={}, verified=True, status=decided, created_at=at, **sent)
        if name == "Ann":
            await studio.booked(class_id, member)
    days = {"from": str((now - timedelta(days=50)).date()), "to": str((now - timedelta(days=30)).date())}
    return {"here": str(here), "form": str(form), **days}


@pytest.mark.parametrize(
    ("path", "filters"),
    [
        ("/console/members", [{}, {"status": "suspended"}, {"location": "here"}]),
        ("/console/sales", [{}, {"status": "failed"}, {"location": "here"}, {"from": "from", "to": "to"}]),
        ("/console/sales/fees", [{}, {"location": "here"}, {"from": "from"}, {"to": "to"}]),
        (
            "/console/forms/inbox",
            [
                {"form": "form", **each}
                for each in ({}, {"status": "all"}, {"status": "spam"}, {"status": "all", "to": "to"})
            ],
        ),
    ],
    ids=["members", "sales", "fees", "inbox"],
)
async def test_a_file_has_whom_its_list_shows(console: Console, path: str, filters: list[dict[str, str]]) -> None:
    known, seen = await seeded(console), set()
    for given in filters:
        query = {name: known.get(value, value) for name, value in given.items()}
        page = await console.get(f"{path}?{urlencode(query)}")
        listed = texts(page).partition("Export")[2]
        shown = {each for each in PEOPLE if each in listed}
        file = await file_of(console, page)
        assert {each for each in PEOPLE if each in file} == shown, given
        seen.add(frozenset(shown))
    assert len(seen) == len(filters), "each filter leaves other people"


@pytest.mark.parametrize(("path", "by"), [("/console/insights", "location"), ("/console/sales/sums", "month")])
async def test_a_file_of_figures_is_of_the_same_period_place_and_grouping(console: Console, path: str, by: str) -> None:
    studio, now = console.studio, await console.studio.now()
    class_id = await studio.new_class(60, location_id=studio.location)
    await studio.move(class_id, -3 * 24 * 60)
    await studio.imported_booking(class_id, await studio.new_member(membership=False), "checked_in")
    await keep_figures(studio.database)
    query = {"from": str((now - timedelta(days=9)).date()), "to": str((now - timedelta(days=1)).date())}
    query |= {"location": str(studio.location), "by": by}
    page = await console.get(f"{path}?{urlencode(query)}")
    links = [unescape(each) for each in re.findall(r'href="([^"]*csv[^"]*)"', page.text) if "?" in each]
    assert links
    for link in links:
        assert query.items() <= dict(parse_qsl(link.partition("?")[2])).items()
        answer = await console.get(link)
        assert next(csv.reader(StringIO(answer.text)))


async def test_a_name_is_no_formula_and_a_phone_number_stays_one(console: Console) -> None:
    await console.studio.new_member(first_name=" =1+1", last_name="Moss", phone="+12125550100")
    await console.studio.new_member(first_name="-2+3", last_name="", phone=None)
    (file,) = [await file_of(console, await console.get("/console/members"))]
    rows = {row["Name"]: row["Phone"] for row in csv.DictReader(StringIO(file.removeprefix("\ufeff")))}
    assert all(name.startswith("'") for name in rows), rows
    assert sorted(rows.values()) == ["", "+12125550100"]
