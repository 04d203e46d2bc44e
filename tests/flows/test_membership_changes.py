"""Staff pause, resume and cancel memberships, switch their renewal and adjust credits."""

from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.domain.membership_changes import Pause
from studiogate.flows import housekeeping
from studiogate.flows import memberships as flow
from tests.support import booking_studio
from tests.support.booking_studio import BookingStudio
from tests.support.staff import audited, code, faults, news, person

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio
DAY = timedelta(days=1)
ENDED = ("cancelled", "expired")


async def run(studio: BookingStudio, flow_: Any, membership: UUID, *arguments: Any, **options: Any) -> Any:
    return await flow_(studio.api.connection, person(studio), membership, *arguments, **options)


async def new_membership(studio: BookingStudio, remaining: int | None = 10, **columns: Any) -> UUID:
    return await studio.new_membership(await studio.new_member(membership=False), remaining, **columns)


async def wire(studio: BookingStudio, membership: UUID) -> Any:
    return await studio.get(f"/memberships/{membership}")


async def changes(studio: BookingStudio, flow_: Any, membership: UUID, *arguments: Any, **options: Any) -> set[str]:
    """Run a flow that must succeed and raise the version by one; return the other fields that changed.

    The event and the audit entry must say the same.
    """
    before = await wire(studio, membership)
    state = await run(studio, flow_, membership, *arguments, **options)
    after = await wire(studio, membership)
    assert after["state_version"] == state.state_version == before["state_version"] + 1
    old = {name: value for name, value in before.items() if after[name] != value and name != "updated_at"}
    assert await news(studio) == [("membership.updated", str(membership), old)]
    ((action, kind, audit, _),) = await audited(studio)
    assert (action.split(".")[0], kind) == ("membership", "membership")
    assert set(audit) == set(old) - {"state_version"}
    return set(audit)


async def test_pause_now_and_resume(studio: BookingStudio) -> None:
    membership = await new_membership(studio)
    member = (await studio.row("memberships", membership))["member_id"]
    booking = await studio.booked(await studio.new_class(), member)
    await forget_events(studio)
    ends = await studio.now() + 30 * DAY
    changed = await changes(studio, flow.pause, membership, Pause(None, ends, "A journey."))
    assert changed == {"status", "paused_at", "pause_starts_at", "pause_ends_at", "pause_reason"}
    paused = await wire(studio, membership)
    assert (paused["status"], paused["pause_reason"]) == ("paused", "A journey.")
    assert paused["paused_at"] == paused["pause_starts_at"]
    assert (await studio.refused(await studio.new_class(), member))["code"] == "membership_paused"
    assert await studio.status(booking) == "confirmed", "bookings stay"
    assert code(await run(studio, flow.pause, membership, Pause())) == "invalid_transition"
    assert await changes(studio, flow.resume, membership) == changed
    assert (await wire(studio, membership))["status"] == "active"
    assert code(await run(studio, flow.resume, membership)) == "invalid_transition"


async def forget_events(studio: BookingStudio) -> None:
    await studio.sql("delete from events where studio_id = $1")


async def test_a_planned_pause(studio: BookingStudio) -> None:
    membership, now = await new_membership(studio), await studio.now()
    changed = await changes(studio, flow.pause, membership, Pause(now + DAY, now + 9 * DAY))
    assert changed == {"pause_starts_at", "pause_ends_at"}
    assert await changes(studio, flow.resume, membership, now + 5 * DAY) == {"pause_ends_at"}
    assert await changes(studio, flow.pause, membership, Pause(now + 2 * DAY)) == changed, "it is replaced"
    assert faults(await run(studio, flow.resume, membership, now + DAY)) == ["at"]
    assert await changes(studio, flow.resume, membership) == {"pause_starts_at"}, "it is withdrawn"
    assert (await wire(studio, membership))["status"] == "active"


@pytest.mark.parametrize(
    ("days", "reason", "expected"),
    [
        ((-1, None), None, ["starts_at"]),
        ((None, -1), None, ["ends_at"]),
        ((3, 3), None, ["ends_at"]),
        ((-2, -3), "r" * 501, ["reason", "starts_at", "ends_at"]),
        ((None, None), "two\nlines", ["reason"]),
        ((None, None), "nul\x00", ["reason"]),
    ],
)
async def test_a_pause_that_is_refused(studio: BookingStudio, days: Any, reason: Any, expected: list[str]) -> None:
    membership, now = await new_membership(studio), await studio.now()
    starts, ends = (None if each is None else now + each * DAY for each in days)
    assert faults(await run(studio, flow.pause, membership, Pause(starts, ends, reason))) == expected
    assert (await news(studio), await audited(studio)) == ([], [])


async def test_a_pause_ends_later(studio: BookingStudio) -> None:
    membership, now = await new_membership(studio), await studio.now()
    await changes(studio, flow.pause, membership, Pause())
    assert await changes(studio, flow.resume, membership, now + DAY) == {"pause_ends_at"}
    assert faults(await run(studio, flow.resume, membership, now - DAY)) == ["at"]
    assert (await wire(studio, membership))["status"] == "paused"


async def recurring(studio: BookingStudio, interval: str = "week") -> UUID:
    price = {"amount": Decimal("49.00"), "currency": "USD", "price_type": "recurring", "interval": interval}
    return await studio.add("prices", product_id=studio.product, **price)


async def test_a_period_that_ran_out_in_a_pause_is_renewed(studio: BookingStudio) -> None:
    await recurring(studio)
    now = await studio.now()
    membership = await new_membership(studio, auto_renew=True, current_period_end=now + DAY)
    await studio.set_credits((await studio.row("memberships", membership))["member_id"], 4)
    await run(studio, flow.pause, membership, Pause())
    await studio.change("memberships", membership, current_period_end=now - DAY)
    await news(studio)
    state = await run(studio, flow.resume, membership)
    assert (state.status, state.credits_remaining) == ("active", 10)
    assert state.current_period_end > now
    assert [each[0] for each in await news(studio)] == ["membership.updated", "purchase.created"]


async def test_cancel_now(studio: BookingStudio) -> None:
    membership = await new_membership(studio, status="paused")
    changed = await changes(studio, flow.cancel, membership, "Moves away.", at_period_end=False)
    assert changed == {"status", "cancelled_at", "ended_at", "cancellation_reason"}
    shown = await wire(studio, membership)
    assert (shown["status"], shown["cancellation_reason"]) == ("cancelled", "Moves away.")
    assert shown["cancelled_at"] == shown["ended_at"]
    again = await run(studio, flow.cancel, membership, None, at_period_end=False)
    assert (code(again), again.details) == ("invalid_transition", {"from": "cancelled", "to": "cancelled"})


async def test_cancel_at_the_end_of_the_period(studio: BookingStudio) -> None:
    ends = await studio.now() + DAY
    membership = await new_membership(studio, current_period_end=ends, auto_renew=True)
    changed = await changes(studio, flow.cancel, membership, "Enough.", at_period_end=True)
    assert changed == {"cancel_at_period_end", "cancellation_reason"}
    assert await changes(studio, flow.uncancel, membership) == changed
    assert code(await run(studio, flow.uncancel, membership)) == "invalid_transition"
    await changes(studio, flow.cancel, membership, None, at_period_end=True)
    await studio.change("memberships", membership, current_period_end=await studio.now() - DAY)
    await housekeeping.advance_memberships(studio.database)
    assert (await wire(studio, membership))["status"] == "cancelled"


async def test_a_repeated_action_changes_nothing(studio: BookingStudio) -> None:
    """Else the event about the version alone would have no audit entry, which doctor reports."""
    now = await studio.now()
    running = await new_membership(studio, current_period_end=now + DAY, auto_renew=True)
    planned, paused = await new_membership(studio), await new_membership(studio)
    await run(studio, flow.pause, paused, Pause())
    pause = Pause(now + DAY, now + 9 * DAY, "A journey.")
    repeated: list[tuple[Any, ...]] = [
        (partial(flow.cancel, at_period_end=True), running, "Enough."),
        (flow.pause, planned, pause),
        (flow.resume, planned, now + 5 * DAY),
        (flow.resume, paused, now + 5 * DAY),
    ]
    for action, membership, *arguments in repeated:
        done = await run(studio, action, membership, *arguments)
        await news(studio), await audited(studio)
        assert await run(studio, action, membership, *arguments) == done
        assert (await news(studio), await audited(studio)) == ([], [])
        assert (await wire(studio, membership))["state_version"] == done.state_version


async def test_a_cancellation_that_is_refused(studio: BookingStudio) -> None:
    membership = await new_membership(studio)
    assert faults(await run(studio, flow.cancel, membership, "x" * 501, at_period_end=True)) == [
        "reason",
        "membership_id",
    ]


async def test_the_renewal(studio: BookingStudio) -> None:
    ends = await studio.now() + DAY
    membership = await new_membership(studio, current_period_end=ends)
    assert faults(await run(studio, flow.set_renewal, membership, True)) == ["product_id"]
    await recurring(studio)
    assert await changes(studio, flow.set_renewal, membership, True) == {"auto_renew"}
    assert (await run(studio, flow.set_renewal, membership, True)).state_version == 2
    assert (await news(studio), await audited(studio)) == ([], []), "it is on already"
    assert await changes(studio, flow.set_renewal, membership, False) == {"auto_renew"}
    endless = await new_membership(studio)
    assert faults(await run(studio, flow.set_renewal, endless, True)) == ["membership_id"]


async def test_adjust_credits(studio: BookingStudio) -> None:
    membership = await new_membership(studio, 2)
    assert await changes(studio, flow.adjust_credits, membership, 3, "A gift.") == {"credits_remaining"}
    assert await changes(studio, flow.adjust_credits, membership, -5, "Taken back.") == {"credits_remaining"}
    assert (await wire(studio, membership))["credits_remaining"] == 0
    lines = await studio.rows("credit_ledger", "true order by created_at")
    assert [(line["reason"], line["delta"]) for line in lines] == [("granted", 2), ("adjusted", 3), ("adjusted", -5)]


async def test_the_reason_is_kept_in_the_audit_log(studio: BookingStudio) -> None:
    membership = await new_membership(studio, 2)
    await run(studio, flow.adjust_credits, membership, 1, "A gift.")
    ((action, _, audit, reason),) = await audited(studio)
    assert (action, audit, reason) == ("membership.credits", {"credits_remaining": [2, 3]}, "A gift.")


@pytest.mark.parametrize(
    ("remaining", "change", "reason", "expected"),
    [
        (2, -3, "r", ["credits"]),
        (2, 0, "r", ["credits"]),
        (2, 100_000, "r", ["credits"]),
        (2, 1, "", ["reason"]),
        (2, 1, " ", ["reason"]),
        (2, -3, "r" * 501, ["reason", "credits"]),
        (None, 1, "r", ["membership_id"]),
    ],
)
async def test_an_adjustment_that_is_refused(
    studio: BookingStudio, remaining: int | None, change: int, reason: str, expected: list[str]
) -> None:
    membership = await new_membership(studio, remaining)
    assert faults(await run(studio, flow.adjust_credits, membership, change, reason)) == expected
    assert (await news(studio), await audited(studio)) == ([], [])


@pytest.mark.parametrize("status", ENDED)
async def test_what_has_ended_does_not_change(studio: BookingStudio, status: str) -> None:
    membership = await new_membership(studio, status=status)
    outcomes = [
        await run(studio, flow.pause, membership, Pause()),
        await run(studio, flow.resume, membership),
        await run(studio, flow.cancel, membership, at_period_end=False),
        await run(studio, flow.uncancel, membership),
        await run(studio, flow.set_renewal, membership, False),
        await run(studio, flow.adjust_credits, membership, 1, "r"),
    ]
    assert {code(each) for each in outcomes} == {"invalid_transition"}


async def test_unknown_memberships(studio: BookingStudio) -> None:
    assert code(await run(studio, flow.pause, uuid4(), Pause())) == "not_found"
    assert code(await run(studio, flow.adjust_credits, uuid4(), 1, "r")) == "not_found"


async def test_what_the_clock_made_due_happens_first(studio: BookingStudio) -> None:
    """A membership whose period is over has ended, also before the sweep has come to it."""
    over: datetime = await studio.now() - DAY
    membership = await new_membership(studio, current_period_end=over)
    refusal = await run(studio, flow.cancel, membership, at_period_end=False)
    assert (code(refusal), refusal.details["from"]) == ("invalid_transition", "expired")


async def test_all_that_the_clock_made_due_happens_first(studio: BookingStudio) -> None:
    await recurring(studio, "day")
    over = await studio.now() - 250.5 * DAY
    membership = await new_membership(studio, current_period_start=over - DAY, current_period_end=over, auto_renew=True)
    state = await run(studio, flow.adjust_credits, membership, 1, "A gift.")
    assert len(await studio.rows("purchases")) == 251
    assert state.current_period_end > await studio.now()


async def test_a_waiting_member_is_promoted_after_an_adjustment(studio: BookingStudio) -> None:
    class_id, (held,) = await studio.full_class()
    member = await studio.new_member(remaining=1)
    waiting = await studio.waits(class_id, member)
    await studio.set_credits(member, 0)
    await studio.cancelled(held["id"])
    (membership,) = await studio.rows("memberships", "member_id = $2", member)
    await run(studio, flow.adjust_credits, membership["id"], 1, "A gift.")
    await housekeeping.fill_free_seats(studio.database)
    assert await studio.status(waiting) == "confirmed"
    assert await studio.credits(member) == 0
