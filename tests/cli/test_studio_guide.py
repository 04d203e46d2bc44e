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
from tests.support.pictures import drawn, png
from tests.support.webhook_studio import ALLOW_LOOPBACK

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
    "member find ada": "MEMBER_ID",
    "member find brandt": "OTHER_ID",
    "key create": "KEY",
}
# The placeholder for the id of what each request makes or finds first, by its method and path.
FOUND = {
    "GET classes": "YOGA_ID",
    "GET members": "MEMBER_ID",
    "POST bookings": "BOOKING_ID",
    "POST webhook-endpoints": "ENDPOINT_ID",
}
PLACEHOLDER = re.compile("|".join(sorted({*MADE.values(), *FOUND.values(), "KEY_ID"}, key=len, reverse=True)))
PREFIX = "/partner/v1/"


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
    (tmp_path / "yoga.jpg").write_bytes(drawn("JPEG", (1600, 900)))
    (tmp_path / "ida.png").write_bytes(drawn("PNG"))
    return tmp_path


class Reader:
    """Does what the guide says and remembers the ids."""

    def __init__(self, command_line: CommandLine) -> None:
        self.command_line = command_line
        self.known: dict[str, str] = {}

    def filled(self, text: str) -> str:
        """Return a word of the guide with the ids in place of their placeholders."""
        return PLACEHOLDER.sub(lambda found: self.known.get(found[0], found[0]), text)

    def type(self, words: list[str]) -> None:
        given = [self.filled(word) for word in words[1:]]
        made = MADE.get(" ".join(words[1:3])) or MADE.get(" ".join(words[1:4]))
        said = self.command_line.type(*given, *(["--json"] if made else []))
        assert said.status == 0, (words, said.err)
        if made:
            found = said.json[0] if isinstance(said.json, list) else said.json
            self.known[made] = found["key"] if made == "KEY" else found["id"]
            if made == "KEY":
                self.known["KEY_ID"] = found["id"]

    def send(self, port: int, words: list[str]) -> tuple[str, Any]:
        """Send the request of a curl command to the service on this port; return what it was, and the answer."""
        options = list(zip(words[1:-1:2], map(self.filled, words[2:-1:2]), strict=True))
        body = dict(options).get("-d")
        method = dict(options).get("-X", "POST" if body else "GET")
        address = urlsplit(self.filled(words[-1]))
        headers = dict(text.split(": ", 1) for option, text in options if option == "-H")
        path = f"{address.path}?{address.query}".rstrip("?")
        answer = exchange(port, method, path, body, headers)
        while address.path.endswith("/events") and not answer["data"]:  # they are numbered right after the commit
            answer = exchange(port, method, path, body, headers)
        name = f"{method} {address.path.removeprefix(PREFIX)}"
        if name in FOUND:
            found = answer["data"][0] if "data" in answer else answer
            self.known.setdefault(FOUND[name], found["id"])
        return name.replace(self.known.get("ENDPOINT_ID", name), "ENDPOINT_ID"), answer


def exchange(port: int, method: str, path: str, body: str | None, headers: dict[str, str]) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    answer = json.loads(response.read())
    connection.close()
    assert response.status < 300, (method, path, answer)
    return answer


def test_a_reader_gets_as_far_as_a_partner(url: str, command_line: CommandLine, folder: Path) -> None:
    reader, answers = Reader(command_line), list[tuple[str, Any]]()
    with serving(url, **ALLOW_LOOPBACK) as port:
        for words in commands():
            if words[0] == "curl":
                answers.append(reader.send(port, words))
            else:
                assert words[0] == "studiogate"
                reader.type(words)
    assert (folder / "clients.csv.verdicts.csv").exists()
    requests, (classes, members, booking, waiting, waitlist, receipt, bookings, *rest) = zip(*answers, strict=True)
    assert [each["title"] for each in classes["data"]] == ["Morning Yoga", "Evening Yoga"]
    assert [each["name"] for each in members["data"]] == ["Ada Okafor"]
    assert (booking["status"], waiting["status"], waiting["waitlist_position"]) == ("confirmed", "waitlisted", 1)
    assert [(each["booking_id"], each["position"]) for each in waitlist["data"]] == [(waiting["id"], 1)]
    assert (receipt["booking_id"], receipt["credits_returned"], receipt["promoted"]) == (booking["id"], 1, True)
    assert [(each["id"], each["status"]) for each in bookings["data"]] == [(waiting["id"], "confirmed")]
    purchases, events, endpoint, sent, deliveries = rest
    assert [(each["product_key"], each["amount_total"]) for each in purchases["data"]] == [("ten", "150.00")]
    assert [each["data"]["object"]["id"] for each in events["data"]] == [waiting["id"]]
    assert (endpoint["secret"][:6], sent["event_type"]) == ("whsec_", "webhook_endpoint.test")
    assert [each["id"] for each in deliveries["data"]] == [sent["id"]]
    assert requests[-1] == "GET webhook-endpoints/ENDPOINT_ID/deliveries"


def test_the_guide_names_existing_pages() -> None:
    pages = re.findall(r"\]\(([^)#]+)\)", GUIDE)
    assert {"products-and-sales.md", "import-csv.md", "booking.md", "../studio-file.md"} <= set(pages)
    for page in pages:
        assert (Path(studiogate.__file__).parents[2] / "docs/guides" / page).exists(), page
