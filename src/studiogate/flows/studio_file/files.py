"""Write a studio file, and the files of submissions and pictures, which lie in a folder beside it: ``north.json`` and
``north.files/ID``, or the name of a picture."""

import hashlib
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO
from uuid import UUID

from studiogate.domain.access import Access, operator_access
from studiogate.domain.pictures import MAX_BYTES, is_exported_picture
from studiogate.domain.studio_file.rows import Fault, Faults
from studiogate.storage import studio as studios
from studiogate.storage.db.pool import Connection
from studiogate.storage.forms import uploads
from studiogate.storage.private_file import writing
from studiogate.storage.studio_file import export, stage
from studiogate.storage.studio_file.stage import NewFile
from studiogate.storage.upload_store import UploadStore

CHUNK = 1 << 20
MISSING = "the file is missing: put it into the folder beside the studio file, under its id"
MISSING_PICTURE = "the picture is missing: put it into the folder beside the studio file, under this name"


def folder_beside(path: Path) -> Path:
    return path.parent / f"{path.stem}.files"


@dataclass(frozen=True, slots=True)
class ExportedFiles:
    """Writes files into the folder beside a studio file. Files that are not here are listed."""

    folder: Path
    uploads: UploadStore
    missing: list[str] = field(default_factory=list)

    def copy(self, studio_id: UUID, name: str, stored_name: str) -> None:
        with writing(self.folder):
            self.folder.mkdir(mode=0o700, exist_ok=True)
        try:
            content = self.uploads.open(studio_id, stored_name).stream
        except FileNotFoundError:
            self.missing.append(name)
            return
        with content, writing(self.folder / name):
            _copy_privately(content, self.folder / name)


@dataclass(frozen=True, slots=True)
class FilesBeside:
    """Reads files from the folder beside a studio file: copied before the commit and kept after it, like uploads."""

    folder: Path
    uploads: UploadStore
    copied: list[tuple[UUID, str]] = field(default_factory=list)

    def take(self, studio_id: UUID, file: NewFile, *, copy: bool) -> str | None:
        """Compare a file with its row and copy it; return what is wrong with it, if anything."""
        source = self.folder / str(file.id)
        if not source.is_file():
            return MISSING
        if source.stat().st_size != file.size or _sha256(source) != file.sha256:
            return "the file in the folder has another content than the row says"
        if copy:
            self._copy(studio_id, source, file.stored_name)
        return None

    def take_picture(self, studio_id: UUID, name: str, *, copy: bool) -> str | None:
        """Do the same with a picture, whose name says what its content is."""
        source = self.folder / name
        if not source.is_file():
            return MISSING_PICTURE
        if source.stat().st_size > MAX_BYTES or not is_exported_picture(name, source.read_bytes()):
            return "the file in the folder is not the picture of this name as an export wrote it"
        if copy:
            self._copy(studio_id, source, name)
        return None

    def _copy(self, studio_id: UUID, source: Path, name: str) -> None:
        self.copied.append((studio_id, name))
        with source.open("rb") as content:
            self.uploads.receive(studio_id, name, content)

    async def keep(self, connection: Connection, access: Access) -> None:
        for studio_id, name in self.copied:
            self.uploads.keep(studio_id, name)
        await uploads.note_place(connection, access, [name for _, name in self.copied], self.uploads.place)
        self.copied.clear()

    def discard(self) -> None:
        for studio_id, name in self.copied:
            self.uploads.remove_incoming(studio_id, name)
        self.copied.clear()


def _copy_privately(content: BinaryIO, target: Path) -> None:
    """Copy a file so that only this user can read it. A copy of an earlier export, which others could, is replaced."""
    target.unlink(missing_ok=True)
    with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as copy:
        shutil.copyfileobj(content, copy, CHUNK)


def _sha256(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


async def take_files(
    connection: Connection, access: Access, files: FilesBeside | None, faults: Faults, *, copy: bool
) -> None:
    """Take every new file of the import; those that cannot be taken are faults."""
    async for file in stage.new_files(connection):
        problem = MISSING if files is None else files.take(access.studio_id, file, copy=copy)
        if problem is not None:
            faults.add(Fault(file.place, problem, file.n))
    async for picture in stage.new_pictures(connection, access):
        missing = MISSING_PICTURE if files is None else files.take_picture(access.studio_id, picture.name, copy=copy)
        if missing is not None:
            faults.add(Fault(picture.place, missing, picture.n))


async def export_studio(
    connection: Connection, slug: str, write: Callable[[str], object], files: ExportedFiles | None = None
) -> bool:
    """Write the studio and the files of its submissions, from one snapshot; return whether there is one."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        if (studio := await studios.find_studio(connection, slug)) is None:
            return False
        access = operator_access(studio["studio_id"])
        write(f'{{\n"studio": {await export.studio(connection, access)}')
        for section in export.SECTIONS:
            write(f',\n"{section}": [')
            separator = "\n"
            async for row in export.rows(connection, access, section):
                write(separator + row)
                separator = ",\n"
            write("\n]")
        write("\n}\n")
        if files is not None:
            async for name, stored_name in export.files(connection, access):
                files.copy(access.studio_id, name, stored_name)
    return True
