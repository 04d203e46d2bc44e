"""No secret in any log of a full run: not in the service's, not in the worker's, not in PostgreSQL's own."""

import asyncio
import base64
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import asyncpg
import pytest
from aiosmtpd.controller import Controller

from bench.service import API_MODULE, ROOT, Service
from bench.superuser import grant_to_tests
from bench.webhook_receiver import Received, answer, receiving
from studiogate.server.postgres.embedded import EmbeddedPostgres, running_postgres
from studiogate.storage.db import migrate
from tests.support.databases import run
from tests.support.deadlines import LONG
from tests.support.full_run import FullRun
from tests.support.secret_search import Secrets
from tests.support.seed import Studio, issue_key, seed_studio

SECRET_KEY = base64.b64encode(os.urandom(32)).decode()
# Signs that the run has been where values would show: without them nothing would be proved.
SEEN = {
    "service": [
        "internal error",
        "CheckViolationError",
        "UniqueViolationError",
        "database unavailable",
        "process died",
    ],
    "worker": ["mail not sent", "deliveries not settled"],
    "postgres": ["duplicate key value", 'violates check constraint "no_more"', "duration: ", "lock timeout"],
}


class RefusingSmtpServer:
    """Takes no mail, and says to whom it would not go and what was in it."""

    async def handle_RCPT(self, _server: Any, _session: Any, _envelope: Any, address: str, _options: Any) -> str:  # noqa: N802  aiosmtpd names it
        return f"550 no such user <{address}>"


@contextmanager
def smtp_server() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    controller = Controller(RefusingSmtpServer(), hostname="127.0.0.1", port=port)
    controller.start()
    try:
        yield f"smtp://127.0.0.1:{port}"
    finally:
        controller.stop()


def reply(received: Received) -> bytes | None:
    if "/echo" in received.path:
        return answer(500, received.body)
    if "/redirect" in received.path:
        return answer(302, b"", b"Location: http://127.0.0.1:1" + received.path.encode())
    return None if "/hang-up" in received.path else answer(200, b"ok")


@contextmanager
def receiver() -> Iterator[str]:
    """In a thread of its own: the run itself blocks."""
    url: list[str] = []
    up, done = threading.Event(), threading.Event()

    async def serve() -> None:
        async with receiving(reply) as opened:
            url.append(opened.url(""))
            up.set()
            await asyncio.to_thread(done.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    up.wait(LONG)
    try:
        yield url[0]
    finally:
        done.set()
        thread.join()


async def _prepared(dsn: str) -> tuple[Studio, str]:
    connection = await asyncpg.connect(dsn)
    try:
        await migrate.migrate(connection)
        studio = await seed_studio(connection)
        return studio, await issue_key(connection, studio)
    finally:
        await connection.close()


class CommandLine:
    """Commands on the run's database. What they say on standard error is a log, too."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self.complaints = ""

    def type(self, *words: str) -> str:
        command = [sys.executable, "-m", "studiogate", *words, "--data", str(self._data)]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("STUDIOGATE_")}
        done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
        self.complaints += done.stderr
        return done.stdout

    def keys(self, secrets: Secrets) -> str:
        """One that is made, rotated and used, and one that is revoked. Each is shown once, and then nowhere."""
        create = ("key", "create", "--studio", "north", "--name", "Run", "--all-scopes", "--json")
        made = json.loads(self.type(*create))
        secrets.keep_key("first key", made["key"])
        rotated = json.loads(self.type("key", "rotate", made["id"], "--overlap", "0m", "--json"))
        key = secrets.keep_key("rotated key", rotated["key"])
        revoked = json.loads(self.type(*create))
        secrets.keep_key("revoked key", revoked["key"])
        self.type("key", "revoke", revoked["id"])
        self.type("key", "revoke", revoked["key"])  # the key where its id belongs
        assert secrets.found_in(self.type("key", "list")) == set()
        return key


@contextmanager
def running(data: Path, secrets: Secrets, api_module: str, logs: dict[str, str]) -> Iterator[FullRun]:
    """The service on an embedded PostgreSQL with everything around it; at the end ``logs`` holds what was written."""
    with running_postgres(data) as postgres, smtp_server() as smtp_url, receiver() as receiver_url:
        studio, key = run(_prepared(postgres.dsn()))
        environment = {
            "STUDIOGATE_SECRET_KEY": secrets.keep("deployment's key", SECRET_KEY),
            "STUDIOGATE_SMTP_URL": smtp_url,
            "STUDIOGATE_WEBHOOK_ALLOW_CIDRS": "127.0.0.0/8",
            "STUDIOGATE_WEBHOOK_ALLOW_HTTP": "true",
        }
        service = Service(data_dir=data, sweep=True, api_module=api_module, environment=environment)
        try:
            secrets.keep_key("key", key)
            yield FullRun(service, postgres.dsn(), data, studio, key, secrets, receiver_url)
        finally:
            service.stop()
            logs["service"] = logs["worker"] = service.log.read_text()
    logs["postgres"] = "".join(path.read_text() for path in sorted(data.glob("postgres.log*")))


def test_no_secret_in_any_log(tmp_path: Path) -> None:
    secrets, logs = Secrets(), dict[str, str]()
    with running(tmp_path / "data", secrets, API_MODULE, logs) as full_run:
        command_line = CommandLine(tmp_path / "data")
        full_run.key = command_line.keys(secrets)
        full_run.everything()
    logs["command_line"] = command_line.complaints
    for name, log in logs.items():
        assert [words for words in SEEN.get(name, ()) if words not in log] == [], f"{name}: {log[-3000:]}"
        assert secrets.found_in(log) == set(), name


# The check of the check.


def test_planted_leaks_are_found(tmp_path: Path) -> None:
    secrets, logs = Secrets(), dict[str, str]()
    postgres = EmbeddedPostgres(tmp_path / "data")
    postgres.start()
    grant_to_tests(postgres)  # the service's own role could not make PostgreSQL log values
    postgres.stop()
    with running(tmp_path / "data", secrets, "tests.support.leaking_api", logs) as full_run:
        full_run.reads()
        full_run.wrong_keys()
        full_run.people()
        form = full_run.form()
        with full_run.sabotaged():
            full_run.refused_by_postgresql(form)
    assert secrets.found_in(logs["service"]) >= {"key", "guessed key", "email", "phone", "name", "note", "answer"}
    assert secrets.found_in(logs["postgres"]) >= {"email", "phone", "name"}


@pytest.mark.parametrize(
    "written",
    [
        "{}".format,
        str.upper,
        lambda value: quote(value, safe=""),
        lambda value: json.dumps({"value": value}),
        lambda value: value.encode().hex(),
        lambda value: base64.b64encode(value.encode()).decode(),
        lambda value: base64.urlsafe_b64encode(f"user:{value}:more".encode()).decode(),
        lambda value: base64.b64encode(f"?{value}&".encode()).decode(),
    ],
)
def test_a_secret_is_found_in_every_form(written: Any) -> None:
    secrets = Secrets()
    email, phone = secrets.email(), secrets.phone()
    text = secrets.keep("text", 'Zoë O\'Neill "Z" <z@z>?')
    for value, kind in ((email, "email"), (phone, "phone"), (text, "text")):
        assert secrets.found_in(f"line\n before {written(value)} after") == {kind}
    assert secrets.found_in("nothing of it") == set()
