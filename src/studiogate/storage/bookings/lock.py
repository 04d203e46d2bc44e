"""The locks of the booking flows, always in the same order: idempotency key, class rows, then member rows.

A statement that waits for a lock sees the fresh locked row but stale other rows, so members, bookings and spots are
read by the next statement, or by a volatile function, which takes its own snapshot. ``no key update`` is sufficient,
and lets foreign key checks of other transactions pass.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import asyncpg

from studiogate.domain.access import Access
from studiogate.storage.bookings import facts
from studiogate.storage.bookings.facts import BookingSituation, ClassSituation, PeopleSituation, class_situation
from studiogate.storage.bookings.read import FIND_CLASS, PERMITTED, class_of
from studiogate.storage.db.pool import Connection, OverloadedError, Record, TransactionConflictError
from studiogate.storage.db.statement import Statement
from studiogate.storage.idempotency import ALREADY_ANSWERED_OR_BUSY, CLAIMED, Claim, Found, claim_rows, not_to_execute
from studiogate.storage.people import LOCK_MEMBERS

THE_CLASS = " for no key update of c"
LOCK_CLASS = FIND_CLASS + THE_CLASS
LOCK_CLASS_OF = {table: class_of(table) + THE_CLASS for table in ("bookings", "waitlist_entries")}

# Keys, classes and members of a batch are locked by one statement, in this order: each part reads the one before it.
# Of requests whose key has a result, or is held by another transaction, nothing else is locked.
#
# The class of the oldest request is waited for, while the transaction holds nothing but keys; the other classes are
# taken only if they are free. Members are locked by a function, and the facts read by others, once it has returned:
# each takes its own snapshots.
#
# One row per class, at least one; each also has the requests that are not to be executed. The statement runs with every
# booking, and PostgreSQL prepares each of its parts each time: what can be read once is read once.
WANTED_CLASS = """
    select c.* from classes c
    where c.studio_id = :studio and (:locations::uuid[] is null or c.location_id = any(:locations))"""
LOCK_BATCH = Statement(f"""
    with claimed as materialized ({CLAIMED}),
    wanted as materialized (
        select number, class_id, member_id, booking_id from claimed
        where key_is_free is not false and status is null),
    oldest as materialized (select class_id from wanted order by number limit 1),
    first_class as materialized ({WANTED_CLASS} and c.id = (select class_id from oldest){THE_CLASS}),
    other_classes as materialized (
        {WANTED_CLASS} and c.id = any(array(
            select class_id from wanted
            where class_id <> (select class_id from oldest) and (select count(*) from first_class) >= 0))
        {THE_CLASS} skip locked),
    class as materialized (
        select {facts.CLASS_COLUMNS} from (select * from first_class union all select * from other_classes) c
        {facts.CLASS_SOURCES}),
    taken as materialized (
        select array_agg(class_id order by number) as classes, array_agg(member_id order by number) as members,
               array_agg(booking_id order by number) as bookings
        from wanted where class_id in (select id from class)),
    people as materialized (
        select people.* from taken, lock_booking_members(
            :studio, taken.classes, taken.members, taken.bookings, :depth::integer) people),
    asked as (
        select class_id, array_agg(member_id) as members, array_remove(array_agg(booking_id), null) as bookings
        from wanted group by class_id)
    select not_executed.*, class.*, asked.class_id, people.busy, people.now, class.id = any(people.moving) as is_moving,
           case when books and class.id <> all(people.moving) then booking_facts(
               :studio, class.id, free.members, class.start_time, class.end_time)::text end as members,
           case when books and class.spot_selection_mode is not null
                then class_spots(:studio, class.id)::text end as spots,
           case when people.now is not null and asked.bookings <> '{{}}'
                then cancellation_facts(:studio, asked.bookings)::text end as bookings
    from ({ALREADY_ANSWERED_OR_BUSY}) not_executed left join asked on true
    left join class on class.id = asked.class_id
    left join people on class.id is not null
    left join lateral (select array(
        select member from unnest(asked.members) member where member = any(people.locked)) as members) free on true
    cross join lateral (select free.members <> '{{}}' as books) of_free""")
EXISTING = f"select c.id from classes c where c.studio_id = $1 and c.id = any($2) and {PERMITTED}"

ALL_WAITING = 2**31 - 1


class BlockedError(OverloadedError):
    """The class, or a member, that the oldest request of a batch needs was not free in time."""

    def __init__(self, *, by_a_class: bool) -> None:
        super().__init__("a row is locked by another transaction")
        self.by_a_class = by_a_class


class LockedClass(NamedTuple):
    """A class that a batch has locked, and the facts of its requests: who books (unknown, None, if waiting members may
    move), and what is cancelled."""

    situation: ClassSituation
    is_moving: bool
    people: PeopleSituation | None
    held: dict[UUID, BookingSituation]


class LockedBatch(NamedTuple):
    """What the locks of a batch yielded: the requests that are not to be executed, the classes, and which classes and
    members other transactions have locked. ``now`` is when all locks were held."""

    found: Found
    classes: Mapping[UUID, LockedClass]
    busy: Collection[UUID]
    now: datetime | None


async def lock_batch(connection: Connection, access: Access, claims: Sequence[Claim]) -> LockedBatch:
    """Claim keys, lock classes and members, and read all facts. Raise BlockedError if the lock of the oldest request's
    class or member is not released in time."""
    try:
        rows = await LOCK_BATCH.rows(
            connection,
            studio=access.studio_id,
            locations=access.location_ids,
            claims=claim_rows(claims),
            depth=facts.WAITING_LOOKED_AT,
        )
    except (asyncpg.LockNotAvailableError, asyncpg.QueryCanceledError) as error:
        raise BlockedError(by_a_class="lock_booking_members" not in (error.context or "")) from error
    locked = [row for row in rows if row["id"] is not None]
    busy = await _locked_elsewhere(connection, access, [row["class_id"] for row in rows if row["id"] is None], claims)
    if locked:
        busy.update(locked[0]["busy"])
    found = next((not_to_execute(row) for row in rows if row["numbers"] is not None), {})
    now = locked[0]["now"] if locked else None
    return LockedBatch(found, {row["id"]: _locked_class(row) for row in locked}, busy, now)


async def _locked_elsewhere(
    connection: Connection, access: Access, missing: Sequence[UUID | None], claims: Sequence[Claim]
) -> set[UUID]:
    """Return which of the classes that were not taken exist. That of a request alone was waited for: it does not."""
    asked = [each for each in missing if each is not None]
    if not asked or len(claims) == 1:
        return set()
    return {row["id"] for row in await connection.fetch(EXISTING, access.studio_id, asked, access.location_ids)}


def _locked_class(row: Record) -> LockedClass:
    situation, members, bookings = class_situation(row), row["members"], row["bookings"]
    people = None if members is None else facts.people_who_book(situation, members, row["spots"], row["now"])
    held = {} if bookings is None else facts.bookings_to_cancel(bookings, [situation])
    return LockedClass(situation, row["is_moving"], people, held)


async def lock_class(connection: Connection, access: Access, class_id: UUID | str) -> ClassSituation | None:
    row = await connection.fetchrow(LOCK_CLASS, access.studio_id, class_id, access.location_ids)
    return None if row is None else class_situation(row)


async def lock_class_of(
    connection: Connection, access: Access, table: str, row_id: UUID | str
) -> tuple[ClassSituation, UUID] | None:
    """Lock the class of a row of ``bookings`` or ``waitlist_entries``; return it with the row's member."""
    row = await connection.fetchrow(LOCK_CLASS_OF[table], access.studio_id, row_id, access.location_ids)
    return None if row is None else (class_situation(row), row["member_id"])


async def lock_members(
    connection: Connection, access: Access, class_id: UUID, member_ids: Sequence[UUID], *, depth: int = 0
) -> None:
    """Lock the given members and the first ``depth`` waiting members in one statement, ordered by id as everywhere."""
    await connection.fetch(LOCK_MEMBERS, access.studio_id, list(member_ids), [class_id], depth)


async def lock_members_of_classes(
    connection: Connection, access: Access, member_ids: Sequence[UUID], class_ids: Sequence[UUID]
) -> None:
    """Lock the given members and all waiting members of the classes, which are locked, in one order: by id."""
    await connection.fetch(LOCK_MEMBERS, access.studio_id, list(member_ids), list(class_ids), ALL_WAITING)


def check_owner(member_id: UUID, locked: Collection[UUID]) -> None:
    """Raise, so that the transaction is repeated, if a booking went to another member before its class was locked."""
    if member_id not in locked:
        raise TransactionConflictError("the booking's member was merged into another one")
