"""The samples of the guides, as they stand on the page, against the real service with the demo studio."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from standardwebhooks import WebhookVerificationError

from studiogate.domain.events import EventType
from studiogate.domain.webhooks.deliveries import new_secret, signed_headers
from studiogate.web.public_address import FILE
from tests.support import generators
from tests.support.deadlines import LONG
from tests.support.desk import Desk
from tests.support.generators import node_generators

__all__ = ["node_generators"]
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="Node is not installed here: samples in TypeScript cannot run")
needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed here")
BY_LANGUAGE = [
    pytest.param("sh", marks=needs_curl),
    "python",
    pytest.param("typescript", marks=needs_node),
]


@pytest.fixture(scope="module")
def service(desk_site: Desk) -> Desk:
    """The demo studio; its pages show its own address."""
    (desk_site.site.data / FILE).write_text(desk_site.origin)
    return desk_site


def samples(service: Desk, page: str, language: str) -> list[str]:
    """Return the samples of a page, read from the service as a program reads them."""
    with urlopen(f"{service.origin}/docs/{page}.md") as response:  # noqa: S310
        text = response.read().decode()
    found = re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert found
    return found


def environment(service: Desk, **more: str) -> dict[str, str]:
    key = (service.site.data / "demo.key").read_text().strip()
    return {**os.environ, "STUDIOGATE_URL": service.origin, "STUDIOGATE_KEY": key, **more}


def command(sample: str, language: str, folder: Path) -> list[str]:
    """Return the command that runs a sample. The samples in TypeScript name no types, so that every Node runs them."""
    if language == "sh":
        return ["bash", "-euc", sample]
    file = folder / ("sample.py" if language == "python" else "sample.mjs")
    file.write_text(sample)
    return [sys.executable if language == "python" else "node", str(file)]


def run(service: Desk, sample: str, language: str, folder: Path) -> str:
    done = subprocess.run(
        command(sample, language, folder),
        env=environment(service),
        cwd=service.site.data.parent,
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def ask(service: Desk, method: str, path: str, body: Any = None, **headers: str) -> Any:
    key = environment(service)["STUDIOGATE_KEY"]
    sent = {"X-Service-Key": key, "Content-Type": "application/json", **headers}
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(f"{service.origin}/partner/v1{path}", data, sent, method=method)) as response:  # noqa: S310
        return json.load(response)


@needs_curl
def test_the_quickstart_works_as_pasted(service: Desk, tmp_path: Path) -> None:
    """All samples of the page in one shell, in the folder in which `make up` was run. Who reads the log in the same
    moment may be too early for the event of the booking, and reads it again."""
    parts = samples(service, "quickstart", "sh")
    assert len(parts) == 4
    printed = run(service, "\necho\n".join(parts), "sh", tmp_path)
    studio, booking, events = [json.loads(line) for line in printed.splitlines() if line.strip()]
    assert studio["slug"] == "demo"
    assert (booking["object"], booking["status"]) == ("booking", "confirmed")
    deadline = time.monotonic() + LONG
    while booking["id"] not in [event["data"]["object"]["id"] for event in events["data"]]:
        assert time.monotonic() < deadline
        events = json.loads(run(service, parts[-1], "sh", tmp_path))


@pytest.mark.parametrize("language", ["python", pytest.param("typescript", marks=needs_node)])
def test_the_quickstart_in_other_languages_repeats_the_booking(service: Desk, language: str, tmp_path: Path) -> None:
    (sample,) = samples(service, "quickstart", language)
    first, second = run(service, sample, language, tmp_path), run(service, sample, language, tmp_path)
    assert first == second
    assert first.endswith("confirmed\n")


@needs_curl
def test_the_version_can_be_pinned(service: Desk, tmp_path: Path) -> None:
    (sample,) = samples(service, "versioning", "sh")
    assert json.loads(run(service, sample, "sh", tmp_path))["slug"] == "demo"


@pytest.mark.parametrize("language", BY_LANGUAGE)
def test_a_booking_with_retries(service: Desk, language: str, tmp_path: Path) -> None:
    (sample,) = samples(service, "booking", language)
    printed = run(service, sample, language, tmp_path)
    assert printed == run(service, sample, language, tmp_path)
    assert ('"status":"confirmed"' if language == "sh" else "201 confirmed") in printed


@pytest.mark.parametrize("language", ["python", pytest.param("typescript", marks=needs_node)])
def test_a_booking_is_sent_until_there_is_an_answer(service: Desk, language: str, tmp_path: Path) -> None:
    """The first connection is cut, then a proxy has no answer, then the service asks to wait."""
    (sample,) = samples(service, "booking", language)
    waiting = json.dumps({"error": {"code": "overloaded", "retryable": True}})
    refused = json.dumps({"error": {"code": "class_full", "retryable": False}})
    answers = ["", "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 4\r\n\r\noops"]
    for status, body in (("503 Service Unavailable\r\nRetry-After: 0", waiting), ("409 Conflict", refused)):
        answers.append(f"HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n{body}")
    keys: list[str] = []
    with scripted(answers, keys) as origin:
        faster = sample.replace("2**attempt", "0").replace("2 ** attempt", "0")
        done = subprocess.run(
            command(faster, language, tmp_path),
            env={**environment(service), "STUDIOGATE_URL": origin},
            capture_output=True,
            text=True,
            timeout=LONG,
            check=True,
        )
    assert done.stdout == "409 class_full\n"
    assert keys == ["order-8841-book"] * 4


@contextmanager
def scripted(answers: list[str], keys: list[str]) -> Iterator[str]:
    """Serve one prepared answer per connection; collect the idempotency keys."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for answer in answers:
            connection, _ = listening.accept()
            with connection, connection.makefile("rb") as received:
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    head += received.readline()
                size = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
                received.read(int(size[1]) if size else 0)
                keys.extend(re.findall(r"idempotency-key: (\S+)", head.decode(), re.IGNORECASE))
                connection.sendall(answer.encode())

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    thread.join(LONG)
    listening.close()


# Webhooks and events

BODY = json.dumps({"id": "e1", "type": "booking.created", "note": "Zoë"}, ensure_ascii=False)
SECRET = new_secret()


def headers(secret: str = SECRET, age: timedelta = timedelta(0), body: str = BODY) -> dict[str, str]:
    sent = signed_headers([new_secret(), secret], "e1", datetime.now(UTC) - age, body)
    return {name.decode(): value.decode() for name, value in sent}


WRONG: dict[str, Callable[[], dict[str, str]]] = {
    "another secret": lambda: headers(new_secret()),
    "too old": lambda: headers(age=timedelta(minutes=6)),
    "another body": lambda: headers(body=BODY + " "),
    "no signature": dict,
    "not a number": lambda: {**headers(), "webhook-timestamp": "now"},
}


@contextmanager
def running(sample: str, language: str, folder: Path, **env: str) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        command(sample, language, folder),
        env=env,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def post(port: int, sent: dict[str, str]) -> int:
    """Send a webhook as soon as the receiver listens."""
    deadline = time.monotonic() + LONG
    while True:
        connection = HTTPConnection("127.0.0.1", port, timeout=LONG)
        try:
            connection.request("POST", "/", BODY.encode(), sent)
            return connection.getresponse().status
        except ConnectionRefusedError:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        finally:
            connection.close()


@pytest.mark.parametrize("language", ["python", pytest.param("typescript", marks=needs_node)])
def test_webhooks_are_verified(service: Desk, language: str, tmp_path: Path) -> None:
    sample = samples(service, "events", language)[0]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with running(sample, language, tmp_path, **os.environ, WEBHOOK_SECRET=SECRET, PORT=str(port)) as receiver:
        assert {name: post(port, wrong()) for name, wrong in WRONG.items()} == dict.fromkeys(WRONG, 401)
        assert post(port, headers()) == 204
        assert receiver.stdout is not None
        assert receiver.stdout.readline() == "booking.created e1\n"


def test_webhooks_are_verified_with_the_library(service: Desk) -> None:
    known: dict[str, Any] = {}
    (sample,) = [each for each in samples(service, "events", "python") if "standardwebhooks" in each]
    exec(sample, known)  # noqa: S102  our own guide
    assert known["receive"](SECRET, headers(), BODY.encode())["type"] == "booking.created"
    with pytest.raises(WebhookVerificationError):
        known["receive"](SECRET, headers(new_secret()), BODY.encode())


def event_about(service: Desk, lead: str) -> str:
    """Return the id of the event about a new lead, as soon as the log has it."""
    cursor, deadline = "", time.monotonic() + LONG
    while time.monotonic() < deadline:
        for event in ask(service, "GET", f"/events?limit=200&wait=20{cursor}")["data"]:
            cursor = f"&cursor={event['id']}"
            if event["data"]["object"]["id"] == lead:
                return str(event["id"])
    raise AssertionError("there is no event")


@pytest.mark.parametrize("language", ["python", pytest.param("typescript", marks=needs_node)])
def test_the_log_is_followed_without_a_gap(service: Desk, language: str, tmp_path: Path) -> None:
    """What happens while the program is not running comes first when it starts again; nothing comes twice."""
    sample = samples(service, "events", language)[1 if language == "typescript" else -1]

    def new_lead(name: str) -> str:
        lead = ask(service, "POST", "/leads", {"email": f"{name}-{language}@partner.example", "source": "samples"})
        return f"lead.created {lead['id']}\n"

    (tmp_path / "cursor.txt").write_text(event_about(service, new_lead("earlier").split()[1]))
    wanted = [new_lead("before")]
    for name in ("first", "second"):
        with running(sample, language, tmp_path, **environment(service)) as program:
            assert program.stdout is not None
            wanted.append(new_lead(name))
            assert [program.stdout.readline().partition(" ")[2] for _ in wanted] == wanted
            last = event_about(service, wanted[-1].split()[1])
            while (tmp_path / "cursor.txt").read_text() != last:
                assert program.poll() is None
                time.sleep(0.01)
        wanted = [new_lead("between")]


def test_the_guide_names_every_type_and_every_language(service: Desk) -> None:
    guide = (Path(__file__).parents[2] / "docs/guides/events.md").read_text()
    assert [each for each in EventType if f"`{each.value}`" not in guide] == []
    for language in ("python", "typescript", "javascript", "php", "go"):
        assert samples(service, "events", language), language


@pytest.mark.timeout(900)  # the compiler is installed on its first use
@pytest.mark.parametrize("page", ["quickstart", "booking", "events"])
def test_types_of_samples(service: Desk, page: str, tmp_path: Path, node_generators: Path) -> None:
    files = []
    for number, sample in enumerate(samples(service, page, "typescript")):
        files.append(tmp_path / f"sample{number}.ts")
        files[-1].write_text(sample)
    options = "--noEmit --strict --target es2022 --module esnext --moduleResolution bundler --moduleDetection force"
    known = ("--lib", "es2022,dom", "--types", "node", "--typeRoots", node_generators.parent / "@types")
    generators.run(node_generators / "tsc", *options.split(), *known, *files, folder=tmp_path)
