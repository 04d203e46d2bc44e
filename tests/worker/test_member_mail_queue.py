"""Mails to members are made from committed events, exactly once, where the studio wants them."""

import asyncio
import json
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.domain.events import EventType
from studiogate.domain.mails import MAILS_PER_HOUR, MailKind
from studiogate.flows import events, studio_file
from studiogate.flows.announce import emit_event
from studiogate.flows.bookings import mail_switches
from studiogate.flows.bookings import mails as member_mails
from studiogate.flows.people import members_appeared
from studiogate.flows.studio_file import steps
from studiogate.storage import mails as mail_queue
from studiogate.storage import queue_metrics
from tests.support import booking_studio
from tests.support.mailroom import Mailroom, room
from tests.support.postman import postman

__all__ = ["postman", "room"]
pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio


async def test_events_older_than_a_day_are_no_news(room: Mailroom) -> None:
    member, _ = await room.member()
    for hours in (25, 23):
        await room.studio.booked(await room.studio.new_class(), member)
        await room.studio.sql(
            f"update events set created_at = now() - interval '{hours} hours'"
            " where studio_id = $1 and created_at > now() - interval '1 hour'"
        )
    await room.queue()
    assert await room.kinds() == ["booked"]


async def test_a_switch_stops_a_kind_and_does_not_bring_old_news(room: Mailroom) -> None:
    member, _ = await room.member()
    await room.studio.staff(mail_switches.switch_mails, MailKind.BOOKED, False)
    first = await room.studio.booked(await room.studio.new_class(), member)
    await room.queue()
    assert await room.kinds() == []
    await room.studio.staff(mail_switches.switch_mails, MailKind.BOOKED, True)
    await room.queue()
    assert await room.kinds() == []
    await room.studio.cancelled(first["id"])
    await room.studio.booked(await room.studio.new_class(), member)
    await room.queue()
    assert await room.kinds() == ["booking_cancelled", "booked"]
    entries = await room.studio.rows("audit_log", "action = 'studio.switch_mails' order by occurred_at")
    assert [json.loads(entry["changes"]) for entry in entries] == [
        {"mail_switches": [None, {"booked": False}]},
        {"mail_switches": [{"booked": False}, {"booked": True}]},
    ]


async def test_a_test_studio_sends_what_was_switched_on(room: Mailroom) -> None:
    member, _ = await room.member()
    await room.studio.sql("update studios set test = true where studio_id = $1")
    first = await room.studio.booked(await room.studio.new_class(), member)
    await room.queue()
    assert await room.kinds() == []
    await room.studio.staff(mail_switches.switch_mails, MailKind.BOOKING_CANCELLED, True)
    await room.studio.booked(await room.studio.new_class(), member)
    await room.studio.cancelled(first["id"])
    await room.queue()
    assert await room.kinds() == ["booking_cancelled"]


async def test_a_transaction_that_loads_data_is_silent(room: Mailroom) -> None:
    """Its events are in the log for partners, and the next transaction on the same connection is heard again."""
    member, _ = await room.member()
    class_id = await room.studio.new_class()
    booking = await room.studio.imported_booking(class_id, member)
    connection, access = room.studio.api.connection, room.studio.access
    async with connection.transaction():
        await mail_queue.silence(connection)
        await emit_event(connection, access, EventType.BOOKING_CREATED, booking)
    await room.queue()
    assert await room.kinds() == []
    assert len(await room.studio.rows("events", "subject = $2 and sequence is not null", booking)) == 1
    async with connection.transaction():
        await emit_event(connection, access, EventType.BOOKING_CREATED, booking)
    await room.queue()
    assert await room.kinds() == ["booked"]


async def test_an_import_is_silent(room: Mailroom, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that an import's transaction announces is marked: here an event that is written while it runs."""
    member, _ = await room.member()
    booking = await room.studio.imported_booking(await room.studio.new_class(), member)

    async def and_announce(connection: Any, *given: Any, **more: Any) -> Any:
        await emit_event(connection, room.studio.access, EventType.BOOKING_CREATED, booking)
        return await members_appeared(connection, *given, **more)

    monkeypatch.setattr(steps, "members_appeared", and_announce)
    row = await room.studio.api.connection.fetchrow("select * from studios where studio_id = $1", room.studio.id)
    assert row is not None
    own = {name: row[name] for name in ("name", "slug", "timezone", "currency", "country")}
    document = {
        "studio": {"id": str(room.studio.id), **own},
        "members": [{"id": str(uuid4()), "first_name": "A", "last_name": "B", "email": "a@example.com"}],
    }
    outcome = await studio_file.import_document(room.studio.api.connection, document)
    assert outcome.faults == []
    assert len(await room.studio.rows("events", "subject = $2 and silent", booking)) == 1
    await room.queue()
    assert await room.kinds() == []


async def test_a_runaway_program_does_not_flood_a_mailbox(room: Mailroom) -> None:
    member, _ = await room.member(remaining=None)
    other, _ = await room.member()
    class_id = await room.studio.new_class()
    for _ in range(MAILS_PER_HOUR // 2 + 2):
        booking = await room.studio.booked(class_id, member)
        await room.queue()
        await room.studio.cancelled(booking["id"])
        await room.queue()
    await room.studio.booked(class_id, other)
    await room.queue()
    sent = await room.studio.rows("mails", "member_id = $2", member)
    assert len(sent) == MAILS_PER_HOUR
    assert len(await room.studio.rows("mails", "member_id = $2", other)) == 1, "others get theirs"
    await room.studio.sql("update mails set created_at = created_at - interval '61 minutes' where studio_id = $1")
    await room.studio.booked(class_id, member)
    await room.queue()
    assert len(await room.studio.rows("mails", "member_id = $2", member)) == MAILS_PER_HOUR + 1


async def test_an_erased_address_gets_nothing(room: Mailroom) -> None:
    """The queue holds no address: it is read when the mail is sent."""
    member, address = await room.member()
    changed, _ = await room.member()
    for each in (member, changed):
        await room.studio.booked(await room.studio.new_class(), each)
    await room.queue()
    rows = await room.studio.rows("mails")
    assert {row["recipient"] for row in rows} == {None}
    await room.studio.change("members", member, email=None)
    await room.studio.change("members", changed, email="new@example.com")
    await room.work()
    assert room.arrived(address) == []
    assert len(room.arrived("new@example.com")) == 1
    states = {row["member_id"]: (row["status"], row["problem"]) for row in await room.studio.rows("mails")}
    assert states == {member: ("failed", "NoAddressError"), changed: ("sent", None)}


async def test_two_workers_queue_each_mail_once(room: Mailroom) -> None:
    member, _ = await room.member(remaining=None)
    for _ in range(5):
        await room.studio.booked(await room.studio.new_class(), member)
    await events.number_all(room.runtime.database)
    await asyncio.gather(*(member_mails.queue_news(room.runtime.database, room.studio.id) for _ in range(4)))
    assert await room.kinds() == ["booked"] * 5


async def test_a_backlog_is_worked_off_in_parts(room: Mailroom, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(member_mails, "EVENTS_AT_ONCE", 2)
    member, _ = await room.member(remaining=None)
    for _ in range(5):
        await room.studio.booked(await room.studio.new_class(), member)
    await events.number_all(room.runtime.database)
    more = [await member_mails.queue_news(room.runtime.database, room.studio.id) for _ in range(4)]
    assert more == [True, True, False, False]
    assert await room.kinds() == ["booked"] * 5
    assert room.studio.id not in await member_mails.studios_with_news(room.runtime.database)


async def test_one_failing_studio_does_not_stop_the_others(room: Mailroom, monkeypatch: pytest.MonkeyPatch) -> None:
    member, address = await room.member()
    await room.studio.booked(await room.studio.new_class(), member)
    queue_news, broken = member_mails.queue_news, uuid4()

    async def queue_or_fail(database: Any, studio_id: UUID) -> bool:
        if studio_id == broken:
            raise RuntimeError("broken")
        return await queue_news(database, studio_id)

    async def with_broken(_database: Any) -> list[UUID]:
        return [broken, room.studio.id]

    monkeypatch.setattr(member_mails, "queue_news", queue_or_fail)
    monkeypatch.setattr(member_mails, "studios_with_news", with_broken)
    await room.work()
    assert len(room.arrived(address)) == 1


async def test_the_queue_is_measured(room: Mailroom) -> None:
    member, _ = await room.member()
    await room.studio.booked(await room.studio.new_class(), member)
    async with room.runtime.database.connection() as connection:
        before = (await queue_metrics.measure(connection))["mails"][0]
        await room.queue()
        assert (await queue_metrics.measure(connection))["mails"][0] == before + 1
