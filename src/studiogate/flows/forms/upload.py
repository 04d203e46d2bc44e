"""Upload a file for a form's field: read as it arrives, checked by its content, stored with its row or not at all."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.forms.definition import FieldType
from studiogate.domain.forms.file_content import accepted, examine, plain_filename
from studiogate.domain.forms.states import NotAccepting, closed_reason, exists_for, not_accepting
from studiogate.domain.forms.upload_limits import DEFAULT_MAX_FILE_SIZE, MEBIBYTE, UploadQuota, size_limit
from studiogate.domain.refusals import NOT_FOUND, Code, Fault, Refusal, faulty
from studiogate.settings import Settings
from studiogate.storage.db.pool import Connection, Database
from studiogate.storage.forms import submit
from studiogate.storage.forms import uploads as storage
from studiogate.storage.upload_store import IncomingFile, UploadStore, in_thread

DISK_IS_FULL = Refusal(Code.STORAGE_UNAVAILABLE)
FILE, FIELD_KEY = ("body", "file"), ("body", "field_key")
NO_SUCH_FIELD = Fault(FIELD_KEY, "unknown_field", "This form has no file_upload field with this key")


@dataclass(frozen=True, slots=True)
class FormForUpload:
    """The file fields of a form by their keys, and why it takes no submissions now; None if it does."""

    form_id: UUID
    fields: Mapping[str, Mapping[str, object]]
    closed: NotAccepting | None

    @property
    def largest(self) -> int:
        """The largest size that any field accepts: how much to read before the field is known."""
        return max((size_limit(each) for each in self.fields.values()), default=DEFAULT_MAX_FILE_SIZE)


async def form_for_uploads(connection: Connection, access: Access, form_id: str | UUID) -> FormForUpload | Refusal:
    """Return the form, before any byte of the file is read."""
    form = await submit.find_form(connection, access, form_id)
    if form is None or not exists_for(access, form.status):
        return NOT_FOUND
    fields = {str(each["key"]): each for each in form.fields if each.get("type") == FieldType.FILE_UPLOAD}
    return FormForUpload(form.id, fields, closed_reason(form.status, form.settings, form.now))


async def open_for_uploads(connection: Connection, access: Access, form_id: str | UUID) -> FormForUpload | Refusal:
    form = await form_for_uploads(connection, access, form_id)
    return form if isinstance(form, Refusal) or form.closed is None else not_accepting(form.closed)


async def judge(form: FormForUpload, field_key: str, filename: str, file: IncomingFile) -> storage.NewUpload | Refusal:
    """Return the row for a file that has arrived completely, or what is wrong with the file."""
    if (field := form.fields.get(field_key)) is None:
        return faulty(NO_SUCH_FIELD)
    if file.size > size_limit(field):
        return Refusal(Code.BODY_TOO_LARGE, {"maximum_bytes": size_limit(field)}, "file")
    if file.size == 0:
        return faulty(Fault(FILE, "empty_file", "The file is empty"))
    await in_thread(file.finish)
    content = await asyncio.to_thread(examine, file.stream, file.size)
    if content.fault is not None:
        return faulty(Fault(FILE, "file_content", "The file " + content.fault))
    if not accepted(field.get("accept"), content.type):
        return faulty(Fault(FILE, "file_type", "The field does not take files of this type"))
    name = plain_filename(filename)
    stored_as = (file.name, file.store.place)
    return storage.NewUpload(form.form_id, field_key, name, content.type, file.size, file.sha256, *stored_as)


def room_refusal(store: UploadStore, settings: Settings) -> Refusal | None:
    """Refuse uploads while the disk is nearly full: the database needs what is left."""
    return None if store.has_room(settings.upload_min_free_disk) else DISK_IS_FULL


def quota_of(settings: Settings) -> UploadQuota:
    return UploadQuota(settings.upload_quota_form * MEBIBYTE, settings.upload_quota_studio * MEBIBYTE)


async def record(
    connection: Connection, access: Access, form: FormForUpload, upload: storage.NewUpload, quota: UploadQuota
) -> str | Refusal:
    """Insert the row, if the quotas permit. Must run inside a transaction; the caller then moves the file."""
    if form.closed is not None:
        return not_accepting(form.closed)
    usage = await storage.lock_usage(connection, access, upload.form_id)
    return quota.refusal(usage, upload.size) or await storage.insert_upload(connection, access, upload)


async def discard(database: Database, access: Access, folder: UploadStore, ids: list[str]) -> None:
    """Remove files that came with a form which was refused. The row goes first: a file without a row is not used."""
    async with database.transaction() as connection:
        names = await storage.discard_uploads(connection, access, ids)
    for name in names:
        await in_thread(folder.remove, access.studio_id, name)


async def record_from_page(
    database: Database, access: Access, form: FormForUpload, upload: storage.NewUpload, quota: UploadQuota
) -> str | Refusal:
    """Do the same as ``record`` for the hosted page, in its own transaction."""
    async with database.transaction() as connection:
        return await record(connection, access, form, upload, quota)
