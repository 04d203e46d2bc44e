"""A studio and its schedule set up by commands alone: studio, location, room, class type, instructor, class, series."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest

from tests.cli import test_staff
from tests.cli.test_staff import CommandLine, CommandOutput
from tests.support.clock_changes import day_of_hours
from tests.support.pictures import drawn

url, command_line = test_staff.url, test_staff.command_line
BERLIN = ZoneInfo("Europe/Berlin")
STUDIO = ("--timezone", "Europe/Berlin", "--currency", "EUR", "--country", "DE")


def done(said: CommandOutput) -> Any:
    assert said.status == 0, said.err
    return said.json


class Desk:
    """A new studio, and commands in it."""

    def __init__(self, command_line: CommandLine) -> None:
        self.command_line, self.slug = command_line, f"studio-{uuid4().hex[:12]}"
        self.id = done(command_line.type("studio", "create", "--name", "S", "--slug", self.slug, *STUDIO, "--json"))[
            "id"
        ]

    def type(self, *words: object) -> CommandOutput:
        return self.command_line.type(*words, "--studio", self.slug)

    def json(self, *words: object) -> Any:
        return done(self.type(*words, "--json"))

    def look(self, query: str) -> Any:
        return self.command_line.look(query, self.id)

    def location(self) -> Any:
        return self.json("location", "create", "--name", "Mitte", "--city", "Berlin")["id"]


@pytest.fixture
def desk(command_line: CommandLine) -> Desk:
    return Desk(command_line)


def local(days: int, at: str = "18:00") -> str:
    return f"{datetime.now(BERLIN).date() + timedelta(days=days)} {at}"


def day(days: int) -> str:
    return local(days)[:10]


def test_a_studio_is_set_up(desk: Desk) -> None:
    location = desk.location()
    room = desk.json(
        *("room", "create", "--name", "Hall", "--location", location, "--capacity", 2, "--spot", "A1@0,0"),
        *("--spot", "A2@1.5,0"),
    )["id"]
    kind = desk.json(
        "class-type", "create", "--name", "Yoga", "--beginner-safe", "--policy", '{"late_action": "none"}'
    )["id"]
    teacher = desk.json("instructor", "create", "--name", "Ida", "--tag", "calm", "--tag", "slow")["id"]
    options = ("--location", location, "--room", room, "--class-type", kind, "--instructor", teacher, "--capacity", 2)
    made = desk.json(
        *("class", "create", "--title", "Yoga", *options, "--start", local(2), "--minutes", 60, "--spots", "optional")
    )
    assert made["warnings"] == []
    found = "select to_char(start_time at time zone 'Europe/Berlin', 'YYYY-MM-DD HH24:MI') from classes where id = $1"
    assert desk.command_line.look(found, made["id"]) == local(2)
    series = desk.json(
        *("series", "create", "--title", "Flow", *options, "--on", "mon,thursday", "--at", "09:30"),
        *("--minutes", 45, "--from", day(1)),
    )
    assert (series["created"], series["warnings"]) == (16, [])
    assert [row["id"] for row in desk.json("series", "list")] == [series["id"]]
    for kind_of_row, row_id in (("location", location), ("room", room), ("class-type", kind), ("instructor", teacher)):
        assert row_id in [row["id"] for row in desk.json(kind_of_row, "list")]
    assert desk.look("select count(*) from audit_log where studio_id = $1 and channel = 'command'") == 8


def test_what_commands_say(desk: Desk) -> None:
    said = desk.type("location", "create", "--name", "Mitte")
    assert (said.status, said.out.startswith("The location is created: ")) == (0, True)
    location = desk.location()
    said = desk.type(
        "class", "create", "--title", "A", "--location", location, "--start", "soon", "--minutes", 5, "--capacity", 1
    )
    assert (said.status, said.out) == (1, "")
    assert "'soon' is not a time" in said.err
    said = desk.type("room", "create", "--name", "", "--location", uuid4(), "--capacity", -1)
    assert said.status == 1
    assert "The name must have 1 to 2,000 characters.\nThe capacity must be a whole number" in said.err
    said = desk.type("room", "create", "--name", "R", "--location", location, "--capacity", 1, "--spot", "A@left")
    assert "write A1, or A1@0,1" in said.err
    said = desk.type("class-type", "create", "--name", "Y", "--policy", "{")
    assert "--policy is not JSON" in said.err
    said = desk.type("location", "change", location, "--city", "X", "--clear", "city")
    assert "city is given and cleared" in said.err
    for word in ("location", "room", "class-type", "instructor", "class", "series"):
        said = desk.type(word, "change", uuid4(), "--clear", "nothing")
        assert (said.status, f"studiogate {word} list" in said.err) == (1, True)
    assert (
        "There is no studio 'nowhere'"
        in desk.command_line.type("location", "create", "--name", "A", "--studio", "nowhere").err
    )


def test_a_local_time_that_the_clocks_skip_or_repeat_is_refused(desk: Desk) -> None:
    options = ("class", "create", "--title", "A", "--location", desk.location(), "--minutes", 30, "--capacity", 1)
    skipped, repeated = day_of_hours(23, BERLIN), day_of_hours(25, BERLIN)
    said = desk.type(*options, "--start", f"{skipped} 02:30", "--json")
    assert said.status == 1
    assert f"{skipped} 02:30 does not exist in Europe/Berlin" in said.json["error"]["message"]
    assert said.json["error"]["message"].endswith(f"the next time there is {skipped} 03:00.")
    said = desk.type(*options, "--start", f"{repeated} 02:30")
    assert said.status == 1
    assert f"{repeated} 02:30 happens twice in Europe/Berlin" in said.err
    assert desk.look("select count(*) from classes where studio_id = $1") == 0
    class_id = desk.json(*options, "--start", f"{repeated}T02:30:00+01:00")["id"]
    assert desk.type("class", "change", class_id, "--start", f"{skipped} 02:00").status == 1
    stored = "select to_char(start_time at time zone 'UTC', 'YYYY-MM-DD HH24:MI') from classes where studio_id = $1"
    assert desk.look(stored) == f"{repeated} 01:30"


def test_rows_are_changed_and_deactivated(desk: Desk) -> None:
    location = desk.location()
    desk.json("location", "change", location, "--name", "Nord", "--clear", "city", "--primary")
    assert desk.look("select (name, city, is_primary)::text from locations where studio_id = $1") == '(Nord,"",t)'
    room = desk.json("room", "create", "--name", "R", "--location", location, "--capacity", 5)["id"]
    desk.json("room", "change", room, "--capacity", 7, "--spot", "A1", "--spot", "A2")
    assert desk.look("select count(*) from room_spots where studio_id = $1") == 2
    desk.json("room", "change", room, "--clear", "spots")
    assert desk.look("select count(*) from room_spots where studio_id = $1") == 0
    kind = desk.json("class-type", "create", "--name", "Y")["id"]
    desk.json("class-type", "change", kind, "--description", "Slow")
    teacher = desk.json("instructor", "create", "--name", "Ida")["id"]
    desk.json("instructor", "change", teacher, "--tagline", "Calm")
    for word, row_id in (("room", room), ("class-type", kind), ("instructor", teacher), ("location", location)):
        desk.json(word, "deactivate", row_id)
        said = desk.type(word, "change", row_id, "--active")
        assert (said.status, said.out.strip().endswith(row_id)) == (0, True)


def test_a_studio_is_changed(desk: Desk, command_line: CommandLine) -> None:
    desk.json("studio", "change", "--name", "Renamed", "--weeks-ahead", 4, "--colour", "#102030")
    row = "select (name, schedule_weeks_ahead, primary_color)::text from studios where studio_id = $1"
    assert desk.look(row) == "(Renamed,4,#102030)"
    said = command_line.type("studio", "create", "--name", "S", "--slug", desk.slug, *STUDIO)
    assert (said.status, "Another studio has this slug" in said.err) == (1, True)
    said = desk.type("studio", "change", "--slug", f"{desk.slug}-new", "--strict")
    assert (said.status, "Repeat the command without --strict" in said.err) == (1, True)
    said = desk.type("studio", "change", "--slug", f"{desk.slug}-new")
    assert (said.status, "warning:" in said.err) == (0, True)


def test_a_class_is_changed_and_cancelled(desk: Desk) -> None:
    location = desk.location()
    options = ("--location", location, "--start", local(3), "--minutes", 60, "--capacity", 2)
    class_id = desk.json("class", "create", "--title", "Yoga", *options)["id"]
    changed = desk.json("class", "change", class_id, "--start", local(4, "10:15"), "--title", "Flow", "--hidden")
    assert changed == {"id": class_id, "promoted": 0, "warnings": []}
    row = """select (title, visible, to_char(start_time at time zone 'Europe/Berlin', 'YYYY-MM-DD HH24:MI'),
                     end_time - start_time)::text from classes where studio_id = $1"""
    assert desk.look(row) == f'(Flow,f,"{local(4, "10:15")}",01:00:00)'
    desk.json("class", "change", class_id, "--minutes", 30)
    assert desk.look("select end_time - start_time from classes where studio_id = $1") == timedelta(minutes=30)
    assert desk.json("class", "cancel", class_id, "--reason", "ill")["bookings_cancelled"] == 0
    said = desk.type("class", "change", class_id, "--title", "X")
    assert (said.status, "This class has been cancelled. Nothing was changed." in said.err) == (1, True)


def test_a_series_is_changed_and_ended(desk: Desk) -> None:
    options = ("--location", desk.location(), "--minutes", 60, "--capacity", 2, "--from", day(1))
    made = desk.json("series", "create", "--title", "Yoga", *options, "--on", "mon", "--at", "18:00")
    changed = desk.json("series", "change", made["id"], "--title", "Flow", "--at", "19:00")
    assert (changed["id"], changed["changed"]) == (made["id"], made["created"])
    second = desk.command_line.look(
        "select series_date from classes where studio_id = $1 order by series_date offset 1 limit 1", desk.id
    )
    following = desk.json("series", "change", made["id"], "--following", second, "--capacity", 3)
    assert (following["id"] != made["id"], following["changed"]) == (True, made["created"] - 1)
    said = desk.type("series", "end", following["id"], "--after", day(0), "--reason", "summer")
    assert said.out == f"The series is ended: {following['id']} ({made['created'] - 1} classes cancelled)\n"
    said = desk.type("series", "create", "--title", "Y", *options, "--on", "someday", "--at", "9")
    assert "The weekdays must be names of weekdays" in said.err
    assert 'The local start must be a time of day such as "18:30"' in said.err


def test_closures(desk: Desk) -> None:
    location = desk.location()
    options = ("--location", location, "--start", local(3), "--minutes", 60, "--capacity", 2)
    desk.json("class", "create", "--title", "Yoga", *options)
    days = ("--from", day(3), "--until", day(4))
    said = desk.type("closure", "create", *days, "--mode", "skip", "--strict")
    assert (said.status, "1 scheduled class takes place on these days." in said.err) == (1, True)
    closed = desk.json("closure", "create", *days, "--mode", "cancel", "--location", location, "--reason", "Holiday")
    assert closed["cancelled"] == 1
    assert [(row["id"], row["reason"]) for row in desk.json("closure", "list")] == [(closed["id"], "Holiday")]
    assert desk.json("closure", "remove", closed["id"]) == {"id": closed["id"], "created": 0}
    said = desk.type("closure", "remove", closed["id"])
    assert (said.status, "There is no closure" in said.err) == (1, True)


def test_a_week_is_copied(desk: Desk) -> None:
    location = desk.location()
    options = ("--location", location, "--start", local(7), "--minutes", 60, "--capacity", 2)
    class_id = desk.json("class", "create", "--title", "Yoga", *options)["id"]
    copy = ("class", "copy-week", "--location", location, "--from", day(7), "--to", day(14))
    said = desk.type(*copy, "--preview")
    assert (said.status, said.out) == (0, "1 class would be created.\n")
    assert desk.look("select count(*) from classes where studio_id = $1") == 1
    done = desk.json(*copy)
    (shown,) = done["classes"]
    assert (len(done["created"]), shown["source_id"], shown["skipped"]) == (1, class_id, None)
    row = """select to_char(start_time at time zone 'Europe/Berlin', 'YYYY-MM-DD HH24:MI')
             from classes where studio_id = $1 order by start_time desc limit 1"""
    assert desk.look(row) == local(14)
    said = desk.type(*copy)
    assert said.out == "0 classes created.\n1 skipped: is there already.\n"
    said = desk.type(*copy[:-1], day(7))
    assert (said.status, "target must be in another week" in said.err) == (1, True)


# What listings show

PLACE = ("--line1", "Torstraße 1", "--line2", "Hof", "--postal-code", "10119", "--country", "DE")
POINT = ("--latitude", "-52.5", "--longitude", "-13.25", "--phone", "030 901820")


def test_a_location_has_an_address(desk: Desk) -> None:
    location = desk.location()
    desk.json("location", "change", location, *PLACE, *POINT)
    columns = "line1, line2, postal_code, country, latitude, longitude, phone"
    stored = f"select row({columns})::text from locations where studio_id = $1"
    assert desk.look(stored) == '("Torstraße 1",Hof,10119,DE,-52.5,-13.25,+4930901820)'
    desk.json("location", "change", location, "--clear", "line2", "--clear", "postal-code", "--clear", "latitude")
    assert desk.look(stored) == '("Torstraße 1",,,DE,,-13.25,+4930901820)'
    for wrong in (("--latitude", "90.5"), ("--longitude", "nan"), ("--country", "Germany"), ("--phone", "1")):
        said = desk.type("location", "change", location, *wrong)
        assert (said.status, wrong[0][2:] in said.err) == (1, True)


@pytest.mark.parametrize("kind", ["class-type", "instructor"])
def test_a_picture_is_stored_and_removed(desk: Desk, kind: str, tmp_path: Path) -> None:
    row = desk.json(kind, "create", "--name", "X")["id"]
    file, data = tmp_path / "picture", ("--data", tmp_path / "data")
    file.write_bytes(drawn("PNG"))
    url = desk.json(kind, "picture", row, file, *data)["image_url"]
    (kept,) = (path for path in (tmp_path / "data" / "uploads" / desk.id).rglob("*.jpg"))
    assert urlsplit(url).path == f"/media/{desk.id}/{kept.name}"
    table = kind.replace("-", "_") + "s"
    assert desk.look(f"select picture from {table} where studio_id = $1") == kept.name
    file.write_bytes(b"no picture")
    said = desk.type(kind, "picture", row, file, *data)
    assert (said.status, "is not a JPEG, PNG or WebP image" in said.err) == (1, True)
    assert desk.type(kind, "picture", row, *data).status == 2
    assert desk.type(kind, "picture", row, file, "--remove", *data).status == 2
    assert desk.type(kind, "picture", uuid4(), "--remove", *data).status == 1
    assert desk.json(kind, "picture", row, "--remove", *data) == {"id": row, "image_url": None}
    assert desk.look(f"select picture from {table} where studio_id = $1") is None
