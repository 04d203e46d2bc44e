"""What staff do with a lead: move it along the pipeline, add a note, make a member of it."""

from collections.abc import Mapping
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.fields.people import MemberRole
from studiogate.domain.leads import LeadStatus, status_refusal
from studiogate.domain.members import note_fault
from studiogate.domain.refusals import NOT_FOUND, Code, Refusal
from studiogate.domain.staff import Permission
from studiogate.flows import leads
from studiogate.flows.changes import audited
from studiogate.flows.members.create import members_appeared
from studiogate.flows.members.staff import change_within, create_within
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage import leads as storage
from studiogate.storage import members, people, person_merge
from studiogate.storage.audit import Subject
from studiogate.storage.db.pool import Connection, TransactionConflictError

BY_CONVERSION_ONLY = Refusal(Code.INVALID_TRANSITION, {"from": "not a member", "to": "converted"}, "status")


@staff_flow(Permission.LEADS)
async def move(connection: Connection, access: Access, lead_id: UUID, status: LeadStatus) -> LeadStatus | Refusal:
    """Move a lead along the pipeline. It becomes converted only by becoming a member, and stays it."""
    if status is LeadStatus.CONVERTED:
        return BY_CONVERSION_ONLY
    refusal = await _update(connection, access, "lead.move", lead_id, storage.LeadChange(status=status.value))
    return refusal or status


@staff_flow(Permission.LEADS)
async def add_note(connection: Connection, access: Access, lead_id: UUID, note: str) -> UUID | Refusal:
    """Append a note to the staff notes of a lead. Partners never see them."""
    refusal = note_fault(note)
    if refusal is None:
        refusal = await _update(connection, access, "lead.note", lead_id, storage.LeadChange(notes=note.strip()))
    return refusal or lead_id


async def _update(
    connection: Connection, access: Access, action: str, lead_id: UUID, update: storage.LeadChange
) -> Refusal | None:
    if await storage.lock_lead(connection, access, lead_id) is None:
        return NOT_FOUND
    async with audited(connection, access, action, Subject("lead", lead_id)):
        outcome = await leads.update(connection, access, str(lead_id), update)
    return outcome if isinstance(outcome, Refusal) else None


@staff_flow(Permission.LEADS)
async def convert(
    connection: Connection, access: Access, lead_id: UUID, given: Mapping[str, object]
) -> dict[str, object] | Refusal:
    """Make a member of a lead, with the lead's names, email and phone where none are given; return the member. A person
    who has a profile with the role lead becomes a member with that profile."""
    if (email := await storage.email_of_lead(connection, access, lead_id)) is None:
        return NOT_FOUND
    profile = await members.member_with_email(connection, access, email)
    if profile is not None:
        await members.lock_member(connection, access, profile)
    await people.lock_email(connection, access, email)
    kept = await storage.lock_lead(connection, access, lead_id)
    if kept is None or await storage.email_of_lead(connection, access, lead_id) != email:
        raise TransactionConflictError("the lead was merged or erased meanwhile")
    refusal = status_refusal(kept.status, LeadStatus.CONVERTED)
    # An import may bring a converted lead without its member: that one can be made of it.
    has_member = profile is not None or await person_merge.member_of_lead(connection, access, lead_id) is not None
    if refusal is not None and has_member:
        return refusal
    async with audited(connection, access, "lead.convert", Subject("lead", lead_id)):
        profile = await members.member_with_email(connection, access, email)
        if profile is not None:
            changed = await change_within(connection, access, profile, {**given, "role": MemberRole.MEMBER.value})
            await members_appeared(connection, access, [email])
            return changed
        contact = {name: getattr(kept.contact, name) for name in ("first_name", "last_name", "phone")}
        known = {name: value for name, value in contact.items() if value}
        return await create_within(connection, access, {**known, **given, "email": email})
