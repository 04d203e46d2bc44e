"""What every command has in common: `--json`, errors as text and as JSON, and text that cannot harm a terminal."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from typer.main import get_command

from studiogate.cli.main import commands
from tests.cli import test_staff
from tests.cli.test_commands import COMMAND, environment
from tests.cli.test_staff import Keyboard
from tests.support.booking_studio import BookingStudio

url, keyboard = test_staff.url, test_staff.keyboard
# They serve until they are stopped, or print a file.
WITHOUT_JSON = {"up", "serve", "worker", "export"}
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


def test_an_error_is_json_as_well(keyboard: Keyboard) -> None:
    async def full(studio: BookingStudio) -> UUID:
        class_id, _ = await studio.full_class()
        return class_id

    studio_id, class_id = keyboard.studio(full)
    slug = keyboard.look("select slug from studios where studio_id = $1", studio_id)
    plain = keyboard.type("class", "capacity", class_id, 0)
    assert (plain.status, plain.out) == (1, "")
    said = keyboard.type("class", "capacity", class_id, 0, "--json")
    assert (said.status, said.err) == (1, plain.err)
    message = said.err.removeprefix("error: ").removesuffix("\n")
    assert said.json == {
        "error": {"code": "invalid_transition", "message": message, "details": {"booked_count": 1}, "faults": []}
    }
    faulty = keyboard.type("class", "cancel", class_id, "--reason", "x" * 501, "--json").json["error"]
    assert faulty["code"] == "validation_error"
    assert faulty["faults"] == [{"loc": ["reason"], "message": "must have at most 500 characters"}]
    for word, listed in (("class", "class list"), ("class-type", "class-type list"), ("waitlist", "waitlist list")):
        verb = {"class": ["cancel"], "class-type": ["deactivate", "--studio", slug], "waitlist": ["promote"]}[word]
        unknown = keyboard.type(word, *verb, uuid4(), "--json")
        assert unknown.json["error"]["code"] == "not_found"
        assert f"`studiogate {listed} --studio SLUG` shows them." in unknown.err
    assert keyboard.type("room", "list", "--studio", "gone", "--json").json["error"]["code"] == "not_found"
    assert keyboard.type("key", "revoke", "AAAAAAAA", "--json").json["error"]["code"] == "command_failed"


def test_a_result_is_one_line(keyboard: Keyboard) -> None:
    async def place(studio: BookingStudio) -> UUID:
        return await studio.new_class(7 * 24 * 60)

    studio_id, class_id = keyboard.studio(place)
    slug = keyboard.look("select slug from studios where studio_id = $1", studio_id)
    day = keyboard.look(
        "select (start_time at time zone 'America/New_York')::date from classes where id = $1", class_id
    )
    here = ("--studio", slug, "--from", day, "--until", day, "--mode")
    closed = keyboard.type("closure", "create", *here, "cancel")
    assert re.fullmatch(r"The closure is created: \S{36} \(1 class and 0 bookings cancelled\)\n", closed.out)
    skipped = keyboard.type("closure", "create", *here, "skip")
    assert re.fullmatch(r"The closure is created: \S{36}\n", skipped.out)


def test_a_table_shows_everything_in_80_columns(keyboard: Keyboard) -> None:
    title = "An unusually long title for a class that takes place in the evening"

    async def place(studio: BookingStudio) -> UUID:
        return await studio.new_class(title=title)

    studio_id, class_id = keyboard.studio(place)
    slug = keyboard.look("select slug from studios where studio_id = $1", studio_id)
    head, row = keyboard.type("class", "list", "--studio", slug).out.splitlines()
    assert (str(class_id) in row, title in row, "…" in row) == (True, True, False)
    assert head.index("status") == row.index("scheduled"), "aligned"


def test_a_missing_studio_says_how_to_create_one(keyboard: Keyboard) -> None:
    for words in (("room", "list"), ("key", "create", "--name", "n", "--all-scopes"), ("mail", "list")):
        said = keyboard.type(*words, "--studio", "gone")
        assert said.status == 1
        assert "`studiogate studio list` shows them, `studiogate studio create` creates one." in said.err


def test_bytes_that_are_no_text_are_refused() -> None:
    words = [*(os.fsencode(word) for word in COMMAND), b"member", b"find", b"\xff\xfe", b"--studio", b"demo", b"--json"]
    done = subprocess.run(words, env=environment(), capture_output=True, timeout=60, check=False)
    assert (done.returncode, b"Traceback" in done.stderr) == (1, False)
    assert done.stderr.decode() == "error: Argument 3 is not valid UTF-8: \\udcff\\udcfe. Type it again.\n"
    assert json.loads(done.stdout)["error"]["code"] == "command_failed"


@pytest.mark.parametrize("text", [*HOSTILE, "[red]b[/]", "[/]", "[link=x]b"])
def test_lists_and_errors_show_what_is_there(keyboard: Keyboard, text: str) -> None:
    async def room(studio: BookingStudio) -> None:
        await studio.change("rooms", studio.room, name=text)

    studio_id, _ = keyboard.studio(room)
    slug = keyboard.look("select slug from studios where studio_id = $1", studio_id)
    assert HOSTILE.get(text, text) in keyboard.type("room", "list", "--studio", slug).out
    assert keyboard.type("room", "list", "--studio", slug, "--json").json[0]["name"] == text
    unknown = keyboard.type("room", "list", "--studio", text).err
    assert ascii(text)[1:-1] in unknown.encode("ascii", "backslashreplace").decode()
    assert not {"\x1b", "\x9b", "\u202e"} & set(unknown)


@pytest.mark.parametrize("day", ["9999-12-31", "2200-01-01", "0001-01-01"])
def test_days_that_no_calendar_reaches(keyboard: Keyboard, day: str) -> None:
    async def place(studio: BookingStudio) -> tuple[UUID, UUID]:
        return studio.location, await studio.new_class()

    studio_id, (location, class_id) = keyboard.studio(place)
    slug = keyboard.look("select slug from studios where studio_id = $1", studio_id)
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
        said = keyboard.type(*words)
        assert (said.status, said.out) == (1, ""), words
        assert said.err.startswith("error: "), words
