"""GET /forms/{id}/submissions/{id}/files/{id}: a submission's file, as an attachment."""

import asyncio
import re
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Response

from studiogate.api.framework.errors import refused
from studiogate.api.framework.operations import READING, operation
from studiogate.api.framework.params import PathId
from studiogate.api.framework.route import Caller, LeanRoute, needs
from studiogate.domain.access import Scope
from studiogate.domain.refusals import Code, Refusal
from studiogate.storage.forms import uploads as storage
from studiogate.storage.forms.uploads import StoredFile
from studiogate.storage.upload_folder import UploadFolder
from studiogate.web.response import Answer, Header, OpenFile

SubmissionReader = Annotated[Caller, needs(Scope.FORM_SUBMISSIONS_READ)]
routes = APIRouter(route_class=LeanRoute, tags=["forms"])

# Characters outside printable ASCII, or with a special meaning inside a quoted string.
_UNSAFE = re.compile(r"[^ -~]|[\"\\%]")
FILE = {
    "200": {
        "description": "The file, as it was uploaded.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@routes.get(
    "/forms/{form_id}/submissions/{submission_id}/files/{upload_id}",
    **operation(
        "Read a file of a submission", None, *READING, openapi_extra={"responses": FILE}, response_class=Response
    ),
)
async def read_file(caller: SubmissionReader, form_id: PathId, submission_id: PathId, upload_id: PathId) -> Answer:
    """The file that a submission's answer names by `upload_id`. It is always an attachment: visitors upload what they
    like, so show nothing of it in a browser without checking it. `Content-Type` is by the file's content.
    """
    stored = await caller.read(storage.find_file, form_id, submission_id, upload_id)
    if stored is None:
        return caller.refuse(Refusal(Code.NOT_FOUND))
    folder = UploadFolder(caller.runtime.settings.data_dir)
    try:
        stream = await asyncio.to_thread(folder.open, caller.access.studio_id, stored.stored_name)
    except OSError:
        return refused(Refusal(Code.STORAGE_UNAVAILABLE), caller.request_id)
    return Answer(200, b"", _headers(stored), OpenFile(stream, stored.size))


def _headers(stored: StoredFile) -> tuple[Header, ...]:
    """Return RFC 6266 headers: the name in ASCII for old clients, in UTF-8 for all others; never inline."""
    plain = _UNSAFE.sub("_", stored.filename)
    disposition = f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(stored.filename, safe='')}"
    return (
        (b"content-type", stored.content_type.encode("ascii", "replace")),
        (b"content-disposition", disposition.encode("ascii")),
    )
