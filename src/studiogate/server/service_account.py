"""The account that PostgreSQL, the API and the worker run as when Studiogate is started by root.

PostgreSQL refuses to run as root, and a process that talks to the network should not. Only the ownership of the data
folder changes; its parent folders keep their permissions, even where the account cannot enter them (/root, mktemp -d).
A process that works there is started with the folder as its working directory and refers to it by ``HERE``, which
needs no permission on the parent folders. When started by an ordinary user, the account is None and nothing changes.
"""

import argparse
import fcntl
import logging
import os
import pkgutil
import pwd
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from studiogate.runtime import upload_store
from studiogate.settings import Settings, make_data_folder, secret_keys
from studiogate.storage.db import migrate
from studiogate.storage.upload_folder import FOLDER, UploadFolder

NAME = "studiogate"
ACCOUNTS = Path("/etc")
HERE = Path("/proc/self/cwd")

log = logging.getLogger(__name__)


class AccountError(Exception):
    """No account can be used, or a folder belongs to another one; the message says what to do."""


class Account(NamedTuple):
    name: str
    uid: int
    gid: int

    @property
    def option(self) -> str:
        """The account as an option on the command line of a process that switches to it."""
        return f"{self.uid}:{self.gid}"


def service_account(data: Path) -> Account | None:
    """Return the account for a data folder: the owner of its content, or else a system account, added if necessary."""
    if os.geteuid() != 0:
        return None
    for ours in (data / "postgres", data / "uploads", data):
        with suppress(FileNotFoundError):
            owner = ours.stat()
            if owner.st_uid != 0:
                return Account(f"user {owner.st_uid}", owner.st_uid, owner.st_gid)
    # Not `postgres` first: that account may own another database on this machine, and connect to it without a password.
    account = _account(NAME) or _new_account(NAME) or _account("postgres") or _account("nobody")
    if account is None:
        raise AccountError(
            "Studiogate does not serve as root, and this machine has no user studiogate, postgres or nobody: add one "
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
    # One process at a time: of two useradd that run at once, the second replaces the first one's user, with another id.
    with _locked(ACCOUNTS):
        if (added_meanwhile := _account(name)) is not None:
            return added_meanwhile
        log.warning("adding the system user %s, because Studiogate does not serve as root", name)
        command = [useradd, "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", name]
        # Constants only; if it fails, another account is used.
        subprocess.run(command, check=False, capture_output=True)  # noqa: S603 # nosec B603
        return _account(name)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def may(account: Account, path: Path, bits: int) -> bool:
    """Return whether the account has these permissions (4 read, 2 write, 1 search or execute) on the path itself."""
    found = path.stat()
    shift = 6 if found.st_uid == account.uid else 3 if found.st_gid == account.gid else 0
    return (found.st_mode >> shift) & bits == bits


def reaches(account: Account | None, path: Path) -> bool:
    """Return whether the account has search permission on all parent folders of the path."""
    return account is None or all(may(account, parent, 1) for parent in path.resolve().parents)


def place_of(account: Account | None, folder: Path) -> tuple[Path, Path]:
    """Return the working directory of a process that uses the folder, and the folder's name for that process."""
    if reaches(account, folder):
        return Path("/"), folder
    if sys.platform == "linux":
        return folder, HERE
    closed = next(parent for parent in reversed(folder.parents) if account and not may(account, parent, 1))
    raise AccountError(
        f"{account.name if account else 'We'} cannot enter {closed}: run `chmod o+x {closed}`, or name another data "
        "folder (STUDIOGATE_DATA_DIR)."
    )


def make_private(folder: Path, account: Account | None) -> None:
    """Create a folder of mode 0700 that belongs to the account, or check an existing one and change its owner."""
    uid = account.uid if account else os.geteuid()
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if account and found.st_uid == 0 and stat.S_ISDIR(found.st_mode):  # New, or restored from a backup by root.
        change_owner(folder, account)
    elif found.st_uid != uid or not stat.S_ISDIR(found.st_mode):
        raise AccountError(f"{folder} belongs to user {found.st_uid}, not {uid}: run as that user or move it.")
    elif account:
        # A command run by root may have left folders inside.
        for parent, names, _ in os.walk(folder):
            for name in [each for each in names if Path(parent, each).lstat().st_uid == 0]:
                change_owner(Path(parent, name), account)
    folder.chmod(0o700)


def change_owner(path: Path, account: Account) -> None:
    """Make the account the owner of a file, or of a folder and its content. Symbolic links are not followed."""
    os.chown(path, account.uid, account.gid, follow_symlinks=False)
    for parent, folders, files in os.walk(path):
        for name in (*folders, *files):
            os.chown(Path(parent, name), account.uid, account.gid, follow_symlinks=False)


def let_into(folder: Path, account: Account) -> None:
    """Let the account enter our folder: through the group if no other group has permissions there, else as others."""
    if may(account, folder, 1):
        return
    mode = stat.S_IMODE(folder.stat().st_mode)
    if mode & stat.S_IRWXG:
        folder.chmod(mode | stat.S_IXOTH)
    else:
        os.chown(folder, -1, account.gid)
        folder.chmod(mode | stat.S_IXGRP)


def become(option: str) -> None:
    """Switch permanently from root to the account given by ``Account.option``, with a home that it can enter: the
    database driver looks for certificates there, and fails where it may not look (/root)."""
    uid, gid = map(int, option.split(":"))
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)
    os.umask(0o077)
    os.environ["HOME"] = "/"  # is open to all
    with suppress(KeyError):
        home = pwd.getpwuid(uid).pw_dir
        if os.access(home, os.X_OK):
            os.environ["HOME"] = home


def prepared_account(settings: Settings) -> Account | None:
    """Give the service account what it needs in the data folder, and return it; None for an ordinary user."""
    make_data_folder(settings.data_dir)
    account = service_account(settings.data_dir)
    if account is None:
        return None
    let_into(settings.data_dir, account)
    make_private(settings.data_dir / FOLDER, account)
    if isinstance(store := upload_store(settings), UploadFolder) and store.folder is not None:
        store.folder.parent.mkdir(parents=True, exist_ok=True)
        make_private(store.folder, account)
    if settings.secret_key is None:
        secret_keys(settings)
        for path in settings.data_dir.glob("secrets.key"):
            change_owner(path, account)
    return account


# The API and worker processes start as root, because the interpreter and this package may be where only root can read
# (/root), and switch to the account of the data folder once everything is imported, and what loads on first use.

# Modules that libraries import on first use.
USED_LATER = (
    *("importlib.readers", "importlib.resources.readers", "importlib.metadata"),
    *("encodings.idna", "encodings.punycode", "stringprep", "idna.uts46data"),
    *("encodings.ascii", "encodings.latin_1", "encodings.unicode_escape", "encodings.cp1252", "encodings.utf_8_sig"),
    *("encodings.utf_16", "encodings.utf_16_le", "encodings.utf_16_be"),
    *(
        "asyncpg",
        "anyio",
        "anyio._backends._asyncio",
        "asyncio.unix_events",
        "concurrent.futures.thread",
        "email.mime.text",
        "smtplib",
        "tracemalloc",
    ),
)


def add_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--account", help="user and group id to become, when started by root")


def enter_data_folder(settings: Settings, option: str | None) -> Settings:
    """Change to the data folder, if an account is given, and return settings with a path relative to it.

    The account may not be allowed to traverse the folder's parents; from inside, it does not need to.
    """
    if option is None:
        return settings
    os.chdir(settings.data_dir)
    return settings.model_copy(update={"data_dir": Path()})


def drop(option: str | None, *packages: str) -> None:
    """Switch to the account, if one is given, after importing all modules of the packages."""
    if option is None:
        return
    for package in packages:
        for module in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
            import_module(module.name)
    for name in USED_LATER:
        import_module(name)
    migrate.migrations()
    import_module("phonenumbers").PhoneMetadata.load_all()  # One module per country.
    metrics = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
    if metrics is not None:
        uid, gid = map(int, option.split(":"))
        change_owner(Path(metrics), Account("", uid, gid))
    become(option)
