"""The form builder's drafts: saved again and again while somebody edits, then published or discarded.

A draft is what was typed, faults included: it is read as a form only when it is published. Saving it is not a change of
the form. It raises no version and announces nothing, and the audit log says who began it, not each time it was saved.
"""

from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.forms.canonical import MAX_DEFINITION, TOO_LARGE
from studiogate.domain.forms.states import DRAFT_CHANGED, FormStatus
from studiogate.domain.json_values import json_text
from studiogate.domain.refusals import NOT_FOUND, Fault, Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import INVALID, refused
from studiogate.flows.changes import record
from studiogate.flows.forms import staff
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage.db.pool import Connection
from studiogate.storage.forms import drafts as storage
from studiogate.storage.forms import save

# With room for what is typed on the way, such as an option that is too long.
MAX_DRAFT = 2 * MAX_DEFINITION


class DraftToSave(NamedTuple):
    """What the builder shows now, and the revision of the draft that it shows: 0 if there was none."""

    content: dict[str, object]
    revision: int


@staff_flow(Permission.FORMS)
async def save_draft(connection: Connection, access: Access, form_id: UUID, wanted: DraftToSave) -> int | Refusal:
    """Save a draft and return its revision. Refused if somebody else has saved it since it was read."""
    content = json_text(wanted.content)
    if len(content) > MAX_DRAFT:
        return refused(Fault((), INVALID, f"The form {TOO_LARGE}."))
    if (form := await save.lock_form(connection, access, str(form_id))) is None:
        return NOT_FOUND
    draft = await storage.read(connection, access, form_id, lock=True)
    revision = 0 if draft is None else draft.revision
    if revision != wanted.revision:
        return DRAFT_CHANGED
    if draft is None:
        await storage.insert(connection, access, form_id, content, form.version)
        await record(connection, access, "form.edit", "form", form_id)
    else:
        await storage.update(connection, access, form_id, content)
    return revision + 1


@staff_flow(Permission.FORMS)
async def discard_draft(connection: Connection, access: Access, form_id: UUID) -> bool | Refusal:
    """Forget what was changed in the builder."""
    if await save.lock_form(connection, access, str(form_id)) is None:
        return NOT_FOUND
    if await storage.read(connection, access, form_id, lock=True) is not None:
        await storage.delete(connection, access, form_id)
        await record(connection, access, "form.discard", "form", form_id)
    return True


@staff_flow(Permission.FORMS)
async def publish_draft(
    connection: Connection, access: Access, form_id: UUID, revision: int
) -> dict[str, object] | Refusal:
    """Publish a form as the builder shows it. Refused if the draft is not the one that was read, or has faults."""
    if await save.lock_form(connection, access, str(form_id)) is None:
        return NOT_FOUND
    draft = await storage.read(connection, access, form_id, lock=True)
    if (0 if draft is None else draft.revision) != revision:
        return DRAFT_CHANGED
    given = {} if draft is None else dict(draft.content)
    outcome = await staff.change(connection, access, form_id, {**given, "status": FormStatus.PUBLISHED.value})
    if not isinstance(outcome, Refusal):
        await storage.delete(connection, access, form_id)
    return outcome
