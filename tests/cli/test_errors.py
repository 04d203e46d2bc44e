"""What every command has in common: `--json`, errors as text and as JSON, and text that cannot harm a terminal."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from typer.main import get_command

from studiogate.cli.main import commands
from tests.cli import test_staff
from tests.cli.test_commands import COMMAND, environment
from tests.cli.test_staff import CommandLine
from tests.support.booking_studio import BookingStudio
from tests.support.deadlines import LONG

url, command_line = test_staff.url, test_staff.command_line
# They serve until they are stopped.
WITHOUT_JSON = {"up", "serve", "worker"}
# An escape sequence that clears the screen, one of a C1 control character, and text from right to left; as shown.
HOSTILE = {"a\x1b[2Jb": "a\\x1b[2Jb", "a\x9b2Jb": "a\\x9b2Jb", "a\u202eb": "a\\u202eb"}


def every_command(name: str = "", command: Any = None) -> Iterator[tuple[str, Any]]:
    """Yield the words and the declaration of every command."""
    command = command or get_command(commands())
    if not hasattr(command, "commands"):
        yield name, command
        return
    for each, inner in command.commands.items():
        yield from every_command(f"{name} {each}".strip(), inner)


def test_every_command_has_json() -> None:
    without = {
        name for name, command in every_command() if not any("--json" in parameter.opts for parameter in command.params)
    }
    assert without == WITHOUT_JSON


def test_an_error_is_json_as_well(command_line: CommandLine) -> None:
    async def full(studio: BookingStudio) -> UUID:
        class_id, _ = await studio.full_class()
        return class_id

    studio_id, class_id = command_line.studio(full)
    slug = command_line.look("select slug from studios where studio_id = $1", studio_id)
    plain = command_line.type("class", "capacity", class_id, 0)
    assert (plain.status, plain.out) == (1, "")
    said = command_line.type("class", "capacity", class_id, 0, "--json")
    assert (said.status, said.err) == (1, plain.err)
    message = said.err.removeprefix("error: ").removesuffix("\n")
    assert said.json == {
        "error": {"code": "invalid_transition", "message": message, "details": {"booked_count": 1}, "faults": []}
    }
    faulty = command_line.type("class", "cancel", class_id, "--reason", "x" * 501, "--json").json["error"]
    assert faulty["code"] == "validation_error"
    assert faulty["faults"] == [{"loc": ["reason"], "message": "must have at most 500 characters"}]
    for word, listed in (("class", "class list"), ("class-type", "class-type list"), ("waitlist", "waitlist list")):
        verb = {"class": ["cancel"], "class-type": ["deactivate", "--studio", slug], "waitlist": ["promote"]}[word]
        unknown = command_line.type(word, *verb, uuid4(), "--json")
        assert unknown.json["error"]["code"] == "not_found"
        assert f"`studiogate {listed} --studio SLUG` shows them." in unknown.err
    assert command_line.type("room", "list", "--studio", "gone", "--json").json["error"]["code"] == "not_found"
    assert command_line.type("key", "revoke", "AAAAAAAA", "--json").json["error"]["code"] == "not_found"
    both = command_line.type("key", "change", "AAAAAAAA", "--rate-limit", 5, "--clear", "rate_limit", "--json")
    assert both.json["error"]["code"] == "command_failed", "no flow has answered"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("class", "cancel", "no-id"), "is not an id"),
        (("class", "cancel"), "Missing argument 'ID'."),
        (("class", "list", "--sutdio", "x"), "No such option: --sutdio"),
        (("clazz", "list"), "No such command 'clazz'."),
        (("key", "create", "--studio", "x", "--name", "n"), "Give either --all-scopes or at least one --scope."),
    ],
)
def test_wrong_usage_is_json_as_well(command_line: CommandLine, words: tuple[str, ...], says: str) -> None:
    plain = command_line.type(*words)
    assert (plain.status, plain.out) == (2, "")
    said = command_line.type(*words, "--json")
    assert (said.status, said.err) == (2, plain.err)
    error = said.json["error"]
    assert says in error["message"]
    assert (error["code"], error["details"], error["faults"]) == ("wrong_usage", {}, [])


def changing_commands() -> dict[str, Any]:
    return {name: command for name, command in every_command() if name.endswith(" change")}


@pytest.mark.parametrize("name", changing_commands())
def test_a_change_of_nothing_is_refused(command_line: CommandLine, tmp_path: Path, name: str) -> None:
    (tmp_path / "empty.json").write_text("{}")
    values = {"file": tmp_path / "empty.json", "studio": "any"}
    required = [each for each in changing_commands()[name].params if each.required]
    words = [
        word
        for each in required
        for word in (*(each.opts[:1] if each.param_type_name == "option" else ()), values.get(each.name, uuid4()))
    ]
    said = command_line.type(*name.split(), *words, "--json")
    assert said.status == 2, said
    assert "Nothing to change. Give at least one of these fields: " in said.json["error"]["message"]
    assert {"name", "title", "first_name"} & set(re.findall(r"\w+", said.json["error"]["message"]))


def test_a_result_is_one_line(command_line: CommandLine) -> None:
    async def place(studio: BookingStudio) -> UUID:
        return await studio.new_class(7 * 24 * 60)

    studio_id, class_id = command_line.studio(place)
    slug = command_line.look("select slug from studios where studio_id = $1", studio_id)
    day = command_line.look(
        "select (start_time at time zone 'America/New_York')::date from classes where id = $1", class_id
    )
    here = ("--studio", slug, "--from", day, "--until", day, "--mode")
    closed = command_line.type("closure", "create", *here, "cancel")
    assert re.fullmatch(r"The closure is created: \S{36} \(1 class and 0 bookings cancelled\)\n", closed.out)
    skipped = command_line.type("closure", "create", *here, "skip")
    assert re.fullmatch(r"The closure is created: \S{36}\n", skipped.out)


def test_a_table_shows_everything_in_80_columns(command_line: CommandLine) -> None:
    title = "An unusually long title for a class that takes place in the evening"

    async def place(studio: BookingStudio) -> UUID:
        return await studio.new_class(title=title)

    studio_id, class_id = command_line.studio(place)
    slug = command_line.look("select slug from studios where studio_id = $1", studio_id)
    head, row = command_line.type("class", "list", "--studio", slug).out.splitlines()
    assert (str(class_id) in row, title in row, "…" in row) == (True, True, False)
    assert head.index("status") == row.index("scheduled"), "aligned"


def test_a_missing_studio_says_how_to_create_one(command_line: CommandLine) -> None:
    for words in (("room", "list"), ("key", "create", "--name", "n", "--all-scopes"), ("mail", "list")):
        said = command_line.type(*words, "--studio", "gone")
        assert said.status == 1
        assert "`studiogate studio list` shows them, `studiogate studio create` creates one." in said.err


def test_bytes_that_are_no_text_are_refused() -> None:
    words = [*(os.fsencode(word) for word in COMMAND), b"member", b"find", b"\xff\xfe", b"--studio", b"demo", b"--json"]
    done = subprocess.run(words, env=environment(), capture_output=True, timeout=LONG, check=False)
    assert (done.returncode, b"Traceback" in done.stderr) == (1, False)
    assert done.stderr.decode() == "error: Argument 3 is not valid UTF-8: \\udcff\\udcfe. Type it again.\n"
    assert json.loads(done.stdout)["error"]["code"] == "command_failed"


@pytest.mark.parametrize("text", [*HOSTILE, "[red]b[/]", "[/]", "[link=x]b"])
def test_lists_and_errors_show_what_is_there(command_line: CommandLine, text: str) -> None:
    async def room(studio: BookingStudio) -> None:
        await studio.change("rooms", studio.room, name=text)

    studio_id, _ = command_line.studio(room)
    slug = command_line.look("select slug from studios where studio_id = $1", studio_id)
    assert HOSTILE.get(text, text) in command_line.type("room", "list", "--studio", slug).out
    assert command_line.type("room", "list", "--studio", slug, "--json").json[0]["name"] == text
    unknown = command_line.type("room", "list", "--studio", text).err
    assert ascii(text)[1:-1] in unknown.encode("ascii", "backslashreplace").decode()
    assert not {"\x1b", "\x9b", "\u202e"} & set(unknown)


@pytest.mark.parametrize("day", ["9999-12-31", "2200-01-01", "0001-01-01"])
def test_days_that_no_calendar_reaches(command_line: CommandLine, day: str) -> None:
    async def place(studio: BookingStudio) -> tuple[UUID, UUID]:
        return studio.location, await studio.new_class()

    studio_id, (location, class_id) = command_line.studio(place)
    slug = command_line.look("select slug from studios where studio_id = $1", studio_id)
    here = ("--studio", slug, "--location", location)
    new = (*here, "--title", "T", "--minutes", 60, "--capacity", 1)
    pattern = ("--on", "mon", "--at", "10:00")
    for words in (
        ("class", "create", *new, "--start", f"{day} 23:59"),
        ("class", "create", *new, "--start", f"{day}T23:59:00+00:00"),
        ("class", "change", class_id, "--studio", slug, "--start", f"{day} 23:59"),
        ("series", "create", *new, *pattern, "--from", day),
        ("series", "create", *new, *pattern, "--from", "2030-01-01", "--until", day),
        ("closure", "create", *here, "--from", day, "--until", day, "--mode", "cancel"),
        ("class", "copy-week", *here, "--from", "2030-01-01", "--to", day),
        ("class", "copy-week", *here, "--from", day, "--to", "2030-01-01"),
    ):
        said = command_line.type(*words)
        assert (said.status, said.out) == (1, ""), words
        assert said.err.startswith("error: "), words
