"""The earlier releases: where their source is, the last migration of each, and how to run one beside this one."""

import io
import subprocess
import sys
import tarfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
CACHE = ROOT / "build" / "releases"


class Release(NamedTuple):
    version: str
    commit: str  # empty: this checkout
    last_migration: str
    drains: bool = True  # /readyz answers 503 for a while before the listener closes

    @property
    def program(self) -> tuple[list[str], dict[str, str]]:
        """Return the command and the variables that run this release."""
        if not self.commit:
            return [sys.executable, "-m", "studiogate"], {}
        tree = CACHE / self.version
        if not (tree / "requirements").exists():
            _export(self.commit, tree)
        return [_python(tree), "-m", "studiogate"], {"PYTHONPATH": str(tree / "src")}


RELEASES = (Release("0.1.0", "0468eb57200b96078c682c2ff6568ca111385238", "0022", drains=False),)
THIS = Release("this one", "", "")


def _export(commit: str, tree: Path) -> None:
    archive = subprocess.run(["git", "archive", commit, "src", "requirements"], cwd=ROOT, capture_output=True)
    if archive.returncode:
        pytest.skip(f"this clone has no commit {commit}: git fetch --unshallow ({archive.stderr.decode().strip()})")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(tree, filter="data")


def _python(tree: Path) -> str:
    """Return a Python with the locked dependencies of a release: this one if it has them, else one of its own."""
    requirements = tree / "requirements" / "runtime.txt"
    pinned = (line.split(" ")[0].split("==") for line in requirements.read_text().splitlines() if "==" in line)
    if all(_installed(name) in (None, wanted) for name, wanted in pinned):
        return sys.executable
    own = tree / "venv"
    if not (own / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", own], check=True)
        subprocess.run([own / "bin" / "pip", "install", "--quiet", "--require-hashes", "-r", requirements], check=True)
        (own / "complete").touch()
    return str(own / "bin" / "python")


def _installed(name: str) -> str | None:
    """Return the version of a package, or None: some are for other systems only."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None
