"""Switch the kinds of mails to members on or off for a studio."""

from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.mails import MailKind
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.changes import audited
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage.audit import Subject
from studiogate.storage.bookings import mails
from studiogate.storage.db.pool import Connection


@staff_flow(Permission.STUDIO)
async def switch_mails(connection: Connection, access: Access, kind: MailKind, on: bool) -> bool | Refusal:
    """Switch one kind of mail on or off; return the new state. Mails that are already queued are still sent."""
    refusal = access.refusal_without_all_locations(Permission.STUDIO)
    if refusal is not None:
        return refusal
    studio_id: UUID = access.studio_id
    switches = await mails.lock_switches(connection, access)
    async with audited(connection, access, "studio.switch_mails", Subject("studio", studio_id)):
        await mails.set_switches(connection, access, {**switches, kind.value: on})
    return on
