"""Start the processes of a service, restart them when they die, and stop them together."""

import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from studiogate import telemetry
from studiogate.server.service_account import change_owner, prepared_account, reaches
from studiogate.server.stop_signals import StopSignals
from studiogate.settings import Settings
from studiogate.web.limits import Buckets

DRAIN_SECONDS = 20.0  # in addition to the setting of that name: to finish requests in progress, and to exit
LOOK_SECONDS = 0.2
END_SECONDS = 0.02
MAX_PAUSE = 5.0
HEAD_START = 10.0  # seconds at most in which the first process is ahead of the others
QUICKLY = ("-m", "studiogate.server.quick_start")
log = structlog.get_logger()


# By default the kernel buffers megabytes of responses for a client that does not read them, and pipelined requests are
# executed for as long as it does. This limits what it buffers beyond data in flight; connections inherit it.
UNSENT_BYTES = 128 * 1024


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket, shared by all API processes. A port in use raises an error at once."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hasattr(socket, "TCP_NOTSENT_LOWAT"):
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
    try:
        listening.bind((host, port))
        listening.listen(2048)
    except OSError:
        listening.close()
        raise
    listening.set_inheritable(True)
    return listening


@dataclass
class Child:
    """One process that must run; the pause before a restart grows with each death."""

    name: str
    command: Sequence[str]
    drains: bool = False  # it waits for proxies to notice that it ends, unless it gets SIGUSR1
    process: subprocess.Popen[bytes] | None = None
    pause: float = 0.0
    start_at: float = field(default_factory=time.monotonic)


class Supervisor:
    """Runs the processes. ``tick`` is called periodically (to keep the embedded PostgreSQL running).

    API processes wait at a gate until ``run`` opens it: they can be started, and import everything, before there is a
    database to connect to. The gate is a pipe, which is open once its other end is closed.
    """

    def __init__(self, settings: Settings, dsn: str, tick: Callable[[], None] = lambda: None) -> None:
        self._settings = settings
        self._tick = tick
        self._stopping = False
        self._hurry = False
        self._children: list[Child] = []
        self._sockets: list[socket.socket] = []
        self._account = prepared_account(settings)
        # Shared by the processes while they run, where the account can reach it.
        reachable = reaches(self._account, Path(tempfile.gettempdir(), "any"))
        place = tempfile.gettempdir() if reachable else "/tmp"  # noqa: S108 # nosec B108
        self._run_folder = tempfile.TemporaryDirectory(prefix="studiogate-", dir=place)
        self._lifeline, self._gate, self._alarm, self._ready = os.pipe(), os.pipe(), os.pipe(), os.pipe()
        self._gate_is_open = False
        self._has_head_start = False
        self._ended = False
        self._inherited: tuple[int, ...] = (self._lifeline[0], self._gate[0], self._ready[1])
        self._environment = self._make_environment(dsn)

    def _make_environment(self, dsn: str) -> Mapping[str, str]:
        folder = Path(self._run_folder.name)
        Buckets.create(folder / "buckets")
        (folder / "metrics").mkdir()
        if self._account is not None:
            change_owner(folder, self._account)
        return {
            **os.environ,
            "STUDIOGATE_DATABASE_URL": dsn,
            "STUDIOGATE_RATE_LIMIT": str(self._settings.rate_limit or "off"),
            "STUDIOGATE_DATA_DIR": str(self._settings.data_dir.absolute()),
            "PROMETHEUS_MULTIPROC_DIR": str(folder / "metrics"),
        }

    def add_api(self, listening: socket.socket, workers: int, admin: socket.socket | None = None) -> None:
        """Add API processes that accept from the same sockets; any of them serves the metrics of all on ``admin``."""
        buckets = str(Path(self._run_folder.name) / "buckets")
        for number in range(workers):
            options = ["--socket", str(listening.fileno()), "--buckets", buckets, "--gate", str(self._gate[0])]
            options += ["--ready", str(self._ready[1]), *self._shared_options()]
            options += [] if admin is None else ["--admin", str(admin.fileno())]
            self._children.append(
                Child(f"api-{number}", [*QUICKLY, "studiogate.server.api_process", *options], drains=True)
            )
        self._share(listening, admin)

    def add_worker(self, admin: socket.socket | None = None) -> None:
        """Add the worker. With ``admin`` it serves its own health, for services without API processes."""
        options = [*self._shared_options(), *([] if admin is None else ["--admin", str(admin.fileno())])]
        self._children.append(Child("worker", [*QUICKLY, "studiogate.server.worker_process", *options]))
        self._share(admin)

    def _share(self, *sockets: socket.socket | None) -> None:
        opened = [each for each in sockets if each is not None]
        self._sockets += opened
        self._inherited += tuple(each.fileno() for each in opened)

    def _shared_options(self) -> list[str]:
        account = [] if self._account is None else ["--account", self._account.option]
        return ["--lifeline", str(self._lifeline[0]), *account]

    @property
    def port(self) -> int:
        return int(self._sockets[0].getsockname()[1]) if self._sockets else 0

    def start_the_first(self) -> None:
        """Start the first process ahead of the others, until it is ready: they would compete for CPU time, and one is
        enough to answer."""
        self._start(self._children[0])
        for other in self._children[1:]:
            other.start_at = time.monotonic() + HEAD_START
        self._has_head_start = True

    def _end_head_start_when_ready(self) -> None:
        if not self._has_head_start or not select.select([self._ready[0]], [], [], 0)[0]:
            return
        self._has_head_start = False
        for child in self._children:
            child.start_at = min(child.start_at, time.monotonic())

    def __enter__(self) -> "Supervisor":
        return self

    def __exit__(self, *_: object) -> None:
        self._end_all()

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Stop the service. Signal handlers call this, so it takes no lock that ``run`` may hold: no threading.Event.
        SIGTERM drains; SIGINT, or a second signal, does not wait for proxies to notice."""
        self._hurry = self._stopping or number == signal.SIGINT
        if not self._stopping:
            self._stopping = True
            os.write(self._alarm[1], b"!")

    def wait_until_ready(self, seconds: float | None = None) -> bool | None:
        """Return whether an API process is ready within this time, or None if the service is stopped first. Without a
        time, wait until one of the two happens."""
        ready = select.select([self._ready[0], self._alarm[0]], [], [], seconds)[0]
        return None if self._stopping else bool(ready)

    def run(self, ready: Callable[[], None] = lambda: None, signals: StopSignals | None = None) -> None:
        """Run until SIGINT or SIGTERM; then let all processes drain and exit, and return."""
        (signals or StopSignals().install()).notify(self.stop)
        self._open_gate()
        announcing = threading.Thread(target=ready, daemon=True)
        announcing.start()
        try:
            while not self._stopping:
                self._end_head_start_when_ready()
                for child in self._children:
                    self._look_after(child)
                self._tick()
                select.select([self._alarm[0]], [], [], LOOK_SECONDS)
        finally:
            if not self._stopping:
                self.stop()
            self._end_all()
            announcing.join()  # a thread that prints while the interpreter exits can abort it

    def _open_gate(self) -> None:
        if not self._gate_is_open:
            self._gate_is_open = True
            os.close(self._gate[1])

    def _look_after(self, child: Child) -> None:
        now = time.monotonic()
        if child.process is not None and child.process.poll() is not None:
            log.error("process died", name=child.name, status=child.process.returncode)
            telemetry.forget_process(Path(self._run_folder.name) / "metrics", child.process.pid)
            child.process = None
            child.start_at = now + child.pause
            child.pause = min(MAX_PAUSE, max(0.1, child.pause * 2))
        if child.process is None and now >= child.start_at:
            self._start(child)
        elif child.process is not None and now > child.start_at + 30:
            child.pause = 0.0

    def _start(self, child: Child) -> None:
        child.start_at = time.monotonic()
        # In its own session: Ctrl-C in the terminal reaches only the supervisor, which lets the processes drain.
        child.process = subprocess.Popen(  # noqa: S603 # nosec B603 # our own interpreter and module
            [sys.executable, *child.command],
            env=self._environment,
            pass_fds=self._inherited,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _end_all(self) -> None:
        if self._ended:
            return
        self._ended = True
        self._open_gate()
        for each in self._sockets:
            # While any process has one open, the kernel accepts connections that will never be served.
            each.close()
        running = [child for child in self._children if child.process is not None]
        self._signal(running, signal.SIGTERM)
        self._wait_for(running)
        self._run_folder.cleanup()

    def _wait_for(self, running: Sequence[Child]) -> None:
        deadline = time.monotonic() + self._settings.drain_seconds + DRAIN_SECONDS
        while any(child.process is not None and child.process.poll() is None for child in running):
            if self._hurry:
                self._hurry = False
                self._signal([child for child in running if child.drains], signal.SIGUSR1)
            if time.monotonic() > deadline:
                self._signal(running, signal.SIGKILL)
            time.sleep(END_SECONDS)

    @staticmethod
    def _signal(children: Sequence[Child], number: signal.Signals) -> None:
        for child in children:
            if child.process is not None:
                child.process.send_signal(number)
