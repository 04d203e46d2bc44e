"""Create a member: the part that POST /members and staff share."""

import json
from uuid import UUID

from studiogate.domain.access import Access, Scope
from studiogate.domain.events import EventType
from studiogate.domain.fields import Values
from studiogate.domain.refusals import Code, Refusal, faulty
from studiogate.flows.changes import emit_event, record_creation_by_key
from studiogate.flows.leads import BAD_PHONE, phone_in_studio
from studiogate.flows.people import members_appeared
from studiogate.storage import members as storage
from studiogate.storage import people
from studiogate.storage.audit import Subject
from studiogate.storage.db.pool import Connection


async def create(connection: Connection, access: Access, given: Values) -> str | Refusal:
    """Create a member and convert the lead with the same email. Must run inside a transaction. Partners always give an
    email; staff may not know one."""
    email, typed = given.get("email"), given.get("phone")
    phone = await phone_in_studio(connection, access, typed) if typed else None
    if typed and phone is None:
        return faulty(BAD_PHONE)
    if email is not None:
        await people.lock_email(connection, access, email)
    wire = await storage.insert_member(connection, access, {**given, "phone": phone})
    if wire is None:
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
    member_id = None if email is None else await storage.member_with_email(connection, access, email)
    return Refusal(Code.MEMBER_EXISTS, {"member_id": str(member_id)})
