"""studiogate backup | restore, as an operator uses them."""

from collections.abc import Callable
from pathlib import Path

import asyncpg
import pytest

from tests.cli.test_commands import run
from tests.support.databases import run as run_async

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
