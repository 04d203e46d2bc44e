"""What people need not type, and how they find out what they can: the studio, what is missing, help, completion."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

from studiogate.cli.main import COMMANDS
from tests.cli import test_staff
from tests.cli.test_commands import COMMAND, environment
from tests.cli.test_errors import every_command
from tests.cli.test_staff import CommandLine

ROOT = Path(__file__).parents[2]
command_line = test_staff.command_line
STUDIO = ("--timezone", "Europe/Berlin", "--currency", "EUR", "--country", "DE")
# Without it they are about all studios.
ABOUT_ALL = {"key list", "staff list", "staff disable", "staff enable"}


@pytest.fixture
def url(new_database: Callable[[], str]) -> str:
    return new_database()


def created(command_line: CommandLine, slug: str) -> None:
    assert command_line.type("studio", "create", "--name", "S", "--slug", slug, *STUDIO).status == 0


def test_no_command_asks_for_a_studio() -> None:
    options = [(name, each) for name, command in every_command() for each in command.params if "--studio" in each.opts]
    assert [name for name, studio in options if studio.required] == []
    assert {name for name, studio in options if "where there are several" not in studio.help} == ABOUT_ALL


def test_the_only_studio_need_not_be_named(command_line: CommandLine) -> None:
    nothing = command_line.type("room", "list")
    assert (nothing.status, "There is no studio yet: `studiogate studio create`" in nothing.err) == (1, True)
    created(command_line, "north")
    location = command_line.type("location", "create", "--name", "Mitte", "--json").json["id"]
    assert [row["id"] for row in command_line.type("location", "list", "--json").json] == [location]
    member = command_line.type("member", "create", "--first-name", "Ada", "--last-name", "L", "--json").json["id"]
    assert [row["id"] for row in command_line.type("member", "list", "--json").json] == [member]
    assert command_line.type("member", "list", "--text", "nobody", "--json").json == []
    issued = command_line.type("key", "create", "--name", "n", "--all-scopes")
    assert issued.out.split(" for ")[1].startswith("north. It is shown only now:")
    created(command_line, "south")
    for words in (("room", "list"), ("key", "create", "--name", "n", "--all-scopes"), ("audit", "list")):
        several = command_line.type(*words, "--json")
        message = "There are several studios: say which with --studio SLUG (north, south)."
        assert (several.status, several.json["error"]["message"]) == (2, message)
    assert command_line.type("location", "change", location, "--name", "Nord").status == 0, "its id says which studio"
    assert "There is no location" in command_line.type("location", "change", uuid4(), "--name", "Nord").err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("room", "create"), "Missing options '--location', '--name', '--capacity'."),
        (("room", "create", "--name", "R", "--capacity", "1"), "Missing option '--location'."),
        (("waitlist", "promote"), "Missing argument 'ENTRY_ID'."),
        (("purchase", "refund"), "Missing argument 'ID' and option '--reason'."),
        (("restore",), "Missing argument 'FILE'."),
        (("import-csv",), "Missing arguments 'KIND', 'FILE'."),
    ],
)
def test_everything_that_is_missing_is_named(command_line: CommandLine, words: tuple[str, ...], says: str) -> None:
    said = command_line.type(*words, "--json")
    assert (said.status, said.json["error"]["message"]) == (2, says)


def test_help_is_grouped_and_imports_no_command() -> None:
    asked = "from studiogate.cli.main import main; import sys; sys.argv = ['studiogate', '--help']\ntry: main()\n"
    done = subprocess.run(
        [sys.executable, "-c", asked + "finally: print(sorted(m for m in sys.modules if 'studiogate.cli.' in m))"],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    *lines, imported = done.stdout.splitlines()
    assert imported == "['studiogate.cli.context', 'studiogate.cli.main']"
    for panel, entries in COMMANDS.items():
        assert sum(f" {panel} " in line for line in lines) == 1
        for name, (_, text) in entries.items():
            assert sum(f"│ {name} " in line and text in line for line in lines) == 1, name
            assert len(text.split()) >= 4, "a description says more than the name"


def test_every_command_has_help() -> None:
    without = [name for name, command in every_command() if not (command.help or "").strip()]
    assert without == []


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("cla", {"class", "class-type"}), ("room s", {"spots"}), ("member change --fi", {"--first-name"})],
)
def test_a_shell_completes_commands_and_options(typed: str, offered: set[str]) -> None:
    words = {"COMP_WORDS": f"studiogate {typed}", "COMP_CWORD": str(len(typed.split()))}
    asked = {**environment(), **words, "_STUDIOGATE_COMPLETE": "complete_bash"}
    program = Path(COMMAND[0]).with_name("studiogate")
    done = subprocess.run([program], env=asked, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == offered


def test_make_up_passes_port_and_folder_on() -> None:
    def command(*variables: str) -> str:
        words = ["make", "--dry-run", "--no-print-directory", "--directory", str(ROOT), "up", *variables]
        clean = {name: value for name, value in os.environ.items() if name not in ("PORT", "DATA", "MAKEFLAGS")}
        return subprocess.run(words, env=clean, capture_output=True, text=True, check=True).stdout.splitlines()[-1]

    assert command().split() == ["exec", ".venv/bin/studiogate", "up"]
    given = command("PORT=8391", "DATA=./other").split()
    assert given[2:] == ["up", "--port", '"8391"', "--data", '"./other"']
