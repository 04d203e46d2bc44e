"""The real service for tests: a supervisor in its own process, with API processes on a shared socket.

Tests use `Service`. Run as a program, this file does what `studiogate serve` does, on a socket that the test opened,
and with a different program in place of the API process when a test needs a mutant.
"""

import http.client
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import psutil

from studiogate import settings as configuration
from studiogate import telemetry
from studiogate.cli import serve
from studiogate.server import supervisor

ROOT = Path(__file__).parent.parent
API_MODULE = "studiogate.server.api_process"
WORKER_MODULE = "studiogate.server.worker_process"
READY_SECONDS = 200.0  # on a slow and busy machine; a process that exits is noticed at once
EXIT_SECONDS = 200.0


class Service:
    """One supervisor with its processes. It ends on ``stop``, and when the test process dies."""

    def __init__(
        self,
        database_url: str | None = None,
        *,
        data_dir: Path | None = None,
        workers: int = 2,
        pool_size: int = 5,
        sweep: bool = False,
        api_module: str = API_MODULE,
        worker_module: str = WORKER_MODULE,
        environment: Mapping[str, str] | None = None,
        wait: bool = True,
        root: Path = ROOT,
    ) -> None:
        """Without a database URL, run on the embedded PostgreSQL of ``data_dir`` and keep it running. ``root`` is the
        checkout to run."""
        self.workers = workers
        self._folder = tempfile.TemporaryDirectory(prefix="studiogate-service-")
        self.log = Path(self._folder.name) / "log"
        listening = supervisor.listen("127.0.0.1", 0)
        self.port: int = listening.getsockname()[1]
        self._inode = os.fstat(listening.fileno()).st_ino
        own = {
            "PYTHONPATH": os.pathsep.join([str(root), str(root / "src")]),
            "STUDIOGATE_DATABASE_URL": database_url or "",
            "STUDIOGATE_DATA_DIR": str(data_dir or self._folder.name),
            "STUDIOGATE_WORKERS": str(workers),
            "STUDIOGATE_POOL_SIZE": str(pool_size),
            "STUDIOGATE_RATE_LIMIT": "off",
            "STUDIOGATE_LOG_FORMAT": "json",
            "STUDIOGATE_DRAIN_SECONDS": "0",  # no proxy is in front
        }
        with listening, self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "bench.service",
                    str(listening.fileno()),
                    api_module,
                    worker_module if sweep else "",
                ],
                env={**os.environ, **own, **(environment or {})},
                cwd=root,
                pass_fds=(listening.fileno(),),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            if wait:
                self.wait_until_ready()
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> "Service":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def api_pids(self) -> list[int]:
        """Return the pids of the running API processes, oldest first."""
        return [each.pid for each in psutil.Process(self.process.pid).children() if _is_api(each)]

    def worker_pid(self) -> int:
        """Return the pid of the worker process (deliveries and housekeeping), if there is one."""
        children = psutil.Process(self.process.pid).children()
        return next(each.pid for each in children if not _is_api(each) and "--lifeline" in each.cmdline())

    def wait_until_ready(self) -> None:
        """Wait until every API process listens and one of them responds. The checks are few and cheap: they take time
        from the processes that start."""
        wait_for(lambda: self._all_listen() and self.answers(), READY_SECONDS, self._explain, pause=0.1)

    def answers(self, path: str = "/readyz", service_key: str = "") -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", path, headers={"X-Service-Key": service_key})
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def refuses(self) -> bool:
        """Return whether no process listens any more."""
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
        except ConnectionRefusedError:
            return True
        except ConnectionResetError:  # the last socket was closed while we were in the kernel's accept queue
            pass
        return False

    def terminate(self) -> None:
        """Ask it to drain; ``stop`` waits for the end."""
        self.process.send_signal(signal.SIGTERM)

    def stop(self) -> int:
        """Drain, wait for the end, and return the exit status."""
        if self.process.poll() is None:
            self.terminate()
        try:
            return self.process.wait(EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"the service did not stop.\n{self.log_tail()}") from None
        finally:
            if self.process.stdin is not None:
                self.process.stdin.close()

    def log_tail(self, lines: int = 40) -> str:
        """Return the last log lines that are not access log lines of single requests."""
        kept = [line for line in self.log.read_text(errors="replace").splitlines() if '"event":"request"' not in line]
        return "\n".join(kept[-lines:])

    def _all_listen(self) -> bool:
        if self.process.poll() is not None:
            raise AssertionError(self._explain())
        pids = self.api_pids()
        return len(pids) == self.workers and all(accepts(pid, self._inode) for pid in pids)

    def _explain(self) -> str:
        return f"the service did not come up (status {self.process.poll()}).\n{self.log_tail()}"


def wait_for(
    condition: Callable[[], bool], seconds: float, explain: Callable[[], str] | str, *, pause: float = 0.02
) -> None:
    """Poll until the condition holds; fail with the explanation if it does not hold in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(explain if isinstance(explain, str) else explain())
        time.sleep(pause)


def _is_api(process: psutil.Process) -> bool:
    try:
        return "--socket" in process.cmdline()
    except psutil.Error:
        return False


def accepts(pid: int, inode: int) -> bool:
    """Return whether the process polls a socket, given by its inode: it inherits the socket long before that."""
    return _is_watched(pid, f" ino:{inode:x} ")


def is_polled(pid: int, descriptor: int) -> bool:
    return _is_watched(pid, f"tfd:{descriptor:>9} ")


def _is_watched(pid: int, entry: str) -> bool:
    """Return whether this is an entry of one of the process's epoll sets, through which uvloop polls."""
    folder = Path(f"/proc/{pid}/fdinfo")
    if not Path("/proc").exists():  # not Linux: unknown; at worst the first request waits longer
        return True
    try:
        return any(entry in info.read_text() for info in folder.iterdir())
    except OSError:  # the descriptor or the process has gone in the meantime
        return False


def main() -> None:
    descriptor, api_module, worker_module = sys.argv[1:]
    settings = configuration.load()
    telemetry.configure_logging(settings.log_format)
    telemetry.take_over_failures()
    # Tests kill processes by the dozen. The restart back-off is right in production, but here it only wastes time.
    supervisor.MAX_PAUSE = 0.2
    listening = socket.socket(fileno=int(descriptor))
    with listening, serve.database_for(settings, lambda _, keep_alive: keep_alive) as (dsn, keep_alive):
        family = supervisor.Supervisor(settings, dsn, keep_alive)
        family.add_api(listening, settings.workers)
        modules = [api_module] * settings.workers
        if worker_module:
            family.add_worker()
            modules.append(worker_module)
        for child, module in zip(family._children, modules, strict=True):
            child.command = [*supervisor.QUICKLY, module, *child.command[len(supervisor.QUICKLY) + 1 :]]
        threading.Thread(target=_stop_with_the_test, args=(family,), daemon=True).start()
        family.run()


def _stop_with_the_test(family: supervisor.Supervisor) -> None:
    """Stop when standard input ends: the test holds its other end, which also closes when the test is killed (-9)."""
    os.read(0, 1)
    family.stop()


if __name__ == "__main__":
    main()
