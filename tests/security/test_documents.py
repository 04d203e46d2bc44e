"""What the documentation names exists: tests, commands, settings, links."""

import re
from pathlib import Path
from typing import Any

import pytest
import typer

from studiogate.cli.main import commands
from studiogate.settings import PREFIX, Settings

ROOT = Path(__file__).parents[2]
THREATS, POLICY = ROOT / "docs" / "threat-model.md", ROOT / "SECURITY.md"
OPERATIONS = ROOT / "docs" / "operations.md"
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
COMMAND = re.compile(r"`studiogate ([^`]+)`")


def test_every_test_that_is_named_exists() -> None:
    named = re.findall(r"`(tests/[^`]+)`", THREATS.read_text())
    assert len(named) > 20
    assert [each for each in named if not (ROOT / each).is_file()] == []


@pytest.mark.parametrize("page", [THREATS, POLICY, OPERATIONS], ids=lambda page: page.name)
def test_every_command_and_setting_that_is_named_exists(page: Path) -> None:
    text = page.read_text().replace("\n", " ")
    for words in COMMAND.findall(text):
        command: Any = typer.main.get_command(commands())
        given = words.split()
        while hasattr(command, "commands"):
            command = command.commands[given.pop(0)]
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in given if word.startswith("--")} <= known, words
    settings = {PREFIX + name.upper() for name in Settings.model_fields}
    assert set(re.findall(rf"{PREFIX}\w+", text)) <= settings


def test_every_setting_is_documented() -> None:
    documented = OPERATIONS.read_text()
    assert [name for name in Settings.model_fields if PREFIX + name.upper() not in documented] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text())
    assert [each for each in links if "://" not in each and not (page.parent / each).exists()] == []


def test_every_file_of_the_tour_exists() -> None:
    named = re.findall(r"`([\w/]+\.py)`", (ROOT / "CONTRIBUTING.md").read_text())
    assert len(named) > 10
    assert [each for each in named if not ((ROOT / each).is_file() or (ROOT / "src/studiogate" / each).is_file())] == []


def test_the_readme_leads_to_them() -> None:
    readme = (ROOT / "README.md").read_text()
    assert "(SECURITY.md)" in readme
    assert "(docs/threat-model.md)" in readme
