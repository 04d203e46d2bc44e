"""Move the files of an installation to another place, such as from the folder of a machine to a bucket.

It can be interrupted and repeated: a file that is there is not copied again. The content is compared with its row, or
with its name if it is a picture, before it is stored; the old copy goes only when the new one is there."""

import hashlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from uuid import UUID

from studiogate.domain.access import Access, operator_access
from studiogate.storage import housekeeping
from studiogate.storage.db.failures import transaction_on
from studiogate.storage.db.pool import Connection
from studiogate.storage.forms import uploads
from studiogate.storage.upload_store import CHUNK, UploadStore

FILES_AT_ONCE = 100


@dataclass
class Moved:
    """What was done: ``missing`` are files in neither place, ``damaged`` those with another content."""

    copied: int = 0
    present: int = 0
    removed: int = 0
    missing: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Move:
    """From where to where; ``remove`` also removes the copies that the old place has."""

    source: UploadStore
    target: UploadStore
    remove: bool
    progress: Callable[[str, int, int], None]
    done: Moved = field(default_factory=Moved)


async def move(connection: Connection, plan: Move) -> Moved:
    plan.source.check()
    plan.target.check()
    for studio_id in await housekeeping.studios_with(connection, "files"):
        access, after, there = operator_access(studio_id), "", plan.target.names(studio_id)
        while page := await uploads.page_of_files(connection, access, after, FILES_AT_ONCE):
            await _move_page(connection, access, plan, page, there)
            after = page[-1]
    return plan.done


async def _move_page(connection: Connection, access: Access, plan: Move, page: list[str], there: set[str]) -> None:
    studio_id, done, moved = access.studio_id, plan.done, list[str]()
    for name, digest in (await uploads.digests(connection, access, page)).items():
        if name in there:
            done.present += 1
        elif not _copy(plan, studio_id, name, digest):
            continue
        moved.append(name)
    async with transaction_on(connection):
        await uploads.note_place(connection, access, moved, plan.target.place)
    known = await uploads.known_files(connection, access, moved)
    for name in moved:
        if name not in known:  # its row was removed meanwhile, perhaps with the person
            plan.target.remove(studio_id, name)
        if plan.remove and plan.source.has(studio_id, name):
            plan.source.remove(studio_id, name)
            done.removed += 1
    seen = done.copied + done.present + len(done.missing) + len(done.damaged)
    plan.progress("files", seen, seen)


def _copy(plan: Move, studio_id: UUID, name: str, expected: str) -> bool:
    try:
        content = plan.source.open(studio_id, name).stream
    except FileNotFoundError:
        plan.done.missing.append(f"{studio_id}/{name}")
        return False
    with content, TemporaryFile() as draft:
        shutil.copyfileobj(content, draft, CHUNK)
        draft.seek(0)
        if not hashlib.file_digest(draft, "sha256").hexdigest().startswith(expected):
            plan.done.damaged.append(f"{studio_id}/{name}")
            return False
        draft.seek(0)
        plan.target.put(studio_id, name, draft)
    plan.done.copied += 1
    return True
