"""studiogate backup | restore, as an operator uses them."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from bench.service import wait_for
from studiogate.server.postgres.programs import installation
from tests.cli.test_commands import environment, run
from tests.support import clusters
from tests.support.databases import run as run_async
from tests.support.deadlines import LONG

KEY, OTHER = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\n", "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVowMTIzNDU=\n"


def folder_with(folder: Path, **keys: str) -> Path:
    folder.mkdir()
    for name, text in keys.items():
        (folder / f"{name}.key").write_text(text)
    return folder


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def count_of_tables(url: str) -> int:
    async def count() -> int:
        connection = await asyncpg.connect(url)
        try:
            found: int = await connection.fetchval("select count(*) from pg_tables where schemaname = 'public'")
            return found
        finally:
            await connection.close()

    counted: int = run_async(count())
    return counted


@pytest.fixture
def file(database_url: str, tmp_path: Path) -> str:
    """The backup of an installation with both key files."""
    data, path = folder_with(tmp_path / "one", secrets=KEY, demo="sgk_test_x\n"), str(tmp_path / "one.backup")
    assert run("backup", "-o", path, "--data", str(data), DATABASE_URL=database_url).returncode == 0
    return path


@pytest.mark.parametrize(("name", "text"), [("secrets", OTHER), ("secrets", KEY + OTHER), ("demo", "sgk_test_y\n")])
def test_a_restore_leaves_the_keys_of_another_installation(
    file: str, new_empty_database: Callable[[], str], tmp_path: Path, name: str, text: str
) -> None:
    data, url = folder_with(tmp_path / "two", **{name: text}), new_empty_database()
    said = run("restore", file, "--data", str(data), DATABASE_URL=url)
    path = data / f"{name}.key"
    assert (said.returncode, said.stderr) == (
        1,
        f"error: {path} is not the backup's, and what it seals could not be opened without it. Nothing was loaded: "
        f"name another --data folder, or move {path} away.\n",
    )
    assert [each.relative_to(data).name for each in data.rglob("*")] == [path.name]
    assert (path.read_text(), count_of_tables(url)) == (text, 0)


def test_a_restore_accepts_the_keys_of_the_backup(
    file: str, new_empty_database: Callable[[], str], tmp_path: Path
) -> None:
    data = folder_with(tmp_path / "two", secrets=KEY)
    assert run("restore", file, "--data", str(data), DATABASE_URL=new_empty_database()).returncode == 0
    assert contents(data) == {"secrets.key": KEY, "demo.key": "sgk_test_x\n"}


def test_a_restore_leaves_the_key_file_where_the_key_is_a_setting(
    file: str, new_empty_database: Callable[[], str], tmp_path: Path
) -> None:
    data, url = folder_with(tmp_path / "two", secrets=OTHER), new_empty_database()
    assert run("restore", file, "--data", str(data), DATABASE_URL=url, SECRET_KEY=KEY.strip()).returncode == 0
    assert contents(data) == {"secrets.key": OTHER, "demo.key": "sgk_test_x\n"}


def test_a_bucket_that_is_away_is_said(
    new_database: Callable[[], str], new_empty_database: Callable[[], str], tmp_path: Path
) -> None:
    """By every command; a restore leaves nothing."""
    url, away = new_database(), "s3://key:cret@files?endpoint=http://127.0.0.1:1&region=x"
    assert run("demo", "--data", str(tmp_path / "one"), DATABASE_URL=url).returncode == 0
    file, empty, two = str(tmp_path / "one.backup"), new_empty_database(), tmp_path / "two"
    assert run("backup", "-o", file, "--data", str(tmp_path / "one"), DATABASE_URL=url).returncode == 0
    for words, database in (
        (("backup", "-o", str(tmp_path / "new")), url),
        (("restore", file, "--data", str(two)), empty),
    ):
        said = run(*words, DATABASE_URL=database, UPLOADS_URL=away)
        assert (said.returncode, "Traceback" in said.stderr, "cret" in said.stderr) == (1, False, False)
        assert "Check STUDIOGATE_UPLOADS_URL, its key and its rights." in said.stderr
    assert (count_of_tables(empty), (tmp_path / "new").exists()) == (0, False)
    assert [path for path in two.rglob("*") if path.is_file()] == []


def changed(path: Path, place: int) -> Path:
    """Write a copy of a backup with one other byte."""
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    copy = path.with_suffix(".changed")
    copy.write_bytes(content)
    return copy


def test_a_changed_backup_is_called_that_and_leaves_nothing(file: str, tmp_path: Path) -> None:
    """The database that was created to restore it is gone again."""
    size = Path(file).stat().st_size
    for place in (size // 2, size - 40):
        said = run("restore", str(changed(Path(file), place)), "--data", str(tmp_path / "new"))
        assert said.returncode == 1
        assert said.stderr.startswith(f"error: {tmp_path}/one.changed cannot be restored: it was changed ")
        assert said.stderr.endswith(" Nothing was loaded.\n")
        assert not (tmp_path / "new").exists()


def test_a_failed_restore_leaves_what_was_in_the_folder(file: str, tmp_path: Path) -> None:
    data = folder_with(tmp_path / "two", secrets=OTHER)
    assert run("restore", file, "--data", str(data)).returncode == 1
    assert [path.name for path in data.rglob("*")] == ["secrets.key"]


async def fetched(url: str, statement: str) -> list[tuple[Any, ...]]:
    connection = await asyncpg.connect(url)
    try:
        return [tuple(row) for row in await connection.fetch(statement)]
    finally:
        await connection.close()


PROVEN = "select taken_at, proven_at from proven_backup"
SCRATCH = "select datname from pg_database where datname like 'studiogate\\_verify\\_%'"


def verified(data: Path, url: str) -> "subprocess.CompletedProcess[str]":
    file = str(data.parent / "proven.backup")
    return run("backup", "--verify", "--json", "-o", file, "--data", str(data), DATABASE_URL=url)


def test_a_backup_that_restores_is_recorded_as_proven(database_url: str, tmp_path: Path) -> None:
    data = folder_with(tmp_path / "one", secrets=KEY)
    assert "none has been proven yet" in run("doctor", "--data", str(data), DATABASE_URL=database_url).stdout
    done = verified(data, database_url)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["proven"], said["faults"]) == (True, [])
    ((taken_at, proven_at),) = run_async(fetched(database_url, PROVEN))
    assert taken_at == datetime.fromisoformat(said["created_at"])
    assert proven_at > taken_at
    findings = run("doctor", "--data", str(data), DATABASE_URL=database_url).stdout
    assert f"the newest that is proven to restore was taken on {taken_at:%Y-%m-%d at %H:%M} UTC" in findings
    assert run_async(fetched(database_url, SCRATCH)) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "proven.backup"]


@pytest.mark.parametrize("ended_by", [signal.SIGTERM, signal.SIGKILL])
def test_what_an_interrupted_verification_leaves_is_removed(
    database_url: str, tmp_path: Path, ended_by: signal.Signals
) -> None:
    """At once if it may clean up, else by the next one."""
    data, folder = folder_with(tmp_path / "one", secrets=KEY), tmp_path / ".studiogate-verify"
    words = ["backup", "--verify", "-o", str(tmp_path / "proven.backup"), "--data", str(data)]
    with subprocess.Popen(
        [sys.executable, "-m", "studiogate", *words], env=environment(DATABASE_URL=database_url), stderr=subprocess.PIPE
    ) as process:
        wait_for(lambda: run_async(fetched(database_url, SCRATCH)) != [], LONG, "no scratch database is created")
        process.send_signal(signal.SIGSTOP)
        busy = run(
            "backup", "--verify", "-o", str(tmp_path / "other.backup"), "--data", str(data), DATABASE_URL=database_url
        )
        process.send_signal(ended_by)
        process.send_signal(signal.SIGCONT)
    assert (busy.returncode, process.returncode != 0) == (1, True)
    assert f"Another backup is being verified in {folder}." in busy.stderr
    if ended_by == signal.SIGTERM:
        assert (run_async(fetched(database_url, SCRATCH)), folder.exists()) == ([], False)
    assert verified(data, database_url).returncode == 0
    assert (run_async(fetched(database_url, SCRATCH)), folder.exists()) == ([], False)


def test_a_restored_backup_with_a_fault_is_not_proven(database_url: str, tmp_path: Path) -> None:
    """Here its secrets are sealed by another key than the one in the backup."""
    data = folder_with(tmp_path / "one", secrets=KEY)
    sealed = "insert into deployment (key_fingerprint, seals_links) values (decode(repeat('00', 16), 'hex'), true)"
    run_async(fetched(database_url, sealed))
    done = verified(data, database_url)
    assert done.returncode == 1
    said = json.loads(done.stdout)
    assert said["proven"] is False
    (fault,) = said["faults"]
    assert fault.startswith("secret key: ")
    assert run_async(fetched(database_url, PROVEN)) == []
    assert run_async(fetched(database_url, SCRATCH)) == []
    assert Path(said["file"]).stat().st_size > 0, "the file stays: it is the newest there is"


def test_an_older_backup_does_not_replace_a_newer_proof(database_url: str, tmp_path: Path) -> None:
    data = folder_with(tmp_path / "one", secrets=KEY)
    run_async(fetched(database_url, "insert into proven_backup values (true, '2100-01-01', '2100-01-01')"))
    assert verified(data, database_url).returncode == 0
    ((taken_at, _),) = run_async(fetched(database_url, PROVEN))
    assert taken_at.year == 2100


def test_a_role_that_may_create_no_database_is_refused(tmp_path: Path) -> None:
    data = folder_with(tmp_path / "one", secrets=KEY)
    with clusters.server_of(installation() / "bin", ()) as url:
        assert run("migrate", "--data", str(data), DATABASE_URL=url).returncode == 0
        done = verified(data, url)
    assert done.returncode == 1
    assert "run `alter role … createdb` on the server. The backup itself is complete." in done.stderr
    assert (tmp_path / "proven.backup").exists()


def test_a_backup_of_an_embedded_database_is_restored_beside_it(tmp_path: Path) -> None:
    data = folder_with(tmp_path / "one", secrets=KEY)
    assert run("migrate", "--data", str(data)).returncode == 0
    done = run("backup", "--verify", "-o", str(tmp_path / "proven.backup"), "--data", str(data))
    assert done.returncode == 0, done.stderr
    assert "It was restored on trial, and the checks of `doctor` found no fault." in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "proven.backup"]
