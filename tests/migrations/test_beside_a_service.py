"""Migrations run beside the release before: bookings go on, nothing deadlocks, and what cannot get its lock waits."""

import asyncio
from uuid import UUID, uuid4

import asyncpg
import pytest

from studiogate.storage.db import migrate
from studiogate.storage.db.migrate import FIRST_RELEASE, Migration, MigrationError, Progress
from tests.support.seed import seed_studio

pytestmark = pytest.mark.anyio

KINDS = {
    "AccessExclusiveLock": "schema",
    "ShareRowExclusiveLock": "schema",
    "ShareLock": "index",
    "ShareUpdateExclusiveLock": "check",
    "RowExclusiveLock": "rows",
}
# Adds up uploaded files while the triggers that count them are created, or some would count twice or not at all. There
# are few enough files: 200,000 take 0.1 s.
COUNTS_UPLOADS = ("0028", 3)
MAX_ROWS = 500  # that a transaction of a repeated step changes
TABLES = "select oid from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'"
# How often this session has read each table from beginning to end; earlier transactions may be counted, too.
SCANS = """
    select relid::regclass::text as name, seq_scan as scans from pg_stat_xact_user_tables
    where relid = any($1::oid[])"""
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
                await connection.execute(step.sql.replace(" concurrently ", " "))
                locks = await connection.fetch(LOCKS, tables)
            held = {(row["name"], KINDS[row["mode"]]) for row in locks if row["mode"] in KINDS}
            blocked = {name for name, kind in held if kind in ("schema", "index")}
            mixed = len({kind for _, kind in held}) > 1 and (migration.version, number) != COUNTS_UPLOADS
            if mixed or (len(blocked) > 1 and "references" not in step.sql):
                faults.append(f"{migration.version}, step {number}: {sorted(held)}")
    assert not faults, "divide them by lines `-- migrate:step`"
    await connection.close()


async def test_no_step_reads_a_table_while_it_blocks_writers(
    new_empty_database: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading takes as long as the table is large, and everybody who writes would wait. PostgreSQL itself says which
    tables of the first release a transaction has read from beginning to end, and which locks it holds."""
    assert callable(new_empty_database)
    connection = await first_release(new_empty_database(), monkeypatch)
    await seed_studio(connection)
    tables = [row["oid"] for row in await connection.fetch(TABLES)]
    faults, steps = [], 0
    for migration in (each for each in migrate.migrations() if each.version > FIRST_RELEASE):
        for number, step in enumerate(migration.steps, 1):
            async with connection.transaction():
                before = {row["name"]: row["scans"] for row in await connection.fetch(SCANS, tables)}
                await connection.execute(step.sql.replace(" concurrently ", " "))
                after = await connection.fetch(SCANS, tables)
                locks = await connection.fetch(LOCKS, tables)
            blocked = {row["name"] for row in locks if KINDS.get(row["mode"]) in ("schema", "index")}
            changed = {row["name"] for row in locks if row["mode"] == "RowExclusiveLock"}
            read = {row["name"] for row in after if row["scans"] > before.get(row["name"], 0)}
            steps += bool(read)
            if step.built is not None:
                assert ";\n" not in step.sql.strip(), "an index that is built concurrently is a step by itself"
            elif (migration.version, number) != COUNTS_UPLOADS and read & blocked:
                faults.append(f"{migration.version}, step {number} reads {read} and blocks {blocked}")
            elif "update " in step.sql and read & changed and not (step.repeats and f"limit {MAX_ROWS}" in step.sql):
                faults.append(f"{migration.version}, step {number} changes {changed} in one transaction")
    assert not faults, "build indexes concurrently, repeat changes of rows, add constraints not valid"
    assert steps > 10, "the statistics say nothing"
    await connection.close()


LEADS = "select indexrelid::regclass::text as name from pg_index where indrelid = 'leads'::regclass and indisvalid"


def only(monkeypatch: pytest.MonkeyPatch, sql: str) -> None:
    monkeypatch.setattr(migrate, "migrations", lambda: [Migration("9000", "only", sql)])


async def wait_for_build(connection: asyncpg.Connection) -> None:
    async with asyncio.timeout(60):
        while not await connection.fetchval(migrate.IS_BEING_BUILT, "leads"):
            await asyncio.sleep(0.01)


async def test_others_write_while_an_index_is_built(
    database_url: str, connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The build waits for an earlier transaction, and another one writes in the meantime."""
    only(monkeypatch, "create index concurrently leads_by_phone on leads (studio_id, phone);")
    await connection.execute("delete from schema_migrations")
    await seed_studio(connection)
    migrator, earlier = await asyncpg.connect(database_url), await asyncpg.connect(database_url)
    transaction = earlier.transaction()
    await transaction.start()
    await earlier.execute("update leads set phone = '+12125550100'")
    building = asyncio.create_task(migrate.migrate(migrator))
    await wait_for_build(connection)
    second = asyncio.create_task(migrate.migrate(await asyncpg.connect(database_url)))
    await connection.execute("set lock_timeout = '5s'")
    await connection.execute(
        "insert into leads (studio_id, id, email) select studio_id, gen_random_uuid(), 'new@example.com' from studios"
    )
    assert not building.done()
    await transaction.rollback()
    applied = [each.version for migrated in await asyncio.gather(building, second) for each in migrated]
    assert applied == ["9000"], "by one of the two"
    assert "leads_by_phone" in {row["name"] for row in await connection.fetch(LEADS)}
    for each in (migrator, earlier):
        await each.close()


async def test_an_index_that_a_failed_build_left_behind_is_built_again(
    connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    only(monkeypatch, "create unique index concurrently leads_named_twice on leads (source) where source = 'twice';")
    await connection.execute("delete from schema_migrations")
    studio = await seed_studio(connection)
    named = "insert into leads (studio_id, id, email, source) values ($1, gen_random_uuid(), $2, 'twice')"
    for email in ("one@example.com", "two@example.com"):
        await connection.execute(named, studio.studio_id, email)
    with pytest.raises(asyncpg.UniqueViolationError):
        await migrate.migrate(connection)
    assert await connection.fetchval(migrate.IS_VALID, "leads_named_twice") is False
    await connection.execute("delete from leads where source = 'twice'")
    assert [each.version for each in await migrate.migrate(connection)] == ["9000"]
    assert await connection.fetchval(migrate.IS_VALID, "leads_named_twice") is True


async def test_a_step_is_repeated_until_it_changes_nothing(
    connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each time in its own transaction: the ids of the transactions that wrote the rows differ."""
    change = "update leads set phone = '1' where id in (select id from leads where phone is distinct from '1' limit 1);"
    only(monkeypatch, f"-- migrate:repeat\n{change}")
    await connection.execute("delete from schema_migrations")
    studio = await seed_studio(connection)
    for number in range(3):
        await connection.execute(
            "insert into leads (studio_id, id, email) values ($1, gen_random_uuid(), $2)",
            studio.studio_id,
            f"lead{number}@example.com",
        )
    monkeypatch.setattr(migrate, "REPORT_SECONDS", 0.0)
    reported: list[int] = []
    await migrate.migrate(connection, report=lambda progress: reported.append(progress.rows))
    written = await connection.fetch("select phone, xmin::text as xmin from leads")
    assert len(written) >= 3
    assert {row["phone"] for row in written} == {"1"}
    assert len({row["xmin"] for row in written}) == len(written)
    assert reported == sorted(reported)
    assert reported[0] == 0
    assert 0 < reported[-1] <= len(written), "while it runs"


async def test_a_step_that_advances_is_not_given_up(
    database_url: str, connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step may need its lock late: the time is counted from the last rows that it has changed."""
    change = "update leads set phone = '1' where id in (select id from leads where phone is distinct from '1' limit 1);"
    only(monkeypatch, f"-- migrate:repeat\n{change}")
    progress = Progress(migrate.migrations()[0], 1, 1, 1, problem="lock", began=0.0, advanced=0.0)
    await connection.execute("delete from schema_migrations")
    await seed_studio(connection)
    await migrate._prepare(connection, progress)
    assert progress.problem is None
    assert progress.advanced > 0.0
    before = progress.advanced
    await migrate._prepare(connection, progress)
    assert progress.advanced == before, "nothing was left to change"


async def test_a_step_waits_for_its_lock_and_lets_others_pass(
    database_url: str, connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transaction that holds the lock ends once the step has failed twice, and what was done is not done again."""
    steps = ("create table half (id integer);", "alter table leads add column half integer;")
    monkeypatch.setattr(migrate, "migrations", lambda: [Migration("9000", "half", "\n-- migrate:step\n".join(steps))])
    await connection.execute("delete from schema_migrations")
    holder = await asyncpg.connect(database_url)
    transaction = holder.transaction()
    await transaction.start()
    await holder.execute("select from leads")
    reported: list[tuple[int, bool]] = []
    ending: list[asyncio.Task[None]] = []

    def report(progress: Progress) -> None:
        reported.append((progress.step, progress.problem is not None))
        if reported.count((2, True)) == 2 and not ending:
            ending.append(asyncio.create_task(transaction.commit()))

    assert [each.version for each in await migrate.migrate(connection, report=report)] == ["9000"]
    assert reported[:4] == [(1, False), (2, False), (2, True), (2, True)]
    recorded = await migrate.recorded_migrations(connection)
    assert [version for version in recorded if version >= "9000"] == ["9000"], "the rows of the steps are gone"
    await holder.close()


async def test_a_step_that_never_gets_its_lock_says_so_and_is_resumed(
    database_url: str, connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = ("create table half (id integer);", "alter table leads add column half integer;")
    monkeypatch.setattr(migrate, "migrations", lambda: [Migration("9000", "half", "\n-- migrate:step\n".join(steps))])
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
