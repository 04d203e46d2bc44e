"""The list commands, in which an operator finds ids."""

from typing import Any

import asyncpg
import pytest

from studiogate.storage.operator_lists import LISTS
from tests.cli import test_staff
from tests.cli.test_staff import CommandLine
from tests.support.databases import run
from tests.support.seed import Studio, seed_series, seed_studio

url = test_staff.url
TABLES = {
    "location": "locations",
    "room": "rooms",
    "spot": "room_spots",
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
def command_line(url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    if not made:
        run(_seed(url))
    monkeypatch.setenv("COLUMNS", "250")
    return CommandLine(url, monkeypatch, capsys)


async def _seed(url: str) -> None:
    connection = await asyncpg.connect(url)
    for slug in ("north", "south"):
        made[slug] = await seed_studio(connection, slug)
        await seed_series(connection, made[slug])
    await connection.close()


def words_of(kind: str) -> list[str]:
    return ["room", "spots"] if kind == "spot" else [kind.replace("_", "-"), "list"]


def listed(command_line: CommandLine, kind: str, *options: object) -> Any:
    said = command_line.type(*words_of(kind), "--studio", "north", "--json", *options)
    assert said.status == 0, said.err
    return said.json


def test_every_kind_is_tested() -> None:
    assert set(TABLES) == set(LISTS)


@pytest.mark.parametrize("kind", TABLES)
def test_a_list_shows_every_row_of_its_studio(command_line: CommandLine, kind: str) -> None:
    count = f"select count(*) from {TABLES[kind]} where studio_id = $1"
    if kind == "class":
        count += " and start_time >= now()"
    rows = listed(command_line, kind, "--limit", 1000)
    assert len(rows) == command_line.look(count, made["north"].studio_id)
    assert len({row["id"] for row in rows}) == len(rows)
    table = command_line.type(*words_of(kind), "--studio", "north")
    assert table.status == 0
    for row in rows[:100]:
        assert row["id"] in table.out
    assert len(listed(command_line, kind, "--limit", 1)) == min(1, len(rows))


def test_studios(command_line: CommandLine) -> None:
    rows = command_line.type("studio", "list", "--json").json
    assert [row["slug"] for row in rows] == ["north", "south"]
    after = command_line.type("studio", "list", "--after", "north", "--json").json
    assert [row["slug"] for row in after] == ["south"]


def test_filters(command_line: CommandLine) -> None:
    booking = listed(command_line, "booking")[0]
    columns = "select class_id::text || ' ' || member_id::text from bookings where id = $1"
    class_id, member_id = command_line.look(columns, booking["id"]).split()
    for option, value in (("--class", class_id), ("--member", member_id)):
        ids = [row["id"] for row in listed(command_line, "booking", option, value)]
        column = option[2:] + "_id"
        query = f"select array_agg(id::text) from bookings where studio_id = $1 and {column} = '{value}'"
        assert sorted(ids) == sorted(command_line.look(query, made["north"].studio_id))
    assert listed(command_line, "class", "--date", "1999-01-01") == []
    start = command_line.look(
        "select (start_time at time zone s.timezone)::date::text from classes join studios s using (studio_id)"
        " where s.slug = 'north' order by start_time limit 1"
    )
    assert listed(command_line, "class", "--date", start) != []


def test_a_member_is_found_by_a_part_of_anything(command_line: CommandLine) -> None:
    member = next(row for row in listed(command_line, "member") if row["email"])
    for part in (member["email"].upper(), member["name"], member["id"]):
        found = command_line.type("member", "find", part, "--studio", "north", "--json").json
        assert member["id"] in [row["id"] for row in found]
    assert command_line.type("member", "find", "%", "--studio", "north", "--json").json == []


def test_an_unknown_studio_and_wrong_usage(command_line: CommandLine) -> None:
    assert command_line.type("class", "list", "--studio", "gone").status == 1
    assert command_line.type("class", "list").status == 2
    assert command_line.type("booking", "list", "--studio", "north", "--class", "x").status == 2
    assert command_line.type("class", "list", "--studio", "north", "--limit", 0).status == 2
