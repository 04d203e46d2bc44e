"""The programs with which partners generate clients, those that check deploy/, and Patroni, in environments of their
own below build/.

They are installed on their first use, from requirements/generators.txt, requirements/deployment.txt,
requirements/cluster.txt and requirements/generators/package-lock.json, if the package indexes can be reached. The
product never uses them.
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

from studiogate.server.postgres.programs import SHARED_COPIES
from studiogate.server.service_account import reaches, service_account

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements" / "generators.txt"
DEPLOYMENT_LOCK = ROOT / "requirements" / "deployment.txt"
CLUSTER_LOCK = ROOT / "requirements" / "cluster.txt"
NODE_LOCK = ROOT / "requirements" / "generators" / "package-lock.json"
BUILD = ROOT / "build" / "generators"
SECONDS = 300
SYSTEM_PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin"


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
    return _python_programs("python", LOCK)


@pytest.fixture(scope="session")
def deployment_tools() -> Path:
    """Return the folder of the programs that check what is deployed."""
    return _python_programs("deployment", DEPLOYMENT_LOCK)


@pytest.fixture(scope="session")
def patroni() -> Path:
    """Return Patroni. As PostgreSQL refuses to run as root, Patroni does not either: it is where the account that both
    run as can read it, with a Python that this account can run."""
    missing = [name for name in ("etcd", "haproxy") if shutil.which(name, path=SYSTEM_PATH) is None]
    if missing:
        pytest.skip(
            f"not installed: {', '.join(missing)} (`make ha` installs Debian's etcd-server and haproxy as root)"
        )
    account = service_account(BUILD)
    interpreter = Path(sys.base_prefix) / "bin" / "python3"
    if reaches(account, interpreter.resolve()) and reaches(account, BUILD / "cluster"):
        return _python_programs("cluster", CLUSTER_LOCK) / "patroni"
    SHARED_COPIES.mkdir(mode=0o755, parents=True, exist_ok=True)
    return _python_programs("cluster", CLUSTER_LOCK, SHARED_COPIES, "/usr/bin/python3") / "patroni"


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


def _python_programs(kind: str, lock: Path, base: Path = BUILD, python: str = sys.executable) -> Path:
    def install(folder: Path) -> None:
        subprocess.run([python, "-m", "venv", "--without-pip", str(folder)], check=True, capture_output=True)
        into = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", "--quiet"]
        subprocess.run([*into, "--require-hashes", "-r", str(lock)], check=True, capture_output=True, timeout=SECONDS)

    return _installed(kind, lock, install, base) / "bin"


def _installed(kind: str, lock: Path, install: Callable[[Path], None], base: Path = BUILD) -> Path:
    """Return the folder with what a lock file names. Of concurrent test processes, one installs it."""
    folder = base / f"{kind}-{hashlib.sha256(lock.read_bytes()).hexdigest()[:12]}"
    base.mkdir(parents=True, exist_ok=True)
    with (base / f"{kind}.lock").open("w") as only_one:
        fcntl.flock(only_one, fcntl.LOCK_EX)
        complete = folder / "complete"
        if not complete.exists():
            shutil.rmtree(folder, ignore_errors=True)
            try:
                install(folder)
            except (subprocess.SubprocessError, OSError) as error:
                said = getattr(error, "stderr", b"") or b""
                lines = said.decode(errors="replace").strip().splitlines() or [str(error)]
                pytest.skip(f"what {lock.name} names cannot be installed: {lines[-1]}")
            complete.touch()
    return folder
