"""Uploaded files on disk: below the data folder, outside any web root, under random names, or those of
pictures, which follow from their content.

A file is written to ``incoming`` and moved to its final path after its row is committed. So a file in ``incoming`` is
being written, or its writer has died: housekeeping then moves it to its final path if it has a row, and removes it if
it has none. Files of imports also wait there until they are applied (``import_files``).
"""

import contextlib
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO
from uuid import UUID

import structlog

from studiogate import clock
from studiogate.settings import make_data_folder
from studiogate.storage.db.failures import UnknownOutcomeError

FOLDER = "uploads"
INCOMING = "incoming"
ABANDONED_SECONDS = 3600.0
log = structlog.get_logger()


class DiskFullError(Exception):
    """The file could not be written."""

    reason = "disk_full"


def give_to_owner_of_folder(path: Path) -> None:
    """Make what root has created readable for the account of the service, which owns the folder."""
    if os.geteuid() == 0:
        owner = path.parent.stat()
        os.chown(path, owner.st_uid, owner.st_gid)


@dataclass(frozen=True, slots=True)
class UploadFolder:
    data: Path

    def incoming(self, studio_id: UUID, name: str) -> Path:
        return self.data / FOLDER / INCOMING / str(studio_id) / name

    def kept(self, studio_id: UUID, name: str) -> Path:
        return self.data / FOLDER / str(studio_id) / name[:2] / name

    def has_room(self, free_mebibytes: int) -> bool:
        """Return whether the disk has at least so much free space, measured at the nearest folder that exists."""
        folder = next(each for each in (self.data, *self.data.absolute().parents) if each.exists())
        return shutil.disk_usage(folder).free >= free_mebibytes * 1024 * 1024

    def find(self, studio_id: UUID, name: str) -> Path:
        """Return the current path of a file, which may not have been moved yet just after its commit."""
        kept = self.kept(studio_id, name)
        return kept if kept.exists() else self.incoming(studio_id, name)

    def open(self, studio_id: UUID, name: str) -> BinaryIO:
        """Open a file for reading; if the system refuses, the log says why."""
        try:
            return self.find(studio_id, name).open("rb")
        except OSError as error:
            log.error("file cannot be read", problem=error.strerror)
            raise

    def open_if_there(self, studio_id: UUID, name: str) -> BinaryIO | None:
        """Open a file that anybody may ask for; return None if there is none."""
        for _ in range(2):  # It may be moved to its place between find and open.
            with contextlib.suppress(FileNotFoundError):
                return self.find(studio_id, name).open("rb")
        return None

    def has(self, studio_id: UUID, name: str) -> bool:
        """Return whether a file exists, also while it is being moved."""
        kept = self.kept(studio_id, name)
        return kept.exists() or self.incoming(studio_id, name).exists() or kept.exists()

    def files(self) -> Iterator[tuple[UUID, str]]:
        """Yield the studio and name of every file that has been at its final path for a while."""
        before = clock.timestamp() - ABANDONED_SECONDS
        for path in (self.data / FOLDER).glob("*-*/??/*"):
            with contextlib.suppress(FileNotFoundError, ValueError):
                if path.stat().st_mtime < before:
                    yield UUID(path.parent.parent.name), path.name

    def has_files(self) -> bool:
        return any(not path.is_dir() for path in (self.data / FOLDER).rglob("*"))

    def remove_empty_folders(self) -> None:
        """Remove the folders without files, but for the outermost."""
        for path in sorted((self.data / FOLDER).rglob("*"), reverse=True):
            with contextlib.suppress(OSError):
                path.rmdir()

    def keep(self, studio_id: UUID, name: str) -> None:
        """Move a file whose row is committed to its final path."""
        target = self.kept(studio_id, name)
        self.make_private(target.parent)
        self.incoming(studio_id, name).replace(target)

    def store(self, studio_id: UUID, name: str, content: bytes) -> None:
        """Write a file to ``incoming`` under a name that follows from its content: a row may refer to it from here on,
        and then it is kept. If no row does, housekeeping removes it: others may be storing the same content."""
        with IncomingFile(self, studio_id) as file:
            file.write(content)
            file.finish()
            with _reported_as_full():
                self.incoming(studio_id, file.name).replace(self.incoming(studio_id, name))

    def make_private(self, folder: Path) -> None:
        """Create a private folder and those parents that are ours: ``parents=True`` would make them readable by all."""
        make_data_folder(self.data)
        for each in (*reversed(folder.relative_to(self.data).parents), folder.relative_to(self.data)):
            if not (self.data / each).is_dir():
                (self.data / each).mkdir(mode=0o700, exist_ok=True)
                give_to_owner_of_folder(self.data / each)

    def remove(self, studio_id: UUID, name: str) -> None:
        self.kept(studio_id, name).unlink(missing_ok=True)
        self.incoming(studio_id, name).unlink(missing_ok=True)

    def remove_kept(self, studio_id: UUID, name: str) -> None:
        """Remove a file from its place, but not one with the same content that is being stored."""
        with contextlib.suppress(OSError):
            self.kept(studio_id, name).unlink(missing_ok=True)

    def abandoned(self) -> dict[UUID, list[str]]:
        """Return the files in ``incoming`` that have not been written to for a while, by studio."""
        before = clock.timestamp() - ABANDONED_SECONDS
        found: dict[UUID, list[str]] = {}
        for path in (self.data / FOLDER / INCOMING).glob("*/*"):
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_mtime < before:
                    found.setdefault(UUID(path.parent.name), []).append(path.name)
        return found


@contextmanager
def _reported_as_full() -> Iterator[None]:
    """Raise DiskFullError for whatever prevents writing a file (a full disk, a system quota, a missing folder)."""
    try:
        yield
    except OSError as error:
        log.error("file cannot be stored", problem=error.strerror)
        raise DiskFullError(error.strerror) from error


class IncomingFile:
    """A file while it is received: its bytes are counted and hashed; it is removed again unless it is kept."""

    def __init__(self, folder: UploadFolder, studio_id: UUID) -> None:
        self.name = secrets.token_hex(16)
        self.size = 0
        self._folder = folder
        self._studio_id = studio_id
        self._path = folder.incoming(studio_id, self.name)
        self._has_row = False
        self._hash = hashlib.sha256()
        with _reported_as_full():
            folder.make_private(self._path.parent)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            give_to_owner_of_folder(self._path)
        self.stream: BinaryIO = os.fdopen(descriptor, "w+b")

    def write(self, chunk: bytes) -> None:
        self.size += len(chunk)
        self._hash.update(chunk)
        with _reported_as_full():
            self.stream.write(chunk)

    @property
    def sha256(self) -> bytes:
        return self._hash.digest()

    def finish(self) -> None:
        """Sync the file and its directory entry to disk: from here on a row may refer to it."""
        with _reported_as_full():
            self.stream.flush()
            os.fsync(self.stream.fileno())
            folder = os.open(self._path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def keep(self) -> None:
        """Move the file to its final path, now that its row is committed. If that fails, it stays in ``incoming``,
        where readers find it too, and housekeeping moves it later."""
        self._has_row = True
        with contextlib.suppress(OSError):
            self._folder.keep(self._studio_id, self.name)

    def __enter__(self) -> "IncomingFile":
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        """Remove the file unless it has a row, or may have one: after a cancellation, or a connection lost during
        COMMIT, that is unknown. Housekeeping finds out."""
        self.stream.close()
        unknown = isinstance(error, UnknownOutcomeError) or not isinstance(error, Exception | None)
        if not self._has_row and not unknown:
            self._path.unlink(missing_ok=True)
