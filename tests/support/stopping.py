"""Send SIGTERM or SIGINT to a command at an observable step, and find the processes that it left running."""

import fcntl
import itertools
import signal
import subprocess
import sys
import tempfile
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from bench.service import wait_for
from tests.cli.test_commands import COMMAND, environment
from tests.support.deadlines import LONG

SIGNALS = itertools.cycle([signal.SIGTERM, signal.SIGINT])
Step = Callable[[psutil.Process, Path], bool]


def family(process: psutil.Process, folder: Path) -> list[psutil.Process]:
    """Return its descendants, and all processes that use its folder, including PostgreSQL's."""
    found = {each.pid: each for each in process.children(recursive=True)} if process.is_running() else {}
    for each in psutil.process_iter():
        try:
            if each.pid != process.pid and str(folder) in " ".join(each.cmdline()):
                found[each.pid] = each
        except psutil.Error:
            continue
    return list(found.values())


def runs(program: str) -> Step:
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
    """Return whether our signal handlers are installed: before that, a signal ends Python, and nothing is started."""
    caught = next(line for line in Path(f"/proc/{process.pid}/status").read_text().splitlines() if "SigCgt" in line)
    return bool(int(caught.split()[1], 16) & (1 << (signal.SIGTERM - 1)))


def exists(name: str) -> Step:
    return lambda _process, folder: (folder / name).exists()


def imports_libraries(process: psutil.Process, _folder: Path) -> bool:
    """Return whether one of the first libraries is loaded; many more follow."""
    return "pydantic_core" in Path(f"/proc/{process.pid}/maps").read_text()


def is_ready(_process: psutil.Process, folder: Path) -> bool:
    try:
        return "ready" in (folder / "postgres" / "postmaster.pid").read_text()
    except OSError:
        return False


STEPS = {
    "handlers": takes_signals,
    "first process": runs("studiogate.server.api_process"),
    "lock": exists("postgres.start.lock"),
    "initdb": runs("/initdb"),
    "cluster": exists("postgres/PG_VERSION"),
    "postmaster": exists("postgres/postmaster.pid"),
    "database": is_ready,
    "key": exists("demo.key"),
    "address": exists("address"),
}


@contextmanager
def place() -> Iterator[Path]:
    """Yield a new folder outside pytest's: every run of pytest makes that parent private, and under root the server
    runs as another user."""
    with tempfile.TemporaryDirectory(prefix="studiogate-stopping-") as folder:
        yield Path(folder)


class Started:
    """A command on the data folder of a place, started as from a shell. On exit all its processes are ended."""

    def __init__(self, place: Path, *arguments: str, stdout: int | None = None) -> None:
        self.folder, self._log = place / "data", place / "log"
        with self._log.open("w") as output:
            self.process = psutil.Popen(
                [*COMMAND, *arguments, "--data", str(self.folder)],
                env=environment(DRAIN_SECONDS="0"),
                stdout=output if stdout is None else stdout,
                stderr=subprocess.STDOUT if stdout is None else output,
                start_new_session=True,
                # When a script runs the tests in the background, SIGINT is ignored, and children inherit that.
                preexec_fn=_take_interrupts,
            )

    def __enter__(self) -> "Started":
        return self

    def __exit__(self, *_: object) -> None:
        left = self.left()
        for each in [*left, self.process] if self.process.is_running() else left:
            each.kill()

    @property
    def log(self) -> str:
        return self._log.read_text()

    def left(self) -> list[psutil.Process]:
        """Return the processes that it started or that use its folder."""
        return family(self.process, self.folder)

    def reach(self, step: Step) -> None:
        """Wait until it has reached this step, or has ended on its own."""
        wait_for(
            lambda: self._ended() or step(self.process, self.folder), LONG, lambda: f"it never came to it: {self.log}"
        )

    def stop(self, number: signal.Signals) -> int:
        """Send the signal; return the exit status."""
        if not self._ended():
            self.process.send_signal(number)
        status: int = self.process.wait(LONG)
        return status

    def _ended(self) -> bool:
        return self.process.poll() is not None


def _take_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def fill_level(pipe: int) -> int:
    """Return how many bytes wait in a pipe for a reader."""
    counted = bytearray(4)
    fcntl.ioctl(pipe, termios.FIONREAD, counted)
    return int.from_bytes(counted, sys.byteorder)
