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
from studiogate.flows.events import number_studio
from studiogate.flows.members import erase
from studiogate.flows.retry import for_each, for_each_studio
from studiogate.flows.schedule import series as series_flow
from studiogate.storage import (
    audit,
    class_availability,
    erasure,
    events,
    form_tokens,
    housekeeping,
    idempotency,
    mails,
    request_log,
)
from studiogate.storage import class_clock as due_classes
from studiogate.storage.accounts import attempts, links, sessions
from studiogate.storage.bookings import lock, staff
from studiogate.storage.db.pool import Connection, Database
from studiogate.storage.forms import uploads
from studiogate.storage.schedule import classes, series
from studiogate.storage.upload_folder import UploadFolder
from studiogate.storage.webhooks import deliveries, endpoints

BATCH = 200
FILES_AT_ONCE = 1_000
Due = tuple[UUID, UUID]  # a studio and its class or series


async def _for_each(due: Iterable[Due], step: Callable[[UUID, UUID], Awaitable[int]]) -> int:
    """Run the step for each class or series and return the sum; one that fails is reported after the others."""
    return await for_each(due, lambda each: step(*each), lambda each: f"class or series {each[1]} of studio {each[0]}")


async def expire_waitlists(database: Database) -> int:
    """Cancel and announce the bookings that are still on the waitlist at class start: no charge, no seat."""
    async with database.connection() as connection:
        due = await staff.classes_with_expired_waitlist(connection)
    return await _for_each(due, lambda studio_id, class_id: _expire_waitlist(database, studio_id, class_id))


async def _expire_waitlist(database: Database, studio_id: UUID, class_id: UUID) -> int:
    access = system_access(studio_id)
    async with database.transaction() as connection:
        situation = await lock.lock_class(connection, access, class_id)
        now = await classes.database_time(connection, access)
        if situation is None or not waitlist_has_expired(situation.class_, now):
            return 0
        waiting = await staff.waiting_bookings(connection, access, class_id)
        members = [member_id for _, member_id in waiting]
        await lock.lock_members(connection, access, class_id, members)
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
            return await _for_each(due, lambda studio_id, class_id: _fill_free_seats(database, studio_id, class_id))


async def _fill_free_seats(database: Database, studio_id: UUID, class_id: UUID) -> int:
    async with database.transaction() as connection:
        return await staff_flow.fill_free_seats(connection, system_access(studio_id), class_id)


async def advance_memberships(database: Database) -> int:
    async with database.connection() as connection:
        due = await housekeeping.studios_with_due_memberships(connection)
    return await for_each_studio(due, lambda studio_id: _advance_memberships(database, system_access(studio_id)))


async def _advance_memberships(database: Database, access: Access) -> int:
    """Advance memberships in small batches, so that their members can book in between; return how many changed."""
    changed = 0
    while True:
        async with database.transaction() as connection:
            members = await housekeeping.lock_due_members(connection, access, BATCH)
            advanced, more = await memberships.advance_due(connection, access, members)
        changed += advanced
        if not advanced or (len(members) < BATCH and not more):
            return changed


async def announce_class_statuses(database: Database) -> int:
    """Announce the classes that have started or ended since the last round, in small batches."""
    async with database.connection() as connection:
        due = await due_classes.studios_with_due_classes(connection)
    return await for_each_studio(due, lambda studio_id: _in_batches(database, studio_id, changes.announce_due))


async def announce_availability(database: Database) -> int:
    """Announce changed counts of classes whose events a process of an earlier release has numbered."""
    async with database.connection() as connection:
        due = await class_availability.studios_behind(connection)
    return await for_each_studio(due, lambda studio_id: number_studio(database, system_access(studio_id)))


async def extend_series(database: Database) -> int:
    """Create the classes of series that the studios' horizons have come to include, each series by itself."""
    async with database.connection() as connection:
        studios = await series.studios_with_due_series(connection)
    due: list[Due] = []
    for studio_id in studios:
        async with database.connection() as connection:
            due += [(studio_id, each) for each in await series.due_series(connection, system_access(studio_id))]
    return await _for_each(due, lambda studio_id, series_id: _extend_series(database, studio_id, series_id))


async def _extend_series(database: Database, studio_id: UUID, series_id: UUID) -> int:
    async with database.transaction() as connection:
        return await series_flow.extend(connection, system_access(studio_id), series_id)


async def forget_deleted_endpoints(database: Database) -> int:
    """Delete the rows of deleted endpoints that have no deliveries any more."""
    async with database.transaction() as connection:
        return await endpoints.sweep_deleted(connection, BATCH)


Step = Callable[[Database], Coroutine[object, None, int]]
Sweep = Callable[[Connection, Access, int], Awaitable[int]]


async def _sweep_studios(
    database: Database, studios: Callable[[Connection], Awaitable[list[UUID]]], sweep: Sweep
) -> int:
    """Run a sweep in every studio that needs it; return the sum of their counts."""
    async with database.connection() as connection:
        due = await studios(connection)
    return await for_each_studio(due, lambda studio_id: _in_batches(database, studio_id, sweep))


async def _in_batches(database: Database, studio_id: UUID, sweep: Sweep) -> int:
    """Run a sweep in small batches, each in its own transaction; return the sum of their counts."""
    access, done = system_access(studio_id), 0
    while True:
        async with database.transaction() as connection:
            swept = await sweep(connection, access, BATCH)
        done += swept
        if swept < BATCH:
            return done


def _sweeping(studios: Callable[[Connection], Awaitable[list[UUID]]], sweep: Sweep) -> Step:
    return partial(_sweep_studios, studios=studios, sweep=sweep)


# What is deleted when it is old. The number of days or hours is in the statements that find it.
forget_expired_keys = _sweeping(housekeeping.studios_with_expired_keys, idempotency.sweep)
forget_form_tokens = _sweeping(form_tokens.studios_with_old_tokens, form_tokens.sweep)
forget_old_events = _sweeping(events.studios_with_old_events, events.sweep)
forget_old_audit_entries = _sweeping(audit.studios_with_old_entries, audit.sweep)
# ``flows.request_log`` deletes those that are too many.
forget_old_requests = _sweeping(request_log.studios_with_old_requests, request_log.sweep)
forget_old_deliveries = _sweeping(deliveries.studios_with_old_deliveries, deliveries.sweep)
forget_mails = _sweeping(housekeeping.studios_with_old_mails, mails.forget)


async def forget_uploads(database: Database, folder: UploadFolder) -> int:
    """Remove files that no submission named within a day. The row goes first: a file without a row is not used."""
    async with database.connection() as connection:
        due = await housekeeping.studios_with_forgotten_uploads(connection)
    return await for_each_studio(due, lambda studio_id: _forget_uploads(database, folder, studio_id))


async def _forget_uploads(database: Database, folder: UploadFolder, studio_id: UUID) -> int:
    async with database.transaction() as connection:
        names = await uploads.forget_uploads(connection, system_access(studio_id), BATCH)
    for name in names:
        await asyncio.to_thread(folder.remove, studio_id, name)
    return len(names)


async def settle_abandoned_files(database: Database, folder: UploadFolder) -> int:
    """Move the files of interrupted uploads to their place if their row was committed, else remove them."""
    abandoned = await asyncio.to_thread(folder.abandoned)
    return await for_each_studio(
        abandoned, lambda studio_id: _settle_abandoned_files(database, folder, studio_id, abandoned[studio_id])
    )


async def _settle_abandoned_files(database: Database, folder: UploadFolder, studio_id: UUID, names: list[str]) -> int:
    async with database.connection() as connection:
        known = await uploads.known_files(connection, system_access(studio_id), names)
    for name in names:
        await asyncio.to_thread(folder.keep if name in known else folder.remove, studio_id, name)
    return len(names)


async def forget_staff_secrets(database: Database) -> int:
    """Delete sessions, links and attempts to sign in that ended long ago."""
    forgotten = 0
    for forget in (sessions.forget, links.forget, attempts.forget):
        async with database.transaction() as connection:
            forgotten += await forget(connection, BATCH)
    return forgotten


async def remove_erased_files(database: Database, folder: UploadFolder) -> int:
    """Remove files of erased people that a crash, or an erasure on another machine, left on this one's disk."""
    async with database.connection() as connection:
        due = await erasure.studios_with_removed_files(connection)
    return await for_each_studio(due, lambda studio_id: _remove_erased_files(database, folder, studio_id))


async def _remove_erased_files(database: Database, folder: UploadFolder, studio_id: UUID) -> int:
    """Remove the files without a connection: while one is held, a failure of the disk counts as one of the database."""
    access = system_access(studio_id)
    async with database.connection() as connection:
        names = await erasure.removed_files(connection, access, FILES_AT_ONCE)
    gone = await erase.remove_from_disk(access, folder, names)
    async with database.transaction() as connection:
        await erasure.forget_removed_files(connection, access, gone)
    return len(gone)


FILE_STEPS = {
    "forgotten uploads removed": forget_uploads,
    "abandoned files settled": settle_abandoned_files,
    "files of erased people removed": remove_erased_files,
}
STEPS = {
    "expired waitlist entries": expire_waitlists,
    "memberships advanced": advance_memberships,
    "free seats filled": fill_free_seats,
    "class statuses announced": announce_class_statuses,
    "class availability announced": announce_availability,
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
    "form tokens forgotten": forget_form_tokens,
}
