"""Bookings of members whose memberships are due for a renewal, or whose pause is over, before housekeeping comes by."""

from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from studiogate.flows.bookings import promote, staff_bookings
from tests.support import booking_studio
from tests.support.batches import in_one_batch
from tests.support.booking_studio import BookingStudio, wire_body

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio
DAY = timedelta(days=1)


async def new_price(studio: BookingStudio, **columns: Any) -> None:
    price = {"amount": Decimal("49.00"), "currency": "USD", "price_type": "recurring", "interval": "week", **columns}
    await studio.add("prices", product_id=studio.product, **price)


async def let_it_end(studio: BookingStudio, member: UUID, days: float = 0, **columns: Any) -> None:
    """End the period of a member's only membership, which renews itself."""
    (row,) = await studio.rows("memberships", "member_id = $2", member)
    end = await studio.now() - days * DAY
    period = {"current_period_start": end - 7 * DAY, "current_period_end": end, "auto_renew": True}
    await studio.change("memberships", row["id"], **period, **columns)


async def events(studio: BookingStudio) -> list[tuple[str, str]]:
    rows = await studio.rows("events", "true order by created_at, id")
    return [(row["type"], row["actor"]) for row in rows]


async def test_a_booking_renews_first(studio: BookingStudio) -> None:
    await new_price(studio)
    member, class_id = await studio.new_member(3), await studio.new_class()
    await studio.set_credits(member, 0)
    await let_it_end(studio, member)
    before = len(await events(studio))
    await studio.booked(class_id, member)  # also compares it with its validation, which changes nothing
    assert await studio.credits(member) == 2
    assert (await events(studio))[before:] == [
        ("membership.updated", "system"),
        ("purchase.created", "system"),
        ("booking.created", "partner"),
    ]
    assert [row["status"] for row in await studio.rows("purchases")] == ["pending"]
    assert await studio.findings() == []


async def test_a_booking_that_could_be_shared_renews_first(studio: BookingStudio) -> None:
    await new_price(studio)
    members = [await studio.new_member(3) for _ in range(2)]
    await studio.set_credits(members[0], 0)
    await let_it_end(studio, members[0])
    requests = [studio.post(wire_body(await studio.new_class(), each)) for each in members]
    assert [each.status for each in await in_one_batch(studio, requests)] == [201, 201]
    assert [await studio.credits(each) for each in members] == [2, 2]
    assert await studio.findings() == []


async def test_every_missed_period_is_renewed(studio: BookingStudio) -> None:
    await new_price(studio, interval="day")
    member = await studio.new_member(3)
    await let_it_end(studio, member, days=150.5)
    await studio.booked(await studio.new_class(), member)
    assert len(await studio.rows("purchases")) == 151
    assert await studio.credits(member) == 2


async def test_every_missed_period_is_renewed_after_a_pause(studio: BookingStudio) -> None:
    await new_price(studio, interval="day")
    member = await studio.new_member(3)
    began = await studio.now() - 160 * DAY
    pause = {"paused_at": began, "pause_starts_at": began, "pause_ends_at": began + 5 * DAY}
    await let_it_end(studio, member, days=150.5, status="paused", **pause)
    await studio.booked(await studio.new_class(), member)
    assert len(await studio.rows("purchases")) == 151
    assert await studio.credits(member) == 2


async def test_without_a_price_it_expires(studio: BookingStudio) -> None:
    member = await studio.new_member(3)
    await let_it_end(studio, member)
    error = await studio.refused(await studio.new_class(), member)
    assert error["code"] == "no_active_membership"
    (row,) = await studio.rows("memberships")
    assert row["status"] == "expired"


@pytest.mark.parametrize("columns", [{"cancel_at_period_end": True}, {"status": "past_due"}])
async def test_one_that_does_not_renew_is_left_to_housekeeping(studio: BookingStudio, columns: dict[str, Any]) -> None:
    await new_price(studio)
    member = await studio.new_member(3)
    await let_it_end(studio, member, **columns)
    settled = await studio.rows("memberships")
    assert (await studio.refused(await studio.new_class(), member))["code"] == "no_active_membership"
    assert await studio.rows("memberships") == settled


async def test_a_pause_that_is_over(studio: BookingStudio) -> None:
    member = await studio.new_member(3)
    now = await studio.now()
    (row,) = await studio.rows("memberships")
    paused = {"status": "paused", "paused_at": now - DAY, "pause_starts_at": now - DAY}
    await studio.change("memberships", row["id"], **paused, pause_ends_at=now + DAY)
    class_id = await studio.new_class()
    assert (await studio.refused(class_id, member))["code"] == "membership_paused"
    await studio.change("memberships", row["id"], pause_ends_at=now)
    await studio.booked(class_id, member)
    assert (await studio.row("memberships", row["id"]))["status"] == "active"


async def test_a_waiting_member_is_not_overtaken(studio: BookingStudio) -> None:
    await new_price(studio)
    class_id, (seat,) = await studio.full_class()
    first, second = await studio.new_member(3), await studio.new_member(3)
    waiting = [await studio.waits(class_id, each) for each in (first, second)]
    await let_it_end(studio, first)
    assert (await studio.cancelled(seat["id"]))["promoted"] is True  # as its preview said
    assert [await studio.status(each) for each in waiting] == ["confirmed", "waitlisted"]
    assert await studio.credits(first) == 2


async def test_staff_promote_by_hand(studio: BookingStudio) -> None:
    await new_price(studio)
    await studio.policy("studios", waitlist_mode="manual")
    class_id, (seat,) = await studio.full_class()
    member = await studio.new_member(3)
    waiting = await studio.waits(class_id, member)
    await studio.cancelled(seat["id"])
    await let_it_end(studio, member)
    await studio.staff(staff_bookings.promote_entry, UUID((await studio.entry(waiting))["id"]))
    assert await studio.status(waiting) == "confirmed"


async def test_without_it_the_member_is_refused(studio: BookingStudio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(promote, "members_behind", lambda _people: [])
    await new_price(studio)
    member = await studio.new_member(3)
    await let_it_end(studio, member)
    assert (await studio.refused(await studio.new_class(), member))["code"] == "no_active_membership"


async def test_a_planned_cancellation_does_not_keep_it_from_renewing_first(studio: BookingStudio) -> None:
    await new_price(studio)
    member = await studio.new_member(3)
    await let_it_end(studio, member, cancel_at=await studio.now() + 300 * DAY)
    await studio.booked(await studio.new_class(), member)
    assert [row["status"] for row in await studio.rows("purchases")] == ["pending"]


async def test_one_that_is_to_be_cancelled_by_now_does_not_renew(studio: BookingStudio) -> None:
    await new_price(studio)
    member = await studio.new_member(3)
    await let_it_end(studio, member, 2, cancel_at=await studio.now() - DAY)
    assert (await studio.refused(await studio.new_class(), member))["code"] == "no_active_membership"
    assert await studio.rows("purchases") == []
