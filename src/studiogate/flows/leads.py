"""Create or identify leads, update them, and note their submissions."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.events import EventType
from studiogate.domain.leads import (
    FORM_SUBMISSIONS,
    FormSubmission,
    LeadContact,
    changes_submissions,
    metadata_too_large,
    patched,
    status_refusal,
    with_submissions,
)
from studiogate.domain.people import notes_refusal
from studiogate.domain.phones import normalize_phone
from studiogate.domain.refusals import NOT_FOUND, Fault, Refusal, faulty
from studiogate.flows.announce import changing
from studiogate.flows.audit import audited_key
from studiogate.flows.idempotency import Stored, WriteContext
from studiogate.storage import leads as storage
from studiogate.storage import studio
from studiogate.storage.audit import Subject
from studiogate.storage.db.ids import new_id
from studiogate.storage.db.pool import Connection
from studiogate.storage.leads import KeptLead, LeadChange, NewLead

DEFAULT_SOURCE = "partner_api"
FORM_SOURCE = "form"
BAD_PHONE = Fault(("body", "phone"), "phone_parsing", "Input should be a valid phone number")
RESERVED_KEY = Fault(
    ("body", "metadata", FORM_SUBMISSIONS), "value_error", "Input should be left out: only the service writes this list"
)
METADATA_TOO_LARGE = Fault(("body", "metadata"), "too_long", "Metadata should have at most 16 KiB as stored")


@dataclass(frozen=True, slots=True)
class LeadUpdate:
    """The requested changes; None leaves a field unchanged. ``metadata`` is a patch."""

    first_name: str | None = None
    last_name: str | None = None
    sets_phone: bool = False
    phone: str | None = None
    status: str | None = None
    notes: str | None = None
    metadata: Mapping[str, object] | None = None


async def phone_in_studio(connection: Connection, access: Access, phone: str) -> str | None:
    """Return the number in E.164, or None if it is invalid; the studio's country applies where no code is given."""
    return normalize_phone(phone, await studio.country_of(connection, access))


async def phone_faults(connection: Connection, access: Access, phone: object) -> list[Fault]:
    """Return what is wrong with a phone number, if one is given."""
    if not isinstance(phone, str) or await phone_in_studio(connection, access, phone) is not None:
        return []
    return [BAD_PHONE]


async def create_or_identify(
    connection: Connection, context: WriteContext, email: str, contact: LeadContact
) -> Stored | str | Refusal:
    """Create a lead, or fill in the existing one: there is one lead per email. The email must be locked."""
    phone, access = None, context.access
    if contact.phone:
        phone = await phone_in_studio(connection, access, contact.phone)
        if phone is None:
            return faulty(BAD_PHONE)
    if FORM_SUBMISSIONS in contact.metadata:
        return faulty(RESERVED_KEY)
    if metadata_too_large(contact.metadata):
        return faulty(METADATA_TOO_LARGE)
    given = LeadContact(contact.first_name, contact.last_name, phone, contact.source, contact.metadata)
    lead_id = new_id()
    response = context.success(mutation(lead_id, created=True))
    whole = given.filled_from(LeadContact(source=DEFAULT_SOURCE))
    new = NewLead(lead_id, email, whole, is_recorded=True, answers=context.answer(response))
    kept = await storage.make_or_lock(connection, access, new)
    return response if kept is None else await _fill(connection, access, kept, given)


async def _fill(connection: Connection, access: Access, kept: KeptLead, given: LeadContact) -> str | Refusal:
    filled = kept.contact.filled_from(given)
    if filled.metadata != kept.contact.metadata and metadata_too_large(filled.metadata):
        return faulty(METADATA_TOO_LARGE)
    async with (
        audited_key(connection, access, "lead.change", Subject("lead", kept.id)),
        changing(connection, access, EventType.LEAD_UPDATED, kept.id),
    ):
        await storage.fill_lead(connection, access, kept.id, filled)
    return mutation(kept.id, created=False)


async def update(connection: Connection, access: Access, lead_id: str, wanted: LeadUpdate) -> str | Refusal:
    """Update a lead (PATCH /leads/{id} and its alias). Must run inside a transaction."""
    kept = await storage.lock_lead(connection, access, lead_id)
    phone = await phone_in_studio(connection, access, wanted.phone) if wanted.phone else None
    if wanted.phone and phone is None:
        return faulty(BAD_PHONE)
    if kept is None:
        return NOT_FOUND
    if wanted.metadata is not None and changes_submissions(kept.contact.metadata, wanted.metadata):
        return faulty(RESERVED_KEY)
    metadata = None if wanted.metadata is None else patched(kept.contact.metadata, wanted.metadata)
    if metadata is not None and metadata != kept.contact.metadata and metadata_too_large(metadata):
        return faulty(METADATA_TOO_LARGE)
    refusal = status_refusal(kept.status, wanted.status) or notes_refusal(kept.notes_bytes, wanted.notes)
    if refusal is not None:
        return refusal
    change = LeadChange(
        wanted.first_name, wanted.last_name, wanted.sets_phone, phone, wanted.status, wanted.notes, metadata
    )
    async with (
        audited_key(connection, access, "lead.change", Subject("lead", kept.id)),
        changing(connection, access, EventType.LEAD_UPDATED, kept.id),
    ):
        await storage.change_lead(connection, access, kept.id, change)
    return mutation(kept.id, created=False)


async def lead_from_form(connection: Connection, access: Access, email: str, name: str | None) -> UUID:
    """Return the id of a lead for an unknown email that came with a form. The email must be locked."""
    contact = LeadContact(first_name=(name or "").strip().partition(" ")[0], source=FORM_SOURCE)
    new = NewLead(new_id(), email, contact)
    return (await storage.make_or_lock(connection, access, new) or new).id


async def note_submission(connection: Connection, access: Access, lead_id: UUID, submission: FormSubmission) -> None:
    """Add a submission to the lead's metadata, which keeps the newest 20."""
    kept = await storage.lock_lead(connection, access, lead_id)
    if kept is not None:
        metadata = with_submissions(kept.contact.metadata, [submission])
        async with changing(connection, access, EventType.LEAD_UPDATED, lead_id):
            await storage.set_metadata(connection, access, lead_id, metadata)


def mutation(lead_id: UUID, *, created: bool) -> str:
    """Return the specification's mutation result."""
    return json.dumps({"id": str(lead_id), "object": "lead", "created": created}, separators=(",", ":"))
