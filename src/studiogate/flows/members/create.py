"""Create a member, and what follows when a member with an email appears, whichever flow is the cause."""

import json
from collections.abc import Sequence
from uuid import UUID

from studiogate.domain.access import Access, Scope
from studiogate.domain.events import EventType
from studiogate.domain.fields import Values
from studiogate.domain.leads import filled_within_limits
from studiogate.domain.people import joined_notes, joined_notes_refusal
from studiogate.domain.refusals import NOT_FOUND, Code, Refusal, faulty
from studiogate.flows.changes import changing, emit_event, record_creation_by_key
from studiogate.flows.leads import BAD_PHONE, phone_in_studio
from studiogate.storage import leads, people, person_merge
from studiogate.storage import members as storage
from studiogate.storage.audit import Subject
from studiogate.storage.db.pool import Connection


async def create(connection: Connection, access: Access, given: Values) -> str | Refusal:
    """Create a member and convert the lead with the same email, if given. Must run inside a transaction."""
    email, typed = given.get("email"), given.get("phone")
    phone = await phone_in_studio(connection, access, typed) if typed else None
    if typed and phone is None:
        return faulty(BAD_PHONE)
    if email is not None:
        await people.lock_email(connection, access, email)
        if await storage.member_of_email(connection, access, email) is not None:
            return await member_exists(connection, access, email)
    if (wire := await storage.insert_member(connection, access, {**given, "phone": phone})) is None:
        return await member_exists(connection, access, email)
    member_id = UUID(json.loads(wire)["id"])
    await emit_event(connection, access, EventType.MEMBER_CREATED, member_id)
    await record_creation_by_key(connection, access, "member.create", Subject("member", member_id))
    if email is not None:
        await members_appeared(connection, access, [email])
    return wire


async def member_exists(connection: Connection, access: Access, email: str | None) -> Refusal:
    """Return the refusal for an existing member, with the member's id only for a key that may read members."""
    if Scope.MEMBERS_READ not in access.scopes:
        return Refusal(Code.MEMBER_EXISTS)
    member_id = None if email is None else await storage.member_of_email(connection, access, email)
    return Refusal(Code.MEMBER_EXISTS, {"member_id": str(member_id)})


async def locked_member(connection: Connection, access: Access, member_id: UUID) -> storage.KeptMember | Refusal:
    """Lock a member, unless there is none or the member was erased: nothing is changed on an erased one."""
    if (kept := await storage.lock_member(connection, access, member_id)) is None:
        return NOT_FOUND
    return Refusal(Code.INVALID_TRANSITION, {"from": "erased", "to": "changed"}) if kept.erased else kept


async def lead_follows(
    connection: Connection, access: Access, member_id: UUID, email: str | None, email_before: str | None
) -> Refusal | None:
    """Let the lead with the email that a member had follow: it takes the member's email, or joins the lead that has it.
    Without a new email it stays, and the member is remembered. Both emails must be locked."""
    merged = None if email_before == email else await person_merge.lock_lead_of(connection, access, email_before)
    if merged is None:
        return None
    if email is None:
        await person_merge.remember_lead(connection, access, merged, member_id)
        return None
    if (kept := await person_merge.lock_lead_of(connection, access, email)) is None:
        async with changing(connection, access, EventType.LEAD_UPDATED, merged):
            await person_merge.rename_lead(connection, access, merged, email)
        return None
    notes = await person_merge.lead_notes(connection, access, [kept, merged])
    if refusal := joined_notes_refusal(notes):
        return refusal
    theirs, own = [await leads.lock_lead(connection, access, each) for each in (merged, kept)]
    if theirs is None or own is None:
        raise AssertionError("both leads are locked")
    async with changing(connection, access, EventType.LEAD_UPDATED, kept):
        await leads.fill_lead(connection, access, kept, filled_within_limits(own.contact, theirs.contact))
        await person_merge.absorb_lead(connection, access, merged, kept, joined_notes(notes))
    await person_merge.remember_lead(connection, access, merged, member_id)
    return None


BATCH = 500


async def members_appeared(
    connection: Connection, access: Access, emails: Sequence[str], *, announce: bool = True
) -> int:
    """Convert the leads with these members' emails, and assign earlier submissions with them to the members; return how
    many leads were converted. Every flow that creates a member, changes a member's email or merges two calls this, with
    the emails locked (``storage.people``). Without ``announce`` no event is emitted."""
    converted = 0
    for start in range(0, len(emails), BATCH):
        batch = emails[start : start + BATCH]
        lead_ids = await people.lock_leads_of_members(connection, access, batch)
        if lead_ids and announce:
            async with changing(connection, access, EventType.LEAD_UPDATED, *lead_ids):
                await people.convert(connection, access, lead_ids)
        elif lead_ids:
            await people.convert(connection, access, lead_ids)
        await people.adopt_submissions(connection, access, batch)
        converted += len(lead_ids)
    return converted
