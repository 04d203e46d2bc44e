"""The list commands, in which an operator finds ids."""

from typing import Any

import asyncpg
import pytest

from studiogate.storage.operator_lists import LISTS
from tests.cli import test_staff
from tests.cli.test_staff import Keyboard
from tests.support.databases import run
from tests.support.seed import Studio, seed_series, seed_studio

url = test_staff.url
TABLES = {
    "location": "locations",
    "room": "rooms",
    "class_type": "class_types",
    "series": "class_series",
    "closure": "closures",
    "instructor": "instructors",
    "class": "classes",
    "member": "members",
    "booking": "bookings",
    "waitlist": "waitlist_entries",
    "membership": "memberships",
    "purchase": "purchases",
    "lead": "leads",
    "form": "forms",
    "submission": "form_submissions",
    "product": "products",
    "price": "prices",
    "fee": "(select * from purchases where product_type = 'fee') t",
}
made: dict[str, Studio] = {}


@pytest.fixture
def keyboard(url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Keyboard:
    if not made:
        run(_seed(url))
    monkeypatch.setenv("COLUMNS", "250")
    return Keyboard(url, monkeypatch, capsys)


async def _seed(url: str) -> None:
    connection = await asyncpg.connect(url)
    for slug in ("north", "south"):
        made[slug] = await seed_studio(connection, slug)
        await seed_series(connection, made[slug])
    await connection.close()


def words_of(kind: str) -> list[str]:
    return [kind, "find", ""] if kind == "member" else [kind.replace("_", "-"), "list"]


def listed(keyboard: Keyboard, kind: str, *options: object) -> Any:
    said = keyboard.type(*words_of(kind), "--studio", "north", "--json", *options)
    assert said.status == 0, said.err
    return said.json


def test_every_kind_is_tested() -> None:
    assert set(TABLES) == set(LISTS)


@pytest.mark.parametrize("kind", TABLES)
def test_a_list_shows_every_row_of_its_studio(keyboard: Keyboard, kind: str) -> None:
    count = f"select count(*) from {TABLES[kind]} where studio_id = $1"
    if kind == "class":
        count += " and start_time >= now()"
    rows = listed(keyboard, kind, "--limit", 1000)
    assert len(rows) == keyboard.look(count, made["north"].studio_id)
    assert len({row["id"] for row in rows}) == len(rows)
    table = keyboard.type(*words_of(kind), "--studio", "north")
    assert table.status == 0
    for row in rows[:100]:
        assert row["id"] in table.out
    assert len(listed(keyboard, kind, "--limit", 1)) == min(1, len(rows))


def test_studios(keyboard: Keyboard) -> None:
    rows = keyboard.type("studio", "list", "--json").json
    assert [row["slug"] for row in rows] == ["north", "south"]
    after = keyboard.type("studio", "list", "--after", "north", "--json").json
    assert [row["slug"] for row in after] == ["south"]


def test_filters(keyboard: Keyboard) -> None:
    booking = listed(keyboard, "booking")[0]
    columns = "select class_id::text || ' ' || member_id::text from bookings where id = $1"
    class_id, member_id = keyboard.look(columns, booking["id"]).split()
    for option, value in (("--class", class_id), ("--member", member_id)):
        ids = [row["id"] for row in listed(keyboard, "booking", option, value)]
        column = option[2:] + "_id"
        query = f"select array_agg(id::text) from bookings where studio_id = $1 and {column} = '{value}'"
        assert sorted(ids) == sorted(keyboard.look(query, made["north"].studio_id))
    assert listed(keyboard, "class", "--date", "1999-01-01") == []
    start = keyboard.look(
        "select (start_time at time zone s.timezone)::date::text from classes join studios s using (studio_id)"
        " where s.slug = 'north' order by start_time limit 1"
    )
    assert listed(keyboard, "class", "--date", start) != []


def test_a_member_is_found_by_a_part_of_anything(keyboard: Keyboard) -> None:
    member = next(row for row in listed(keyboard, "member") if row["email"])
    for part in (member["email"].upper(), member["name"], member["id"]):
        found = keyboard.type("member", "find", part, "--studio", "north", "--json").json
        assert member["id"] in [row["id"] for row in found]
    assert keyboard.type("member", "find", "%", "--studio", "north", "--json").json == []


def test_an_unknown_studio_and_wrong_usage(keyboard: Keyboard) -> None:
    assert keyboard.type("class", "list", "--studio", "gone").status == 1
    assert keyboard.type("class", "list").status == 2
    assert keyboard.type("booking", "list", "--studio", "north", "--class", "x").status == 2
    assert keyboard.type("class", "list", "--studio", "north", "--limit", 0).status == 2
