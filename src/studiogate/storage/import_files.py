"""The file of an import in the browser, with what the import found in it: for an hour at most.

It is kept among the incoming uploads, where housekeeping removes whatever has no row after an hour. Beside the file lie
its state, which the pages show, and the rows that they list. A process that works on the file holds a lock on it, which
ends with the process: so a page can say whether an import runs or was interrupted.
"""

import fcntl
import json
import os
import re
import secrets
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias
from uuid import UUID

from studiogate.storage.upload_store import FilesUnavailableError, UploadStore

ROWS_PER_PAGE = 50
BYTES_PER_PAGE = 1 << 18
_TOKEN = re.compile(r"[0-9a-f]{32}", re.ASCII)
# What a page shows, and how the file is to be read.
State: TypeAlias = dict[str, Any]
# The rows that change, and those that are left out.
CHANGES, OTHERS = "changes", "others"


class Owner(NamedTuple):
    """Whose file it is: nobody else can read it back."""

    studio_id: UUID
    account_id: UUID


class RowPage(NamedTuple):
    """Rows of a list; ``after`` is where the next page begins, or None."""

    rows: list[object]
    after: int | None


@dataclass(frozen=True, slots=True)
class ImportFile:
    path: Path
    token: str

    def beside(self, what: str) -> Path:
        return self.path.with_name(f"{self.path.name}-{what}")

    def create(self, what: str) -> BinaryIO:
        """Open a file beside this one for writing, private and empty."""
        descriptor = os.open(self.beside(what), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        return os.fdopen(descriptor, "wb")

    @property
    def state(self) -> State | None:
        """What was written last, or None if the file is gone."""
        try:
            return dict(json.loads(self.beside("state").read_bytes()))
        except FileNotFoundError:
            return None

    def write_state(self, state: State) -> None:
        """Replace the state: a page sees the earlier one or this one."""
        with self.create("state.new") as file:
            file.write(json.dumps(state).encode())
        self.beside("state.new").replace(self.beside("state"))

    def lock(self) -> BinaryIO | None:
        """Return the file, locked until it is closed; None if it is locked by others, or gone."""
        try:
            file = self.path.open("rb")
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return None
        return file

    @property
    def is_locked(self) -> bool:
        file = self.lock()
        if file is None:
            return self.path.exists()
        file.close()
        return False

    def page(self, what: str, after: int) -> RowPage:
        rows: list[object] = []
        try:
            file = self.beside(what).open("rb")
        except FileNotFoundError:
            return RowPage(rows, None)
        with file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(min(after, size) - 1, 0))
            if after:
                file.readline()  # to the beginning of a row, wherever the position was
            begin = file.tell()
            while len(rows) < ROWS_PER_PAGE and file.tell() < min(begin + BYTES_PER_PAGE, size):
                rows.append(json.loads(file.readline()))
            return RowPage(rows, file.tell() if file.tell() < size else None)

    def remove(self) -> None:
        for each in (self.path, *(self.beside(what) for what in ("state", CHANGES, OTHERS))):
            each.unlink(missing_ok=True)


def keep(folder: UploadStore, owner: Owner, content: BinaryIO, state: State) -> ImportFile:
    """Keep a file in place of earlier ones of the same person that are not being imported."""
    kept = _named(folder, owner, secrets.token_hex(16))
    try:
        folder.make_private(kept.path.parent)
        for each in kept.path.parent.glob(f"import-{owner.account_id.hex}-*-state"):
            earlier = _named(folder, owner, each.name.split("-")[2])
            if not (earlier.state or {}).get("apply"):
                earlier.remove()
        descriptor = os.open(kept.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            content.seek(0)
            shutil.copyfileobj(content, file)
        kept.write_state(state)
    except OSError as error:
        with suppress(OSError):
            kept.remove()
        raise FilesUnavailableError(error.strerror) from error
    return kept


def find(folder: UploadStore, owner: Owner, token: str) -> ImportFile | None:
    """Return a file that was kept; None if it is gone, or another person's."""
    found = _named(folder, owner, token) if _TOKEN.fullmatch(token) else None
    return found if found is not None and found.beside("state").exists() else None


def _named(folder: UploadStore, owner: Owner, token: str) -> ImportFile:
    return ImportFile(folder.incoming(owner.studio_id, f"import-{owner.account_id.hex}-{token}"), token)
