"""Housekeeping: waitlists expire, seats are filled, memberships advance, idempotency keys are deleted."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from studiogate.flows import housekeeping
from studiogate.flows.bookings import staff
from studiogate.worker import housekeeping as housekeeping_job
from tests.support import booking_studio
from tests.support.booking_studio import DAY, BookingStudio, StudioFactory
from tests.support.held_locks import somebody_waits

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio


async def changed(studio: BookingStudio, **columns: Any) -> Any:
    """Insert a membership with these columns, and return it after housekeeping."""
    membership = await studio.new_membership(await studio.new_member(membership=False), **columns)
    await housekeeping.advance_memberships(studio.database)
    return await studio.row("memberships", membership)


async def test_periods_end(studio: BookingStudio) -> None:
    now = await studio.now()
    ended = await changed(studio, current_period_end=now)
    assert (ended["status"], ended["ended_at"], ended["state_version"]) == ("expired", now, 2)
    cancelled = await changed(studio, current_period_end=now, cancel_at_period_end=True)
    assert (cancelled["status"], cancelled["cancelled_at"], cancelled["ended_at"]) == ("cancelled", now, now)
    running = await changed(studio, current_period_end=now + timedelta(minutes=1))
    assert (running["status"], running["state_version"]) == ("active", 1)


async def test_terms_end(studio: BookingStudio) -> None:
    now = await studio.now()
    ended = await changed(studio, cancel_at=now, current_period_end=now + timedelta(days=9))
    assert (ended["status"], ended["cancelled_at"], ended["ended_at"]) == ("cancelled", now, now)


async def test_pauses_begin_and_end(studio: BookingStudio) -> None:
    now = await studio.now()
    tomorrow, yesterday = now + timedelta(days=1), now - timedelta(days=1)
    begun = await changed(studio, pause_starts_at=yesterday, pause_ends_at=tomorrow)
    assert (begun["status"], begun["paused_at"], begun["state_version"]) == ("paused", yesterday, 2)
    open_end = await changed(studio, pause_starts_at=yesterday)
    assert open_end["status"] == "paused"
    over = await changed(studio, status="paused", pause_starts_at=yesterday, pause_ends_at=now)
    assert (over["status"], over["paused_at"], over["pause_starts_at"]) == ("active", None, None)
    to_come = await changed(studio, pause_starts_at=tomorrow)
    assert to_come["status"] == "active"
    both = await changed(studio, status="paused", pause_ends_at=now, current_period_end=now)
    assert both["status"] == "expired"


async def test_memberships_are_advanced_once(studio: BookingStudio) -> None:
    await changed(studio, current_period_end=await studio.now())
    before = await studio.snapshot()
    await housekeeping.advance_memberships(studio.database)
    assert await studio.snapshot() == before


async def test_memberships_wait_for_whoever_moves_their_credits(studio: BookingStudio) -> None:
    """Promoting several members locks them and then takes their credits in join order: whatever that order is, it must
    not deadlock with the sweep."""
    now = await studio.now()
    members = [await studio.new_member(membership=False) for _ in range(3)]
    owned = [await studio.new_membership(each, current_period_end=now) for each in members]
    take = "update memberships set credits_remaining = credits_remaining where id = $1"
    async with studio.database.transaction() as connection:
        await connection.execute("select from members where id = any($1) order by id for no key update", members)
        await connection.execute(take, owned[2])
        sweeping = asyncio.create_task(housekeeping.advance_memberships(studio.database))
        await somebody_waits(connection)
        await connection.execute(take, owned[0])
        await connection.execute(take, owned[1])
    assert await sweeping == 3
    assert {(await studio.row("memberships", each))["status"] for each in owned} == {"expired"}


async def test_memberships_beyond_a_batch_are_advanced(studio: BookingStudio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "BATCH", 2)
    now = await studio.now()
    members = [await studio.new_member(membership=False) for _ in range(5)]
    for each in members:
        await studio.new_membership(each, current_period_end=now)
    assert await housekeeping.advance_memberships(studio.database) == 5


async def test_a_pause_that_ends_gives_the_seat_that_waited(studio: BookingStudio) -> None:
    """Runs all steps of one sweep."""
    class_id, (first,) = await studio.full_class()
    waiting = await studio.waits(class_id, await studio.new_member())
    member = UUID(waiting["member_id"])
    await studio.sql("update memberships set status = 'paused' where studio_id = $1 and member_id = $2", member)
    await studio.cancelled(first["id"])
    assert (await studio.entry(waiting))["skip_reason"] == "membership_paused"
    await studio.sql("update memberships set pause_ends_at = now() where studio_id = $1 and member_id = $2", member)
    done = await housekeeping_job.sweep_once(studio.api.app._runtime)
    assert set(done) == set(housekeeping_job.steps_of(studio.api.app._runtime))
    assert await studio.status(waiting) == "confirmed"


async def test_classes_to_come_beyond_a_page_are_filled(studio: BookingStudio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "BATCH", 2)
    waiting = []
    for number in range(5):
        class_id = await studio.new_class(2 * DAY + 61 * number, capacity=0)
        waiting.append(await studio.waits(class_id, await studio.new_member()))
        await studio.change("classes", class_id, capacity=1)
    await housekeeping.fill_free_seats(studio.database)
    assert [await studio.status(booking) for booking in waiting] == ["confirmed"] * 5


async def test_one_class_that_cannot_be_done_does_not_stop_the_others(studio_factory: StudioFactory) -> None:
    """A manual change in the database broke one waitlist of three; the sweep reports it and does the other two."""
    studio = await studio_factory.new_studio()
    classes = [await studio.full_class() for _ in range(3)]
    waiting = [await studio.waits(class_id, await studio.new_member()) for class_id, _ in classes]
    await studio.change("bookings", UUID(waiting[1]["id"]), status="no_show")
    for class_id, _ in classes:
        await studio.move(class_id, -1)
    with pytest.raises(ExceptionGroup) as raised:
        await housekeeping.expire_waitlists(studio.database)
    assert str(classes[1][0]) in str(raised.value.exceptions[0].__notes__)
    assert [await studio.status(booking) for booking in waiting] == ["cancelled", "no_show", "cancelled"]
    done = await housekeeping_job.sweep_once(studio.api.app._runtime)
    assert set(housekeeping.STEPS) - set(done) == {"expired waitlist entries"}, "raised after the other steps"
    assert {finding.subject for finding in await studio.findings()} >= {"waitlist entries"}
    await studio.change("bookings", UUID(waiting[1]["id"]), status="waitlisted")
    await housekeeping.expire_waitlists(studio.database)
    assert await studio.findings() == []


async def test_an_entry_with_an_offer_leaves_without_being_counted_twice(studio_factory: StudioFactory) -> None:
    """Nothing creates offers yet; an existing one expires with its class and does not distort the count."""
    studio = await studio_factory.new_studio()
    class_id, _ = await studio.full_class()
    offered = await studio.waits(class_id, await studio.new_member())
    waiting = await studio.waits(class_id, await studio.new_member())
    entry = UUID((await studio.entry(offered))["id"])
    await studio.change("waitlist_entries", entry, status="offered", position=None)
    await studio.change("waitlist_entries", UUID((await studio.entry(waiting))["id"]), position=1)
    await studio.change("classes", class_id, waitlist_count=1)
    await studio.staff(staff.cancel_class, class_id)
    assert await studio.counts(class_id) == (0, 0)
    assert (await studio.row("waitlist_entries", entry))["status"] == "expired"
    assert await studio.findings() == []


async def test_a_sweep_of_nothing(studio_factory: StudioFactory) -> None:
    """With no work due, a sweep does nothing and nothing fails, also the second time."""
    runtime = studio_factory.api.app._runtime
    await housekeeping_job.sweep_once(runtime)
    assert await housekeeping_job.sweep_once(runtime) == dict.fromkeys(housekeeping_job.steps_of(runtime), 0)
