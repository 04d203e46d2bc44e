"""Create or identify leads, update them, and note their submissions."""

from collections.abc import Mapping
from uuid import UUID

from studiogate.domain import leads
from studiogate.domain.access import Access
from studiogate.domain.events import EventType
from studiogate.domain.json_values import json_text
from studiogate.domain.leads import FORM_SUBMISSIONS, FormSubmission, LeadContact
from studiogate.domain.people import normalize_email, notes_refusal
from studiogate.domain.phones import normalize_phone
from studiogate.domain.refusals import NOT_FOUND, Fault, Refusal, faulty
from studiogate.flows.changes import changing, recorded_for_key
from studiogate.flows.idempotency import Stored, WriteContext
from studiogate.storage import leads as storage
from studiogate.storage import studio
from studiogate.storage.audit import Subject
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import new_id

DEFAULT_SOURCE = "partner_api"
FORM_SOURCE = "form"
BAD_PHONE = Fault(("body", "phone"), "phone_parsing", "Input should be a valid phone number")
RESERVED_KEY = Fault(
    ("body", "metadata", FORM_SUBMISSIONS), "value_error", "Input should be left out: only the service writes this list"
)
METADATA_TOO_LARGE = Fault(("body", "metadata"), "too_long", "Metadata should have at most 16 KiB as stored")


async def phone_in_studio(connection: Connection, access: Access, phone: str) -> str | None:
    """Return the number in E.164, or None if it is invalid; the studio's country applies where no code is given."""
    return normalize_phone(phone, await studio.country_of(connection, access))


async def phone_faults(connection: Connection, access: Access, phone: object) -> list[Fault]:
    wrong = isinstance(phone, str) and await phone_in_studio(connection, access, phone) is None
    return [BAD_PHONE] if wrong else []


async def create_faults(
    connection: Connection, access: Access, email: object, phone: object, metadata: Mapping[str, object]
) -> list[Fault]:
    """Return everything that is wrong with a request to create a lead, or to fill in the one that has this email."""
    faults = await phone_faults(connection, access, phone)
    if FORM_SUBMISSIONS in metadata:
        faults.append(RESERVED_KEY)
    own = leads.without_submissions(metadata)
    known = normalize_email(email) if own and isinstance(email, str) else None  # judging a long email is costly
    kept = await storage.metadata_with_email(connection, access, known) if known else None
    if leads.metadata_too_large(own) or leads.grows_too_large(kept or {}, leads.merged(kept or {}, own)):
        faults.append(METADATA_TOO_LARGE)
    return faults


async def update_faults(
    connection: Connection, access: Access, lead_id: str | None, phone: object, patch: object
) -> list[Fault]:
    """Return what is wrong with an update, as far as its parts can be read."""
    faults = await phone_faults(connection, access, phone)
    if not isinstance(patch, Mapping):
        return faults
    kept = await storage.metadata_of(connection, access, lead_id) if lead_id else None
    return faults + _patch_faults(kept, patch)


def _patch_faults(kept: Mapping[str, object] | None, patch: Mapping[str, object]) -> list[Fault]:
    """Return what is wrong with a change of the metadata of a lead; without a lead, as far as the patch shows it."""
    reserved = kept is not None and leads.changes_submissions(kept, patch)
    too_large = leads.grows_too_large(kept or {}, leads.patched(kept or {}, leads.without_submissions(patch)))
    return [*([RESERVED_KEY] if reserved else []), *([METADATA_TOO_LARGE] if too_large else [])]


async def create_or_identify(
    connection: Connection, context: WriteContext, email: str, contact: LeadContact
) -> Stored | str | Refusal:
    """Create a lead, or fill in the existing one: there is one lead per email. The email must be locked."""
    access, metadata = context.access, contact.metadata
    phone = await phone_in_studio(connection, access, contact.phone) if contact.phone else None
    if (contact.phone and phone is None) or FORM_SUBMISSIONS in metadata or leads.metadata_too_large(metadata):
        return faulty(*await create_faults(connection, access, email, contact.phone, metadata))
    given = LeadContact(contact.first_name, contact.last_name, phone, contact.source, contact.metadata)
    lead_id = new_id()
    response = context.success(mutation(lead_id, created=True))
    whole = given.filled_from(LeadContact(source=DEFAULT_SOURCE))
    new = storage.NewLead(lead_id, email, whole, is_recorded=True, answers=context.answer(response))
    if (kept := await storage.make_or_lock(connection, access, new)) is None:
        return response
    filled = kept.contact.filled_from(given)
    if leads.grows_too_large(kept.contact.metadata, filled.metadata):
        return faulty(METADATA_TOO_LARGE)
    async with recorded_for_key(connection, access, "lead.change", Subject("lead", kept.id)):
        await storage.fill_lead(connection, access, kept.id, filled)
    return mutation(kept.id, created=False)


async def update(connection: Connection, access: Access, lead_id: str, wanted: storage.LeadChange) -> str | Refusal:
    """Update a lead by ``wanted``, whose metadata is a patch. Must run inside a transaction."""
    kept = await storage.lock_lead(connection, access, lead_id)
    phone = await phone_in_studio(connection, access, wanted.phone) if wanted.phone else None
    before = None if kept is None else kept.contact.metadata
    faults = [BAD_PHONE] if wanted.phone and phone is None else []
    faults += [] if wanted.metadata is None else _patch_faults(before, wanted.metadata)
    if faults:
        return faulty(*faults)
    if kept is None:
        return NOT_FOUND
    metadata = None if wanted.metadata is None else leads.patched(kept.contact.metadata, wanted.metadata)
    if refusal := leads.status_refusal(kept.status, wanted.status) or notes_refusal(kept.notes_bytes, wanted.notes):
        return refusal
    change = wanted._replace(phone=phone, metadata=metadata)
    async with recorded_for_key(connection, access, "lead.change", Subject("lead", kept.id)):
        await storage.change_lead(connection, access, kept.id, change)
    return mutation(kept.id, created=False)


async def lead_from_form(connection: Connection, access: Access, email: str, name: str | None) -> UUID:
    """Return the id of a lead for an unknown email that came with a form. The email must be locked."""
    first_name, _, last_name = (name or "").strip().partition(" ")
    contact = LeadContact(first_name, last_name.strip(), source=FORM_SOURCE)
    new = storage.NewLead(new_id(), email, contact)
    return (await storage.make_or_lock(connection, access, new) or new).id


async def note_submission(connection: Connection, access: Access, lead_id: UUID, submission: FormSubmission) -> None:
    """Add a submission to the lead's metadata, which keeps the newest 20."""
    kept = await storage.lock_lead(connection, access, lead_id)
    if kept is not None:
        metadata = leads.with_submissions(kept.contact.metadata, [submission])
        async with changing(connection, access, EventType.LEAD_UPDATED, lead_id):
            await storage.set_metadata(connection, access, lead_id, metadata)


def mutation(lead_id: UUID, *, created: bool) -> str:
    return json_text({"id": str(lead_id), "object": "lead", "created": created})
