"""Lock a member for a change by staff."""

from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.refusals import NOT_FOUND, Code, Refusal
from studiogate.storage import members as storage
from studiogate.storage.db.pool import Connection
from studiogate.storage.members import KeptMember


async def locked_member(connection: Connection, access: Access, member_id: UUID) -> KeptMember | Refusal:
    """Lock a member, unless there is none or the member was erased: nothing is changed on an erased one."""
    kept = await storage.lock_member(connection, access, member_id)
    if kept is None:
        return NOT_FOUND
    return Refusal(Code.INVALID_TRANSITION, {"from": "erased", "to": "changed"}) if kept.erased else kept
