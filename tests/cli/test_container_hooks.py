"""The hooks of the all-in-one image, which run before a volume is copied and after it is restored."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_commands import Service, environment, run
from tests.support.deadlines import LONG

HOOKS = Path(__file__).parents[2] / "deploy/all-in-one/hooks"


def hook(name: str, data: Path) -> "subprocess.CompletedProcess[str]":
    clean = environment(DATA_DIR=str(data))
    path = f"{Path(sys.executable).parent}:{clean['PATH']}"
    done = [str(HOOKS / name)]
    return subprocess.run(done, env={**clean, "PATH": path}, capture_output=True, text=True, check=False, timeout=LONG)


@pytest.fixture(scope="module")
def volume(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A volume as the host copies it: after pre-backup, while the service runs, and then more was written."""
    folder = tmp_path_factory.mktemp("volume")
    service = Service(folder / "data")
    try:
        for _ in range(2):  # the second one replaces the first
            saved = hook("pre-backup", folder / "data")
            assert saved.returncode == 0, saved.stderr
        run("studio", "change", "--studio", "demo", "--name", "After the backup", DATA_DIR=str(folder / "data"))
    finally:
        service.stop()
    return folder


def names(volume: Path) -> str:
    return run("studio", "list", "--json", DATA_DIR=str(volume / "data")).stdout


def test_a_restored_volume_is_that_of_the_backup(volume: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(volume, tmp_path / "copy", symlinks=True)
    restored = hook("post-restore", copy / "data")
    assert restored.returncode == 0, restored.stderr
    assert "After the backup" in names(volume)
    assert "After the backup" not in names(copy)
    assert "demo" in names(copy)
    assert sorted(path.name for path in copy.iterdir()) == ["data", "data.log", "studiogate.backup"]


@pytest.mark.parametrize("damage", ["missing", "cut short"])
def test_without_a_whole_backup_nothing_is_lost(volume: Path, tmp_path: Path, damage: str) -> None:
    copy = shutil.copytree(volume, tmp_path / "copy", symlinks=True)
    backup = copy / "studiogate.backup"
    if damage == "missing":
        backup.unlink()
    else:
        backup.write_bytes(backup.read_bytes()[:-1000])
    refused = hook("post-restore", copy / "data")
    assert refused.returncode == 1
    assert "studiogate.backup" in refused.stderr
    assert "After the backup" in names(copy)
