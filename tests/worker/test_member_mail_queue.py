"""Mails to members are made from committed events, exactly once, where the studio wants them."""

import asyncio
import io
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.domain.access import system_access
from studiogate.domain.events import EventType
from studiogate.domain.mails import MAILS_PER_HOUR, UNTRUE, MailKind
from studiogate.flows import doctor, events, retry, studio_file
from studiogate.flows.bookings import mails as member_mails
from studiogate.flows.changes import emit_event
from studiogate.flows.members.create import members_appeared
from studiogate.flows.studio_file import Options, Outcome, steps
from studiogate.storage import mails as mail_queue
from studiogate.storage import queue_metrics
from studiogate.storage.bookings import mails
from studiogate.worker.mail import mail_once
from tests.support import booking_studio
from tests.support.mail_studio import MailStudio, mail_studio
from tests.support.smtp_server import smtp_server

__all__ = ["mail_studio", "smtp_server"]
pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio


async def dropped(mail_studio: MailStudio) -> list[str]:
    """Return the kinds of the mails that came too late, as `mail list` and the metric have them."""
    async with mail_studio.runtime.database.connection() as connection:
        listed = await mails.dropped(connection, mail_studio.studio.access, 100)
        assert (await queue_metrics.mail_trouble(connection)).late >= len(listed)
    return [row["kind"] for row in listed]


async def test_a_worker_that_was_down_for_two_days_says_what_it_dropped(mail_studio: MailStudio) -> None:
    """Also of a class that began meanwhile; but not what is no longer true, or was never worth a mail."""
    await mail_studio.studio.api.connection.execute("delete from mails")
    (member, address), (other, _) = await mail_studio.member(), await mail_studio.member()
    class_id, begun = await mail_studio.studio.new_class(), await mail_studio.studio.new_class()
    await mail_studio.studio.booked(class_id, member)
    await mail_studio.studio.booked(begun, other)
    left = await mail_studio.studio.booked(class_id, other)
    await mail_studio.change_class(class_id, room_id=None)
    await mail_studio.studio.cancelled(left["id"])
    await mail_studio.studio.sql("update events set created_at = now() - interval '2 days' where studio_id = $1")
    await mail_studio.studio.sql("update bookings set created_at = now() - interval '3 days' where studio_id = $1")
    await mail_studio.studio.move(begun, -24 * 60)
    await mail_studio.work()
    assert mail_studio.arrived(address) == []
    assert sorted(await dropped(mail_studio)) == ["booked", "booked", "booking_cancelled", "class_changed"]
    assert (await mail_finding(mail_studio)) == (
        "warning",
        "4 to members were dropped within the last day because they came too late: `studiogate mail list --studio SLUG`"
        " names them.",
    )
    await mail_studio.work()
    assert len(await dropped(mail_studio)) == 4, "each is counted once"


async def test_a_queued_mail_that_the_start_of_its_class_overtook_is_listed(mail_studio: MailStudio) -> None:
    member, _ = await mail_studio.member()
    class_id = await mail_studio.studio.new_class()
    await mail_studio.studio.booked(class_id, member)
    await mail_studio.queue()
    await mail_studio.studio.sql("update events set created_at = now() - interval '1 hour' where studio_id = $1")
    await mail_studio.studio.move(class_id, -1)
    await mail_studio.work()
    assert await dropped(mail_studio) == ["booked"]


async def test_without_a_mail_server_events_grow_old_without_a_trace(mail_studio: MailStudio) -> None:
    member, address = await mail_studio.member()
    await mail_studio.studio.booked(await mail_studio.studio.new_class(), member)
    await mail_studio.studio.sql("update events set created_at = now() - interval '2 days' where studio_id = $1")
    await mail_studio.studio.booked(await mail_studio.studio.new_class(), member)
    await events.number_all(mail_studio.runtime.database)
    settings = mail_studio.runtime.settings.model_copy(update={"smtp_url": None})
    without = replace(mail_studio.runtime, settings=settings)
    assert await mail_once(without) == 0
    await mail_studio.work()
    assert await dropped(mail_studio) == []
    assert len(mail_studio.arrived(address)) == 1, "what happened within a day is still sent"


async def test_events_older_than_a_day_are_no_news(mail_studio: MailStudio) -> None:
    member, _ = await mail_studio.member()
    for hours in (25, 23):
        await mail_studio.studio.booked(await mail_studio.studio.new_class(), member)
        await mail_studio.studio.sql(
            f"update events set created_at = now() - interval '{hours} hours'"
            " where studio_id = $1 and created_at > now() - interval '1 hour'"
        )
    await mail_studio.queue()
    assert await mail_studio.kinds() == ["booked", "booked"]
    assert await dropped(mail_studio) == ["booked"]


async def test_a_switch_stops_a_kind_and_does_not_bring_old_news(mail_studio: MailStudio) -> None:
    member, _ = await mail_studio.member()
    await mail_studio.studio.staff(member_mails.switch_mails, MailKind.BOOKED, False)
    first = await mail_studio.studio.booked(await mail_studio.studio.new_class(), member)
    await mail_studio.queue()
    assert await mail_studio.kinds() == []
    await mail_studio.studio.staff(member_mails.switch_mails, MailKind.BOOKED, True)
    await mail_studio.queue()
    assert await mail_studio.kinds() == []
    await mail_studio.studio.cancelled(first["id"])
    await mail_studio.studio.booked(await mail_studio.studio.new_class(), member)
    await mail_studio.queue()
    assert await mail_studio.kinds() == ["booking_cancelled", "booked"]
    entries = await mail_studio.studio.rows("audit_log", "action = 'studio.switch_mails' order by occurred_at")
    assert [json.loads(entry["changes"]) for entry in entries] == [
        {"mail_switches": [None, {"booked": False}]},
        {"mail_switches": [{"booked": False}, {"booked": True}]},
    ]


async def test_a_test_studio_sends_what_was_switched_on(mail_studio: MailStudio) -> None:
    member, _ = await mail_studio.member()
    await mail_studio.studio.sql("update studios set test = true where studio_id = $1")
    first = await mail_studio.studio.booked(await mail_studio.studio.new_class(), member)
    await mail_studio.queue()
    assert await mail_studio.kinds() == []
    await mail_studio.studio.staff(member_mails.switch_mails, MailKind.BOOKING_CANCELLED, True)
    await mail_studio.studio.booked(await mail_studio.studio.new_class(), member)
    await mail_studio.studio.cancelled(first["id"])
    await mail_studio.queue()
    assert await mail_studio.kinds() == ["booking_cancelled"]


async def test_a_transaction_that_loads_data_is_silent(mail_studio: MailStudio) -> None:
    """Its events are in the log for partners, and the next transaction on the same connection is heard again."""
    member, _ = await mail_studio.member()
    class_id = await mail_studio.studio.new_class()
    booking = await mail_studio.studio.imported_booking(class_id, member)
    connection, access = mail_studio.studio.api.connection, system_access(mail_studio.studio.id)
    async with connection.transaction():
        await mail_queue.silence(connection)
        await emit_event(connection, access, EventType.BOOKING_CREATED, booking)
    await mail_studio.queue()
    assert await mail_studio.kinds() == []
    assert len(await mail_studio.studio.rows("events", "subject = $2 and sequence is not null", booking)) == 1
    async with connection.transaction():
        await emit_event(connection, access, EventType.BOOKING_CREATED, booking)
    await mail_studio.queue()
    assert await mail_studio.kinds() == ["booked"]


@pytest.mark.parametrize("quiet", [False, True])
async def test_an_import_mails_members_unless_it_is_quiet(mail_studio: MailStudio, quiet: bool) -> None:
    member, address = await mail_studio.member()
    moved, full = await mail_studio.studio.new_class(), await mail_studio.studio.new_class()
    await mail_studio.studio.booked(moved, member)
    left = await mail_studio.studio.imported_booking(full, member)
    await mail_studio.work()
    known = len(mail_studio.arrived(address))
    start = (await mail_studio.studio.now() + timedelta(days=9)).replace(microsecond=0)
    document = {
        "studio": {"id": str(mail_studio.studio.id)},
        "classes": [
            {"id": str(moved), "start_time": start.isoformat(), "end_time": (start + timedelta(hours=1)).isoformat()}
        ],
        "bookings": [{"id": str(left), "status": "cancelled"}],
    }
    file = io.BytesIO(json.dumps(document).encode())
    connection, options = mail_studio.studio.api.connection, Options(quiet=quiet)
    outcome = await studio_file.import_studio_file(connection, mail_studio.studio.access, file, options)
    assert isinstance(outcome, Outcome)
    assert outcome.faults == []
    await mail_studio.work()
    sent = [mail["Subject"].partition(":")[0] for mail in mail_studio.arrived(address)[known:]]
    assert sorted(sent) == ([] if quiet else ["Your booking is cancelled", "Your class has changed"])


async def test_a_quiet_import_is_silent(mail_studio: MailStudio, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that its transaction announces is marked: here an event that is written while it runs."""
    member, _ = await mail_studio.member()
    booking = await mail_studio.studio.imported_booking(await mail_studio.studio.new_class(), member)

    async def and_announce(connection: Any, *given: Any, **more: Any) -> Any:
        await emit_event(connection, mail_studio.studio.access, EventType.BOOKING_CREATED, booking)
        return await members_appeared(connection, *given, **more)

    monkeypatch.setattr(steps, "members_appeared", and_announce)
    row = await mail_studio.studio.api.connection.fetchrow(
        "select * from studios where studio_id = $1", mail_studio.studio.id
    )
    assert row is not None
    own = {name: row[name] for name in ("name", "slug", "timezone", "currency", "country")}
    document = {
        "studio": {"id": str(mail_studio.studio.id), **own},
        "members": [{"id": str(uuid4()), "first_name": "A", "last_name": "B", "email": "a@example.com"}],
    }
    file = io.BytesIO(json.dumps(document).encode())
    connection, access = mail_studio.studio.api.connection, mail_studio.studio.access
    outcome = await studio_file.import_studio_file(connection, access, file, Options(quiet=True))
    assert isinstance(outcome, Outcome)
    assert outcome.faults == []
    assert len(await mail_studio.studio.rows("events", "subject = $2 and silent", booking)) == 1
    await mail_studio.queue()
    assert await mail_studio.kinds() == []


async def test_a_runaway_program_does_not_flood_a_mailbox(mail_studio: MailStudio) -> None:
    member, _ = await mail_studio.member(remaining=None)
    other, _ = await mail_studio.member()
    class_id = await mail_studio.studio.new_class()
    for _ in range(MAILS_PER_HOUR // 2 + 2):
        booking = await mail_studio.studio.booked(class_id, member)
        await mail_studio.queue()
        await mail_studio.studio.cancelled(booking["id"])
        await mail_studio.queue()
    await mail_studio.studio.booked(class_id, other)
    await mail_studio.queue()
    sent = await mail_studio.studio.rows("mails", "member_id = $2", member)
    assert len(sent) == MAILS_PER_HOUR
    assert len(await mail_studio.studio.rows("mails", "member_id = $2", other)) == 1, "others get theirs"
    await mail_studio.studio.sql(
        "update mails set created_at = created_at - interval '61 minutes' where studio_id = $1"
    )
    await mail_studio.studio.booked(class_id, member)
    await mail_studio.queue()
    assert len(await mail_studio.studio.rows("mails", "member_id = $2", member)) == MAILS_PER_HOUR + 1


async def test_an_erased_address_gets_nothing(mail_studio: MailStudio) -> None:
    """The queue holds no address: it is read when the mail is sent."""
    member, address = await mail_studio.member()
    changed, _ = await mail_studio.member()
    for each in (member, changed):
        await mail_studio.studio.booked(await mail_studio.studio.new_class(), each)
    await mail_studio.queue()
    rows = await mail_studio.studio.rows("mails")
    assert {row["recipient"] for row in rows} == {None}
    await mail_studio.studio.change("members", member, email=None)
    await mail_studio.studio.change("members", changed, email="new@example.com")
    await mail_studio.work()
    assert mail_studio.arrived(address) == []
    assert len(mail_studio.arrived("new@example.com")) == 1
    states = {row["member_id"]: (row["status"], row["problem"]) for row in await mail_studio.studio.rows("mails")}
    assert states == {member: ("failed", "NoAddressError"), changed: ("sent", None)}


async def test_two_workers_queue_each_mail_once(mail_studio: MailStudio) -> None:
    member, _ = await mail_studio.member(remaining=None)
    for _ in range(5):
        await mail_studio.studio.booked(await mail_studio.studio.new_class(), member)
    await events.number_all(mail_studio.runtime.database)
    await asyncio.gather(
        *(member_mails.queue_news(mail_studio.runtime.database, mail_studio.studio.id) for _ in range(4))
    )
    assert await mail_studio.kinds() == ["booked"] * 5


async def test_a_backlog_is_worked_off_in_parts(mail_studio: MailStudio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(member_mails, "EVENTS_AT_ONCE", 2)
    member, _ = await mail_studio.member(remaining=None)
    for _ in range(5):
        await mail_studio.studio.booked(await mail_studio.studio.new_class(), member)
    await events.number_all(mail_studio.runtime.database)
    more = [await member_mails.queue_news(mail_studio.runtime.database, mail_studio.studio.id) for _ in range(4)]
    assert more == [True, True, False, False]
    assert await mail_studio.kinds() == ["booked"] * 5
    assert mail_studio.studio.id not in await retry.studios_with(mail_studio.runtime.database, member_mails.NEWS)


async def test_one_failing_studio_does_not_stop_the_others(
    mail_studio: MailStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    member, address = await mail_studio.member()
    await mail_studio.studio.booked(await mail_studio.studio.new_class(), member)
    queue_news, studios_with, broken = member_mails.queue_news, retry.studios_with, uuid4()

    async def queue_or_fail(database: Any, studio_id: UUID) -> bool:
        if studio_id == broken:
            raise RuntimeError("broken")
        return await queue_news(database, studio_id)

    async def with_broken(database: Any, what: str) -> list[UUID]:
        return [broken, mail_studio.studio.id] if what == member_mails.NEWS else await studios_with(database, what)

    monkeypatch.setattr(member_mails, "queue_news", queue_or_fail)
    monkeypatch.setattr(retry, "studios_with", with_broken)
    await mail_studio.work()
    assert len(mail_studio.arrived(address)) == 1


async def test_the_queue_is_measured(mail_studio: MailStudio) -> None:
    member, _ = await mail_studio.member()
    await mail_studio.studio.booked(await mail_studio.studio.new_class(), member)
    async with mail_studio.runtime.database.connection() as connection:
        before = (await queue_metrics.measure(connection))["mails"][0]
        await mail_studio.queue()
        assert (await queue_metrics.measure(connection))["mails"][0] == before + 1


async def mail_finding(mail_studio: MailStudio) -> tuple[str, str]:
    async with mail_studio.runtime.database.connection() as connection:
        (found,) = [each for each in await doctor.examine(connection) if each.subject == "mails"]
    return found.level, found.text


async def test_an_outage_of_the_mail_server_is_visible(mail_studio: MailStudio) -> None:
    """Between two attempts no mail is due: what counts is since when it was to be sent."""
    await mail_studio.studio.api.connection.execute("delete from mails")
    member, address = await mail_studio.member()
    await mail_studio.studio.booked(await mail_studio.studio.new_class(), member)
    mail_studio.smtp_server.answers.append("421 try later")
    await mail_studio.work()
    assert (await mail_finding(mail_studio))[0] == "ok", "a short delay is no outage"
    await mail_studio.studio.sql("update mails set created_at = now() - interval '31 minutes' where studio_id = $1")
    async with mail_studio.runtime.database.connection() as connection:
        length, age = (await queue_metrics.measure(connection))["mails"]
    assert (length, int(age) // 60) == (1, 31)
    level, text = await mail_finding(mail_studio)
    assert (level, text.split(" the oldest")[0]) == ("warning", "1 wait to be sent,")
    assert "(SMTPDataError 421): check STUDIOGATE_SMTP_URL" in text

    await mail_studio.studio.sql("update mails set due_at = now() where studio_id = $1")
    mail_studio.smtp_server.answers.append("550 no")
    await mail_studio.work()
    assert mail_studio.arrived(address) == []
    assert await mail_finding(mail_studio) == (
        "warning",
        "1 could not be sent within the last day (SMTPDataError 550): the worker's log has their ids.",
    )
    await mail_studio.studio.sql("update mails set problem = $2 where studio_id = $1", UNTRUE)
    assert (await mail_finding(mail_studio))[0] == "ok", "what was dropped has not failed"
