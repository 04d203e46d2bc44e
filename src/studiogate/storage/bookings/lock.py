"""The locks of the booking flows, always in the same order: idempotency key, class row, then member rows by id.

A statement that waits for a lock sees the fresh locked row but stale other rows, so members, bookings and spots are
read by the next statement, or by a volatile function, which takes its own snapshot. ``no key update`` is sufficient,
and lets foreign key checks of other transactions pass.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.storage.bookings.facts import (
    CLASS_COLUMNS,
    CLASS_SOURCES,
    ClassSituation,
    PeopleSituation,
    class_situation,
    members_only,
)
from studiogate.storage.db.pool import Connection, Record, TransactionConflictError
from studiogate.storage.db.shared_transactions import TO_EXECUTE_ALONE, TRY_AGAIN, NotShared
from studiogate.storage.db.statement import Statement
from studiogate.storage.idempotency import (
    CLAIMED,
    NOT_TO_EXECUTE,
    Claim,
    Found,
    claim_rows,
    not_to_execute,
)

PERMITTED = "($3::uuid[] is null or c.location_id = any($3))"

FIND_CLASS = f"""
    select {CLASS_COLUMNS} from classes c {CLASS_SOURCES}
    where c.studio_id = $1 and c.id = $2 and {PERMITTED}"""
LOCK_CLASS = FIND_CLASS + " for no key update of c"


def _class_of(table: str) -> str:
    """Return the statement that finds the class and the member of a booking or of a waitlist entry.

    The class never changes, and the member only by a merge of duplicates, so both may be read before the lock;
    ``check_owner`` notices a merge. Not by a join: a plan made while there were few classes would scan all of them.
    """
    return f"""
    select {CLASS_COLUMNS}, (select b.member_id from {table} b where b.studio_id = $1 and b.id = $2) as member_id
    from classes c {CLASS_SOURCES}
    where c.studio_id = $1 and c.id = (select b.class_id from {table} b where b.studio_id = $1 and b.id = $2)
    and {PERMITTED}"""


FIND_CLASS_OF_BOOKING = _class_of("bookings")
LOCK_CLASS_OF_BOOKING = FIND_CLASS_OF_BOOKING + " for no key update of c"
LOCK_CLASS_OF_ENTRY = _class_of("waitlist_entries") + " for no key update of c"

# Keys, class and members are locked by one statement, in this order: each part reads the one before it. If no request
# is left to execute, because its key has a result or is held by another transaction, nothing else is locked. No member
# is locked while others wait for a free seat: then a separate statement locks several, by id.
#
# Once all are locked, the facts of the members are read by a function that takes its own snapshot. This does not apply
# to a class with spots, which uses another statement.
NOBODY_WAITS_FOR_A_SEAT = "(class.waitlist_count = 0 or class.booked_count >= class.capacity)"
CLAIMED_CLASS = f"""
    claimed as materialized ({CLAIMED}),
    wanted as materialized (
        select array_agg(id) as ids from claimed where key_is_free is not false and status is null),
    class as materialized (
        select {CLASS_COLUMNS} from classes c {CLASS_SOURCES}
        where c.studio_id = :studio and c.id = :class_id and (select ids from wanted) is not null
        and (:locations::uuid[] is null or c.location_id = any(:locations))
        for no key update of c)"""
LOCK_TO_BOOK = Statement(f"""
    with {CLAIMED_CLASS}, locked as materialized (
        select m.id from class, members m
        where m.studio_id = :studio and m.id = any((select ids from wanted)::uuid[])
        and {NOBODY_WAITS_FOR_A_SEAT}
        order by m.id for no key update of m)
    select first.*, class.*, locked.ids is not null as members_are_locked,
           case when locked.ids is not null and class.spot_selection_mode is null
                then booking_facts(:studio, class.id, locked.ids, class.start_time, class.end_time)::text end as facts,
           clock_timestamp() as now
    from ({NOT_TO_EXECUTE}) first left join class on true
    left join (select array_agg(id) as ids from locked) locked on true""")

# The same for bookings that may be cancelled. Their members are read before the lock; ``check_owner`` notices a merge
# meanwhile. No member's facts are needed if no members wait; the bookings themselves are read by the next statement,
# like everything that is not locked.
LOCK_TO_CANCEL = Statement(f"""
    with {CLAIMED_CLASS}, holders as materialized (
        select array_agg(b.member_id) as ids from bookings b
        where b.studio_id = :studio and b.id = any((select ids from wanted)::uuid[])),
    locked as materialized (
        select m.id from class, members m
        where m.studio_id = :studio and class.waitlist_count = 0 and m.id = any((select ids from holders)::uuid[])
        order by m.id for no key update of m)
    select first.*, class.*, holders.ids as holders, locked.ids is not null as members_are_locked
    from ({NOT_TO_EXECUTE}) first left join class on true cross join holders
    left join (select array_agg(id) as ids from locked) locked on true""")

# For requests for different classes, which share a transaction: what is locked elsewhere is skipped. One row for each
# request, in order: whether its key permits to execute it; its class, null if that was not locked; whether requests for
# this class can be shared; its member, null if that was not locked; and the facts of the member, as above.
FREE_CLASSES = f"""
    claimed as materialized ({CLAIMED}),
    wanted as materialized (
        select number, id, class_id from claimed where key_is_free is not false and status is null),
    class as materialized (
        select {CLASS_COLUMNS} from classes c {CLASS_SOURCES}
        where c.studio_id = :studio and c.id = any(array(select class_id from wanted))
        and (:locations::uuid[] is null or c.location_id = any(:locations))
        for no key update of c skip locked)"""
ONLY_ITS_MEMBER = f"(class.spot_selection_mode is null and {NOBODY_WAITS_FOR_A_SEAT})"  # is concerned by a booking
LOCK_FREE_TO_BOOK = Statement(f"""
    with {FREE_CLASSES}, locked as materialized (
        select m.id from members m
        where m.studio_id = :studio and m.id = any(array(
            select wanted.id from wanted join class on class.id = wanted.class_id where {ONLY_ITS_MEMBER}))
        for no key update of m skip locked)
    select wanted.number is not null as is_to_execute, class.*, {ONLY_ITS_MEMBER} as can_be_shared,
           locked.id as member_id,
           case when locked.id is not null and class.id is not null then booking_facts(
                :studio, class.id, array[locked.id], class.start_time, class.end_time)::text end as facts,
           clock_timestamp() as now
    from claimed left join wanted using (number) left join class on class.id = wanted.class_id
    left join locked on locked.id = wanted.id
    order by claimed.number""")
LOCK_FREE_TO_CANCEL = Statement(f"""
    with {FREE_CLASSES}, holder as materialized (
        select b.id, b.member_id from bookings b
        where b.studio_id = :studio and b.id = any(array(select id from wanted))),
    locked as materialized (
        select m.id from members m
        where m.studio_id = :studio and m.id = any(array(
            select holder.member_id from holder join wanted on wanted.id = holder.id
            join class on class.id = wanted.class_id where class.waitlist_count = 0))
        for no key update of m skip locked)
    select wanted.number is not null as is_to_execute, class.*, class.waitlist_count = 0 as can_be_shared,
           locked.id as member_id
    from claimed left join wanted using (number) left join class on class.id = wanted.class_id
    left join holder on holder.id = wanted.id left join locked on locked.id = holder.member_id
    order by claimed.number""")

LOCK_MEMBERS = """
    select m.id from members m
    where m.studio_id = $1 and (m.id = any($2::uuid[]) or m.id = any(array(
        select w.member_id from waitlist_entries w
        where w.studio_id = $1 and w.class_id = $3 and w.status = 'waiting' and w.position <= $4)))
    order by m.id
    for no key update"""

MEMBERS_LOCKED_ELSEWHERE = """
    with free as materialized (
        select m.id from members m where m.studio_id = $1 and m.id = any($2::uuid[]) for no key update skip locked)
    select m.id from members m
    where m.studio_id = $1 and m.id = any($2::uuid[]) and m.id not in (select id from free)"""


async def lock_class(connection: Connection, access: Access, class_id: UUID | str) -> ClassSituation | None:
    row = await connection.fetchrow(LOCK_CLASS, access.studio_id, class_id, access.location_ids)
    return None if row is None else class_situation(row)


class LockedClass(NamedTuple):
    """What the locks of a batch yielded: the class (None if no request needs it or may see it), the requests that are
    not to be executed, whether the members are locked too, and their facts if all of them were read."""

    situation: ClassSituation | None
    found: Found
    members_are_locked: bool
    people: PeopleSituation | None = None
    holders: Sequence[UUID] = ()  # the members of the bookings to cancel

    @property
    def member_ids(self) -> set[UUID]:
        return {*self.holders, *(self.people.members if self.people else ())}


async def lock_to_book(connection: Connection, access: Access, class_id: UUID, claims: Sequence[Claim]) -> LockedClass:
    """Claim keys and lock a class and, if possible, the members, whose ids the claims hold. If they are not locked,
    ``lock_members`` must be called next."""
    row = await LOCK_TO_BOOK.row(connection, class_id=class_id, **_arguments(access, claims))
    if row["id"] is None:
        return LockedClass(None, not_to_execute(row), False)
    situation, facts = class_situation(row), row["facts"]
    people = None if facts is None else members_only(situation, facts, row["now"])
    return LockedClass(situation, not_to_execute(row), row["members_are_locked"], people)


async def lock_to_cancel(
    connection: Connection, access: Access, class_id: UUID, claims: Sequence[Claim]
) -> LockedClass:
    """Claim keys and lock a class and, if no members wait, the members of the bookings whose ids the claims hold. If
    they are not locked, ``lock_members`` must be called next."""
    row = await LOCK_TO_CANCEL.row(connection, class_id=class_id, **_arguments(access, claims))
    situation = None if row["id"] is None else class_situation(row)
    return LockedClass(situation, not_to_execute(row), row["members_are_locked"], None, row["holders"] or ())


async def lock_free_to_book(
    connection: Connection, access: Access, claims: Sequence[Claim]
) -> list[LockedClass | NotShared]:
    """Claim keys and lock, without waiting, the classes and the members whose ids the claims hold; all are different.
    Return what was locked for each claim, or why the request cannot share this transaction."""
    rows = await LOCK_FREE_TO_BOOK.rows(connection, **_arguments(access, claims))
    now = max(row["now"] for row in rows)  # when all locks were held
    return [_not_shared(row) or _free_to_book(row, now) for row in rows]


def _free_to_book(row: Record, now: datetime) -> LockedClass:
    situation = class_situation(row)
    return LockedClass(situation, {}, True, members_only(situation, row["facts"], now))


async def lock_free_to_cancel(
    connection: Connection, access: Access, claims: Sequence[Claim]
) -> list[LockedClass | NotShared]:
    """Do the same for the classes and members of the bookings whose ids the claims hold."""
    rows = await LOCK_FREE_TO_CANCEL.rows(connection, **_arguments(access, claims))
    return [_not_shared(row) or LockedClass(class_situation(row), {}, True, None, (row["member_id"],)) for row in rows]


def _not_shared(row: Record) -> NotShared | None:
    if not row["is_to_execute"]:
        return TO_EXECUTE_ALONE
    if row["id"] is None:
        return TRY_AGAIN
    if not row["can_be_shared"]:
        return TO_EXECUTE_ALONE
    return TRY_AGAIN if row["member_id"] is None else None


def _arguments(access: Access, claims: Sequence[Claim]) -> dict[str, object]:
    return {"studio": access.studio_id, "locations": access.location_ids, "claims": claim_rows(claims)}


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


async def lock_members(
    connection: Connection, access: Access, class_id: UUID, member_ids: list[UUID], *, depth: int = 0
) -> None:
    """Lock the given members and the first ``depth`` waiting members in one statement, ordered by id, so that all
    transactions lock members in the same order."""
    await connection.fetch(LOCK_MEMBERS, access.studio_id, member_ids, class_id, depth)


async def members_locked_elsewhere(connection: Connection, access: Access, member_ids: Sequence[UUID]) -> set[UUID]:
    """Return the members that other transactions have locked. The rest is locked until this transaction ends."""
    rows = await connection.fetch(MEMBERS_LOCKED_ELSEWHERE, access.studio_id, member_ids)
    return {row["id"] for row in rows}


def check_owner(member_id: UUID, locked: Collection[UUID]) -> None:
    """Raise, so that the transaction is repeated, if a booking went to another member before its class was locked."""
    if member_id not in locked:
        raise TransactionConflictError("the booking's member was merged into another one")
