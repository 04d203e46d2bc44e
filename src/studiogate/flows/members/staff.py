"""What staff do with a member: create, change, suspend, add a note."""

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.fields.people import MemberRole
from studiogate.domain.members import Profile, note_fault, read_member, read_member_changes
from studiogate.domain.people import notes_refusal
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import refused, refused_reason
from studiogate.flows.changes import audited, record_creation, recorded
from studiogate.flows.members.create import create as create_member
from studiogate.flows.members.create import lead_follows, locked_member, member_exists, members_appeared
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage import members as storage
from studiogate.storage import people, studio
from studiogate.storage.audit import Subject
from studiogate.storage.db.pool import Connection
from studiogate.storage.members import KeptMember
from studiogate.storage.paging import read_one
from studiogate.storage.resources import MEMBER


@staff_flow(Permission.MEMBERS)
async def create(connection: Connection, access: Access, given: Mapping[str, object]) -> dict[str, Any] | Refusal:
    """Create a member, convert the lead with the same email, and adopt earlier submissions; return the member."""
    return await create_within(connection, access, given)


async def create_within(
    connection: Connection, access: Access, given: Mapping[str, object]
) -> dict[str, object] | Refusal:
    values, faults = read_member(given, await studio.country_of(connection, access))
    if faults:
        return refused(*faults)
    if isinstance(wire := await create_member(connection, access, values), Refusal):
        return wire
    made: dict[str, Any] = json.loads(wire)
    await record_creation(connection, access, "member.create", Subject("member", UUID(made["id"])))
    return made


@staff_flow(Permission.MEMBERS)
async def change(
    connection: Connection, access: Access, member_id: UUID, given: Mapping[str, object]
) -> dict[str, Any] | Refusal:
    """Change the given fields of a member; return the member. A new email converts and adopts as a new member does."""
    return await change_within(connection, access, member_id, given)


async def change_within(
    connection: Connection, access: Access, member_id: UUID, given: Mapping[str, object]
) -> dict[str, object] | Refusal:
    values, faults = read_member_changes(given, await studio.country_of(connection, access))
    if faults:
        return refused(*faults)
    if isinstance(kept := await locked_member(connection, access, member_id), Refusal):
        return kept
    profile = {**kept.profile, **values}
    if refusal := await _email_refusal(connection, access, kept, profile):
        return refusal
    subject = Subject("member", member_id)
    async with recorded(connection, access, "member.change", subject):
        await storage.write_profile(connection, access, member_id, profile)
    if refusal := await lead_follows(connection, access, member_id, profile["email"], kept.profile["email"]):
        return refusal
    if profile["email"] is not None and _appears(kept.profile, profile):
        await members_appeared(connection, access, [profile["email"]])
    if (wire := await read_one(connection, access, MEMBER, member_id)) is None:
        raise AssertionError("a locked member can be read")
    return dict(json.loads(wire))


async def _email_refusal(connection: Connection, access: Access, kept: KeptMember, profile: Profile) -> Refusal | None:
    """Lock the emails that the member has and will have, and refuse one that another member has."""
    emails = {kept.profile["email"], profile["email"]} - {None} if _appears(kept.profile, profile) else set()
    await people.lock_emails(connection, access, [each for each in emails if each is not None])
    if profile["email"] is None:
        return None
    owner = await storage.member_with_email(connection, access, profile["email"])
    return None if owner in (None, kept.id) else await member_exists(connection, access, profile["email"])


def _appears(before: Profile, after: Profile) -> bool:
    """Return whether a member with this email appears: by a new email, or by the role of somebody who was a lead."""
    was_a_lead = before["role"] == MemberRole.LEAD and after["role"] != MemberRole.LEAD
    return was_a_lead or bool(after["email"] != before["email"])


@staff_flow(Permission.MEMBERS)
async def suspend(connection: Connection, access: Access, member_id: UUID, reason: str | None = None) -> UUID | Refusal:
    """Suspend a member: partners and staff can make no new bookings for them. Bookings that exist stay."""
    return await _set_suspended(connection, access, member_id, True, reason)


@staff_flow(Permission.MEMBERS)
async def unsuspend(
    connection: Connection, access: Access, member_id: UUID, reason: str | None = None
) -> UUID | Refusal:
    return await _set_suspended(connection, access, member_id, False, reason)


async def _set_suspended(
    connection: Connection, access: Access, member_id: UUID, suspended: bool, reason: str | None
) -> UUID | Refusal:
    if refusal := refused_reason(reason):
        return refusal
    if isinstance(kept := await locked_member(connection, access, member_id), Refusal):
        return kept
    if kept.suspended == suspended:
        is_now = "suspended" if suspended else "not suspended"
        return Refusal(Code.INVALID_TRANSITION, {"from": is_now, "to": is_now})
    action = "member.suspend" if suspended else "member.unsuspend"
    async with audited(connection, access, action, Subject("member", member_id), reason):
        await storage.set_suspended(connection, access, member_id, suspended)
    return member_id


@staff_flow(Permission.MEMBERS)
async def add_note(connection: Connection, access: Access, member_id: UUID, note: str) -> UUID | Refusal:
    """Append a note to the staff notes of a member. Partners never see them."""
    if refusal := note_fault(note):
        return refusal
    kept = await locked_member(connection, access, member_id)
    refusal = kept if isinstance(kept, Refusal) else notes_refusal(kept.notes_bytes, note.strip())
    if refusal is not None:
        return refusal
    async with audited(connection, access, "member.note", Subject("member", member_id)):
        await storage.add_note(connection, access, member_id, note.strip())
    return member_id
