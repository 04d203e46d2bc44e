"""Outputs that cannot be written: a pipe whose reader has gone, a full disk or device."""

import os
import resource
import subprocess
from pathlib import Path

import pytest

from tests.cli.test_commands import COMMAND, environment
from tests.cli.test_studio_file import CommandLine
from tests.support.studio_files import small_studio, uid, with_history

FULL = Path("/dev/full")
LIMIT = 1_024
COMMANDS = (
    ("export", "--studio", "north"),
    ("audit", "export", "--studio", "north"),
    ("class", "list", "--studio", "north"),
    ("class", "list", "--studio", "north", "--json"),
)


@pytest.fixture
def command_line(database_url: str, tmp_path: Path) -> CommandLine:
    """A command line on a database with a studio, which has a file and an entry in its audit log."""
    prepared = CommandLine(database_url, tmp_path)
    (tmp_path / "studio.files").mkdir()
    (tmp_path / "studio.files" / uid("north", "file")).write_bytes(b"hello")
    assert prepared.run("import", prepared.file(with_history(small_studio())), "--data", "data")[0] == 0
    assert prepared.run("key", "create", "--studio", "north", "--name", "n", "--all-scopes")[0] == 0
    return prepared


def ended(url: str, words: tuple[str, ...], output: int) -> tuple[int, str]:
    """Run a command with this output; return its status and what it said."""
    environ = environment(DATABASE_URL=url)
    done = subprocess.run(
        [*COMMAND, *words], env=environ, stdout=output, stderr=subprocess.PIPE, text=True, check=False
    )
    return done.returncode, done.stderr


@pytest.mark.usefixtures("command_line")
def test_a_reader_that_has_seen_enough_is_no_error(database_url: str) -> None:
    for words in COMMANDS:
        reading, output = os.pipe()
        os.close(reading)
        assert ended(database_url, words, output) == (1, ""), words
        os.close(output)


@pytest.mark.skipif(not FULL.is_char_device(), reason="the system has no device that is always full")
@pytest.mark.usefixtures("command_line")
def test_a_full_device_is_called_that(database_url: str) -> None:
    for words in COMMANDS:
        with FULL.open("wb") as output:
            said = ended(database_url, words, output.fileno())
        assert said == (1, "error: The output cannot be written: No space left on device.\n"), words


def _limit_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))


@pytest.mark.parametrize("words", [("export", "-o", "out.json"), ("audit", "export", "-o", "out.json")])
def test_a_file_that_becomes_too_large_is_named_and_removed(
    command_line: CommandLine, database_url: str, words: tuple[str, ...]
) -> None:
    before, environ = sorted(command_line.folder.iterdir()), environment(DATABASE_URL=database_url)
    command = [*COMMAND, *words, "--studio", "north"]
    done = subprocess.run(
        command, env=environ, cwd=command_line.folder, preexec_fn=_limit_files, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (1, "error: out.json cannot be written: File too large.\n")
    assert sorted(command_line.folder.iterdir()) == before


def test_a_submission_file_that_cannot_be_copied_is_named(command_line: CommandLine) -> None:
    (command_line.folder / "out.files").write_text("in the way")
    status, _, complaint = command_line.run("export", "--studio", "north", "-o", "out.json", "--data", "data")
    assert (status, complaint) == (1, "error: out.files cannot be written: File exists.\n")
    assert not (command_line.folder / "out.json").exists()
