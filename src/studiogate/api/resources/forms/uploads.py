"""POST /forms/{id}/uploads: a file for a field, streamed to disk as it arrives."""

from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from studiogate.api.framework.errors import refused
from studiogate.api.framework.idempotency import IDEMPOTENT, REPLAYED, OptionalIdempotencyKey, Success, write
from studiogate.api.framework.operations import READING, WRITING, Uuid, Wire, described, operation
from studiogate.api.framework.params import PathId
from studiogate.api.framework.route import Caller, LeanRoute, limited, needs
from studiogate.domain.access import Scope
from studiogate.domain.forms.upload_limits import size_limit
from studiogate.domain.refusals import Code, Fault, Refusal, faulty
from studiogate.flows.forms import upload as flow
from studiogate.flows.forms.upload import FormForUpload
from studiogate.storage.forms.uploads import NewUpload
from studiogate.storage.upload_store import FilesUnavailableError, IncomingFile
from studiogate.web.body import BodyError, BodyLimits
from studiogate.web.limits import Limit
from studiogate.web.multipart import MultipartError, MultipartReader, PartBegins, PartData, boundary_of
from studiogate.web.response import Answer

Submitter = Annotated[Caller, needs(Scope.FORM_SUBMISSIONS_WRITE)]
routes = APIRouter(route_class=LeanRoute, tags=["forms"])

# Bytes in addition to the file: delimiters, the headers of parts, the field's key.
ENVELOPE = 64 * 1024
UPLOAD = BodyLimits(ENVELOPE, seconds=300.0)
MAX_FIELD_KEY = 1000
RETRY_WHEN_FULL = (b"retry-after", b"60")
BODY = {
    "required": True,
    "content": {
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "required": ["file", "field_key"],
                "properties": {
                    "file": {"type": "string", "format": "binary", "description": "The file."},
                    "field_key": {"type": "string", "description": "The key of the field that the file is for."},
                },
            },
            "example": {"file": "(the file's bytes)", "field_key": "doctors_note"},
        }
    },
}


class FormUpload(Wire):
    """A file that waits for a submission: name its id there within 24 hours."""

    id: Uuid = Field(examples=["0192f0c1-a2b3-7c4d-8e5f-60718293a4b5"])
    object: Literal["form_upload"] = "form_upload"
    filename: str = described("Without any path.", "note.pdf")
    size: int = described("In bytes.", 48213)
    content_type: str = described("By the file's content.", "application/pdf")


class UploadedFile(BaseModel):
    """What makes two uploads the same one, for the idempotency key."""

    field_key: str
    filename: str
    size: int
    sha256: str


UPLOADING = Limit("form-uploads", 10.0, 200)


@routes.post(
    "/forms/{form_id}/uploads",
    **operation(
        "Upload a file for a form's field",
        FormUpload,
        *WRITING,
        *READING,
        *IDEMPOTENT,
        Code.FORM_NOT_ACCEPTING_SUBMISSIONS,
        Code.LIMIT_REACHED,
        status_code=201,
        openapi_extra={"requestBody": BODY},
    ),
)
@limited(UPLOADING)
async def create_upload(caller: Submitter, form_id: PathId, idempotency_key: OptionalIdempotencyKey = None) -> Answer:
    """Send the parts `file` and `field_key` as multipart/form-data. The content decides the type, which is held against
    the field's `accept`, the size against `max_file_size` or 10 MiB. A file that no submission names is removed
    after 24 hours. A key may upload 10 files per second, and 200 at once. The files of a form and of a studio have a
    quota (409 `limit_reached`), and nothing is stored while the disk is nearly full (503 `storage_unavailable`).
    """
    if caller.request.media_type != b"multipart/form-data":
        expected = {"expected": "multipart/form-data"}
        return refused(Refusal(Code.UNSUPPORTED_MEDIA_TYPE, expected), caller.request_id)
    if caller.request.encoded is not None:
        return refused(caller.request.encoded, caller.request_id)
    # With a key, an upload from when the form was open is replayed; only the file shows whether it is the same one.
    look = flow.open_for_uploads if idempotency_key is None else flow.form_for_uploads
    form = await caller.read(look, form_id)
    if isinstance(form, Refusal):
        return caller.refuse(form)
    full = flow.room_refusal(caller.runtime.uploads, caller.runtime.settings)
    if full is not None:
        return refused(full, caller.request_id, RETRY_WHEN_FULL)
    try:
        return await _stored(caller, form, idempotency_key)
    except FilesUnavailableError:
        return refused(flow.DISK_IS_FULL, caller.request_id, RETRY_WHEN_FULL)


async def _stored(caller: Caller, form: FormForUpload, idempotency_key: str | None) -> Answer:
    async with IncomingFile(caller.runtime.uploads, caller.access.studio_id) as file:
        upload = await _received(caller, form, file)
        if isinstance(upload, Refusal):
            return caller.refuse(upload)
        return await _recorded(caller, idempotency_key, form, upload, file)


async def _received(caller: Caller, form: FormForUpload, file: IncomingFile) -> NewUpload | Refusal:
    """Receive the whole file, and return its upload record if the file is acceptable."""
    boundary = boundary_of(caller.request.headers[b"content-type"])
    if boundary is None:
        return faulty(Fault(("body",), "multipart", "The Content-Type has no boundary"))
    parts = _Parts(boundary, file, form.largest)
    try:
        async for chunk in caller.request.chunks(UPLOAD._replace(size=form.largest + ENVELOPE)):
            parts.take(chunk)
        parts.close()
    except BodyError as error:
        return _file_too_large(form, parts) if error.refusal.code is Code.BODY_TOO_LARGE else error.refusal
    except _TooLargeError:
        return _file_too_large(form, parts)
    except MultipartError as error:
        return faulty(Fault(("body",), "multipart", f"Not a multipart/form-data body: {error}"))
    if parts.faults:
        return faulty(*parts.faults)
    return await flow.judge(form, parts.field_key or "", parts.filename or "", file)


def _file_too_large(form: FormForUpload, parts: "_Parts") -> Refusal:
    """Refuse with the field's limit if its key arrived before the file, else with the largest of any field."""
    field = form.fields.get(parts.field_key or "")
    return Refusal(Code.BODY_TOO_LARGE, {"maximum_bytes": size_limit(field) if field else form.largest}, "file")


async def _recorded(
    caller: Caller, idempotency_key: str | None, form: FormForUpload, upload: NewUpload, file: IncomingFile
) -> Answer:
    """Insert the row, then move the file into place. After a crash in between, housekeeping moves the file."""
    identity = UploadedFile(
        field_key=upload.field_key, filename=upload.filename, size=upload.size, sha256=upload.sha256.hex()
    )
    quota = flow.quota_of(caller.runtime.settings)
    answer = await write(caller, idempotency_key, identity, Success(201), flow.record, form, upload, quota)
    if answer.status == 201 and REPLAYED not in answer.headers:
        await file.keep()
    return answer


class _TooLargeError(Exception):
    """The file is larger than any field of the form accepts."""


class _Parts:
    """Reads parts as they arrive: the file is written to disk, the key is kept, anything else is a fault."""

    def __init__(self, boundary: bytes, file: IncomingFile, maximum: int) -> None:
        self.filename: str | None = None
        self._key: bytearray | None = None
        self._faults: list[Fault] = []
        self._reader = MultipartReader(boundary)
        self._file, self._maximum = file, maximum
        self._part = ""

    def take(self, chunk: bytes) -> None:
        for event in self._reader.feed(chunk):
            if isinstance(event, PartBegins):
                self._begin(event)
            elif isinstance(event, PartData):
                self._add(event.content)

    def close(self) -> None:
        self._reader.close()

    def _begin(self, part: PartBegins) -> None:
        self._part = part.name
        if part.name == "file" and self.filename is None:
            self.filename = part.filename or ""
        elif part.name == "field_key" and self._key is None:
            self._key = bytearray()
        else:
            twice = part.name in ("file", "field_key")
            kind, text = (
                ("duplicate", "This part came twice") if twice else ("extra_forbidden", "No such part is taken")
            )
            self._faults.append(Fault(("body", part.name[:100]), kind, text))
            self._part = ""

    def _add(self, content: bytes) -> None:
        if self._part == "file":
            if self._file.size + len(content) > self._maximum:
                raise _TooLargeError
            self._file.write(content)
        elif self._part == "field_key" and self._key is not None:
            self._key += content[: MAX_FIELD_KEY + 1 - len(self._key)]

    @property
    def field_key(self) -> str | None:
        return None if self._key is None else self._key.decode("utf-8", "replace")

    @property
    def faults(self) -> list[Fault]:
        given: dict[str, object] = {"file": self.filename, "field_key": self._key}
        missing = [Fault(("body", name), "missing", "Field required") for name, part in given.items() if part is None]
        return missing + self._faults
