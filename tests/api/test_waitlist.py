"""The waitlist over HTTP: joining, leaving, promotion in join order, promised seats, expiry."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from studiogate.flows import housekeeping
from studiogate.flows.bookings import staff
from studiogate.storage.bookings import facts
from tests.support import booking_studio
from tests.support.booking_studio import HOUR, BookingStudio

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio
MOMENT = 0.5  # minutes: longer than a few requests take, too short to matter


async def waiters(studio: BookingStudio, class_id: UUID, number: int) -> list[Any]:
    return [await studio.waits(class_id, await studio.new_member()) for _ in range(number)]


async def statuses(studio: BookingStudio, *bookings: Any) -> list[str]:
    return [await studio.status(booking) for booking in bookings]


async def suspend(studio: BookingStudio, booking: Any, suspended: bool = True) -> None:
    await studio.change("members", UUID(booking["member_id"]), suspended=suspended)


async def test_joining(studio: BookingStudio) -> None:
    class_id, _ = await studio.full_class()
    member = await studio.new_member(1)
    booking = await studio.waits(class_id, member)
    assert (booking["waitlist_position"], booking["class_spot_id"]) == (1, None)
    assert await studio.get(f"/bookings/{booking['id']}") == booking
    entry = await studio.entry(booking)
    assert entry == {
        "id": entry["id"],
        "object": "waitlist",
        "class_id": str(class_id),
        "member_id": str(member),
        "position": 1,
        "status": "waiting",
        "converted_to_booking": False,
        "booking_id": booking["id"],
        "joined_at": booking["created_at"],
        "promoted_at": None,
        "skip_reason": None,
        "updated_at": booking["created_at"],
    }
    assert await studio.counts(class_id) == (1, 1)
    assert await studio.credits(member) == 1, "waiting takes no credit"
    (membership,) = await studio.rows("memberships", "member_id = $2", member)
    assert membership["state_version"] == 1
    assert (await studio.get("/waitlist", class_id=class_id, status="waiting"))["data"] == [entry]
    assert (await studio.get("/bookings", class_id=class_id, status="waitlisted"))["data"] == [booking]


async def test_positions_have_no_gaps_after_a_cancellation_in_the_middle(studio: BookingStudio) -> None:
    class_id, _ = await studio.full_class()
    one, two, three, four = await waiters(studio, class_id, 4)
    assert await studio.positions(one, two, three, four) == [1, 2, 3, 4]
    receipt = await studio.cancelled(two["id"])
    assert (receipt["cancellation_type"], receipt["promoted"], receipt["late"]) == ("waitlist_left", False, False)
    assert await studio.positions(one, two, three, four) == [1, None, 2, 3]
    entry = await studio.entry(two)
    assert (entry["status"], entry["converted_to_booking"]) == ("cancelled", False)
    await studio.cancelled(one["id"])
    assert await studio.positions(three, four) == [1, 2]
    (five,) = await waiters(studio, class_id, 1)
    again = await studio.waits(class_id, UUID(two["member_id"]))
    assert await studio.positions(three, four, five, again) == [1, 2, 3, 4]
    assert again["id"] != two["id"]
    assert await studio.counts(class_id) == (1, 4)


async def test_cancelling_a_waitlisted_booking_costs_nothing_before_the_start(studio: BookingStudio) -> None:
    policy = {"late_action": "fee_and_forfeit", "late_fee_amount": "9.00"}
    class_id, _ = await studio.full_class(MOMENT, policy=policy)
    (waiting,) = await waiters(studio, class_id, 1)
    receipt = await studio.cancelled(waiting["id"])
    assert (receipt["cancellation_type"], receipt["late"], receipt["late_fee"]) == ("waitlist_left", False, None)
    assert (receipt["credits_forfeited"], receipt["credits_returned"], receipt["membership_id"]) == (0, 0, None)
    assert await studio.rows("purchases") == []


# Promotion.


async def test_promotion_by_cancellation_in_join_order(studio: BookingStudio) -> None:
    class_id, (first, second) = await studio.full_class(capacity=2)
    one, two, three = await waiters(studio, class_id, 3)
    receipt = await studio.cancelled(first["id"])
    assert receipt["promoted"] is True
    assert one["member_id"] not in str(receipt), "promoted never says who"
    assert await statuses(studio, one, two, three) == ["confirmed", "waitlisted", "waitlisted"]
    promoted = await studio.get(f"/bookings/{one['id']}")
    assert (promoted["waitlist_position"], promoted["created_at"]) == (None, one["created_at"])
    assert promoted["updated_at"] > one["updated_at"]
    entry = await studio.entry(one)
    assert (entry["status"], entry["converted_to_booking"], entry["position"]) == ("converted", True, None)
    assert datetime.fromisoformat(entry["promoted_at"]) == datetime.fromisoformat(receipt["cancelled_at"])
    assert await studio.positions(two, three) == [1, 2]
    assert await studio.credits(UUID(one["member_id"])) == 9, "promotion takes a credit"
    (membership,) = await studio.rows("memberships", "member_id = $2", UUID(one["member_id"]))
    assert membership["state_version"] == 2
    assert await studio.counts(class_id) == (2, 2)
    await studio.cancelled(second["id"])
    assert await statuses(studio, two, three) == ["confirmed", "waitlisted"]


async def test_a_promoted_booking_is_cancelled_like_any_other(studio: BookingStudio) -> None:
    class_id, (first,) = await studio.full_class()
    one, two = await waiters(studio, class_id, 2)
    await studio.cancelled(first["id"])
    receipt = await studio.cancelled(one["id"])
    assert (receipt["cancellation_type"], receipt["credits_returned"], receipt["promoted"]) == ("standard", 1, True)
    assert (await studio.entry(one))["status"] == "converted"
    assert await statuses(studio, one, two) == ["cancelled", "confirmed"]


async def test_promotion_by_raised_capacity(studio: BookingStudio) -> None:
    class_id, _ = await studio.full_class()
    bookings = await waiters(studio, class_id, 4)
    done = await studio.staff(staff.change_capacity, class_id, 4)
    assert (done.capacity, done.promoted) == (4, 3)
    assert await statuses(studio, *bookings) == ["confirmed"] * 3 + ["waitlisted"]
    assert await studio.positions(bookings[3]) == [1]
    assert await studio.counts(class_id) == (4, 1)


async def spent(studio: BookingStudio, booking: Any) -> str:
    await studio.set_credits(booking["member_id"], 0)
    return "insufficient_credits"


async def paused(studio: BookingStudio, booking: Any) -> str:
    await studio.sql(
        "update memberships set status = 'paused' where studio_id = $1 and member_id = $2", UUID(booking["member_id"])
    )
    return "membership_paused"


async def suspended(studio: BookingStudio, booking: Any) -> str:
    await suspend(studio, booking)
    return "member_suspended"


async def elsewhere(studio: BookingStudio, booking: Any) -> str:
    start = (await studio.row("classes", UUID(booking["class_id"])))["start_time"]
    await studio.booked(await studio.new_class(start=start), UUID(booking["member_id"]))
    return "overlapping_booking"


@pytest.mark.parametrize("fall", [spent, paused, suspended, elsewhere])
async def test_a_member_who_is_not_eligible_is_skipped(studio: BookingStudio, fall: Callable[..., Any]) -> None:
    class_id, (first,) = await studio.full_class()
    one, two = await waiters(studio, class_id, 2)
    reason = await fall(studio, one)
    await studio.cancelled(first["id"])
    assert await statuses(studio, one, two) == ["waitlisted", "confirmed"]
    assert (await studio.entry(one))["skip_reason"] == reason
    assert await studio.positions(one) == [1]
    assert (await studio.entry(two))["skip_reason"] is None


async def test_skipped_and_promoted_by_the_sweep_when_eligible_again(studio: BookingStudio) -> None:
    class_id, (first,) = await studio.full_class()
    (one,) = await waiters(studio, class_id, 1)
    await suspend(studio, one)
    assert (await studio.cancelled(first["id"]))["promoted"] is False
    assert await studio.counts(class_id) == (0, 1)
    await housekeeping.fill_free_seats(studio.database)
    assert await studio.status(one) == "waitlisted"
    await suspend(studio, one, False)
    await housekeeping.fill_free_seats(studio.database)
    assert await studio.status(one) == "confirmed"
    entry = await studio.entry(one)
    assert (entry["status"], entry["skip_reason"]) == ("converted", None)
    assert await studio.counts(class_id) == (1, 0)


async def test_a_seat_that_nobody_eligible_waits_for_is_anybodys(studio: BookingStudio) -> None:
    class_id, (first,) = await studio.full_class()
    (one,) = await waiters(studio, class_id, 1)
    await suspend(studio, one)
    await studio.cancelled(first["id"])
    newcomer = await studio.booked(class_id, await studio.new_member())
    assert await statuses(studio, one, newcomer) == ["waitlisted", "confirmed"]


@pytest.mark.parametrize("join", [False, True])
async def test_no_newcomer_takes_the_seat_of_a_member_eligible_again(studio: BookingStudio, join: bool) -> None:
    """Before the sweep has run, the POST itself promotes, and then finds the class full."""
    class_id, (first,) = await studio.full_class()
    (one,) = await waiters(studio, class_id, 1)
    await suspend(studio, one)
    await studio.cancelled(first["id"])
    await suspend(studio, one, False)
    answer = await studio.book(class_id, await studio.new_member(), join_waitlist=join)
    assert await studio.status(one) == "confirmed"
    if join:
        assert answer.json()["waitlist_position"] == 1
    else:
        assert answer.json()["error"]["details"] == {
            "waitlist_available": True,
            "available_count": 0,
            "reasons": ["class_full"],
        }


async def test_a_newcomer_joins_the_waitlist_that_the_promotion_made_room_in(studio: BookingStudio) -> None:
    """The place is free once the other member is promoted, and validation takes that into account."""
    class_id, (first,) = await studio.full_class(policy={"waitlist_capacity": 1})
    (one,) = await waiters(studio, class_id, 1)
    await suspend(studio, one)
    await studio.cancelled(first["id"])
    await suspend(studio, one, False)
    newcomer = await studio.waits(class_id, await studio.new_member())
    assert await statuses(studio, one, newcomer) == ["confirmed", "waitlisted"]


async def test_a_waiting_member_who_books_again_has_the_seat(studio: BookingStudio) -> None:
    """The member's own POST promotes them: they are then booked, and their last credit is spent."""
    class_id, (first,) = await studio.full_class()
    one = await studio.waits(class_id, await studio.new_member(1))
    await suspend(studio, one)
    await studio.cancelled(first["id"])
    await suspend(studio, one, False)
    error = await studio.refused(class_id, UUID(one["member_id"]))
    assert error["details"]["booking_id"] == one["id"]
    assert error["details"]["reasons"] == ["already_booked", "insufficient_credits", "class_full"]
    assert await studio.status(one) == "confirmed"


async def test_a_cancellation_fills_a_seat_that_waited(studio: BookingStudio) -> None:
    class_id, (first,) = await studio.full_class()
    one, two = await waiters(studio, class_id, 2)
    await suspend(studio, one)
    await suspend(studio, two)
    await studio.cancelled(first["id"])
    await suspend(studio, two, False)
    receipt = await studio.cancelled(one["id"])
    assert (receipt["cancellation_type"], receipt["promoted"]) == ("waitlist_left", True)
    assert await studio.status(two) == "confirmed"


# Manual, off, and the cutoff.


async def test_manual_keeps_the_seat_for_the_waiting_member(studio: BookingStudio) -> None:
    class_id, (first,) = await studio.full_class(policy={"waitlist_mode": "manual"})
    (one,) = await waiters(studio, class_id, 1)
    assert (await studio.cancelled(first["id"]))["promoted"] is False
    await housekeeping.fill_free_seats(studio.database)
    assert await studio.counts(class_id) == (0, 1)
    error = await studio.refused(class_id, await studio.new_member())
    assert error["details"] == {"waitlist_available": True, "available_count": 0, "reasons": ["class_full"]}
    behind = await studio.waits(class_id, await studio.new_member())
    assert await studio.positions(one, behind) == [1, 2]
    await suspend(studio, one)
    await suspend(studio, behind)
    newcomer = await studio.booked(class_id, await studio.new_member())
    assert await statuses(studio, one, behind, newcomer) == ["waitlisted", "waitlisted", "confirmed"]


async def test_switched_off_promises_nothing(studio: BookingStudio) -> None:
    class_id, (first,) = await studio.full_class()
    (one,) = await waiters(studio, class_id, 1)
    await studio.policy("classes", class_id, waitlist_mode="off")
    assert (await studio.cancelled(first["id"]))["promoted"] is False
    newcomer = await studio.booked(class_id, await studio.new_member())
    assert await statuses(studio, one, newcomer) == ["waitlisted", "confirmed"]


async def test_a_withdrawn_waitlist_keeps_the_order_of_waiting_members(studio: BookingStudio) -> None:
    class_id, (first,) = await studio.full_class()
    (one,) = await waiters(studio, class_id, 1)
    await studio.change("classes", class_id, allow_waitlist=False)
    assert (await studio.cancelled(first["id"]))["promoted"] is True
    assert await studio.status(one) == "confirmed"


@pytest.mark.parametrize("mode", ["auto", "manual"])
async def test_within_the_cutoff_a_freed_seat_is_open_to_any_post(studio: BookingStudio, mode: str) -> None:
    class_id, (first,) = await studio.full_class(policy={"waitlist_mode": mode})
    one, two = await waiters(studio, class_id, 2)
    await studio.move(class_id, HOUR - MOMENT)
    assert (await studio.cancelled(first["id"]))["promoted"] is False
    await housekeeping.fill_free_seats(studio.database)
    assert await statuses(studio, one, two) == ["waitlisted", "waitlisted"]
    newcomer = await studio.booked(class_id, await studio.new_member())
    assert newcomer["status"] == "confirmed"


async def test_just_before_the_cutoff_the_seat_is_promised(studio: BookingStudio) -> None:
    class_id, (first,) = await studio.full_class()
    (one,) = await waiters(studio, class_id, 1)
    await studio.move(class_id, HOUR + MOMENT)
    assert (await studio.cancelled(first["id"]))["promoted"] is True
    assert await studio.status(one) == "confirmed"


async def test_the_frozen_policy_decides_on_the_entry(studio: BookingStudio) -> None:
    """A waiver that is required later does not apply to members who are already waiting."""
    class_id, (first,) = await studio.full_class()
    (one,) = await waiters(studio, class_id, 1)
    await studio.policy("classes", class_id, waiver_form_id=str(await studio.new_form()))
    await studio.cancelled(first["id"])
    assert await studio.status(one) == "confirmed"


async def test_an_imported_entry_has_the_classs_policy(studio: BookingStudio) -> None:
    class_id, (first,) = await studio.full_class(policy={"require_entitlement": False})
    member = await studio.new_member(membership=False)
    booking = await studio.imported_booking(class_id, member, "waitlisted")
    await studio.add(
        "waitlist_entries",
        class_id=class_id,
        member_id=member,
        booking_id=booking,
        location_id=studio.location,
        position=1,
        status="waiting",
    )
    await studio.change("classes", class_id, waitlist_count=1)
    await studio.cancelled(first["id"])
    assert (await studio.row("bookings", booking))["status"] == "confirmed"
    receipt = await studio.cancelled(booking)
    assert (receipt["policy"]["require_entitlement"], receipt["credits_returned"]) == (False, 0)


# Long waitlists: the transaction reads the first hundred entries, and all of them if those leave a seat free.


@pytest.fixture
def two_waiting_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "WAITING_LOOKED_AT", 2)


async def ineligible_and_then_one(studio: BookingStudio, **columns: Any) -> tuple[UUID, Any, Any]:
    """Return a class, its only booking, and the one eligible entry behind three ineligible ones."""
    class_id, (first,) = await studio.full_class(**columns)
    *others, last = await waiters(studio, class_id, 4)
    for other in others:
        await suspend(studio, other)
    return class_id, first, last


@pytest.mark.usefixtures("two_waiting_looked_at")
async def test_an_eligible_member_far_behind_is_promoted(studio: BookingStudio) -> None:
    _, first, last = await ineligible_and_then_one(studio)
    assert (await studio.cancelled(first["id"]))["promoted"] is True
    assert await studio.status(last) == "confirmed"


@pytest.mark.usefixtures("two_waiting_looked_at")
async def test_an_eligible_member_far_behind_is_not_overtaken(studio: BookingStudio) -> None:
    class_id, first, last = await ineligible_and_then_one(studio, policy={"waitlist_mode": "manual"})
    await studio.cancelled(first["id"])
    assert (await studio.refused(class_id, await studio.new_member()))["code"] == "class_full"
    assert await studio.status(last) == "waitlisted"


@pytest.mark.usefixtures("two_waiting_looked_at")
async def test_many_new_seats_go_to_many_waiting_members(studio: BookingStudio) -> None:
    class_id, _ = await studio.full_class()
    bookings = await waiters(studio, class_id, 5)
    assert (await studio.staff(staff.change_capacity, class_id, 7)).promoted == 5
    assert await statuses(studio, *bookings) == ["confirmed"] * 5
    assert await studio.counts(class_id) == (6, 0)


@pytest.mark.usefixtures("two_waiting_looked_at")
async def test_the_sweep_reaches_an_eligible_member_far_behind(studio: BookingStudio) -> None:
    class_id, first, last = await ineligible_and_then_one(studio)
    await suspend(studio, last)
    await studio.cancelled(first["id"])
    await suspend(studio, last, False)
    await housekeeping.fill_free_seats(studio.database)
    assert await studio.status(last) == "confirmed"
    assert await studio.counts(class_id) == (1, 3)


# Expiry of the waitlist.


async def test_at_the_start_the_waitlist_expires(studio: BookingStudio) -> None:
    policy = {"late_action": "fee_and_forfeit", "late_fee_amount": "9.00"}
    class_id, (first,) = await studio.full_class(policy=policy)
    one, two = await waiters(studio, class_id, 2)
    await studio.move(class_id, MOMENT)
    await housekeeping.expire_waitlists(studio.database)
    assert await statuses(studio, one, two) == ["waitlisted", "waitlisted"]
    await studio.move(class_id, 0)
    refused = await studio.cancel(one["id"])
    assert refused.code == "class_started", "leaving is over as well"
    findings = await studio.findings()
    assert [(each.level, each.subject) for each in findings] == [("warning", "ended waitlists")]
    await housekeeping.expire_waitlists(studio.database)
    assert await statuses(studio, first, one, two) == ["confirmed", "cancelled", "cancelled"]
    for booking in (one, two):
        entry = await studio.entry(booking)
        assert (entry["status"], entry["position"], entry["converted_to_booking"]) == ("expired", None, False)
        receipt = await studio.get(f"/bookings/{booking['id']}/cancellation")
        assert (receipt["cancellation_type"], receipt["cancelled_by"]) == ("waitlist_left", "system")
        assert (receipt["late"], receipt["late_fee"], receipt["credits_forfeited"]) == (False, None, 0)
        assert await studio.credits(UUID(booking["member_id"])) == 10
        assert (await studio.cancel(booking["id"])).json()["error"]["details"]["cancellation_id"] == receipt["id"]
    assert await studio.counts(class_id) == (1, 0)
    assert await studio.rows("purchases") == []
    before = await studio.snapshot()
    await housekeeping.expire_waitlists(studio.database)
    assert await studio.snapshot() == before, "safe to repeat"


async def test_a_filter_by_status(studio: BookingStudio) -> None:
    class_id, (first,) = await studio.full_class()
    one, two, three = await waiters(studio, class_id, 3)
    await studio.cancelled(first["id"])
    await studio.cancelled(two["id"])
    expected = {"waiting": [three], "converted": [one], "cancelled": [two], "offered": [], "expired": []}
    for status, bookings in expected.items():
        entries = (await studio.get("/waitlist", class_id=class_id, status=status))["data"]
        assert [entry["booking_id"] for entry in entries] == [booking["id"] for booking in bookings]
    faulty = await studio.ask("GET", "/waitlist", query={"status": "gone"})
    assert faulty.status == 422
    assert "'waiting'" in faulty.json()["detail"][0]["msg"]


async def test_promotion_respects_the_daily_limit_and_credits_of_that_moment(studio: BookingStudio) -> None:
    """One credit, two waitlists: the credit pays for the first seat, and the second entry is skipped."""
    start = booking_studio.utc(2030, 6, 3, 12)
    classes = [await studio.full_class(start=start + timedelta(hours=2 * n)) for n in range(2)]
    member = await studio.new_member(1)
    waiting = [await studio.waits(class_id, member) for class_id, _ in classes]
    for _, (held,) in classes:
        await studio.cancelled(held["id"])
    assert await statuses(studio, *waiting) == ["confirmed", "waitlisted"]
    assert (await studio.entry(waiting[1]))["skip_reason"] == "insufficient_credits"
    assert await studio.credits(member) == 0
    await studio.cancelled(waiting[0]["id"])
    await housekeeping.fill_free_seats(studio.database)
    assert await statuses(studio, *waiting) == ["cancelled", "confirmed"]
    assert await studio.credits(member) == 0
