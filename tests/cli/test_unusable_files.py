"""Files and streams that a command cannot use: one line that says which, and what to do."""

import subprocess
from pathlib import Path
from uuid import uuid4

import pytest

from tests.cli import test_outputs
from tests.cli.test_commands import COMMAND, environment, run
from tests.cli.test_studio_file import CommandLine
from tests.support.deadlines import LONG

command_line = test_outputs.command_line


def ended(url: str, closed: str, *words: str) -> tuple[int, str, str]:
    """Run a command with a closed stream, as a shell closes it; return its status and what it said."""
    shell = ["sh", "-c", f'exec "$@" {closed}', "sh"]
    done = subprocess.run(
        [*shell, *COMMAND, *words],
        env=environment(DATABASE_URL=url),
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "words", [("import", "-"), ("import-csv", "members", "-", "--studio", "north", "-o", "verdicts.csv")]
)
def test_an_input_that_is_closed_is_called_that(database_url: str, words: tuple[str, ...]) -> None:
    said = "error: Standard input is closed: name a file instead of -, or pipe it in.\n"
    assert ended(database_url, "<&-", *words) == (1, "", said)


def test_nobody_is_asked_on_an_input_that_is_closed(database_url: str) -> None:
    said = "error: Standard input is closed, so nobody can be asked: confirm with --yes. Nothing was erased.\n"
    assert ended(database_url, "<&-", "member", "erase", str(uuid4())) == (1, "", said)


@pytest.mark.usefixtures("command_line")
def test_an_output_that_is_closed_is_called_that(database_url: str) -> None:
    said = "error: The output cannot be written: it is closed.\n"
    assert ended(database_url, ">&-", "export", "--studio", "north") == (1, "", said)


def test_an_archive_that_cannot_be_written_is_named(database_url: str, tmp_path: Path) -> None:
    target = tmp_path / ("x" * 300)
    said = run("member", "export", str(uuid4()), "-o", str(target), DATABASE_URL=database_url)
    expected = f"error: {target} cannot be written: File name too long. Choose another file with -o FILE.\n"
    assert (said.returncode, said.stderr) == (1, expected)


@pytest.fixture
def unreadable(tmp_path: Path) -> Path:
    """A data folder whose key file not even root can read."""
    (tmp_path / "data" / "secrets.key").mkdir(parents=True)
    return tmp_path / "data"


def test_a_key_file_that_cannot_be_read_is_no_lost_database(database_url: str, unreadable: Path) -> None:
    said = run("secrets", "rotate", "--data", str(unreadable), DATABASE_URL=database_url)
    expected = f"error: {unreadable / 'secrets.key'} cannot be read or written: Is a directory.\n"
    assert (said.returncode, said.stderr) == (1, expected)


def test_a_backup_names_the_file_that_it_cannot_read(database_url: str, unreadable: Path, tmp_path: Path) -> None:
    file = tmp_path / "b.backup"
    said = run("backup", "-o", str(file), "--data", str(unreadable), DATABASE_URL=database_url)
    expected = (
        f"error: {unreadable / 'secrets.key'} cannot be read: Is a directory. Run the command as the user that owns "
        "the data folder, or as root.\n"
    )
    assert (said.returncode, said.stderr) == (1, expected)
    assert not file.exists()


def test_a_file_that_fails_while_the_database_is_in_use_is_named(command_line: CommandLine) -> None:
    """The file of a submission, which an export copies while it reads the rows."""
    (stored,) = (path for path in (command_line.folder / "data" / "uploads").rglob("*") if path.is_file())
    stored.unlink()
    stored.mkdir()
    status, _, complaint = command_line.run("export", "--studio", "north", "-o", "out.json", "--data", "data")
    expected = f"error: {stored.relative_to(command_line.folder)} cannot be used: Is a directory.\n"
    assert (status, complaint) == (1, expected)
    assert not (command_line.folder / "out.json").exists()
