"""Keep one lead per person when a member's email changes or two members are merged."""

from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.events import EventType
from studiogate.domain.leads import filled_within_limits
from studiogate.domain.people import joined_notes, joined_notes_refusal
from studiogate.domain.refusals import Refusal
from studiogate.flows.changes import changing
from studiogate.storage import leads
from studiogate.storage import person_merge as storage
from studiogate.storage.db.pool import Connection


async def lead_follows(
    connection: Connection, access: Access, member_id: UUID, email: str | None, email_before: str | None
) -> Refusal | None:
    """Let the lead with the email that a member had follow: it takes the member's email, or joins the lead that has it.

    Must run inside a transaction in which both emails are locked. Without a new email the lead stays as it is, and the
    member is remembered as its person.
    """
    merged = None if email_before == email else await storage.lock_lead_of(connection, access, email_before)
    if merged is None:
        return None
    if email is None:
        await storage.remember_lead(connection, access, merged, member_id)
        return None
    kept = await storage.lock_lead_of(connection, access, email)
    if kept is None:
        async with changing(connection, access, EventType.LEAD_UPDATED, merged):
            await storage.rename_lead(connection, access, merged, email)
        return None
    return await _absorb_lead(connection, access, kept, merged, member_id)


async def _absorb_lead(
    connection: Connection, access: Access, kept: UUID, merged: UUID, member_id: UUID
) -> Refusal | None:
    notes = await storage.lead_notes(connection, access, [kept, merged])
    refusal = joined_notes_refusal(notes)
    if refusal is not None:
        return refusal
    theirs, own = [await leads.lock_lead(connection, access, each) for each in (merged, kept)]
    if theirs is None or own is None:
        raise AssertionError("both leads are locked")
    async with changing(connection, access, EventType.LEAD_UPDATED, kept):
        await leads.fill_lead(connection, access, kept, filled_within_limits(own.contact, theirs.contact))
        await storage.absorb_lead(connection, access, merged, kept, joined_notes(notes))
    await storage.remember_lead(connection, access, merged, member_id)
    return None
