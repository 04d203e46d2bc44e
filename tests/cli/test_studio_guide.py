"""The guide "A studio of your own" works as written: its commands and its files, until a partner sees the classes."""

import http.client
import json
import re
import shlex
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import studiogate
from tests.cli import test_staff
from tests.cli.test_staff import CommandLine
from tests.support.live_server import serving
from tests.support.pictures import png

url, command_line = test_staff.url, test_staff.command_line
GUIDE = (Path(studiogate.__file__).parents[2] / "docs/guides/studio-of-your-own.md").read_text()
FIRST_DAY = date(2026, 12, 1)
# The placeholder for the id of what each command makes or finds.
MADE = {
    "location create": "LOCATION_ID",
    "room create": "ROOM_ID",
    "class-type create": "TYPE_ID",
    "instructor create": "INSTRUCTOR_ID",
    "class create": "CLASS_ID",
    "series create": "SERIES_ID",
    "product create": "PRODUCT_ID",
    "member find": "MEMBER_ID",
    "key create": "KEY",
}


def blocks(language: str) -> list[str]:
    every = re.findall(r"^```(\w*)\n(.*?)^```$", GUIDE, re.S | re.M)
    return [text for tagged, text in every if tagged == language]


def in_the_future(text: str) -> str:
    """Move the dates of the guide by whole weeks, so that its first day is next week."""
    weeks = (datetime.now(UTC).date() + timedelta(days=13) - FIRST_DAY) // timedelta(days=7)
    return re.sub(
        r"(?<!\d)20\d\d-\d\d-\d\d(?!\d)", lambda day: str(date.fromisoformat(day[0]) + timedelta(weeks=weeks)), text
    )


def commands() -> Iterator[list[str]]:
    for block in blocks(""):
        for line in in_the_future(block).replace("\\\n", " ").splitlines():
            if line:
                yield shlex.split(line)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working folder, with the files that the guide shows."""
    monkeypatch.chdir(tmp_path)
    schedule, clients = blocks("csv")
    (tmp_path / "classes.csv").write_text(in_the_future(schedule))
    (tmp_path / "clients.csv").write_text(clients)
    (tmp_path / "logo.png").write_bytes(png(64, 64))
    return tmp_path


class Reader:
    """Does what the guide says and remembers the ids."""

    def __init__(self, command_line: CommandLine) -> None:
        self.command_line = command_line
        self.known: dict[str, str] = {}

    def type(self, words: list[str]) -> None:
        given = [self.known.get(word, word) for word in words[1:]]
        made = MADE.get(" ".join(words[1:3]))
        said = self.command_line.type(*given, *(["--json"] if made else []))
        assert said.status == 0, (words, said.err)
        if made:
            found = said.json[0] if isinstance(said.json, list) else said.json
            self.known[made] = found["key"] if made == "KEY" else found["id"]

    def get(self, port: int, words: list[str]) -> Any:
        """Send the request of a curl command to the service on this port."""
        name, _, value = words[2].partition(": ")
        address = urlsplit(words[3])
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("GET", f"{address.path}?{address.query}", headers={name: self.known.get(value, value)})
        response = connection.getresponse()
        assert response.status == 200, response.read()
        return json.loads(response.read())["data"]


def test_a_reader_gets_as_far_as_a_partner(url: str, command_line: CommandLine, folder: Path) -> None:
    reader, answers = Reader(command_line), []
    with serving(url) as port:
        for words in commands():
            if words[0] == "curl":
                answers.append(reader.get(port, words))
            else:
                assert words[0] == "studiogate"
                reader.type(words)
    classes, members = answers
    assert [each["title"] for each in classes] == ["Morning Yoga", "Evening Yoga"]
    assert [each["name"] for each in members] == ["Ada Okafor"]
    assert (folder / "clients.csv.verdicts.csv").exists()


def test_the_guide_names_existing_pages() -> None:
    pages = re.findall(r"\]\(([^)#]+)\)", GUIDE)
    assert {"products-and-sales.md", "import-csv.md", "booking.md", "../studio-file.md"} <= set(pages)
    for page in pages:
        assert (Path(studiogate.__file__).parents[2] / "docs/guides" / page).exists(), page
