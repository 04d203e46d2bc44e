"""What has to happen because time passes. Each step is small, safe to repeat and safe to run on several machines."""

from uuid import UUID

from studiogate.domain.access import operator_access
from studiogate.domain.bookings import CancellationCause
from studiogate.flows.bookings import staff as staff_flow
from studiogate.storage import housekeeping, idempotency
from studiogate.storage.bookings import locking, staff
from studiogate.storage.database import Database

BATCH = 200


async def expire_waitlists(database: Database) -> int:
    """At class start those who still wait are told that it is over: no charge, no seat."""
    async with database.connection() as connection:
        due = await staff.classes_with_expired_waitlist(connection)
    return sum([await _expire_waitlist(database, studio_id, class_id) for studio_id, class_id in due])


async def _expire_waitlist(database: Database, studio_id: UUID, class_id: UUID) -> int:
    access = operator_access(studio_id)
    async with database.transaction() as connection:
        situation = await locking.lock_class(connection, access, class_id)
        if situation is None or await staff.class_has_started(connection, access, class_id) is None:
            return 0
        waiting = await staff.waiting_bookings(connection, access, class_id)
        members = [member_id for _, member_id in waiting]
        await locking.lock_members(connection, access, class_id, members, with_waiting=False)
        for booking_id, _ in waiting:
            cause = CancellationCause.WAITLIST_EXPIRED
            await staff_flow.cancel_with_class(connection, access, situation, booking_id, cause)
        return len(waiting)


async def fill_free_seats(database: Database) -> int:
    """A waiting entry that became eligible again gets the seat that waited for it."""
    filled, beyond = 0, None
    while True:
        async with database.connection() as connection:
            due = await staff.classes_with_seat_and_waitlist(connection, beyond, BATCH)
        for studio_id, class_id in due:
            async with database.transaction() as connection:
                filled += await staff_flow.fill_free_seats(connection, operator_access(studio_id), class_id)
        if len(due) < BATCH:
            return filled
        beyond = due[-1]


async def advance_memberships(database: Database) -> int:
    async with database.connection() as connection:
        due = await housekeeping.studios_with_due_memberships(connection)
    changed = 0
    for studio_id in due:
        async with database.transaction() as connection:
            changed += await housekeeping.advance_memberships(connection, operator_access(studio_id))
    return changed


async def forget_expired_keys(database: Database) -> int:
    """Remembered results end after 24 hours, swept in small batches."""
    async with database.connection() as connection:
        due = await housekeeping.studios_with_expired_keys(connection)
    forgotten = 0
    for studio_id in due:
        while True:
            async with database.transaction() as connection:
                swept = await idempotency.sweep(connection, operator_access(studio_id), BATCH)
            forgotten += swept
            if swept < BATCH:
                break
    return forgotten


STEPS = {
    "expired waitlist entries": expire_waitlists,
    "memberships advanced": advance_memberships,
    "free seats filled": fill_free_seats,
    "idempotency keys forgotten": forget_expired_keys,
}
