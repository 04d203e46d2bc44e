"""What follows when a member is created, whichever flow creates it."""

from collections.abc import Sequence

from studiogate.domain.access import Access
from studiogate.domain.events import EventType
from studiogate.flows.changes import changing
from studiogate.storage import people as storage
from studiogate.storage.db.pool import Connection

BATCH = 500


async def members_appeared(
    connection: Connection, access: Access, emails: Sequence[str], *, announce: bool = True
) -> int:
    """Convert the leads with these members' emails, and assign earlier submissions with these emails to the members.

    Every flow that creates a member, changes a member's email or merges two members calls this, in its own transaction,
    with the emails locked (``storage.people``). Without ``announce`` no event is emitted. Return how many leads were
    converted.
    """
    converted = 0
    for start in range(0, len(emails), BATCH):
        batch = emails[start : start + BATCH]
        lead_ids = await storage.lock_leads_of_members(connection, access, batch)
        if lead_ids and announce:
            async with changing(connection, access, EventType.LEAD_UPDATED, *lead_ids):
                await storage.convert(connection, access, lead_ids)
        elif lead_ids:
            await storage.convert(connection, access, lead_ids)
        await storage.adopt_submissions(connection, access, batch)
        converted += len(lead_ids)
    return converted
