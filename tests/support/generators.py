"""The programs with which partners generate clients, in environments of their own below build/.

They are installed on their first use, from requirements/generators.txt and requirements/generators/package-lock.json,
if the package indexes can be reached. The product never uses them.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements" / "generators.txt"
NODE_LOCK = ROOT / "requirements" / "generators" / "package-lock.json"
BUILD = ROOT / "build" / "generators"
SECONDS = 300


def run(*command: str | Path, folder: Path) -> str:
    """Run a program and return what it prints; fail the test if it fails."""
    here = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": f"{here}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1", "CI": "1"}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="session")
def python_generators() -> Path:
    """Return the folder of the programs that generate Python."""

    def install(folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, capture_output=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--require-hashes", "-r", str(LOCK)]
        subprocess.run(pip, check=True, capture_output=True, timeout=SECONDS)

    return _installed("python", LOCK, install) / "bin"


@pytest.fixture(scope="session")
def node_generators() -> Path:
    """Return the folder of the programs that generate and compile TypeScript."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("Node and npm are not installed")

    def install(folder: Path) -> None:
        folder.mkdir(parents=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(NODE_LOCK.parent / name, folder)
        command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=SECONDS)

    return _installed("node", NODE_LOCK, install) / "node_modules" / ".bin"


def _installed(kind: str, lock: Path, install: Callable[[Path], None]) -> Path:
    """Return the folder with what a lock file names. Of concurrent test processes, one installs it."""
    folder = BUILD / f"{kind}-{hashlib.sha256(lock.read_bytes()).hexdigest()[:12]}"
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / f"{kind}.lock").open("w") as only_one:
        fcntl.flock(only_one, fcntl.LOCK_EX)
        complete = folder / "complete"
        if not complete.exists():
            shutil.rmtree(folder, ignore_errors=True)
            try:
                install(folder)
            except (subprocess.SubprocessError, OSError) as error:
                said = getattr(error, "stderr", b"") or b""
                lines = said.decode(errors="replace").strip().splitlines() or [str(error)]
                pytest.skip(f"the generators of {lock.name} cannot be installed: {lines[-1]}")
            complete.touch()
    return folder
