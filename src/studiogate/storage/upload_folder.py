"""Uploaded files in a folder: below the data folder, outside any web root, or one that several machines mount. Files of
imports also wait there until they are applied (``import_files``)."""

import contextlib
import os
import secrets
import shutil
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from uuid import UUID

from studiogate import clock
from studiogate.settings import make_data_folder
from studiogate.storage.upload_store import (
    ABANDONED_SECONDS,
    INCOMING,
    OpenedFile,
    UploadStore,
    give_to_owner_of_folder,
)

FOLDER = "uploads"
PLACE = ".place"  # holds an empty folder, whose name is that of the place: created at once or not at all


@dataclass(frozen=True, slots=True)
class UploadFolder(UploadStore):
    """Files in the data folder, or in ``folder``, which several machines may mount."""

    data: Path
    folder: Path | None = None

    def __str__(self) -> str:
        return str(self.root)

    @property
    def root(self) -> Path:
        return self.folder or self.data / FOLDER

    @property
    def place(self) -> str | None:
        return min((path.name for path in (self.root / PLACE).glob("*")), default=None)

    def check(self) -> None:
        """There is nothing to be reached: a folder that is not there yet is created for the first file."""

    def incoming(self, studio_id: UUID, name: str) -> Path:
        return self.root / INCOMING / str(studio_id) / name

    def kept(self, studio_id: UUID, name: str) -> Path:
        return self.root / str(studio_id) / name[:2] / name

    def has_room(self, free_mebibytes: int) -> bool:
        # Measured at the nearest folder that exists.
        folder = next(each for each in (self.root, *self.root.absolute().parents) if each.exists())
        return shutil.disk_usage(folder).free >= free_mebibytes * 1024 * 1024

    def find(self, studio_id: UUID, name: str) -> Path:
        """Return the current path of a file, which may not have been moved yet just after its commit."""
        kept = self.kept(studio_id, name)
        return kept if kept.exists() else self.incoming(studio_id, name)

    def open(self, studio_id: UUID, name: str) -> OpenedFile:
        try:
            stream = self.find(studio_id, name).open("rb")
        except FileNotFoundError:  # It may have been moved to its place between find and open.
            stream = self.find(studio_id, name).open("rb")
        return OpenedFile(stream, os.fstat(stream.fileno()).st_size)

    def has(self, studio_id: UUID, name: str) -> bool:
        kept = self.kept(studio_id, name)
        return kept.exists() or self.incoming(studio_id, name).exists() or kept.exists()

    def names(self, studio_id: UUID) -> set[str]:
        return {path.name for path in (self.root / str(studio_id)).glob("??/*")}

    def files(self) -> Iterator[tuple[UUID, str]]:
        before = clock.timestamp() - ABANDONED_SECONDS
        for path in self.root.glob("*-*/??/*"):
            with contextlib.suppress(FileNotFoundError, ValueError):
                if path.stat().st_mtime < before:
                    yield UUID(path.parent.parent.name), path.name

    def has_files(self) -> bool:
        return any(not path.is_dir() for path in self.root.rglob("*"))

    def remove_empty_folders(self) -> None:
        for path in sorted(self.root.rglob("*"), reverse=True):
            with contextlib.suppress(OSError):
                path.rmdir()

    def seal(self, studio_id: UUID, name: str, content: BinaryIO) -> None:
        os.fsync(content.fileno())
        folder = os.open(self.incoming(studio_id, name).parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def keep(self, studio_id: UUID, name: str) -> None:
        target = self.kept(studio_id, name)
        self.make_private(target.parent)
        self.incoming(studio_id, name).replace(target)

    def make_private(self, folder: Path) -> None:
        """Create a private folder and those parents that are ours: ``parents=True`` would make them readable by all.
        The first time, give the place its name."""
        if self.folder is None:
            make_data_folder(self.data)
        else:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        named = () if self.place else (self.root / PLACE / f"{socket.gethostname()}-{secrets.token_hex(4)}",)
        for wanted in (folder, *named):
            ours = [each for each in (wanted, *wanted.parents) if each.is_relative_to(self.root)]
            for each in reversed(ours):
                if not each.is_dir():
                    each.mkdir(mode=0o700, exist_ok=True)
                    give_to_owner_of_folder(each)

    def remove_incoming(self, studio_id: UUID, name: str) -> None:
        self.incoming(studio_id, name).unlink(missing_ok=True)

    def remove_kept(self, studio_id: UUID, name: str) -> None:
        with contextlib.suppress(OSError):
            self.kept(studio_id, name).unlink(missing_ok=True)

    def abandoned(self) -> dict[UUID, list[str]]:
        before = clock.timestamp() - ABANDONED_SECONDS
        found: dict[UUID, list[str]] = {}
        for path in (self.root / INCOMING).glob("*/*"):
            with contextlib.suppress(FileNotFoundError, ValueError):
                if path.stat().st_mtime < before:
                    found.setdefault(UUID(path.parent.name), []).append(path.name)
        return found
