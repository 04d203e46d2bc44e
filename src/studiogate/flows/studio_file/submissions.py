"""Submissions of an import that were linked to leads: the leads' metadata list them, as when one is sent."""

from studiogate.domain.access import Access
from studiogate.domain.leads import with_submissions
from studiogate.storage.db.pool import Connection
from studiogate.storage.studio_file import submission_links


async def note(connection: Connection, access: Access) -> None:
    """Add the linked submissions to the metadata of their leads. The events follow with those of the import's rows."""
    async for leads in submission_links.linked_leads(connection, access):
        metadata = {lead.id: with_submissions(lead.metadata, lead.submissions) for lead in leads}
        await submission_links.write_metadata(connection, access, metadata)
