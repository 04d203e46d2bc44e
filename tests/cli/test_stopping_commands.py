"""SIGTERM or Ctrl-C at any command that starts the embedded PostgreSQL: it ends, and leaves no process behind."""

import asyncio
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from studiogate import cli, server
from studiogate.server.postgres.embedded import running_postgres
from studiogate.storage.db.pool import connect
from tests.cli.test_commands import run
from tests.support.stopping import SIGNALS, STEPS, Started, fill_level, place

pytestmark = pytest.mark.skipif(not Path("/proc").exists(), reason="steps are observed through /proc")
PIPE_BYTES = 65_536
CREATING = [
    ("lock", ["migrate"]),
    ("initdb", ["migrate", "--dry-run"]),
    ("cluster", ["migrate"]),
    ("database", ["migrate"]),
    ("initdb", ["worker"]),
    ("postmaster", ["serve", "--port", "0"]),
]
STARTING = [
    ("postmaster", ["key", "list"]),
    ("postmaster", ["import", os.devnull]),
    ("database", ["doctor"]),
    ("database", ["demo"]),
]
NEW_KEY = ["key", "create", "--studio", "demo", "--name", "Interrupted", "--all-scopes"]


@pytest.fixture(scope="module")
def demo() -> Iterator[Path]:
    """Yield a place whose data folder contains the demo studio."""
    with place() as folder:
        data = ["--data", str(folder / "data")]
        assert run("migrate", *data).returncode == 0
        assert run("demo", *data).returncode == 0
        yield folder


@pytest.mark.parametrize(("started", "number"), list(zip(CREATING, SIGNALS, strict=False)))
def test_while_a_database_is_created(started: tuple[str, list[str]], number: signal.Signals) -> None:
    with place() as folder:
        stop_at(folder, started, number)


@pytest.mark.parametrize(("started", "number"), list(zip(STARTING, SIGNALS, strict=False)))
def test_while_the_database_starts(demo: Path, started: tuple[str, list[str]], number: signal.Signals) -> None:
    stop_at(demo, started, number)


def stop_at(folder: Path, started: tuple[str, list[str]], number: signal.Signals) -> None:
    """Stop a command at a step. Each of them also ends soon on its own, with status 0 or 1."""
    step, arguments = started
    with Started(folder, *arguments) as command:
        command.reach(STEPS[step])
        assert command.stop(number) in (128 + number, 0, 1), command.log
        assert "Traceback" not in command.log
        assert command.left() == []


def test_while_nobody_reads_what_it_writes(demo: Path) -> None:
    """A blocked write does not prevent an export from ending."""
    reading, writing = os.pipe()
    with Started(demo, "export", "--studio", "demo", stdout=writing) as command:
        os.close(writing)
        command.reach(lambda _process, _folder: fill_level(reading) > PIPE_BYTES - 8_192)
        assert command.stop(signal.SIGTERM) == 128 + signal.SIGTERM, command.log
        assert command.log.startswith("Stopped by SIGTERM.")
        assert command.left() == []
    os.close(reading)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_following_events_ends_without_an_error(demo: Path, number: signal.Signals) -> None:
    with Started(demo, "events", "tail", "--studio", "demo") as command:
        command.reach(lambda _process, _folder: "Following" in command.log)
        assert command.stop(number) == 0, command.log
        assert "Traceback" not in command.log
        assert command.left() == []


def test_while_a_statement_waits(demo: Path) -> None:
    """The statement is cancelled in the server, and what the command did is rolled back."""
    with running_postgres(demo / "data") as postgres, asyncio.Runner() as loop:
        connection = loop.run(connect(postgres.dsn()))

        def waiting() -> int:
            return int(loop.run(connection.fetchval("select count(*) from pg_locks where not granted")))

        loop.run(connection.execute("begin; lock table credential_secrets"))
        with Started(demo, *NEW_KEY) as command:
            command.reach(lambda _process, _folder: waiting() == 1)
            assert command.stop(signal.SIGINT) == 128 + signal.SIGINT, command.log
            assert waiting() == 0
        loop.run(connection.execute("rollback"))
        assert loop.run(connection.fetchval("select count(*) from credentials where name = 'Interrupted'")) == 0
        loop.run(connection.close())


def test_there_is_one_way_to_start_a_database() -> None:
    """Ensures that no command forgets to handle signals. The service's processes have their own way to end."""
    ways = re.compile(r"\basyncio\.run\(|\basyncio\.Runner\(|\brunning_postgres\(|\bEmbeddedPostgres\(")
    files = [file for package in (cli, server) for file in Path(next(iter(package.__path__))).rglob("*.py")]
    found = {file.name: sorted(ways.findall(file.read_text())) for file in files}
    assert {name: each for name, each in found.items() if each} == {
        "stop_signals.py": ["asyncio.run("],
        "context.py": ["running_postgres("],
        "backup.py": ["asyncio.run("],  # removes the database of a trial, also after a signal
        "embedded.py": ["EmbeddedPostgres(", "running_postgres("],
        "serve.py": ["EmbeddedPostgres("],
        "api_process.py": ["asyncio.Runner("],
        "worker_process.py": ["asyncio.Runner("],
    }
