"""The locks of the booking flows, always in the same order: idempotency key, class row, then member rows by id.

A statement that waits for a lock sees the fresh locked row but stale other rows, so members, bookings and spots are
read by the next statement, or by a volatile function, which takes its own snapshot. ``no key update`` is sufficient,
and lets foreign key checks of other transactions pass.
"""

from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.storage.bookings.facts import (
    CLASS_COLUMNS,
    CLASS_SOURCES,
    ClassSituation,
    PeopleSituation,
    class_situation,
    one_member,
)
from studiogate.storage.db.pool import Connection
from studiogate.storage.idempotency import FirstResult, claim_with, first_result, found_first

PERMITTED = "($3::uuid[] is null or c.location_id = any($3))"

FIND_CLASS = f"""
    select {CLASS_COLUMNS} from classes c {CLASS_SOURCES}
    where c.studio_id = $1 and c.id = $2 and {PERMITTED}"""
LOCK_CLASS = FIND_CLASS + " for no key update of c"

# A booking's class and member never change, so they may be read before the lock. Not by a join: a plan made while there
# were few classes would scan all of them.
FIND_CLASS_OF_BOOKING = f"""
    select {CLASS_COLUMNS}, (select b.member_id from bookings b where b.studio_id = $1 and b.id = $2) as member_id
    from classes c {CLASS_SOURCES}
    where c.studio_id = $1 and c.id = (select b.class_id from bookings b where b.studio_id = $1 and b.id = $2)
    and {PERMITTED}"""
LOCK_CLASS_OF_BOOKING = FIND_CLASS_OF_BOOKING + " for no key update of c"

# An entry's class and member never change either.
LOCK_CLASS_OF_ENTRY = FIND_CLASS_OF_BOOKING.replace("from bookings b", "from waitlist_entries b") + (
    " for no key update of c"
)

# Locks key, class and member in one statement, in this order: a lateral subquery runs for each row of the preceding
# one, which is locked and fresh by then. If another transaction holds the key, or the key has a result, nothing else is
# locked. No member is locked while others wait for a free seat: then a separate statement locks several, by id.
#
# Once all are locked, the facts of the member are read by a function that takes its own snapshot. This does not apply
# to a class with spots, which uses another statement.
LOCK_CLASS_AND_MEMBER = f"""
    select first.*, class.*, member.id is not null as member_is_locked,
           case when member.id is not null and class.spot_selection_mode is null
                then member_facts($1, class.id, member.id, class.start_time, class.end_time)::text end as facts,
           clock_timestamp() as now
    from ({first_result("$5", "$6", "$7")}) first
    left join lateral (
        {FIND_CLASS} and first.key_is_free is not false and first.first_status is null
        for no key update of c) class on true
    left join lateral (
        select m.id from members m
        where m.studio_id = $1 and m.id = $4 and (class.waitlist_count = 0 or class.booked_count >= class.capacity)
        for no key update) member on true"""

# The same for a booking that may be cancelled. No member's facts are needed if no members wait; the booking itself is
# read by the next statement, like everything that is not locked.
LOCK_BOOKING = f"""
    select first.*, class.*, member.id is not null as member_is_locked
    from ({first_result("$4", "$5", "$6")}) first
    left join lateral (
        {FIND_CLASS_OF_BOOKING} and first.key_is_free is not false and first.first_status is null
        for no key update of c) class on true
    left join lateral (
        select m.id from members m where m.studio_id = $1 and m.id = class.member_id and class.waitlist_count = 0
        for no key update) member on true"""

LOCK_MEMBERS = """
    select m.id from members m
    where m.studio_id = $1 and (m.id = any($2::uuid[]) or m.id = any(array(
        select w.member_id from waitlist_entries w
        where w.studio_id = $1 and w.class_id = $3 and w.status = 'waiting' and w.position <= $4)))
    order by m.id
    for no key update"""


async def lock_class(connection: Connection, access: Access, class_id: UUID | str) -> ClassSituation | None:
    row = await connection.fetchrow(LOCK_CLASS, access.studio_id, class_id, access.location_ids)
    return None if row is None else class_situation(row)


class Locked(NamedTuple):
    """The locked class, whether the member is locked too, and the member's facts if all of them were read."""

    situation: ClassSituation
    member_is_locked: bool
    people: PeopleSituation | None = None


async def lock_class_and_member(
    connection: Connection, access: Access, class_id: UUID, member_id: UUID, key: str | None
) -> Locked | FirstResult | None:
    """Lock a class and, if possible, the member. If the member is not locked, ``lock_members`` must be called next. If
    the key has a result, return that result without locks."""
    arguments = (access.studio_id, class_id, access.location_ids, member_id, access.credential_id, key)
    row = await claim_with(connection, access, key, LOCK_CLASS_AND_MEMBER, arguments)
    if (first := found_first(row)) is not None:
        return first
    if row["id"] is None:
        return None
    situation, facts = class_situation(row), row["facts"]
    return Locked(
        situation, row["member_is_locked"], None if facts is None else one_member(situation, facts, row["now"])
    )


async def find_class(connection: Connection, access: Access, class_id: UUID | str) -> ClassSituation | None:
    """Return a class without locking it, for answers that change nothing."""
    row = await connection.fetchrow(FIND_CLASS, access.studio_id, class_id, access.location_ids)
    return None if row is None else class_situation(row)


async def lock_class_of_booking(
    connection: Connection, access: Access, booking_id: UUID | str
) -> tuple[ClassSituation, UUID] | None:
    """Lock the class of a booking; return it with the booking's member."""
    row = await connection.fetchrow(LOCK_CLASS_OF_BOOKING, access.studio_id, booking_id, access.location_ids)
    return None if row is None else (class_situation(row), row["member_id"])


async def lock_class_of_entry(
    connection: Connection, access: Access, entry_id: UUID
) -> tuple[ClassSituation, UUID] | None:
    """Lock the class of a waitlist entry; return it with the entry's member."""
    row = await connection.fetchrow(LOCK_CLASS_OF_ENTRY, access.studio_id, entry_id, access.location_ids)
    return None if row is None else (class_situation(row), row["member_id"])


async def find_class_of_booking(
    connection: Connection, access: Access, booking_id: UUID | str
) -> tuple[ClassSituation, UUID] | None:
    row = await connection.fetchrow(FIND_CLASS_OF_BOOKING, access.studio_id, booking_id, access.location_ids)
    return None if row is None else (class_situation(row), row["member_id"])


class LockedBooking(NamedTuple):
    """The locked class of a booking, the booking's member, and whether the member is locked too: then no members
    wait."""

    situation: ClassSituation
    member_id: UUID
    member_is_locked: bool


async def lock_booking(
    connection: Connection, access: Access, booking_id: UUID | str, key: str | None
) -> LockedBooking | FirstResult | None:
    """Lock a booking's class and, if no members wait, its member. If the member is not locked, ``lock_members`` must be
    called next. If the key has a result, return that result without locks."""
    arguments = (access.studio_id, booking_id, access.location_ids, access.credential_id, key)
    row = await claim_with(connection, access, key, LOCK_BOOKING, arguments)
    if (first := found_first(row)) is not None:
        return first
    if row["id"] is None:
        return None
    return LockedBooking(class_situation(row), row["member_id"], row["member_is_locked"])


async def lock_members(
    connection: Connection, access: Access, class_id: UUID, member_ids: list[UUID], *, depth: int = 0
) -> None:
    """Lock the given members and the first ``depth`` waiting members in one statement, ordered by id, so that all
    transactions lock members in the same order."""
    await connection.fetch(LOCK_MEMBERS, access.studio_id, member_ids, class_id, depth)
