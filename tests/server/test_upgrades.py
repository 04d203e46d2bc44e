"""Earlier releases and this one beside each other: one database, a proxy that repeats nothing, no failed request."""

import asyncio
import contextlib
import json
import re
import shutil
import signal
import socket
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from bench.service import wait_for
from tests.cli.test_commands import environment
from tests.server.test_processes import SECRET_KEY, ask, free_port
from tests.support.battery import Tally, battery
from tests.support.deadlines import LONG
from tests.support.releases import RELEASES, ROOT, THIS, Release

pytestmark = battery("upgrades")

DRAIN_SECONDS = "5"
SLOTS = ("one", "two")
CONFIGURATION = re.compile(r"```\n(defaults\n    mode http\n.*?)```", re.DOTALL)  # of docs/operations.md
MORE_REQUESTS = 60  # between two changes
BOOKED_OR_REFUSED = {201, 409, 422}


def command(release: Release, url: str, folder: Path, *words: str) -> Any:
    """Run a command of a release; return what it prints."""
    program, variables = release.program
    settings = {**environment(DATABASE_URL=url, SECRET_KEY=SECRET_KEY, DATA_DIR=str(folder)), **variables}
    done = subprocess.run([*program, *words], env=settings, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout) if "--json" in words else done.stdout


class Server:
    """`serve` of a release, with its worker, at the address of a slot of the proxy."""

    def __init__(self, release: Release, url: str, folder: Path, port: int) -> None:
        self.release, self.port = release, port
        program, variables = release.program
        settings = {"DATABASE_URL": url, "SECRET_KEY": SECRET_KEY, "DATA_DIR": str(folder), "LOG_FORMAT": "json"}
        settings |= {"DRAIN_SECONDS": DRAIN_SECONDS} if release.drains else {}
        words = ["serve", "--port", str(port), "--workers", "1"]
        self.log = folder / f"{port}-{release.version}.log"
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [*program, *words],
                env={**environment(**settings), **variables},
                cwd=folder,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def is_ready(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        try:
            return ask(self.port, "/readyz")[0] == 200
        except OSError:
            return False

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(LONG) == 0, self.log.read_text()


class Proxy:
    """HAProxy as docs/operations.md configures it, except that it never tries a request again."""

    def __init__(self, folder: Path) -> None:
        self.port, self.ports = free_port(), {slot: free_port() for slot in SLOTS}
        self._socket = folder / "proxy"
        shown = CONFIGURATION.search((ROOT / "docs" / "operations.md").read_text())
        assert shown is not None
        text = shown[1].replace("bind :443 ssl crt /etc/haproxy/studio.pem", f"bind 127.0.0.1:{self.port}")
        for number, port in enumerate(self.ports.values(), 1):
            text = text.replace(f"10.0.0.{number}:8080", f"127.0.0.1:{port}")
        text = text.replace("mode http\n", "mode http\n    retries 0\n")
        (folder / "proxy.cfg").write_text(f"global\n    stats socket {self._socket} level admin\n{text}")
        program = shutil.which("haproxy")
        if program is None:
            pytest.skip("HAProxy is not installed (`make upgrades` installs it where it may): apt-get install haproxy")
        self.process = subprocess.Popen([program, "-db", "-f", folder / "proxy.cfg"])
        wait_for(self._socket.exists, LONG, "HAProxy does not start")

    def say(self, words: str) -> str:
        with socket.socket(socket.AF_UNIX) as admin:
            admin.connect(str(self._socket))
            admin.sendall(f"{words}\n".encode())
            return b"".join(iter(lambda: admin.recv(65536), b"")).decode()

    def state(self, slot: str) -> tuple[str, int]:
        """Return whether a server gets requests, and how many it has."""
        names, *rows = (line.split(",") for line in self.say("show stat").removeprefix("# ").splitlines() if line)
        row = next(found for row in rows if (found := dict(zip(names, row, strict=True)))["svname"] == slot)
        return row["status"], int(row["scur"])

    def wait_until(self, slot: str, state: Callable[[tuple[str, int]], bool]) -> None:
        wait_for(lambda: state(self.state(slot)), LONG, lambda: f"{slot}: {self.say('show stat')}")


class Load:
    """Clients of the partner interface, each with one request at a time."""

    def __init__(self, port: int, key: str, clients: int = 3) -> None:
        self.answered, self.failed = Counter[str](), list[str]()
        self.booked = set[str]()
        self._ended, self._clients, self._numbers = threading.Event(), clients, count()
        self._url, self._headers = f"http://127.0.0.1:{port}/partner/v1", {"X-Service-Key": key}
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    def __enter__(self) -> "Load":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(LONG)

    def wait_for_more(self) -> None:
        wanted = self.answered.total() + MORE_REQUESTS
        wait_for(lambda: self.answered.total() >= wanted or bool(self.failed), LONG, "no request is answered")

    async def _run(self) -> None:
        async with httpx2.AsyncClient(base_url=self._url, headers=self._headers, timeout=LONG) as client:
            now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
            classes = (await client.get("/classes", params={"starts_after": now, "limit": 50})).json()["data"]
            members = (await client.get("/members", params={"limit": 50})).json()["data"]
            pairs = [(each["id"], member["id"]) for each in classes for member in members]
            await asyncio.gather(*(self._ask(client, pairs) for _ in range(self._clients)))

    async def _ask(self, client: httpx2.AsyncClient, pairs: list[tuple[str, str]]) -> None:
        while not self._ended.is_set():
            number = next(self._numbers)
            try:
                await self._round(client, number, *pairs[number * 7 % len(pairs)])
            except httpx2.HTTPError as error:
                self.failed.append(repr(error))

    async def _round(self, client: httpx2.AsyncClient, number: int, class_id: str, member_id: str) -> None:
        for page in ("/studio", "/classes?limit=20", "/members?limit=20", "/events?limit=20", "/bookings?limit=20"):
            self._note(await client.get(page), {200})
        person = {"email": f"person{number}@example.com", "first_name": "Ada", "last_name": "Lovelace"}
        self._note(await client.post("/leads", json=person, headers=key()), {201})
        self._note(await client.post("/members", json=person, headers=key()), {201})
        again, booking = key(), {"class_id": class_id, "member_id": member_id}
        first = await client.post("/bookings", json=booking, headers=again)
        self._note(first, BOOKED_OR_REFUSED)
        second = await client.post("/bookings", json=booking, headers=again)
        self._note(second, {first.status_code})
        if first.status_code == 201:
            if second.content != first.content:
                self.failed.append(f"replayed differently: {first.text} {second.text}")
            self.booked.add(first.json()["id"])
            if number % 2:
                self._note(await client.delete(f"/bookings/{first.json()['id']}", headers=key()), {200, 409, 422})

    def _note(self, answer: httpx2.Response, expected: set[int]) -> None:
        self.answered[f"{answer.request.method} {answer.status_code}"] += 1
        if answer.status_code not in expected:
            self.failed.append(f"{answer.request.method} {answer.url} {answer.status_code} {answer.text[:500]}")


def key() -> dict[str, str]:
    return {"Idempotency-Key": str(uuid4())}


@contextmanager
def running(release: Release, url: str, folder: Path) -> Iterator[tuple[Proxy, dict[str, Server]]]:
    """Run two servers of a release behind the proxy."""
    with ExitStack() as stack:
        proxy = Proxy(folder)
        stack.callback(proxy.process.wait)
        stack.callback(proxy.process.terminate)
        servers = {slot: Server(release, url, folder, proxy.ports[slot]) for slot in SLOTS}

        def kill() -> None:
            for server in servers.values():
                with contextlib.suppress(ProcessLookupError):
                    server.process.kill()
                server.process.wait()

        stack.callback(kill)
        for slot in SLOTS:
            proxy.wait_until(slot, lambda state: state[0] == "UP")
        yield proxy, servers


def replace(proxy: Proxy, servers: dict[str, Server], slot: str, release: Release, start: Callable[[], Server]) -> None:
    """Stop a server and start one of another release in its place. One that does not announce that it ends is taken
    out of the proxy first."""
    if not servers[slot].release.drains:
        proxy.say(f"set server studiogate/{slot} state drain")
        proxy.wait_until(slot, lambda state: state[1] == 0)
    servers[slot].stop()
    servers[slot] = start()
    wait_for(servers[slot].is_ready, LONG, f"{release.version} is not ready")
    proxy.say(f"set server studiogate/{slot} state ready")
    proxy.wait_until(slot, lambda state: state[0] == "UP")


@pytest.mark.parametrize(
    "path",
    [*((release, THIS) for release in RELEASES), *([(*RELEASES, THIS)] if len(RELEASES) > 1 else [])],
    ids=lambda path: " to ".join(release.version for release in path),
)
def test_no_request_fails_while_releases_replace_each_other(
    path: tuple[Release, ...], new_empty_database: Callable[[], str], tmp_path: Path, tally: Tally
) -> None:
    """Up the path, server by server, back the same way, and straight to the newest again."""
    url, first = new_empty_database(), path[0]
    for words in ("migrate", "demo"):
        command(first, url, tmp_path, words)
    issued = command(first, url, tmp_path, "key", "create", "--studio", "demo", "--name", "k", "--all-scopes", "--json")
    with running(first, url, tmp_path) as (proxy, servers), Load(proxy.port, issued["key"]) as load:
        load.wait_for_more()
        for release in (*path[1:], *reversed(path[:-1]), THIS):
            command(release, url, tmp_path, "migrate")
            for slot in SLOTS:
                assert all(server.is_ready() for server in servers.values()), "on the newer schema, too"
                replace(proxy, servers, slot, release, partial(Server, release, url, tmp_path, proxy.ports[slot]))
                load.wait_for_more()
    tally.add(requests=load.answered.total(), bookings=len(load.booked), failed=len(load.failed))
    assert not load.failed
    assert load.booked
    findings = command(THIS, url, tmp_path, "doctor", "--json")
    assert [finding for finding in findings if finding["level"] == "fault"] == []
