"""Merge two members that are one person: everything of the duplicate becomes the kept member's.

One transaction holds the classes of all live bookings of both, and both members, so no booking, cancellation or
promotion sees half of it. Seats, positions and credits stay where they are; only their owner changes."""

from dataclasses import replace
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.bookings.states import LIVE
from studiogate.domain.events import EventType
from studiogate.domain.members import merged_profile
from studiogate.domain.people import joined_notes, joined_notes_refusal
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import fault, refused
from studiogate.flows.changes import changing, recorded
from studiogate.flows.members.create import lead_follows, locked_member, members_appeared
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage import audit, members, people
from studiogate.storage import person_merge as storage
from studiogate.storage.db.pool import Connection

SAME = refused(fault("merged_id", "must be another member"))


class Merged(NamedTuple):
    member_id: UUID
    merged_id: UUID
    bookings: int
    memberships: int
    purchases: int
    submissions: int


@staff_flow(Permission.MEMBERS)
async def merge(connection: Connection, access: Access, kept_id: UUID, merged_id: UUID) -> Merged | Refusal:
    """Move everything of ``merged_id`` to ``kept_id`` and delete it. Refused while both are in one class."""
    refusal = SAME if kept_id == merged_id else access.refusal_without_all_locations(Permission.MEMBERS)
    if refusal is not None:
        return refusal
    live = await people.lock_with_classes(connection, access, [kept_id, merged_id], LIVE, False)
    kept = await locked_member(connection, access, kept_id)
    other = await locked_member(connection, access, merged_id)
    if isinstance(kept, Refusal):
        return kept
    if isinstance(other, Refusal):
        return replace(other, param="merged_id")
    # Nobody has two places in one class, and which one goes is for staff to decide.
    theirs = {each.class_id for each in live if each.member_id == merged_id}
    both = sorted({each.class_id for each in live if each.member_id != merged_id} & theirs)
    if both:
        return Refusal(Code.ALREADY_BOOKED, {"class_ids": [str(each) for each in both]})
    emails = [each for each in (kept.profile["email"], other.profile["email"]) if each is not None]
    await people.lock_emails(connection, access, emails)
    rows = await people.rows_of_person(connection, access, merged_id, other.profile["email"])
    return await _merge(connection, access, kept, other, rows)


async def _merge(
    connection: Connection, access: Access, kept: members.KeptMember, other: members.KeptMember, rows: people.PersonRows
) -> Merged | Refusal:
    notes = [await storage.notes_of(connection, access, each.id) for each in (kept, other)]
    if refusal := joined_notes_refusal(notes):
        return refusal
    profile = merged_profile(kept.profile, other.profile)
    suspended = kept.suspended or other.suspended
    async with (
        recorded(connection, access, "member.merge", audit.Subject("member", kept.id)),
        changing(connection, access, EventType.MEMBER_MERGED, kept.id, merged_id=other.id),
        changing(connection, access, EventType.BOOKING_UPDATED, *rows.bookings),
        changing(connection, access, EventType.WAITLIST_UPDATED, *rows.waitlist_entries),
        changing(connection, access, EventType.MEMBERSHIP_UPDATED, *rows.memberships),
        changing(connection, access, EventType.PURCHASE_UPDATED, *rows.purchases),
    ):
        await storage.move_rows(connection, access, other.id, kept.id)
        await storage.delete_member(connection, access, other.id, kept.id, other.profile["email"])
        await members.write_profile(connection, access, kept.id, profile)
        await storage.write_standing(connection, access, kept.id, suspended, joined_notes(notes))
    # Under the id that no longer exists.
    end = audit.Entry("member.merge", audit.Subject("member", other.id), {"merged_into": [None, str(kept.id)]})
    await audit.add(connection, access, end)
    if refusal := await lead_follows(connection, access, kept.id, profile["email"], other.profile["email"]):
        return refusal
    if profile["email"] is not None:
        await members_appeared(connection, access, [profile["email"]])
    counts = (len(rows.bookings), len(rows.memberships), len(rows.purchases), len(rows.submissions))
    return Merged(kept.id, other.id, *counts)
