"""The embedded PostgreSQL: one private cluster in the data folder, shared by every Studiogate process that uses it.

Three lock files beside the cluster decide which process may start the server and which one stops it. They are `flock`
locks: the kernel releases them when the process ends, so a kill -9 leaves no stale lock. (Process ids prove nothing:
they are reused.)

    postgres.users.lock   shared, held by every process that uses the server. A process that leaves tries to upgrade
                          its lock to exclusive; only the last one can, and shuts the server down.
    postgres.start.lock   exclusive, held while the cluster is created or the server started. initdb inherits it, so
                          the next process waits for an initdb whose parent was killed.
    postgres.alive.lock   exclusive, inherited by the postmaster and its backends. While it is held, some process of
                          this cluster is alive; this includes backends that outlive a killed postmaster.
"""

import fcntl
import hashlib
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from studiogate.server import service_account
from studiogate.server.postgres import programs
from studiogate.server.postgres.locks import closing, fits, listens, try_lock, wait
from studiogate.server.postgres.programs import ACCESS_RULES, PORT, EmbeddedPostgresError, Runner
from studiogate.server.service_account import HERE, Account, AccountError, make_private, place_of, reaches
from studiogate.settings import make_data_folder
from studiogate.storage.db.service_role import NAME, ROLE

__all__ = ["EmbeddedPostgres", "EmbeddedPostgresError", "running_postgres"]

START_SECONDS = 300.0  # A server that exits is noticed at once; only crash recovery may take this long.
LISTEN_SECONDS, SIGNAL_AGAIN_SECONDS = 10.0, 1.0
FAST_STOP_SECONDS = 60.0
IMMEDIATE_STOP_SECONDS = 10.0


class Postmaster(NamedTuple):
    pid: int
    socket_folder: Path
    ready: bool


class EmbeddedPostgres:
    """One user of the server on a data folder. The methods block; call them from one thread at a time."""

    def __init__(self, folder: Path, check: Callable[[], None] = lambda: None) -> None:
        self._check = check  # called while waiting for a start; may raise, to give up
        self.folder = folder.resolve()
        self.cluster = self.folder / programs.CLUSTER
        self._log = programs.ServerLog(self.folder / "postgres.log")
        self._users: int | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Become a user of the server; unless it is running, start it, creating the cluster if necessary."""
        with self._explained():
            self._prepare_folder()
            if self._users is None:
                self._users = self._acquire("users", fcntl.LOCK_SH)
        try:
            self.ensure_running()
        except BaseException:
            self.stop()
            raise

    def _prepare_folder(self) -> None:
        """Create the folder and let the server's account enter it. Must run before anything depends on that."""
        make_data_folder(self.folder)
        account = service_account.service_account(self.folder)
        if account is not None:
            service_account.let_into(self.folder, account)

    def ensure_running(self) -> bool:
        """Start the server if it is gone; return whether that was done. A supervisor calls this every few seconds after
        start()."""
        if self._users is None:
            raise EmbeddedPostgresError("ensure_running() comes after start(): others would stop the server otherwise.")
        with self._explained():
            self._log.trim()
            if self._usable():
                return False
            with closing(self._acquire("start", fcntl.LOCK_EX)) as start_lock:
                account = service_account.service_account(self.folder)
                runner = Runner(account, start_lock, self._log)
                if self.running():
                    postmaster = self._postmaster()
                    if postmaster is not None:
                        programs.make_role_online(self.cluster, runner, postmaster.socket_folder, PORT)
                    return False
                programs.create_cluster(self.cluster, account, start_lock, self._log)
                self._check()
                return self._launch(account)

    def stop(self) -> None:
        """Stop using the server. Its last user shuts it down and waits until all its processes are gone."""
        users, self._users = self._users, None
        if users is None:
            return
        with self._explained(), closing(users):
            # A failed upgrade loses the shared lock, which is intended: we leave, and the last of several succeeds.
            if try_lock(users, fcntl.LOCK_EX):
                self._shut_down(users)
            fcntl.flock(users, fcntl.LOCK_UN)  # A forked child may keep the descriptor open.

    def running(self) -> bool:
        """Return whether the server accepts connections."""
        with self._explained():
            postmaster = self._postmaster()
            return postmaster is not None and postmaster.ready

    def _usable(self) -> bool:
        """Return whether the server is running and has the service's role."""
        return self.running() and (self.cluster / programs.ROLE_MARK).exists()

    def dsn(self, database: str = NAME) -> str:
        with self._explained():
            self._prepare_folder()
            postmaster = self._postmaster()
            folder = postmaster.socket_folder if postmaster else self._socket_folder()
        # The port is explicit because clients would otherwise take it from PGPORT.
        return f"postgresql://{ROLE}@/{quote(database, safe='')}?host={quote(str(folder))}&port={PORT}"

    def _postmaster(self) -> Postmaster | None:
        """Return this cluster's server if it listens: the pid file may be stale, or copied from another folder."""
        try:
            lines = os.fsdecode((self.cluster / "postmaster.pid").read_bytes()).split("\n")
        except (FileNotFoundError, NotADirectoryError):
            return None
        if len(lines) < 8 or not lines[0].isdigit():
            return None
        folder = Path(lines[4])
        # A server that cannot reach its folder by path writes HERE; its socket folder's name is a hash of the path.
        if lines[1] != str(self.cluster) and (lines[1] != str(HERE) or folder.name != self._short_name()):
            return None
        pid = int(lines[0])
        return Postmaster(pid, folder, lines[7].strip() == "ready") if listens(folder, pid) else None

    def _socket_folder(self) -> Path:
        """Return the cluster folder, which is private, or a private folder with a short name if the cluster's path is
        unsuitable as a socket address."""
        account = service_account.service_account(self.folder)
        path = str(self.cluster)
        if re.fullmatch(r"[\w/.+~-]+", path, re.ASCII) and fits(self.cluster) and reaches(account, self.cluster):
            return self.cluster
        # Not root's own XDG_RUNTIME_DIR: the server's account must not use it.
        runtime = os.environ.get("XDG_RUNTIME_DIR", "") if os.geteuid() else ""
        name = self._short_name()
        places = [Path(place, name) for place in (runtime, tempfile.gettempdir()) if place and Path(place).is_dir()]
        # In /tmp, any user may have created it first: make_private rejects a folder that is not ours.
        fitting = (place for place in places if fits(place) and reaches(account, place))
        return next(fitting, Path("/tmp", name))  # noqa: S108 # nosec B108

    def _short_name(self) -> str:
        return f"{NAME}-{hashlib.sha256(os.fsencode(self.cluster)).hexdigest()[:16]}"

    def _launch(self, account: Account | None) -> bool:
        """Start the server; return False if one that was already starting became ready instead."""
        with closing(self._open_lock("alive")) as alive:
            if not wait(lambda: try_lock(alive, fcntl.LOCK_EX) or self.running(), START_SECONDS, self._check):
                raise EmbeddedPostgresError(
                    f"Processes of an earlier server still hold {self.cluster} and do not answer: find them with "
                    f"`fuser {self.folder}/postgres.alive.lock`, end them, try again.{self._log.tail()}"
                )
            if self.running():
                return False
            # What a dead server left: PostgreSQL trusts a pid file whose pid now belongs to another process.
            self._reap()
            sockets = self._socket_folder()
            make_private(self.cluster, account)
            make_private(sockets, account)
            for remains in (self.cluster / "postmaster.pid", *sockets.glob(f".s.PGSQL.{PORT}*")):
                remains.unlink(missing_ok=True)
            programs.make_role(self.cluster, Runner(account, alive, self._log))
            offset = self._log.size()
            working, place = place_of(account, self.cluster)
            command: programs.Command = [programs.program("postgres", account), "-D", place, *self._flags(place)]
            self._process = process = programs.spawn(command, Runner(account, alive, self._log, working))
        wait(lambda: process.poll() is not None or self.running(), START_SECONDS, self._check)
        if process.poll() is not None or not self.running():
            space = programs.free_space(self.folder)
            raise EmbeddedPostgresError(
                f"PostgreSQL did not start in {self.cluster} ({space}).{self._log.tail(offset)}"
            )
        return True

    def _flags(self, place: Path) -> list[str]:
        """Write the access rules and return the settings as command-line options."""
        rules = self.cluster / ACCESS_RULES
        rules.write_text(programs.ACCESS + "\n")
        os.chown(rules, self.cluster.stat().st_uid, self.cluster.stat().st_gid)
        rules.chmod(0o600)
        own = {"unix_socket_directories": str(self._socket_folder()), "hba_file": str(place / ACCESS_RULES)}
        return [part for name, value in (programs.SETTINGS | own).items() for part in ("-c", f"{name}={value}")]

    def _shut_down(self, users_lock: int) -> None:
        # A server that listens has installed its signal handlers and shuts down cleanly.
        wait(lambda: self._gone() or self._postmaster() is not None, LISTEN_SECONDS)
        found = self._postmaster()
        # An immediate stop loses nothing: the next start recovers from the write-ahead log.
        for how, seconds in (("INT", FAST_STOP_SECONDS), ("QUIT", IMMEDIATE_STOP_SECONDS)):
            if self._stops(how, seconds, users_lock):
                break
        else:
            raise EmbeddedPostgresError(f"The PostgreSQL server on {self.cluster} does not stop.{self._log.tail()}")
        self._reap()
        if found is not None and found.socket_folder != self.cluster:
            with suppress(OSError):
                found.socket_folder.rmdir()

    def _stops(self, how: str, seconds: float, users_lock: int) -> bool:
        """Signal the server and wait for its end. It is signalled again and again: one that another process started
        can be signalled only once it listens, and a signal that comes before our own has become PostgreSQL is lost."""
        for _ in range(max(1, round(seconds / SIGNAL_AGAIN_SECONDS))):
            self._signal(how, users_lock)
            if wait(self._gone, min(seconds, SIGNAL_AGAIN_SECONDS)):
                return True
        return False

    def _signal(self, how: str, users_lock: int) -> None:
        """Signal the server if it can be. A pid from the pid file is signalled as the server's account: root must not
        signal whatever process that account wrote there."""
        postmaster = self._postmaster()
        if postmaster is None:
            if self._process is not None and self._process.poll() is None:
                self._process.send_signal(signal.Signals[f"SIG{how}"])
            return
        account = service_account.service_account(self.folder)
        command: programs.Command = [programs.program("pg_ctl", account), "kill", how, str(postmaster.pid)]
        programs.spawn(command, Runner(account, users_lock, self._log)).wait()

    def _gone(self) -> bool:
        with closing(self._open_lock("alive")) as alive:
            # Shared, so that two processes that check at the same time do not mistake each other for a server.
            return try_lock(alive, fcntl.LOCK_SH) and self._postmaster() is None

    def _reap(self) -> None:
        if self._process is not None:
            self._process.wait()
            self._process = None

    def _open_lock(self, name: str) -> int:
        return os.open(self.folder / f"postgres.{name}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)

    def _acquire(self, name: str, how: int) -> int:
        lock = self._open_lock(name)
        if not wait(lambda: try_lock(lock, how), START_SECONDS, self._check):
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
        except AccountError as error:
            raise EmbeddedPostgresError(str(error)) from error
        except OSError as error:
            raise EmbeddedPostgresError(
                f"The embedded PostgreSQL cannot work in {self.folder}: {error}. It needs free space and a folder that "
                "the user who runs Studiogate may write to: fix that, or name another folder (STUDIOGATE_DATA_DIR)."
            ) from error


@contextmanager
def running_postgres(folder: Path, check: Callable[[], None] = lambda: None) -> Iterator[EmbeddedPostgres]:
    """Keep the server on the folder running during the block, shared with its other users. ``check`` may raise while
    waiting for a start."""
    server = EmbeddedPostgres(folder, check)
    server.start()
    try:
        yield server
    finally:
        server.stop()
