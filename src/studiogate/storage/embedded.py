"""The embedded PostgreSQL: one private cluster in the data folder, shared by every Studiogate process that uses it.

Who may start it and who stops it is settled by three lock files beside the cluster. They are `flock` locks: the kernel
drops them with the process, so a kill -9 leaves nothing stale. (Process ids prove nothing: they are reused.)

    postgres.users.lock   shared, by every process that uses the server. Whoever leaves tries to make its lock
                          exclusive; only the last one can, and shuts the server down.
    postgres.start.lock   exclusive, while the cluster is created or the server started. initdb inherits it, so a
                          successor waits for an initdb whose parent was killed.
    postgres.alive.lock   exclusive, inherited by the postmaster and its backends. While it is held, some process of
                          this cluster lives: backends that outlive a killed postmaster, too.
"""

import fcntl
import hashlib
import os
import re
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from studiogate.storage import embedded_programs as programs
from studiogate.storage.embedded_programs import NAME, Account, EmbeddedPostgresError

__all__ = ["EmbeddedPostgres", "EmbeddedPostgresError", "running_postgres"]

PORT = 5432  # Part of the socket's file name only: nothing listens on TCP.
START_SECONDS = 300.0  # A server that dies is noticed at once; only the recovery after a crash may take this long.
LISTEN_SECONDS = 10.0
FAST_STOP_SECONDS = 60.0
IMMEDIATE_STOP_SECONDS = 10.0
POLL_SECONDS = 0.01
SOCKET_PATH_BYTES = 103  # on macOS; Linux allows 107

SETTINGS = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "wal_level": "replica",
    "fsync": "on",
    "synchronous_commit": "on",
    "jit": "off",
    # A young studio grows quickly: its statements are planned with what is known of it, not with guesses.
    "autovacuum_naptime": "10s",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "logging_collector": "off",
    "log_checkpoints": "off",
    "log_min_duration_statement": "1000",
    "log_parameter_max_length": "0",  # Parameters are people's names and addresses.
    "log_parameter_max_length_on_error": "0",
    "log_error_verbosity": "terse",  # Without the details: "Key (email)=(…) already exists".
    "cluster_name": NAME,
}


class Postmaster(NamedTuple):
    pid: int
    socket_folder: Path
    ready: bool


class EmbeddedPostgres:
    """One user of the server on a data folder. The methods block; call them from one thread at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.cluster = self.folder / "postgres"
        self._log = programs.ServerLog(self.folder / "postgres.log")
        self._users: int | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Become a user of the server; start it, creating the cluster if need be, unless it runs already."""
        with self._explained():
            self.folder.mkdir(parents=True, exist_ok=True)
            if self._users is None:
                self._users = self._acquire("users", fcntl.LOCK_SH)
        try:
            self.ensure_running()
        except BaseException:
            self.stop()
            raise

    def ensure_running(self) -> bool:
        """For a supervisor, every few seconds after start(): True when the server was gone and has been started."""
        if self._users is None:
            raise EmbeddedPostgresError("ensure_running() comes after start(): others would stop the server otherwise.")
        with self._explained():
            self._log.trim()
            if self.running():
                return False
            with _closing(self._acquire("start", fcntl.LOCK_EX)) as start_lock:
                if self.running():
                    return False
                account = programs.server_account(self.cluster)
                programs.create_cluster(self.cluster, account, start_lock, self._log)
                return self._launch(account)

    def stop(self) -> None:
        """Leave. The last user to leave shuts the server down and waits until all its processes are gone."""
        users, self._users = self._users, None
        if users is None:
            return
        with self._explained(), _closing(users):
            # A refused upgrade loses the shared lock, as it should: we leave, and the last of several succeeds.
            if _try_lock(users, fcntl.LOCK_EX):
                self._shut_down(users)
            fcntl.flock(users, fcntl.LOCK_UN)  # A forked child may keep the descriptor open.

    def running(self) -> bool:
        """Whether the server accepts connections."""
        with self._explained():
            postmaster = self._postmaster()
            return postmaster is not None and postmaster.ready

    def dsn(self, database: str = NAME) -> str:
        with self._explained():
            postmaster = self._postmaster()
        folder = postmaster.socket_folder if postmaster else self._socket_folder()
        # The port is named because clients would take it from PGPORT otherwise.
        return f"postgresql://{NAME}@/{quote(database, safe='')}?host={quote(str(folder))}&port={PORT}"

    def bin(self, name: str) -> Path:
        """A program of the embedded PostgreSQL: psql, pg_dump, …"""
        return programs.installation() / "bin" / name

    def _postmaster(self) -> Postmaster | None:
        """The server of this cluster if one listens: the pid file alone may be stale, or copied with another folder."""
        try:
            lines = os.fsdecode((self.cluster / "postmaster.pid").read_bytes()).split("\n")
        except (FileNotFoundError, NotADirectoryError):
            return None
        if len(lines) < 8 or not lines[0].isdigit() or lines[1] != str(self.cluster):
            return None
        folder = Path(lines[4])
        pid = int(lines[0])
        return Postmaster(pid, folder, lines[7].strip() == "ready") if _listens(folder, pid) else None

    def _socket_folder(self) -> Path:
        """The cluster, which is private already; a short private folder when its path makes no good socket address."""
        path = str(self.cluster)
        if re.fullmatch(r"[\w/.+~-]+", path, re.ASCII) and _fits(self.cluster):
            return self.cluster
        # Not root's own XDG_RUNTIME_DIR: the server's account has no business in there.
        runtime = os.environ.get("XDG_RUNTIME_DIR", "") if os.geteuid() else ""
        name = f"{NAME}-{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}"
        places = [Path(place, name) for place in (runtime, tempfile.gettempdir()) if place and Path(place).is_dir()]
        # In /tmp anybody may have made it before us: make_private refuses one that is not ours.
        return next(filter(_fits, places), Path("/tmp", name))  # noqa: S108 # nosec B108

    def _launch(self, account: Account | None) -> bool:
        """False when a server that was still starting became ready, so that none had to be started."""
        with _closing(self._open_lock("alive")) as alive:
            if not _wait(lambda: _try_lock(alive, fcntl.LOCK_EX) or self.running(), START_SECONDS):
                raise EmbeddedPostgresError(
                    f"Processes of an earlier server still hold {self.cluster} and do not answer: find them with "
                    f"`fuser {self.folder}/postgres.alive.lock`, end them, try again.{self._log.tail()}"
                )
            if self.running():
                return False
            self._clear_remains(account)
            settings = SETTINGS | {"unix_socket_directories": str(self._socket_folder())}
            flags = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
            offset = self._log.size()
            command: programs.Command = [self.bin("postgres"), "-D", self.cluster, *flags]
            self._process = process = programs.spawn(command, account, alive, self._log)
        _wait(lambda: process.poll() is not None or self.running(), START_SECONDS)
        if process.poll() is not None or not self.running():
            space = programs.free_space(self.folder)
            raise EmbeddedPostgresError(
                f"PostgreSQL did not start in {self.cluster} ({space}).{self._log.tail(offset)}"
            )
        return True

    def _clear_remains(self, account: Account | None) -> None:
        """Only under the alive lock. PostgreSQL itself would believe a pid file whose pid now is another process's."""
        self._reap()
        folder = self._socket_folder()
        programs.make_private(self.cluster, account)
        programs.make_private(folder, account)
        programs.let_in(account, self.cluster)
        for remains in (self.cluster / "postmaster.pid", *folder.glob(f".s.PGSQL.{PORT}*")):
            remains.unlink(missing_ok=True)

    def _shut_down(self, users_lock: int) -> None:
        # One that is still starting can be told only once it listens.
        _wait(lambda: self._gone() or self._postmaster() is not None, LISTEN_SECONDS)
        found = self._postmaster()
        # An immediate stop loses nothing: the next start recovers from the write-ahead log.
        for how, seconds in (("INT", FAST_STOP_SECONDS), ("QUIT", IMMEDIATE_STOP_SECONDS)):
            self._signal(how, users_lock)
            if _wait(self._gone, seconds):
                break
        else:
            raise EmbeddedPostgresError(f"The PostgreSQL server on {self.cluster} does not stop.{self._log.tail()}")
        self._reap()
        if found is not None and found.socket_folder != self.cluster:
            with suppress(OSError):
                found.socket_folder.rmdir()

    def _signal(self, how: str, users_lock: int) -> None:
        """As the server's account: root must not signal whatever process an account wrote into its pid file."""
        postmaster = self._postmaster()
        if postmaster is not None:
            command: programs.Command = [self.bin("pg_ctl"), "kill", how, str(postmaster.pid)]
            programs.spawn(command, programs.server_account(self.cluster), users_lock, self._log).wait()

    def _gone(self) -> bool:
        with _closing(self._open_lock("alive")) as alive:
            # Shared, so that two processes which look at the same time do not take each other for a server.
            return _try_lock(alive, fcntl.LOCK_SH) and self._postmaster() is None

    def _reap(self) -> None:
        if self._process is not None:
            self._process.wait()
            self._process = None

    def _open_lock(self, name: str) -> int:
        return os.open(self.folder / f"postgres.{name}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)

    def _acquire(self, name: str, how: int) -> int:
        lock = self._open_lock(name)
        if not _wait(lambda: _try_lock(lock, how), START_SECONDS):
            os.close(lock)
            raise EmbeddedPostgresError(
                f"Another process has been starting or stopping {self.cluster} for {START_SECONDS:.0f} s: "
                f"find it with `fuser {self.folder}/postgres.{name}.lock`, end it, try again."
            )
        return lock

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise EmbeddedPostgresError(
                f"The embedded PostgreSQL cannot work in {self.folder}: {error}. It needs free space and a folder that "
                "the user who runs Studiogate may write to: mend that, or name another folder (STUDIOGATE_DATA_DIR)."
            ) from error


@contextmanager
def running_postgres(folder: Path) -> Iterator[EmbeddedPostgres]:
    """The server on the folder for as long as the block runs, shared with whoever else uses it."""
    server = EmbeddedPostgres(folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def _closing(descriptor: int) -> Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)  # And no LOCK_UN: a program that inherited the descriptor keeps the lock.


def _try_lock(descriptor: int, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not (fulfilled := condition()) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    return fulfilled


def _fits(socket_folder: Path) -> bool:
    return len(os.fsencode(socket_folder / f".s.PGSQL.{PORT}")) <= SOCKET_PATH_BYTES


def _listens(socket_folder: Path, pid: int) -> bool:
    """Whether this process listens there. A dead server's socket can outlive it for a moment, in a child that it had
    just made; the pid in the file may be anybody's by then."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(socket_folder / f".s.PGSQL.{PORT}"))
        except BlockingIOError:  # The queue is full: busy, but there.
            return True
        except OSError:
            return False
        return programs.listener(probe) in (pid, None)
