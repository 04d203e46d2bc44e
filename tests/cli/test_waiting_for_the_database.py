"""`up`, `serve`, `worker` and `migrate` wait for a server that takes no connections yet; other commands do not."""

import asyncio
import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import asyncpg
import pytest

from bench.service import wait_for
from studiogate.cli import context
from studiogate.cli.context import connect_when_possible
from studiogate.storage.db import migrate, pool
from studiogate.storage.db.pool import DatabaseUnavailableError, NotConnectedYetError
from tests.cli.test_commands import COMMAND, environment
from tests.cli.test_commands import run as run_command
from tests.server.test_processes import SECRET_KEY, ask, free_port
from tests.support.clusters import Cluster, own_cluster
from tests.support.databases import run
from tests.support.deadlines import LONG

Absence = Callable[[Cluster], AbstractContextManager[None]]
NOWHERE = "postgresql://nobody@127.0.0.1:1/none"
SERVED = ("--port", "0", "--workers", "1")
STARTS = {"up": ("--no-demo", *SERVED), "serve": SERVED, "worker": (), "migrate": ()}
DONE = {"migrate": "schema is up to date", "worker": "The worker runs"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with own_cluster() as made:
        run(migrated(made.url))
        yield made


async def migrated(url: str) -> None:
    connection = await pool.connect(url)
    await migrate.migrate(connection)
    await connection.close()


@contextmanager
def no_connection_left(cluster: Cluster) -> Iterator[None]:
    """Take all connections of the server while the block runs."""
    with asyncio.Runner() as runner:
        taken: list[asyncpg.Connection[asyncpg.Record]] = []

        async def take_all() -> None:
            while True:
                try:
                    taken.append(await asyncpg.connect(cluster.url))
                except asyncpg.TooManyConnectionsError:
                    return

        async def leave() -> None:
            for each in taken:
                await each.close()

        runner.run(take_all())
        try:
            yield
        finally:
            runner.run(leave())


@contextmanager
def stopped(cluster: Cluster) -> Iterator[None]:
    cluster.stop()
    try:
        yield
    finally:
        cluster.start()


class Started:
    """A command that starts a service, with what it says."""

    def __init__(self, url: str, folder: Path, command: str, port: int = 0) -> None:
        self.output, self.serves = folder / "output", command != "migrate"
        words = [*COMMAND, command, *STARTS[command], "--data", str(folder / "data")]
        words += ["--port", str(port)] if port else []
        with self.output.open("w") as output:
            settings = environment(DATABASE_URL=url, DRAIN_SECONDS="0", SECRET_KEY=SECRET_KEY)
            self.process = subprocess.Popen(words, env=settings, stdout=output, stderr=subprocess.STDOUT)

    def wait_to_say(self, words: str) -> None:
        def is_said() -> bool:
            said = self.output.read_text()
            assert words in said or self.process.poll() is None, said
            return words in said

        wait_for(is_said, LONG, self.output.read_text)

    def end(self) -> int:
        if self.serves:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(LONG)


@pytest.mark.parametrize(
    ("command", "absence"), [*((command, no_connection_left) for command in STARTS), ("serve", stopped)]
)
def test_a_start_waits(cluster: Cluster, tmp_path: Path, command: str, absence: Absence) -> None:
    with absence(cluster):
        started = Started(cluster.url, tmp_path, command)
        try:
            started.wait_to_say("aiting for the database")
        except BaseException:
            started.process.kill()
            raise
    try:
        started.wait_to_say(DONE.get(command, "Studiogate is up"))
    finally:
        assert started.end() == 0, started.output.read_text()
    said = started.output.read_text()
    assert said.count("aiting for the database") == 1, said
    assert ("too many clients" in said) == (absence is no_connection_left)


def test_a_server_that_waits_lives_but_is_not_ready(cluster: Cluster, tmp_path: Path) -> None:
    port = free_port()

    def answers(path: str) -> tuple[int, str]:
        status, body, _ = ask(port, path)
        return status, body

    with stopped(cluster):
        started = Started(cluster.url, tmp_path, "serve", port)
        try:
            started.wait_to_say("waiting for the database")
            assert answers("/livez") == (200, '{"status":"ok"}')
            for path in ("/readyz", "/up", "/partner/v1/studio", "/console/", "/docs"):
                status, body = answers(path)
                assert (status, json.loads(body)["error"]["details"]) == (503, {"problem": "starting"}), path
        except BaseException:
            started.process.kill()
            raise
    try:
        started.wait_to_say("Studiogate is up")
        assert answers("/readyz")[0] == 200
        assert answers("/partner/v1/studio")[0] == 401
    finally:
        assert started.end() == 0, started.output.read_text()


@pytest.mark.parametrize("command", ["serve", "worker"])
def test_a_signal_ends_the_wait(tmp_path: Path, command: str) -> None:
    started = Started(NOWHERE, tmp_path, command)
    started.wait_to_say("waiting for the database")
    assert started.end() == 0
    assert started.output.read_text().endswith("Stopped.\n")


def refusal(code: str, message: str) -> bytes:
    """Return what a PostgreSQL server answers to a connection that it refuses."""
    fields = f"SFATAL\0VFATAL\0C{code}\0M{message}\0\0".encode()
    return b"E" + (len(fields) + 4).to_bytes(4, "big") + fields


async def connected_to(answer: bytes, sslmode: str, say: Callable[[str], None]) -> None:
    """Connect to a server that answers everything with these bytes."""

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1000)
        writer.write(answer)
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        await connect_when_possible(f"postgresql://u:p@127.0.0.1:{port}/n?sslmode={sslmode}", say)


class WaitedError(Exception):
    """Raised out of a wait, with what it waits for."""


def waited(problem: str) -> None:
    raise WaitedError(problem)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("57P03", "the database system is starting up"),
        ("57P03", "the database system is in recovery mode"),
        ("57P01", "terminating connection due to administrator command"),
        ("53300", "remaining connection slots are reserved"),
    ],
)
def test_what_passes_is_waited_for(code: str, message: str) -> None:
    with pytest.raises(WaitedError, match=message):
        run(connected_to(refusal(code, message), "disable", waited))


@pytest.mark.parametrize(
    ("answer", "sslmode"),
    [
        (refusal("28P01", "password authentication failed"), "disable"),
        (refusal("28000", "role does not exist"), "disable"),
        (refusal("3D000", "database does not exist"), "disable"),
        (refusal("08P01", "no such database"), "disable"),  # PgBouncer's
        (b"N", "require"),
        (b"S" + bytes(10), "require"),
    ],
    ids=["password", "role", "database", "pooler", "no TLS", "broken TLS"],
)
def test_what_does_not_pass_by_itself_is_an_error_at_once(answer: bytes, sslmode: str) -> None:
    with pytest.raises(DatabaseUnavailableError) as raised:
        run(connected_to(answer, sslmode, waited))
    assert not isinstance(raised.value, NotConnectedYetError)


def test_the_wait_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "START_SECONDS", 0.0)
    with pytest.raises(NotConnectedYetError):
        run(connect_when_possible(NOWHERE, lambda _: None))


def test_other_commands_do_not_wait(cluster: Cluster) -> None:
    with no_connection_left(cluster):
        said = run_command("studio", "list", DATABASE_URL=cluster.url)
    assert said.returncode == 1
    assert "too many clients" in said.stderr
