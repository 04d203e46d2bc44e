"""The sweep runs periodically: a waiting member who became eligible gets the seat, waitlists and periods end."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from uuid import UUID

import pytest

from studiogate.storage import mails, secret_key
from studiogate.worker import housekeeping
from tests.support import booking_studio
from tests.support.booking_studio import BookingStudio

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Poll until the condition holds; the test's timeout is the only limit."""
    while not await holds():
        await asyncio.sleep(0.05)


async def test_the_sweep_fills_seats_and_ends_what_is_over(
    studio: BookingStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert housekeeping.NUMBER_SECONDS <= 30, (
        "a seat must reach a waiting member within a minute, the sweep's own time included"
    )
    monkeypatch.setattr(housekeeping, "NUMBER_SECONDS", 0.05)
    class_id, (first,) = await studio.full_class()
    waiting = await studio.waits(class_id, await studio.new_member())
    member = UUID(waiting["member_id"])
    await studio.change("members", member, suspended=True)
    await studio.cancelled(first["id"])
    ending, _ = await studio.full_class()
    late = await studio.waits(ending, await studio.new_member())
    over = await studio.new_membership(await studio.new_member(membership=False))
    sweeping = asyncio.create_task(housekeeping.sweep_forever(studio.api.app._runtime))
    try:
        # Nobody takes the seat until the member is eligible again; then the sweep fills it without another event.
        await studio.change("members", member, suspended=False)
        await until(lambda: _is(studio, waiting, "confirmed"))
        await studio.move(ending, 0)
        await until(lambda: _is(studio, late, "cancelled"))
        await studio.sql("update memberships set current_period_end = now() where studio_id = $1 and id = $2", over)
        await until(lambda: _has_expired(studio, over))
    finally:
        sweeping.cancel()
        await asyncio.gather(sweeping, return_exceptions=True)
    assert (await studio.entry(late))["status"] == "expired"


async def _is(studio: BookingStudio, booking: dict[str, str], status: str) -> bool:
    return await studio.status(booking) == status


async def _has_expired(studio: BookingStudio, membership: UUID) -> bool:
    return bool((await studio.row("memberships", membership))["status"] == "expired")


async def test_until_the_sweep_comes_nobody_new_takes_the_seat(studio: BookingStudio) -> None:
    """A new member's request also triggers promotion: it gives the seat to the waiting member."""
    class_id, (first,) = await studio.full_class()
    waiting = await studio.waits(class_id, await studio.new_member())
    member = UUID(waiting["member_id"])
    await studio.change("members", member, suspended=True)
    await studio.cancelled(first["id"])
    await studio.change("members", member, suspended=False)
    assert (await studio.refused(class_id, await studio.new_member()))["code"] == "class_full"
    assert await studio.status(waiting) == "confirmed"


async def test_a_sweep_says_whether_mails_are_sent(studio: BookingStudio) -> None:
    """Commands ask the database: their own settings are those of a shell."""
    await secret_key.write_first(studio.api.connection, bytes(16))
    runtime = studio.api.app._runtime
    for url in (None, "smtp://mail.example", None):
        settings = runtime.settings.model_copy(update={"smtp_url": url})
        await housekeeping.sweep_once(replace(runtime, settings=settings))
        async with runtime.database.connection() as connection:
            assert await mails.worker_sends(connection) is (url is not None)
