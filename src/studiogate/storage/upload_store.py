"""Where uploaded files are kept: a folder (``upload_folder``) or a bucket (``upload_bucket``), behind one interface.

Files have random names, or those of pictures, which follow from their content. A file is stored as ``incoming`` and
moved to its final place after its row is committed. So an incoming file is being written, or its writer has died:
housekeeping then moves it to its final place if it has a row, and removes it if it has none.
"""

import asyncio
import contextlib
import contextvars
import hashlib
import os
import secrets
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import IO, BinaryIO, NamedTuple, TypeVar
from uuid import UUID

import structlog

from studiogate.domain.refusals import Code, Refusal
from studiogate.storage.db.failures import UnknownOutcomeError

INCOMING = "incoming"
ABANDONED_SECONDS = 3600.0
CHUNK = 1 << 20
# Of their own: a bucket that hangs must not hold up what else a process does in threads.
FILE_THREADS = ThreadPoolExecutor(32, "files")
Result = TypeVar("Result")
log = structlog.get_logger()


def in_thread(work: Callable[..., Result], *arguments: object) -> "asyncio.Future[Result]":
    """Do what stores, reads or removes a file outside the event loop."""
    inside = partial(contextvars.copy_context().run, work, *arguments)
    return asyncio.get_running_loop().run_in_executor(FILE_THREADS, inside)


class FilesUnavailableError(Exception):
    """Files cannot be stored or read at the moment."""

    reason = "disk_full"


class DiskFullError(FilesUnavailableError):
    """The file could not be written."""


# What storing, reading or removing a file may raise.
FAILURES = (OSError, FilesUnavailableError)


class OpenedFile(NamedTuple):
    stream: BinaryIO
    size: int


def give_to_owner_of_folder(path: Path) -> None:
    """Make what root has created readable for the account of the service, which owns the folder."""
    if os.geteuid() == 0:
        owner = path.parent.stat()
        os.chown(path, owner.st_uid, owner.st_gid)


class UploadStore(ABC):
    """Keeps files by studio and name. If there is no such file, ``open`` raises FileNotFoundError; whatever else fails
    is another one of ``FAILURES``. ``data`` is the data folder of this machine."""

    data: Path

    @property
    @abstractmethod
    def place(self) -> str | None:
        """The name of this place, which rows keep; None if nothing was stored here yet."""

    @abstractmethod
    def has_room(self, free_mebibytes: int) -> bool:
        """Return whether the disk on which files are received has at least so much free space."""

    @abstractmethod
    def incoming(self, studio_id: UUID, name: str) -> Path:
        """Return the path on this machine at which a file is received."""

    @abstractmethod
    def make_private(self, folder: Path) -> None:
        """Create the folder of an incoming file."""

    @abstractmethod
    def check(self) -> None:
        """Raise FilesUnavailableError if the place cannot be reached."""

    @abstractmethod
    def open(self, studio_id: UUID, name: str) -> OpenedFile:
        """Open a file for reading, also while it is being moved."""

    @abstractmethod
    def has(self, studio_id: UUID, name: str) -> bool: ...

    @abstractmethod
    def names(self, studio_id: UUID) -> set[str]:
        """Return the names of the files of a studio that are at their final place."""

    @abstractmethod
    def files(self) -> Iterator[tuple[UUID, str]]:
        """Yield the studio and name of every file that has been at its final place for a while, by studio."""

    @abstractmethod
    def abandoned(self) -> dict[UUID, list[str]]:
        """Return the files in ``incoming`` that have not been written to for a while, by studio."""

    @abstractmethod
    def seal(self, studio_id: UUID, name: str, content: BinaryIO) -> None:
        """Store a file that was received completely, so that it survives a crash: a row may refer to it now."""

    @abstractmethod
    def keep(self, studio_id: UUID, name: str) -> None:
        """Move a file whose row is committed to its final place."""

    @abstractmethod
    def remove_incoming(self, studio_id: UUID, name: str) -> None: ...

    @abstractmethod
    def remove_kept(self, studio_id: UUID, name: str) -> None:
        """Remove a file from its place, but not one with the same content that is being stored."""

    def remove(self, studio_id: UUID, name: str) -> None:
        self.remove_kept(studio_id, name)
        self.remove_incoming(studio_id, name)

    def receive(self, studio_id: UUID, name: str, content: IO[bytes]) -> None:
        """Store an incoming file under a name that is given. If no row comes to refer to it, housekeeping removes it:
        others may be storing the same content."""
        with reported_as_full():
            draft, path = self.incoming(studio_id, secrets.token_hex(16)), self.incoming(studio_id, name)
            with self.create(draft) as file:
                shutil.copyfileobj(content, file, CHUNK)
                file.flush()
                draft.replace(path)
                self.seal(studio_id, name, file)

    def put(self, studio_id: UUID, name: str, content: IO[bytes]) -> None:
        """Store a file at its final place."""
        self.receive(studio_id, name, content)
        self.keep(studio_id, name)

    def has_files(self) -> bool:
        """Return whether a restore would mix files. A bucket may have survived: names say what its files are."""
        return False

    def remove_empty_folders(self) -> None:  # noqa: B027  a bucket has no folders
        """Remove the folders without files, but for the outermost."""

    def create(self, path: Path) -> BinaryIO:
        """Create an incoming file, private, for the account of the service."""
        self.make_private(path.parent)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        give_to_owner_of_folder(path)
        return os.fdopen(descriptor, "w+b")

    def open_or_refuse(self, studio_id: UUID, name: str, place: str | None) -> OpenedFile | Refusal:
        """Open the file of a row. If that fails, the log says why, and the refusal whether it is somewhere else."""
        try:
            return self.open(studio_id, name)
        except FAILURES as error:
            problem = error.strerror if isinstance(error, OSError) else str(error)
            log.error("file cannot be read", problem=problem, received_by=place, here=self.place)
        is_elsewhere = place is not None and place != self.place
        return Refusal(Code.STORAGE_UNAVAILABLE, {"file": "elsewhere" if is_elsewhere else "unreadable"})


@contextmanager
def reported_as_full() -> Iterator[None]:
    """Raise DiskFullError for whatever prevents writing a file (a full disk, a system quota, a missing folder)."""
    try:
        yield
    except FilesUnavailableError as error:
        log.error("file cannot be stored", problem=str(error))
        raise
    except OSError as error:
        log.error("file cannot be stored", problem=error.strerror)
        raise DiskFullError(error.strerror) from error


class IncomingFile:
    """A file while it is received: its bytes are counted and hashed; it is removed again unless it is kept."""

    def __init__(self, store: UploadStore, studio_id: UUID) -> None:
        self.name = secrets.token_hex(16)
        self.size = 0
        self.store = store
        self._studio_id = studio_id
        self._may_be_stored = self._has_row = False
        self._hash = hashlib.sha256()
        with reported_as_full():
            self.stream = store.create(store.incoming(studio_id, self.name))

    def write(self, chunk: bytes) -> None:
        self.size += len(chunk)
        self._hash.update(chunk)
        with reported_as_full():
            self.stream.write(chunk)

    @property
    def sha256(self) -> bytes:
        return self._hash.digest()

    def finish(self) -> None:
        """Store the file: from here on a row may refer to it."""
        with reported_as_full():
            self.stream.flush()
            self._may_be_stored = True
            self.store.seal(self._studio_id, self.name, self.stream)

    async def keep(self) -> None:
        """Move the file to its final place, now that its row is committed. If that fails, it stays in ``incoming``,
        where readers find it too, and housekeeping moves it later."""
        self._has_row = True
        with contextlib.suppress(*FAILURES):
            await in_thread(self.store.keep, self._studio_id, self.name)

    async def __aenter__(self) -> "IncomingFile":
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        """Remove the file unless it has a row, or may have one: after a cancellation, or a connection lost during
        COMMIT, that is unknown. Housekeeping finds out, and removes what cannot be removed now."""
        self.stream.close()
        unknown = isinstance(error, UnknownOutcomeError) or not isinstance(error, Exception | None)
        if self._has_row or unknown:
            return
        with contextlib.suppress(*FAILURES):
            if self._may_be_stored:
                await in_thread(self.store.remove_incoming, self._studio_id, self.name)
            else:
                self.store.incoming(self._studio_id, self.name).unlink(missing_ok=True)
