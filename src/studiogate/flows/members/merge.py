"""Merge two members that are one person: everything of the duplicate becomes the kept member's.

One transaction holds the classes of all live bookings of both, and both members, so no booking, cancellation or
promotion sees half of it. Seats, positions and credits stay where they are; only their owner changes.
"""

from collections.abc import Sequence
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
from studiogate.storage.audit import Entry, Subject
from studiogate.storage.db.pool import Connection
from studiogate.storage.members import KeptMember
from studiogate.storage.people import LiveBooking, PersonRows

SAME = refused(fault("merged_id", "must be another member"))


class Merged(NamedTuple):
    """What a merge moved to the kept member."""

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
    refusal = _refusal_of_classes(live, merged_id)
    if refusal is not None:
        return refusal
    emails = [each for each in (kept.profile["email"], other.profile["email"]) if each is not None]
    await people.lock_emails(connection, access, emails)
    rows = await people.rows_of_person(connection, access, merged_id, other.profile["email"])
    return await _merge(connection, access, kept, other, rows)


def _refusal_of_classes(live: Sequence[LiveBooking], merged_id: UUID) -> Refusal | None:
    """Refuse two live bookings in one class: nobody has two places, and which one goes is for staff to say."""
    theirs = {each.class_id for each in live if each.member_id == merged_id}
    both = sorted({each.class_id for each in live if each.member_id != merged_id} & theirs)
    return Refusal(Code.ALREADY_BOOKED, {"class_ids": [str(each) for each in both]}) if both else None


async def _merge(
    connection: Connection, access: Access, kept: KeptMember, other: KeptMember, rows: PersonRows
) -> Merged | Refusal:
    notes = [await storage.notes_of(connection, access, each.id) for each in (kept, other)]
    refusal = joined_notes_refusal(notes)
    if refusal is not None:
        return refusal
    profile = merged_profile(kept.profile, other.profile)
    suspended = kept.suspended or other.suspended
    async with (
        recorded(connection, access, "member.merge", Subject("member", kept.id)),
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
    await _record_end(connection, access, other.id, kept.id)
    refusal = await lead_follows(connection, access, kept.id, profile["email"], other.profile["email"])
    if refusal is not None:
        return refusal
    if profile["email"] is not None:
        await members_appeared(connection, access, [profile["email"]])
    counts = (len(rows.bookings), len(rows.memberships), len(rows.purchases), len(rows.submissions))
    return Merged(kept.id, other.id, *counts)


async def _record_end(connection: Connection, access: Access, merged_id: UUID, kept_id: UUID) -> None:
    """Record where the merged member went, under the id that no longer exists."""
    changes = {"merged_into": [None, str(kept_id)]}
    await audit.add(connection, access, Entry("member.merge", Subject("member", merged_id), changes))
