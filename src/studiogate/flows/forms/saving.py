"""POST /forms and PUT /forms/{id}."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.events import EventType
from studiogate.domain.forms.saving import FormStatus, free_slug, slug_of, transition_refusal
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows.telling import changing, tell
from studiogate.storage.database import Connection, TransactionConflictError
from studiogate.storage.forms import reading
from studiogate.storage.forms import writing as storage
from studiogate.storage.forms.writing import FormContent

NOT_FOUND = Refusal(Code.NOT_FOUND)
SLUG_TAKEN = Refusal(Code.SLUG_TAKEN, param="slug")


@dataclass(frozen=True, slots=True)
class WantedForm:
    """A form to be made; without a slug it gets one from its title."""

    title: str
    slug: str | None = None
    description: str | None = None
    fields: list[Any] = field(default_factory=list)
    settings: Mapping[str, Any] = field(default_factory=dict)
    status: str = FormStatus.DRAFT


async def create(connection: Connection, access: Access, wanted: WantedForm) -> str | Refusal:
    """A new form, whose definition has been checked. The caller holds the transaction."""
    slug = wanted.slug or await _slug_from(connection, access, wanted.title)
    content = FormContent(wanted.title, slug, wanted.description, wanted.fields, wanted.settings, wanted.status)
    wire = await storage.insert_form(connection, access, content)
    if wire is None and wanted.slug is None:
        raise TransactionConflictError("another form took the slug at the same moment")
    if wire is None:
        return SLUG_TAKEN
    await tell(connection, access, EventType.FORM_CREATED, UUID(json.loads(wire)["id"]))
    return wire


async def _slug_from(connection: Connection, access: Access, title: str) -> str:
    wanted = slug_of(title)
    return free_slug(wanted, await storage.taken_slugs(connection, access, wanted, None))


async def update(connection: Connection, access: Access, form_id: str, given: Mapping[str, Any]) -> str | Refusal:
    """A given member replaces the old one whole, an absent one stays. The caller holds the transaction."""
    before = await storage.lock_content(connection, access, form_id)
    if before is None:
        return NOT_FOUND
    after = replace(before, **given)
    refusal = await _refusal(connection, access, form_id, before, after)
    if refusal is not None:
        return refusal
    if after == before:
        return await reading.read_form(connection, access, form_id) or NOT_FOUND
    async with changing(connection, access, EventType.FORM_UPDATED, UUID(form_id)):
        return await storage.update_form(connection, access, form_id, after)


async def _refusal(
    connection: Connection, access: Access, form_id: str, before: FormContent, after: FormContent
) -> Refusal | None:
    submitted = await storage.has_submissions(connection, access, form_id)
    refusal = transition_refusal(before.status, after.status, has_submissions=submitted)
    if refusal is not None or after.slug == before.slug:
        return refusal
    taken = await storage.taken_slugs(connection, access, after.slug, form_id)
    return SLUG_TAKEN if after.slug in taken else None
