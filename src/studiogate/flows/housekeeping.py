"""Changes that are due because time passes. Each step is small, safe to repeat and safe to run on several machines."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from functools import partial
from uuid import UUID

from studiogate.domain.access import Access, system_access
from studiogate.domain.bookings.cancellation import CancellationCause
from studiogate.domain.bookings.waitlist import waitlist_has_expired
from studiogate.flows import changes, memberships
from studiogate.flows.bookings import staff as staff_flow
from studiogate.flows.deliveries import disable_failing
from studiogate.flows.members import erase
from studiogate.flows.retry import for_each, for_each_studio, for_each_studio_with, studios_with
from studiogate.flows.schedule import series as series_flow
from studiogate.storage import erasure, figures, housekeeping, studio
from studiogate.storage.accounts import accounts
from studiogate.storage.bookings import lock, staff
from studiogate.storage.db.pool import Connection, Database
from studiogate.storage.forms import uploads
from studiogate.storage.schedule import classes, series
from studiogate.storage.upload_store import UploadStore
from studiogate.storage.webhooks import endpoints

BATCH = 200
FILES_AT_ONCE = 1_000
Due = tuple[UUID, UUID]  # a studio and its class or series


async def _for_each(
    database: Database, due: Iterable[Due], flow: Callable[[Connection, Access, UUID], Awaitable[int]]
) -> int:
    """Run the flow for each, in a transaction of its own, and return the sum; one that fails is reported at the end."""

    async def step(each: Due) -> int:
        async with database.transaction() as connection:
            return await flow(connection, system_access(each[0]), each[1])

    return await for_each(due, step, lambda each: f"class or series {each[1]} of studio {each[0]}")


async def expire_waitlists(database: Database) -> int:
    """Cancel and announce the bookings that are still on the waitlist at class start: no charge, no seat."""
    async with database.connection() as connection:
        due = await staff.classes_with_expired_waitlist(connection)
    return await _for_each(database, due, _expire_waitlist)


async def _expire_waitlist(connection: Connection, access: Access, class_id: UUID) -> int:
    situation = await lock.lock_class(connection, access, class_id)
    now = await classes.database_time(connection, access)
    if situation is None or not waitlist_has_expired(situation.class_, now):
        return 0
    waiting = await staff.waiting_bookings(connection, access, class_id)
    await lock.lock_members(connection, access, class_id, [member_id for _, member_id in waiting])
    for booking_id, _ in waiting:
        cause = CancellationCause.WAITLIST_EXPIRED
        await staff_flow.cancel_with_class(connection, access, situation, booking_id, cause)
    return len(waiting)


async def fill_free_seats(database: Database) -> int:
    """Give seats that are still free to waiting members who have become eligible again."""
    due: list[Due] = []
    while True:
        async with database.connection() as connection:
            page = await staff.classes_with_seat_and_waitlist(connection, due[-1] if due else None, BATCH)
        due += page
        if len(page) < BATCH:
            return await _for_each(database, due, staff_flow.fill_free_seats)


async def advance_memberships(database: Database) -> int:
    return await for_each_studio_with(database, "due memberships", partial(_advance_memberships, database))


async def _advance_memberships(database: Database, studio_id: UUID) -> int:
    """Advance memberships in small batches, so that their members can book in between; return how many changed."""
    access, changed = system_access(studio_id), 0
    while True:
        async with database.transaction() as connection:
            members = await housekeeping.lock_due_members(connection, access, BATCH)
            advanced, more = await memberships.advance_due(connection, access, members)
        changed += advanced
        if not advanced or (len(members) < BATCH and not more):
            return changed


async def announce_class_statuses(database: Database) -> int:
    """Announce the classes that have started or ended since the last round, in small batches."""
    return await for_each_studio_with(database, "due classes", partial(_in_batches, database, changes.announce_due))


async def extend_series(database: Database) -> int:
    """Create the classes of series that the studios' horizons have come to include, each series by itself."""
    due: list[Due] = []
    for studio_id in await studios_with(database, "due series"):
        async with database.connection() as connection:
            due += [(studio_id, each) for each in await series.due_series(connection, system_access(studio_id))]
    return await _for_each(database, due, series_flow.extend)


async def forget_deleted_endpoints(database: Database) -> int:
    """Delete the rows of deleted endpoints that have no deliveries any more."""
    async with database.transaction() as connection:
        return await endpoints.sweep_deleted(connection, BATCH)


Step = Callable[[Database], Coroutine[object, None, int]]
Sweep = Callable[[Connection, Access, int], Awaitable[int]]


async def _delete(database: Database, what: str) -> int:
    """Delete what is old in every studio that has some; return how many rows."""

    async def sweep(connection: Connection, access: Access, at_most: int) -> int:
        return await housekeeping.delete(connection, access, what, at_most)

    return await for_each_studio_with(database, what, partial(_in_batches, database, sweep))


async def _in_batches(database: Database, sweep: Sweep, studio_id: UUID) -> int:
    """Run a sweep in small batches, each in its own transaction; return the sum of their counts."""
    access, done = system_access(studio_id), 0
    while True:
        async with database.transaction() as connection:
            swept = await sweep(connection, access, BATCH)
        done += swept
        if swept < BATCH:
            return done


# What is deleted when it is old.
forget_expired_keys = partial(_delete, what="old keys")
forget_form_tokens = partial(_delete, what="old form tokens")
forget_old_events = partial(_delete, what="old events")
forget_old_audit_entries = partial(_delete, what="old audit entries")
# ``flows.request_log`` deletes those that are too many.
forget_old_requests = partial(_delete, what="old requests")
forget_old_deliveries = partial(_delete, what="old deliveries")
forget_mails = partial(_delete, what="old mails")


async def forget_uploads(database: Database, folder: UploadStore) -> int:
    """Remove files that no submission named within a day. The row goes first: a file without a row is not used."""
    due = await studios_with(database, "forgotten uploads")
    if due:
        await asyncio.to_thread(folder.check)  # before the rows go: nothing else says that their files must

    async def forget(studio_id: UUID) -> int:
        async with database.transaction() as connection:
            names = await uploads.forget_uploads(connection, system_access(studio_id), BATCH)
        for name in names:
            await asyncio.to_thread(folder.remove, studio_id, name)
        return len(names)

    return await for_each_studio(due, forget)


async def settle_abandoned_files(database: Database, folder: UploadStore) -> int:
    """Move the files of interrupted uploads to their place if their row was committed, else remove them."""
    abandoned = await asyncio.to_thread(folder.abandoned)

    async def settle(studio_id: UUID) -> int:
        names = abandoned[studio_id]
        async with database.connection() as connection:
            known = await uploads.known_files(connection, system_access(studio_id), names)
        for name in names:
            await asyncio.to_thread(folder.keep if name in known else folder.remove, studio_id, name)
        return len(names)

    return await for_each_studio(abandoned, settle)


async def forget_staff_secrets(database: Database) -> int:
    """Delete sessions, links and attempts to sign in that ended long ago."""
    forgotten = 0
    for table in accounts.FORGET:
        async with database.transaction() as connection:
            forgotten += await accounts.forget(connection, table, BATCH)
    return forgotten


async def remove_erased_files(database: Database, folder: UploadStore) -> int:
    """Remove files of erased people that a crash, or an erasure on another machine, left here."""
    return await for_each_studio_with(database, "removed files", partial(_remove_erased_files, database, folder))


async def _remove_erased_files(database: Database, folder: UploadStore, studio_id: UUID) -> int:
    """Remove the files without a connection: while one is held, a failure of the disk counts as one of the database."""
    access = system_access(studio_id)
    async with database.connection() as connection:
        names = await erasure.removed_files(connection, access, FILES_AT_ONCE)
    gone = await erase.remove_from_disk(access, folder, names)
    async with database.transaction() as connection:
        await erasure.forget_removed_files(connection, access, gone)
    return len(gone)


async def forget_pictures(database: Database, folder: UploadStore) -> int:
    """Remove pictures that nothing has used for a day."""
    return await for_each_studio_with(database, "unused pictures", partial(_forget_pictures, database, folder))


async def _forget_pictures(database: Database, folder: UploadStore, studio_id: UUID) -> int:
    """The files go before the commit: after it, somebody can store the same picture again, under the same name. An
    import, which takes a known picture to be stored, locks the studio too."""
    access = system_access(studio_id)
    async with database.transaction() as connection:
        await studio.lock_studio(connection, access)
        names = await uploads.forget_pictures(connection, access)
        for name in names:
            await asyncio.to_thread(folder.remove_kept, studio_id, name)
    return len(names)


async def keep_figures(database: Database) -> int:
    """Bring the figures of every studio's finished days up to date; return how many days were computed."""
    return await for_each_studio_with(database, "due figures", partial(_keep_figures, database))


async def _keep_figures(database: Database, studio_id: UUID) -> int:
    """List the days that have ended, mark those that events are about, compute them. Each day is a transaction: a
    studio that is new here has three years of them."""
    access, computed, more = system_access(studio_id), 0, True
    async with database.transaction() as connection:
        await figures.list_days(connection, access)
    while more:
        async with database.transaction() as connection:
            more = await figures.mark_days(connection, access)
    while True:
        async with database.transaction() as connection:
            if not await figures.compute_day(connection, access):
                return computed
        computed += 1


FILE_STEPS = {
    "forgotten uploads removed": forget_uploads,
    "abandoned files settled": settle_abandoned_files,
    "files of erased people removed": remove_erased_files,
    "unused pictures removed": forget_pictures,
}
STEPS: dict[str, Step] = {
    "expired waitlist entries": expire_waitlists,
    "memberships advanced": advance_memberships,
    "free seats filled": fill_free_seats,
    "class statuses announced": announce_class_statuses,
    "classes of series created": extend_series,
    "idempotency keys forgotten": forget_expired_keys,
    "events forgotten": forget_old_events,
    "deliveries forgotten": forget_old_deliveries,
    "deleted endpoints forgotten": forget_deleted_endpoints,
    "audit entries forgotten": forget_old_audit_entries,
    "logged requests forgotten": forget_old_requests,
    "failing endpoints disabled": disable_failing,
    "old mails forgotten": forget_mails,
    "staff sessions and links forgotten": forget_staff_secrets,
    "days counted": keep_figures,
    "form tokens forgotten": forget_form_tokens,
}
