"""What staff do with forms: build, publish, archive; take out the files of a submission; send a member a link."""

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.form_body import read_form
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import refused
from studiogate.flows.audit import audited, record, record_creation
from studiogate.flows.forms import save
from studiogate.flows.forms.save import WantedForm
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage.audit import Subject
from studiogate.storage.db.pool import Connection
from studiogate.storage.forms import hosted, uploads
from studiogate.storage.forms import save as storage
from studiogate.storage.forms.hosted import LinkGround
from studiogate.storage.forms.uploads import StoredFile

NOT_FOUND = Refusal(Code.NOT_FOUND)
NO_MEMBER = Refusal(Code.NOT_FOUND, {"kind": "member"})


@staff_flow(Permission.FORMS)
async def create(connection: Connection, access: Access, given: Mapping[str, Any]) -> dict[str, Any] | Refusal:
    """Create a form from its attributes; return it as partners who manage forms see it."""
    values, faults = read_form(given, new=True)
    if faults:
        return refused(*faults)
    outcome = await save.create(connection, access, WantedForm(**values))
    if isinstance(outcome, Refusal):
        return outcome
    form: dict[str, Any] = json.loads(outcome)
    await record_creation(connection, access, "form.create", Subject("form", UUID(form["id"])))
    return form


@staff_flow(Permission.FORMS)
async def change(
    connection: Connection, access: Access, form_id: UUID, given: Mapping[str, Any]
) -> dict[str, Any] | Refusal:
    """Replace each given attribute of a form whole, and keep the absent ones; publish and archive are statuses."""
    values, faults = read_form(given, new=False)
    if faults:
        return refused(*faults)
    if await storage.lock_form(connection, access, str(form_id)) is None:
        return NOT_FOUND
    action = {"published": "form.publish", "archived": "form.archive"}.get(values.get("status", ""), "form.change")
    async with audited(connection, access, action, Subject("form", form_id)):
        outcome = await save.update(connection, access, str(form_id), values)
    if isinstance(outcome, Refusal):
        return outcome
    form: dict[str, Any] = json.loads(outcome)
    return form


@staff_flow(Permission.SUBMISSIONS)
async def files(connection: Connection, access: Access, submission_id: UUID) -> list[StoredFile] | Refusal:
    """Return the files of a submission, and record that they were taken out."""
    found = await uploads.files_of_submission(connection, access, submission_id)
    if found is None:
        return NOT_FOUND
    await record(connection, access, "submission.files", "submission", submission_id)
    return found


@staff_flow(Permission.SUBMISSIONS)
async def link(connection: Connection, access: Access, form_id: UUID, member_id: UUID) -> LinkGround | Refusal:
    """Return what a signed link to a form is made from, and record for which member it was made."""
    ground = await hosted.find_link_ground(connection, access, form_id, member_id)
    if ground is None:
        return NOT_FOUND
    if not ground.member_known:
        return NO_MEMBER
    await record(connection, access, "form.link", "member", member_id)
    return ground
