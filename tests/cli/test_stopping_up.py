"""SIGTERM or Ctrl-C at every step of `up`: it ends, without an error, and leaves no process behind."""

import itertools
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.cli.test_commands import COMMAND, environment
from tests.serving import wait_for


def family(process: psutil.Process, folder: Path) -> list[psutil.Process]:
    """Its descendants, and whoever works on its folder: PostgreSQL's own processes among them."""
    found = {each.pid: each for each in process.children(recursive=True)} if process.is_running() else {}
    for each in psutil.process_iter():
        try:
            if each.pid != process.pid and str(folder) in " ".join(each.cmdline()):
                found[each.pid] = each
        except psutil.Error:
            continue
    return list(found.values())


def runs(program: str) -> Callable[[psutil.Process, Path], bool]:
    def is_running(process: psutil.Process, folder: Path) -> bool:
        for each in family(process, folder):
            try:
                if program in " ".join(each.cmdline()):
                    return True
            except psutil.Error:
                continue
        return False

    return is_running


def takes_signals(process: psutil.Process, _folder: Path) -> bool:
    """From here on they are ours: before, Python dies of them, and nothing has been started."""
    caught = next(line for line in Path(f"/proc/{process.pid}/status").read_text().splitlines() if "SigCgt" in line)
    return bool(int(caught.split()[1], 16) & (1 << (signal.SIGTERM - 1)))


def exists(name: str) -> Callable[[psutil.Process, Path], bool]:
    return lambda _process, folder: (folder / name).exists()


def is_ready(_process: psutil.Process, folder: Path) -> bool:
    try:
        return "ready" in (folder / "postgres" / "postmaster.pid").read_text()
    except OSError:
        return False


STEPS = {
    "handlers": takes_signals,
    "first process": runs("studiogate.cli.api_process"),
    "lock": exists("postgres.start.lock"),
    "initdb": runs("/initdb"),
    "cluster": exists("postgres/PG_VERSION"),
    "postmaster": exists("postgres/postmaster.pid"),
    "database": is_ready,
    "key": exists("demo.key"),
    "address": exists("address"),
}


@pytest.fixture
def place() -> Iterator[Path]:
    """Not pytest's own folder: any other run of pytest makes its parent private again, and as root the server runs as
    another user."""
    with tempfile.TemporaryDirectory(prefix="studiogate-stopping-") as folder:
        yield Path(folder)


@pytest.mark.skipif(not Path("/proc").exists(), reason="steps are observed through /proc")
@pytest.mark.parametrize(("step", "number"), zip(STEPS, itertools.cycle([signal.SIGTERM, signal.SIGINT])))
def test_no_step_leaves_anything_behind(place: Path, step: str, number: signal.Signals) -> None:
    folder, log = place / "data", place / "log"
    with log.open("w") as output:
        process = psutil.Popen(
            [*COMMAND, "up", "--port", "0", "--data", str(folder), "--workers", "2"],
            env=environment(DRAIN_SECONDS="0"),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        wait_for(lambda: STEPS[step](process, folder), 60, lambda: log.read_text())
        process.send_signal(number)
        assert process.wait(60) == 0, log.read_text()
        assert "Traceback" not in log.read_text()
        assert log.read_text().rstrip().endswith("Stopped.")
        assert family(process, folder) == []
    finally:
        for each in [*family(process, folder), process] if process.is_running() else family(process, folder):
            each.kill()
