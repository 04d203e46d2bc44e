"""Imports concurrent with bookings and with each other."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from studiogate.flows.studio_file import Outcome
from studiogate.storage.studio_file import changes
from studiogate.storage.studio_file.emails import lock_emails
from tests.support.deadlines import LONG
from tests.support.studio_files import (
    assert_promises_hold,
    booking,
    changed,
    exported,
    load,
    load_well,
    places,
    small_studio,
    uid,
)

pytestmark = pytest.mark.anyio

Connection = asyncpg.Connection
CLASS = uid("north", "class", 1)
LOCK_CLASS = "select from classes where id = $1 for no key update"


@pytest.fixture
async def other(database_url: str) -> AsyncIterator[Connection]:
    connected = await asyncpg.connect(database_url, server_settings={"lock_timeout": "60s"})
    yield connected
    await connected.close()


async def book(connection: Connection, number: int, member: int) -> None:
    """Do what the booking flow does in its transaction after it has locked the class."""
    await connection.execute(
        """insert into bookings (studio_id, id, class_id, member_id, location_id, start_time, end_time, status)
           select studio_id, $1, id, $2, location_id, start_time, end_time, 'confirmed' from classes where id = $3""",
        uid("north", "booking", number),
        uid("north", "member", member),
        CLASS,
    )
    await connection.execute("update classes set booked_count = booked_count + 1 where id = $1", CLASS)


def with_booking(number: int = 9, member: int = 2) -> dict[str, Any]:
    return changed(small_studio(), "bookings.6", booking("north", number, 1, member))


async def begin_and_wait(importer: Connection, holder: Connection, document: dict[str, Any]) -> "asyncio.Task[Outcome]":
    """Start an import, and return its task once it waits for a lock of the holder."""
    task = asyncio.create_task(load(importer, document))
    while not await holder.fetchval("select pg_blocking_pids($1) <> '{}'", importer.get_server_pid()):
        assert not task.done()
        await asyncio.sleep(0.02)
    return task


async def test_an_import_waits_for_a_running_booking_and_counts_it(connection: Connection, other: Connection) -> None:
    await load_well(connection, small_studio())
    async with other.transaction():
        await other.fetch(LOCK_CLASS, CLASS)
        importing = await begin_and_wait(connection, other, with_booking())
        await book(other, 8, 1)
    outcome = await importing
    assert places(outcome) == ["bookings[6].class_id"] or places(outcome) == ["classes[1].capacity"]
    assert await other.fetchval("select booked_count from classes where id = $1", CLASS) == 2


async def test_without_the_lock_the_class_would_be_oversold(
    connection: Connection, other: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Verifies the test above: only because of the lock does the import see the booking."""
    await load_well(connection, small_studio())
    monkeypatch.setattr(changes, "CLASSES_TO_LOCK", "select $1::uuid")
    async with other.transaction():
        await other.fetch(LOCK_CLASS, CLASS)
        importing = await begin_and_wait(
            connection, other, with_booking()
        )  # only at its last step, where the counters are written
        await book(other, 8, 1)
    assert (await importing).faults == []
    seats = "select count(*) from bookings where class_id = $1 and status = 'confirmed'"
    assert await other.fetchval(seats, CLASS) == 3  # of 2


async def test_classes_that_the_file_leaves_as_they_are_stay_open(connection: Connection, other: Connection) -> None:
    """An import of a whole studio with one changed class locks no other class."""
    await load_well(connection, small_studio())
    async with other.transaction():
        await other.fetch(LOCK_CLASS, CLASS)
        await other.fetch("select from members for no key update")
        outcome = await asyncio.wait_for(load(connection, changed(small_studio(), "classes.0.title", "New")), LONG)
        assert outcome.sections["classes"].updated == 1


async def test_members_join_while_an_import_runs(connection: Connection, other: Connection) -> None:
    """Inserting rows that reference the studio does not wait for the import's lock on it."""
    await load_well(connection, small_studio())
    async with connection.transaction():
        await load(connection, changed(small_studio(), "studio.name", "New"))
        await other.execute(
            "insert into members (studio_id, id, first_name, last_name) values ($1, $2, 'A', 'B')",
            uid("north", "studio"),
            uid("somebody"),
        )


@pytest.mark.parametrize("exists", [False, True])
async def test_two_imports_of_one_studio_follow_each_other(
    connection: Connection, other: Connection, exists: bool
) -> None:
    if exists:
        await load_well(connection, small_studio())
    documents = [changed(small_studio(), "studio.name", name) for name in ("A", "B")]
    outcomes = await asyncio.gather(
        *(load(each, file) for each, file in zip((connection, other), documents, strict=True))
    )
    assert [outcome.faults for outcome in outcomes] == [[], []]
    assert sorted(outcome.sections["members"].created for outcome in outcomes) == ([0, 0] if exists else [0, 4])


async def test_a_member_who_joins_with_the_same_email_meanwhile(connection: Connection, other: Connection) -> None:
    await load_well(connection, small_studio())
    new = {"id": uid("new"), "first_name": "N", "last_name": "N", "email": "new@example.com"}
    join = "insert into members (studio_id, id, first_name, last_name, email) values ($1, $2, 'A', 'B', $3)"
    async with other.transaction():
        await other.execute(join, uid("north", "studio"), uid("somebody"), "new@example.com")
        importing = await begin_and_wait(connection, other, changed(small_studio(), "members.4", new))
    outcome = await importing
    assert places(outcome) == ["studio"]
    assert "run the import again" in outcome.faults[0].message
    assert await connection.fetchval("select count(*) from members where id = $1", uid("new")) == 0


QUANTITY = "update purchases set quantity = 2"


async def test_a_row_that_changes_while_the_import_waits_is_not_rewound(
    connection: Connection, other: Connection
) -> None:
    await load_well(connection, small_studio())
    document = changed(json.loads(await exported(connection)), "purchases.0.status", "refunded")
    async with other.transaction():
        await other.execute(QUANTITY)
        importing = await begin_and_wait(connection, other, document)
    assert [str(fault) for fault in (await importing).faults] == ["purchases[0]: changed since this export"]
    del document["purchases"][0]["revision"]
    del document["purchases"][0]["quantity"]
    async with other.transaction():
        await other.execute("update purchases set quantity = 3")
        importing = await begin_and_wait(connection, other, document)
    assert (await importing).faults == []
    row = await other.fetchrow("select quantity, status from purchases")
    assert row is not None
    assert tuple(row) == (3, "refunded"), "a field that the file does not give stays what it is by then"


async def test_without_the_lock_the_change_would_be_lost(
    connection: Connection, other: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Verifies the test above: only because of the locks does the import see the change."""
    await load_well(connection, small_studio())
    document = changed(json.loads(await exported(connection)), "purchases.0.status", "refunded")
    monkeypatch.setattr(changes, "_lock", lambda connection, access, _tables: lock_emails(connection, access))
    async with other.transaction():
        await other.execute(QUANTITY)
        importing = await begin_and_wait(connection, other, document)  # only where the row is written
    assert (await importing).faults == []
    assert await other.fetchval("select quantity from purchases") == 1


async def test_a_deadlock_is_no_crash(connection: Connection, other: Connection) -> None:
    await load_well(connection, small_studio())
    # The session whose deadlock_timeout ends first after the cycle has closed becomes the victim.
    await connection.execute("set deadlock_timeout = '1200ms'")
    await other.execute("set deadlock_timeout = '20s'")
    document = changed(changed(small_studio(), "locations.0.name", "New"), "leads.0.source", "New")
    async with other.transaction():
        await other.execute("update leads set source = 'held'")
        importing = await begin_and_wait(connection, other, document)
        crossing = asyncio.create_task(other.execute("update locations set city = 'crossed'"))
        outcome = await importing
        await crossing
    assert "run the import again" in outcome.faults[0].message


@pytest.mark.parametrize("step", ["reading", "checking", "writing"])
async def test_an_interrupted_import_leaves_nothing(connection: Connection, other: Connection, step: str) -> None:
    def interrupt(at: str, _done: int, _total: int) -> None:
        if at == step:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await load(connection, small_studio(), progress=interrupt)
    assert await other.fetchval("select count(*) from studios") == 0
    assert not connection.is_in_transaction()
    await load_well(connection, small_studio())


async def test_a_killed_import_leaves_nothing(connection: Connection, other: Connection) -> None:
    await load_well(connection, small_studio())
    before = await exported(other)
    held = other.transaction()
    await held.start()
    await other.execute("update leads set source = 'held'")
    importing = await begin_and_wait(connection, other, changed(with_booking(), "leads.0.source", "New"))
    connection.terminate()
    with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, OSError, Exception)):
        await importing
    await held.rollback()
    assert await exported(other) == before
    await assert_promises_hold(other)
