"""Create and update forms (POST /forms and PUT /forms/{id})."""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.events import EventType
from studiogate.domain.forms import canonical
from studiogate.domain.forms.states import FormStatus, free_slug, transition_refusal
from studiogate.domain.json_values import same_json
from studiogate.domain.names import slug_of
from studiogate.domain.refusals import NOT_FOUND, Code, Fault, Refusal
from studiogate.flows.changes import audited_key, changing, emit_event, record_creation_by_key
from studiogate.storage.audit import Subject
from studiogate.storage.db.pool import Connection, TransactionConflictError
from studiogate.storage.forms import save as storage

SLUG_TAKEN = Refusal(Code.SLUG_TAKEN, param="slug")


async def create(connection: Connection, access: Access, wanted: storage.FormContent) -> str | Refusal:
    """Create a checked form, with a slug from its title if it has none. Must run inside a transaction."""
    plain = slug_of(wanted.title) or "form"
    slug = wanted.slug or free_slug(plain, await storage.taken_slugs(connection, access, plain, None))
    wire = await storage.insert_form(connection, access, _canonical(replace(wanted, slug=slug)))
    if wire is None and not wanted.slug:
        raise TransactionConflictError("another form took the slug at the same moment")
    if wire is None:
        return SLUG_TAKEN
    form_id = UUID(json.loads(wire)["id"])
    await emit_event(connection, access, EventType.FORM_CREATED, form_id)
    await record_creation_by_key(connection, access, "form.create", Subject("form", form_id))
    return wire


async def update(connection: Connection, access: Access, form_id: str, given: Mapping[str, Any]) -> str | Refusal:
    """Replace each given field whole and keep the absent ones. Must run inside a transaction."""
    if (stored := await storage.lock_form(connection, access, form_id)) is None:
        return NOT_FOUND
    before, after = _canonical(stored.content), _canonical(replace(stored.content, **given))
    if refusal := _size_refusal(given, after) or await _refusal(connection, access, form_id, before, after):
        return refusal
    if same_json(asdict(after), asdict(before)):
        return await storage.read_form(connection, access, form_id) or NOT_FOUND
    async with audited_key(connection, access, "form.change", Subject("form", UUID(form_id))):
        for content in _steps(before, after):
            async with changing(connection, access, EventType.FORM_UPDATED, UUID(form_id)):
                wire = await storage.update_form(connection, access, form_id, content, stored.version + 1)
    await storage.keep_version(connection, access, form_id)
    return wire


def _canonical(content: storage.FormContent) -> storage.FormContent:
    fields, settings = canonical.completed_fields(content.fields), canonical.canonical_settings(content.settings)
    return replace(content, fields=fields, settings=settings)


def _steps(before: storage.FormContent, after: storage.FormContent) -> list[storage.FormContent]:
    """Return the states that a change goes through, each announced by its own event. Readers without forms:write see a
    form only while it is published, so an event that they get must not contain its content before or after that.
    Publishing is announced after the changes of the draft, withdrawing before them."""
    if before.status == after.status or FormStatus.PUBLISHED not in (before.status, after.status):
        return [after]
    published = after.status == FormStatus.PUBLISHED
    between = replace(after, status=before.status) if published else replace(before, status=after.status)
    only_the_status = same_json(asdict(between), asdict(before if published else after))
    return [after] if only_the_status else [between, after]


def _size_refusal(given: Mapping[str, object], after: storage.FormContent) -> Refusal | None:
    """Refuse a given definition that is too large; an older form that is larger can still be renamed or archived."""
    names = [name for name in ("fields", "settings") if name in given]
    if not names or canonical.definition_size(after.fields, after.settings) <= canonical.MAX_DEFINITION:
        return None
    fault = Fault(("body", names[0]), "form_definition", f"Value {canonical.TOO_LARGE}")
    return Refusal(Code.VALIDATION_ERROR, param=names[0], faults=[fault])


async def _refusal(
    connection: Connection, access: Access, form_id: str, before: storage.FormContent, after: storage.FormContent
) -> Refusal | None:
    submitted = await storage.has_submissions(connection, access, form_id)
    refusal = transition_refusal(before.status, after.status, has_submissions=submitted)
    if refusal is not None or after.slug == before.slug:
        return refusal
    taken = await storage.taken_slugs(connection, access, after.slug, form_id)
    return SLUG_TAKEN if after.slug in taken else None
