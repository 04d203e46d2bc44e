"""The file of an import between its preview and the import itself: one per person, for an hour at most.

It is kept among the incoming uploads, where housekeeping removes whatever has no row after an hour.
"""

import os
import re
import secrets
from typing import NamedTuple
from uuid import UUID

from studiogate.storage.upload_folder import DiskFullError, UploadFolder

_TOKEN = re.compile(r"[0-9a-f]{32}", re.ASCII)


class Owner(NamedTuple):
    """Whose file it is: nobody else can read it back."""

    studio_id: UUID
    account_id: UUID

    def name(self, token: str) -> str:
        return f"import-{self.account_id.hex}-{token}"


def keep(folder: UploadFolder, owner: Owner, content: bytes) -> str:
    """Keep a file in place of an earlier one of the same person; return the token that reads it back."""
    token = secrets.token_hex(16)
    path = folder.incoming(owner.studio_id, owner.name(token))
    try:
        folder.make_private(path.parent)
        for earlier in path.parent.glob(owner.name("*")):
            earlier.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
    except OSError as error:
        raise DiskFullError(error.strerror) from error
    return token


def read(folder: UploadFolder, owner: Owner, token: str) -> bytes | None:
    """Return a file that was kept; None if it is gone, or another person's."""
    if not _TOKEN.fullmatch(token):
        return None
    try:
        return folder.incoming(owner.studio_id, owner.name(token)).read_bytes()
    except FileNotFoundError:
        return None
