"""The list of members and its search, over HTTP."""

import csv
import gzip
import re
import unicodedata
from typing import Any
from uuid import UUID

import pytest

from studiogate.console.members import lists
from studiogate.domain.staff import Role
from tests.support.console import Console, texts
from tests.support.statements import counted_statements

pytestmark = pytest.mark.anyio
MARKUP = '<img src=x onerror="alert(1)">'
LONG_NAMES = "insert into members (studio_id, id, first_name, last_name, email, phone) " + (
    "select $1, gen_random_uuid(), 'Maximiliane-' || n, 'Freifrau von und zu Beispielhausen' || n, "
    "'maximiliane.beispielhausen.' || n || '@a-long-domain.example.com', '+4915123' || lpad(n::text, 6, '0') "
    "from generate_series(1, 100) n"
)


async def named(console: Console, first: str, last: str, **columns: Any) -> UUID:
    return await console.studio.new_member(membership=False, first_name=first, last_name=last, **columns)


async def test_the_newest_members_with_their_membership(console: Console) -> None:
    await console.studio.new_membership(await named(console, "Ada", "Moss", email="ada@example.com"), 7)
    await named(console, "Wei", "Chen", phone="+12125550100")
    page = await console.get("/console/members")
    assert page.status_code == 200
    shown = texts(page)
    assert shown.index("Wei Chen") < shown.index("Ada Moss")
    assert "ada@example.com" in shown
    assert re.search(r"Ada Moss ada@example.com P\xa0 active 7", shown)


@pytest.mark.parametrize("text", ["mos", "ADA", "ada@ex", "0199", "moss ada", "(212) 555-0199", "gruber"])
async def test_search(console: Console, text: str) -> None:
    ada = await named(console, "Ada", "Moss-Gruber", email="ada@example.com", phone="+12125550199")
    await named(console, "Ben", "Fischer", email="ben@example.com", phone="+12125550100")
    for htmx in (False, True):
        found = await console.post("/console/members/search", {"text": text}, htmx=htmx)
        assert found.status_code == 200
        assert f'href="/console/members/{ada}"' in found.text
        assert "Ben Fischer" not in texts(found)
        assert ("<html" in found.text) is not htmx
    assert f'value="{text}"' in (await console.post("/console/members/search", {"text": text})).text


@pytest.mark.parametrize(
    ("first", "last", "text"),
    [
        ("Lucía", "Gómez", "gomez"),
        ("Lucía", "Gómez", "GÓMEZ"),
        ("Lucia", "Gomez", "lucía gómez"),
        ("Marta", unicodedata.normalize("NFD", "Dvořák"), "dvorak"),
        ("Søren", "Łukasik", "soren lukasik"),
        ("Æsa", "Groß-Müller", "aesa"),
        ("Anna", "Groß-Weiß", "weiss"),
    ],
)
async def test_accents_do_not_matter(console: Console, first: str, last: str, text: str) -> None:
    member = await named(console, first, last)
    for path, field in (("members/search", "text"), ("search", "q")):
        found = await console.post(f"/console/{path}", {field: text}, htmx=True)
        assert f'href="/console/members/{member}"' in found.text


async def test_what_is_searched_for_is_in_no_address(console: Console) -> None:
    await named(console, "Ada", "Moss")
    page = await console.post("/console/members/search", {"text": "moss"})
    addresses = re.findall(r'(?:href|action|hx-[a-z]+)="([^"]*)"', page.text)
    assert not [each for each in addresses if "moss" in each.lower()]
    assert 'method="post" action="/console/members/search"' in page.text
    again = await console.get("/console/members/search")
    assert (again.status_code, again.headers["location"]) == (303, "/console/members")


async def test_filters_are_in_the_address(console: Console) -> None:
    studio = console.studio
    paused, active = await named(console, "Pia", "Paused"), await named(console, "Ada", "Active")
    await studio.new_membership(paused, None, status="paused")
    await studio.new_membership(active, None)
    await named(console, "Sam", "Suspended", suspended=True)
    await studio.imported_booking(await studio.new_class(), active)
    await studio.change("locations", studio.location, active=False)
    assert "(deactivated)" in texts(await console.get("/console/members"))
    for query, found in {
        "status=paused": {"Pia Paused"},
        "status=suspended": {"Sam Suspended"},
        f"location={studio.location}": {"Ada Active"},
        f"location={studio.location}&status=active": {"Ada Active"},
        f"location={studio.other_location}": set(),
        f"location={studio.location}&status=paused": set(),
        "status=unknown": {"Pia Paused", "Ada Active", "Sam Suspended"},
    }.items():
        shown = texts(await console.get(f"/console/members?{query}"))
        people = ("Pia Paused", "Ada Active", "Sam Suspended")
        assert {each for each in people if each in shown} == found, query


async def test_search_and_filter_together(console: Console) -> None:
    for number in range(2):
        member = await named(console, "Ada", f"Moss{number}")
        await console.studio.new_membership(member, None, status=("active", "paused")[number])
    found = texts(await console.post("/console/members/search", {"text": "moss", "status": "paused"}, htmx=True))
    assert "Ada Moss1" in found
    assert "Ada Moss0" not in found


async def test_pages_follow_each_other(console: Console) -> None:
    await console.studio.sql(LONG_NAMES)
    seen: list[str] = []
    path: str | None = "/console/members"
    while path is not None:
        page = await console.get(path)
        seen += re.findall(r'href="/console/members/([0-9a-f-]{36})"', page.text)
        more = re.search(r'class="more"><a class="button" href="([^"]*)"', page.text)
        path = more[1].replace("&amp;", "&") if more else None
    assert (len(seen), len(set(seen))) == (100, 100)
    found: list[str] = []
    fields = {"text": "beispielhausen"}
    while True:
        page = await console.post("/console/members/search", fields, htmx=True)
        found += re.findall(r'href="/console/members/([0-9a-f-]{36})"', page.text)
        after = re.search(r'name="after" value="([^"]*)"', page.text)
        if after is None:
            break
        fields["after"] = after[1]
    assert set(found) == set(seen)
    assert len(found) == 100


async def test_stored_markup_is_text(console: Console) -> None:
    await named(console, MARKUP, MARKUP, email="a@example.com")
    for page in (
        await console.get("/console/members"),
        await console.post("/console/members/search", {"text": MARKUP}),
        await console.post("/console/members/search", {"text": "<img"}, htmx=True),
    ):
        assert "<img" not in page.text
        assert "&lt;img src=x" in page.text


@pytest.mark.parametrize("place", ["x", "9.abc", "0.00000000-0000-4000-8000-000000000000"])
async def test_an_unknown_place_in_the_list_is_no_error(console: Console, place: str) -> None:
    await named(console, "Ada", "Moss")
    assert (await console.get(f"/console/members?after={place}")).status_code == 200
    assert (await console.post("/console/members/search", {"text": "ada", "after": place})).status_code == 200


async def test_bytes_and_statements_of_the_list(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    await console.studio.sql(LONG_NAMES)
    csrf = await console.csrf()
    with counted_statements(monkeypatch) as sent:
        page = await console.get("/console/members")
    assert len(sent) <= 5, sent
    assert len(page.content) <= 60_000
    assert len(gzip.compress(page.content, 5)) <= 12_000
    with counted_statements(monkeypatch) as sent:
        data = {"csrf": csrf, "idempotency": "a" * 24, "text": "beispiel"}
        found = await console.client.post(
            "/console/members/search", data=data, headers={"Origin": "http://console.test", "HX-Request": "true"}
        )
    assert "Maximiliane" in found.text
    assert len(sent) <= 5, sent


async def test_a_desk_of_one_location_finds_every_member(console: Console) -> None:
    ada = await named(console, "Ada", "Moss")
    desk = await console.as_role(Role.FRONT_DESK, console.studio.location)
    assert str(ada) in (await desk.post("/console/members/search", {"text": "ada"})).text
    elsewhere = await desk.get(f"/console/members?location={console.studio.other_location}")
    assert "Ada Moss" in texts(elsewhere), "a location that is not theirs does not filter"


async def test_the_list_is_a_file_with_its_filters(console: Console) -> None:
    studio = console.studio
    await studio.new_member(2, first_name="Ada", last_name="Moss", email="ada@example.com", phone="+12125550100")
    await studio.new_member(membership=False, first_name="=HYPERLINK(1)", last_name="x", suspended=True)
    page = await console.get("/console/members?status=suspended")
    assert 'href="/console/members/export?status=suspended"' in page.text
    assert "suspended members" in texts(await console.get("/console/members/export?status=suspended"))
    whole = await console.post("/console/members/export", {})
    assert whole.headers["content-type"] == "text/csv; charset=utf-8"
    assert whole.headers["content-disposition"].startswith('attachment; filename="members.csv"')
    rows = list(csv.DictReader(whole.content.decode("utf-8-sig").splitlines()))
    assert [each["Name"] for each in rows] == ["'=HYPERLINK(1) x", "Ada Moss"]
    ada = rows[1]
    assert (ada["Email"], ada["Status"], ada["Credits left"]) == ("ada@example.com", "active", "2")
    assert (ada["Phone"], ada["Suspended"], ada["Last visit"]) == ("+12125550100", "no", "")
    part = await console.post("/console/members/export", {"status": "suspended"})
    assert "Ada Moss" not in part.text
    assert "HYPERLINK" in part.text
    (first, second) = await studio.rows("audit_log", "action = 'member.export_list'")
    assert first["actor_name"] == second["actor_name"]


async def test_a_desk_of_one_location_takes_no_list(console: Console) -> None:
    desk = await console.as_role(Role.FRONT_DESK, console.studio.location)
    assert "/members/export" not in (await desk.get("/console/members")).text
    for answer in (await desk.get("/console/members/export"), await desk.post("/console/members/export", {})):
        assert answer.status_code == 403
    assert await console.studio.rows("audit_log", "action = 'member.export_list'") == []


async def test_a_file_of_many_pages_has_everybody_once(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "EXPORT_PAGE", 2)
    for number in range(5):
        await console.studio.new_member(first_name=f"N{number}")
    for fields in ({}, {"status": "active"}):
        answer = await console.post("/console/members/export", fields)
        names = [each["Name"][:2] for each in csv.DictReader(answer.content.decode("utf-8-sig").splitlines())]
        assert sorted(names) == ["N0", "N1", "N2", "N3", "N4"]
