"""Files that a browser saves and never shows: an export, and what somebody uploaded with a form.

Visitors upload what they like, so a file is always an attachment with a type that no browser runs. The audit log names
who took one, so taking it is an action with a form: browsers fetch links in advance, and other sites can name them.
"""

from tempfile import TemporaryFile
from uuid import UUID

from studiogate.console.framework import ConsoleRequest, Values, about, action, page_of
from studiogate.console.framework.downloads import attachment
from studiogate.console.framework.inputs import Row
from studiogate.console.members.profile import MEMBER, address
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.forms import staff as forms
from studiogate.flows.members import export as exporting
from studiogate.storage import member_profile
from studiogate.storage.db.pool import Connection
from studiogate.storage.forms import uploads
from studiogate.storage.person_export import Person
from studiogate.storage.upload_store import UploadStore, in_thread
from studiogate.web.response import Answer, Header, OpenFile

BINARY: Header = (b"content-type", b"application/octet-stream")
ZIP: Header = (b"content-type", b"application/zip")


@page_of(MEMBER, "/members/{member_id}/export", Permission.MEMBERS, "members/export.html")
async def show_export(_request: ConsoleRequest, _connection: Connection, _member: Row) -> Values:
    return {}


@action("/members/{member_id}/export", Permission.MEMBERS)
@about(MEMBER.of_path)
async def export(request: ConsoleRequest, member: Row) -> Answer:
    """Send everything that is stored about a member as an archive; the audit log says who took it."""
    person = await request.run(exporting.export, member["id"])
    if isinstance(person, Refusal):
        return request.refused(person, address(member["id"], "export"))
    folder = request.runtime.uploads
    archive = await in_thread(_archive, person, folder, request.access.studio_id)
    return attachment(archive, ZIP, f"member-{member['id']}.zip")


def _archive(person: Person, folder: UploadStore, studio_id: UUID) -> OpenFile:
    """Write the archive to a file without a name, which is gone when it has been sent."""
    stream = TemporaryFile()  # noqa: SIM115
    try:
        exporting.write_archive(stream, person, folder, studio_id)
        size = stream.tell()
        stream.seek(0)
    except BaseException:
        stream.close()
        raise
    return OpenFile(stream, size)


@action("/members/{member_id}/forms/{submission_id}/files/{upload_id}", Permission.SUBMISSIONS)
async def file(request: ConsoleRequest) -> Answer:
    """Send a file of a submission of the member; the audit log says who took it."""
    member_id, submission_id = request.param_id("member_id"), request.param_id("submission_id")
    submission = await request.read(member_profile.read_submission, member_id, submission_id)
    if submission is None:
        return request.not_found()
    return await sent_file(request, submission["form_id"], submission_id, address(member_id, "forms"))


async def sent_file(request: ConsoleRequest, form_id: UUID, submission_id: UUID, back: str) -> Answer:
    """Send the file of a submission that the path names; ``back`` is the page that has its button."""
    ids = (str(form_id), str(submission_id), str(request.param_id("upload_id")))
    stored = await request.read(uploads.find_file, *ids)
    if stored is None:
        return request.not_found()
    taken = await request.run(forms.files, submission_id)
    if isinstance(taken, Refusal):
        return request.refused(taken, back)
    reading = (request.access.studio_id, stored.stored_name, stored.place)
    opened = await in_thread(request.runtime.uploads.open_or_refuse, *reading)
    if isinstance(opened, Refusal):
        return request.error(opened)
    return attachment(OpenFile(opened.stream, stored.size), BINARY, stored.filename)
