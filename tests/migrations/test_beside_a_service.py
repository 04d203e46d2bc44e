"""Migrations run beside the release before: bookings go on, nothing deadlocks, and what cannot get its lock waits."""

import asyncio
from uuid import UUID, uuid4

import asyncpg
import pytest

from studiogate.storage.db import migrate
from studiogate.storage.db.migrate import Migration, MigrationError
from tests.support.seed import seed_studio

pytestmark = pytest.mark.anyio

# The last migration of release 0.1.0. Those after it have not been released.
FIRST_RELEASE = "0022"
KINDS = {
    "AccessExclusiveLock": "schema",
    "ShareRowExclusiveLock": "schema",
    "ShareLock": "index",
    "ShareUpdateExclusiveLock": "check",
    "RowExclusiveLock": "rows",
}
# Its first step locks the only table whose rows it changes, before anything else: what is written in between would be
# judged by neither release.
ROWS_UNDER_A_LOCK = ("0027", 1)
TABLES = "select oid from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'"
LOCKS = """
    select relation::regclass::text as name, mode from pg_locks
    where pid = pg_backend_pid() and relation = any($1::oid[])"""
# What a booking of the first release locks and writes, in its order.
BOOK = """
    begin;
    select from classes where studio_id = '{studio}' and id = '{class_id}' for no key update;
    select from members where studio_id = '{studio}' and id = '{member}' for no key update;
    update memberships set state_version = state_version where studio_id = '{studio}' and member_id = '{member}';
    insert into bookings (studio_id, id, class_id, member_id, start_time, end_time, status)
    select studio_id, '{booking}', id, '{member}', start_time, end_time, 'cancelled' from classes
    where studio_id = '{studio}' and id = '{class_id}';
    insert into events (studio_id, id, type, subject, scopes, place, object, previous_attributes)
    values ('{studio}', '{booking}', 'booking.created', '{booking}', '{{bookings:read}}', '{studio}', '{{}}', '{{}}');
    update classes set booked_count = booked_count where studio_id = '{studio}' and id = '{class_id}';
    commit"""


async def first_release(url: str, monkeypatch: pytest.MonkeyPatch) -> asyncpg.Connection:
    every, connection = migrate.migrations(), await asyncpg.connect(url)
    with monkeypatch.context() as before:
        before.setattr(migrate, "migrations", lambda: [each for each in every if each.version <= FIRST_RELEASE])
        await migrate.migrate(connection)
    return connection


async def test_bookings_go_on_while_the_first_release_is_migrated(
    new_empty_database: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert callable(new_empty_database)
    url = new_empty_database()
    connection = await first_release(url, monkeypatch)
    studio = await seed_studio(connection)
    ended, booked = asyncio.Event(), 0

    async def keep_booking(class_id: UUID) -> None:
        nonlocal booked
        own = await asyncpg.connect(url)
        while not ended.is_set():
            named = {"studio": studio.studio_id, "member": studio.first("member"), "booking": uuid4()}
            await own.execute(BOOK.format(class_id=class_id, **named))
            booked += 1
        await own.close()

    load = [asyncio.create_task(keep_booking(class_id)) for class_id in studio.ids["class"][:2] * 3]
    while not booked:
        await asyncio.sleep(0)
    applied = await migrate.migrate(connection)
    ended.set()
    await asyncio.gather(*load)
    assert [each.version for each in applied] == [
        each.version for each in migrate.migrations() if each.version > FIRST_RELEASE
    ]
    assert await connection.fetchval("select count(*) from bookings where status = 'cancelled'") >= booked
    await connection.close()


async def test_each_step_takes_one_kind_of_lock(new_empty_database: object, monkeypatch: pytest.MonkeyPatch) -> None:
    assert callable(new_empty_database)
    connection = await first_release(new_empty_database(), monkeypatch)
    await seed_studio(connection)
    faults = []
    for migration in (each for each in migrate.migrations() if each.version > FIRST_RELEASE):
        tables = [row["oid"] for row in await connection.fetch(TABLES)]
        for number, step in enumerate(migration.steps, 1):
            async with connection.transaction():
                await connection.execute(step)
                locks = await connection.fetch(LOCKS, tables)
            held = {(row["name"], KINDS[row["mode"]]) for row in locks if row["mode"] in KINDS}
            blocked = {name for name, kind in held if kind in ("schema", "index")}
            mixed = len({kind for _, kind in held}) > 1 and (migration.version, number) != ROWS_UNDER_A_LOCK
            if mixed or (len(blocked) > 1 and "references" not in step):
                faults.append(f"{migration.version}, step {number}: {sorted(held)}")
    assert not faults, "divide them by lines `-- migrate:step`"
    await connection.close()


async def test_a_step_waits_for_its_lock_and_lets_others_pass(
    database_url: str, connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transaction that holds the lock ends once the step has failed twice, and what was done is not done again."""
    steps = ("create table half (id integer);", "alter table leads add column half integer;")
    monkeypatch.setattr(migrate, "migrations", lambda: [Migration("9000", "half", migrate.STEP.join(steps))])
    await connection.execute("delete from schema_migrations")
    holder = await asyncpg.connect(database_url)
    transaction = holder.transaction()
    await transaction.start()
    await holder.execute("select from leads")
    reported: list[tuple[int, bool]] = []
    ending: list[asyncio.Task[None]] = []

    def report(_: Migration, step: int, problem: str | None) -> None:
        reported.append((step, problem is not None))
        if reported.count((2, True)) == 2 and not ending:
            ending.append(asyncio.create_task(transaction.commit()))

    assert [each.version for each in await migrate.migrate(connection, report=report)] == ["9000"]
    assert reported[:4] == [(1, False), (2, False), (2, True), (2, True)]
    versions = [row["version"] for row in await connection.fetch("select version from schema_migrations")]
    assert versions == ["9000"], "the rows of the steps are gone"
    await holder.close()


async def test_a_step_that_never_gets_its_lock_says_so_and_is_resumed(
    database_url: str, connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = ("create table half (id integer);", "alter table leads add column half integer;")
    monkeypatch.setattr(migrate, "migrations", lambda: [Migration("9000", "half", migrate.STEP.join(steps))])
    monkeypatch.setattr(migrate, "TRIED_FOR_SECONDS", 0.0)
    await connection.execute("delete from schema_migrations")
    holder = await asyncpg.connect(database_url)
    async with holder.transaction():
        await holder.execute("select from leads")
        with pytest.raises(MigrationError, match=r"Step 2 of migration 9000 got no lock within 0 s: .*lock timeout"):
            await migrate.migrate(connection)
        assert [each.version for each in await migrate.pending(connection)] == ["9000"]
    assert [each.version for each in await migrate.migrate(connection)] == ["9000"]
    await holder.close()
