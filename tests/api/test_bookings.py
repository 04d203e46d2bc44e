"""Booking over HTTP: confirmation, policy, membership and limits."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import pytest

from tests.support import attendance, booking_studio
from tests.support.booking_studio import DAY, HOUR, SOON, BookingStudio, StudioFactory

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio
MOMENT = 0.5  # minutes: longer than a few requests take, too short to matter


async def test_a_confirmed_booking(studio: BookingStudio) -> None:
    class_id, member = await studio.new_class(capacity=2), await studio.new_member(10)
    booking = await studio.booked(class_id, member)
    assert booking == {
        "id": booking["id"],
        "object": "booking",
        "class_id": str(class_id),
        "member_id": str(member),
        "status": "confirmed",
        "booking_source": "partner_api",
        "class_spot_id": None,
        "waitlist_position": None,
        "moved_to_booking_id": None,
        "moved_from_booking_id": None,
        "created_at": booking["created_at"],
        "updated_at": booking["created_at"],
    }
    assert await studio.get(f"/bookings/{booking['id']}") == booking
    assert (await studio.get("/bookings", class_id=class_id))["data"] == [booking]
    assert await studio.counts(class_id) == (1, 0)
    (membership,) = (await studio.get(f"/members/{member}/memberships"))["data"]
    assert (membership["credits_remaining"], membership["state_version"]) == (9, 2)
    (line,) = await studio.rows("credit_ledger", "booking_id is not null")
    assert (str(line["booking_id"]), line["delta"], line["reason"]) == (booking["id"], -1, "booked")


async def test_join_waitlist_does_not_matter_while_a_seat_is_open(studio: BookingStudio) -> None:
    booking = await studio.booked(await studio.new_class(), await studio.new_member(), join_waitlist=True)
    assert (booking["status"], booking["waitlist_position"]) == ("confirmed", None)


async def test_booking_again_after_cancelling_makes_a_new_booking(studio: BookingStudio) -> None:
    class_id, member = await studio.new_class(), await studio.new_member(1)
    first = await studio.booked(class_id, member)
    await studio.cancelled(first["id"])
    second = await studio.booked(class_id, member)
    assert second["id"] != first["id"]
    assert await studio.status(first) == "cancelled"
    assert await studio.credits(member) == 0


@pytest.mark.parametrize(
    ("body", "loc"),
    [
        ({"member_id": str(uuid4())}, ["body", "class_id"]),
        ({"class_id": str(uuid4())}, ["body", "member_id"]),
        ({"class_id": uuid4().hex, "member_id": str(uuid4())}, ["body", "class_id"]),
        ({"class_id": str(uuid4()), "member_id": str(uuid4()), "joinWaitlist": True}, ["body", "joinWaitlist"]),
        ({"class_id": str(uuid4()), "member_id": str(uuid4()), "join_waitlist": "true"}, ["body", "join_waitlist"]),
        ({"class_id": str(uuid4()), "member_id": str(uuid4()), "join_waitlist": 1}, ["body", "join_waitlist"]),
        ({"class_id": str(uuid4()), "member_id": str(uuid4()), "join_waitlist": None}, ["body", "join_waitlist"]),
        ({"class_id": str(uuid4()), "member_id": str(uuid4()), "class_spot_id": "A1"}, ["body", "class_spot_id"]),
        ([], ["body"]),
    ],
)
async def test_a_faulty_body(studio: BookingStudio, body: Any, loc: list[str]) -> None:
    for answer in (await studio.post(body), await studio.ask("POST", "/bookings/validate", body=body)):
        assert answer.status == 422, answer.body
        assert [fault["loc"] for fault in answer.json()["detail"]] == [loc]


# The policy: for each member, class overrides class type, class type overrides location, location overrides studio.

LEVELS = ("studios", "locations", "class_types", "classes")


@pytest.mark.parametrize("level", range(len(LEVELS)))
async def test_the_inner_level_beats_the_outer_ones(studio: BookingStudio, level: int) -> None:
    class_id, member = await studio.new_class(), await studio.new_member()
    ids = {"studios": None, "locations": studio.location, "class_types": studio.class_type, "classes": class_id}
    for number, name in enumerate(LEVELS[: level + 1]):
        await studio.policy(name, ids[name], cancellation_window_minutes=100 + number)
    booking = await studio.booked(class_id, member)
    assert (await studio.cancelled(booking["id"]))["policy"]["cancellation_window_minutes"] == 100 + level
    cutoff = datetime.fromisoformat((await studio.get(f"/classes/{class_id}"))["cancellation_cutoff_at"])
    assert (await studio.row("classes", class_id))["start_time"] - cutoff == timedelta(minutes=100 + level)


async def test_levels_override_single_members(studio: BookingStudio) -> None:
    class_id = await studio.new_class(policy={"late_action": "fee"})
    await studio.policy("class_types", studio.class_type, late_fee_amount="7.50", late_action="none")
    await studio.policy("locations", studio.location, free_late_cancels=2, late_fee_amount="1.00")
    await studio.policy("studios", promotion_grace_minutes=5, free_late_cancels=9)
    booking = await studio.booked(class_id, await studio.new_member())
    policy = (await studio.cancelled(booking["id"]))["policy"]
    assert policy == {
        "require_entitlement": True,
        "booking_opens_minutes_before": None,
        "booking_closes_minutes_before": 0,
        "cancellation_window_minutes": 720,
        "late_action": "fee",
        "late_fee_amount": "7.50",
        "late_fee_currency": "USD",
        "free_late_cancels": 2,
        "free_late_cancels_days": 30,
        "waitlist_mode": "auto",
        "waitlist_capacity": None,
        "promotion_cutoff_minutes": 60,
        "promotion_grace_minutes": 5,
        "max_bookings_per_day": None,
        "allow_overlapping": False,
        "waiver_form_id": None,
    }


async def test_null_is_a_setting(studio: BookingStudio) -> None:
    """A class with null ("no limit") overrides the studio's limit."""
    form = await studio.new_form()
    limits: dict[str, Any] = {"booking_opens_minutes_before": 1, "max_bookings_per_day": 0, "waiver_form_id": str(form)}
    await studio.policy("studios", **limits)
    class_id, member = await studio.new_class(), await studio.new_member()
    reasons = (await studio.refused(class_id, member))["details"]["reasons"]
    assert reasons == ["booking_window_not_open", "waiver_required", "booking_limit_reached"]
    await studio.policy("classes", class_id, **dict.fromkeys(limits))
    assert (await studio.get(f"/classes/{class_id}"))["booking_opens_at"] is None
    await studio.booked(class_id, member)


async def test_a_class_without_type_and_location_has_the_studios_policy(studio: BookingStudio) -> None:
    await studio.policy("studios", require_entitlement=False)
    class_id = await studio.new_class(location_id=None, room_id=None, class_type_id=None)
    await studio.booked(class_id, await studio.new_member(membership=False))


# Entitlement.


async def test_without_require_entitlement_none_is_taken(studio: BookingStudio) -> None:
    class_id, member = await studio.new_class(policy={"require_entitlement": False}), await studio.new_member(3)
    booking = await studio.booked(class_id, member)
    assert (await studio.row("bookings", booking["id"]))["membership_id"] is None
    assert await studio.credits(member) == 3
    receipt = await studio.cancelled(booking["id"])
    assert (receipt["membership_id"], receipt["credits_remaining"], receipt["credits_returned"]) == (None, None, 0)
    assert await studio.credits(member) == 3


async def test_the_membership_that_pays(studio: BookingStudio) -> None:
    """Unlimited first, then credits by their end, those without an end last; never spent, inapplicable or ended."""
    member, now = await studio.new_member(membership=False), await studio.now()
    elsewhere = await studio.new_product(locations=(studio.other_location,))
    fitting = await studio.new_product(class_types=(studio.class_type,), locations=(studio.location,))
    await studio.new_membership(member, None, product_id=elsewhere)
    await studio.new_membership(member, None, current_period_end=now)
    await studio.new_membership(member, 0, current_period_end=now + timedelta(days=6))
    await studio.new_membership(member, None, current_period_end=now + timedelta(days=1))
    order = [
        await studio.new_membership(member, None, product_id=fitting),
        await studio.new_membership(member, 1, current_period_end=now + timedelta(days=4)),
        await studio.new_membership(member, 1, current_period_end=now + timedelta(days=5), product_id=fitting),
        await studio.new_membership(member, 1),
    ]
    for number, expected in enumerate(order):
        booking = await studio.booked(await studio.new_class(SOON + number * HOUR), member)
        assert (await studio.row("bookings", booking["id"]))["membership_id"] == expected
        await studio.change("memberships", expected, status="paused")
    last = await studio.new_class(SOON + DAY)
    assert (await studio.refused(last, member))["details"]["reasons"] == ["insufficient_credits"]


async def test_usable_from_its_start_until_its_period_ends(studio: BookingStudio) -> None:
    """It must have started at the time of booking, and it pays for classes that start before its end."""
    class_id, now = await studio.new_class(), await studio.now()
    start = (await studio.row("classes", class_id))["start_time"]
    member = await studio.new_member(membership=False)
    membership = await studio.new_membership(
        member, started_at=now - timedelta(seconds=1), current_period_end=start + timedelta(seconds=1)
    )
    booking = await studio.booked(class_id, member)
    await studio.cancelled(booking["id"])
    await studio.change("memberships", membership, current_period_end=start)
    error = await studio.refused(class_id, member)
    assert error["details"]["reasons"] == ["membership_not_valid_for_class"]
    assert datetime.fromisoformat(error["details"]["membership_ends_at"]) == start
    await studio.change("memberships", membership, auto_renew=True)
    await studio.cancelled((await studio.booked(class_id, member))["id"])
    await studio.change("memberships", membership, cancel_at_period_end=True)
    assert (await studio.refused(class_id, member))["code"] == "membership_not_valid_for_class"
    await studio.change("memberships", membership, started_at=await studio.now() + timedelta(minutes=1))
    error = await studio.refused(class_id, member)
    assert error["details"] == {"reasons": ["no_active_membership"]}


async def test_an_unlimited_membership_stays_as_it_is(studio: BookingStudio) -> None:
    class_id, member = await studio.new_class(), await studio.new_member(None)
    booking = await studio.booked(class_id, member)
    (membership,) = await studio.rows("memberships")
    assert (membership["credits_remaining"], membership["state_version"]) == (None, 1)
    receipt = await studio.cancelled(booking["id"])
    assert receipt["membership_id"] == str(membership["id"])
    assert (receipt["credits_returned"], receipt["credits_forfeited"], receipt["credits_remaining"]) == (0, 0, None)
    assert await studio.rows("credit_ledger", "booking_id is not null") == []


async def test_the_last_credit_buys_one_class(studio: BookingStudio) -> None:
    member = await studio.new_member(1)
    await studio.booked(await studio.new_class(), member)
    assert (await studio.refused(await studio.new_class(SOON + HOUR), member))["code"] == "insufficient_credits"
    assert await studio.credits(member) == 0


@pytest.mark.parametrize("status", ["pending", "confirmed"])
async def test_a_waiver_is_given_by_a_submission(studio: BookingStudio, status: str) -> None:
    form = await studio.new_form()
    class_id, member = await studio.new_class(policy={"waiver_form_id": str(form)}), await studio.new_member()
    assert (await studio.refused(class_id, member))["details"]["form_id"] == str(form)
    await studio.submit(form, member, status)
    await studio.booked(class_id, member)


# Windows.


async def test_the_booking_windows_bounds(studio: BookingStudio) -> None:
    window = {"booking_opens_minutes_before": 2 * DAY, "booking_closes_minutes_before": DAY}
    outcomes = {2 * DAY + MOMENT: "booking_window_not_open", 2 * DAY: None, DAY + MOMENT: None}
    outcomes[DAY] = "booking_window_closed"
    for minutes, code in outcomes.items():
        class_id, member = await studio.new_class(minutes, policy=window), await studio.new_member()
        answer = await studio.book(class_id, member)
        assert answer.code == code, minutes


async def test_bookable_until_the_start(studio: BookingStudio) -> None:
    await studio.booked(await studio.new_class(MOMENT), await studio.new_member())


# The daily limit, by the studio's local days.

NEW_YORK = ZoneInfo("America/New_York")


def new_york(*parts: int, fold: int = 0) -> datetime:
    return datetime(*parts, tzinfo=NEW_YORK, fold=fold)  # type: ignore[misc, arg-type]  # at most seven parts


# Local times: the day's first and last moments, and those just outside it.
DAYS = {
    "23 hours": ((2030, 3, 10, 0, 0), (2030, 3, 10, 23, 59), (2030, 3, 9, 23, 59), (2030, 3, 11, 0, 0)),
    "25 hours": ((2030, 11, 3, 0, 0), (2030, 11, 3, 23, 59), (2030, 11, 2, 23, 59), (2030, 11, 4, 0, 0)),
    "24 hours": ((2030, 6, 3, 0, 0), (2030, 6, 3, 23, 59), (2030, 6, 2, 23, 59), (2030, 6, 4, 0, 0)),
}


@pytest.mark.parametrize("day", DAYS)
async def test_the_daily_limit_counts_the_studios_day(studio: BookingStudio, day: str) -> None:
    await studio.policy("studios", max_bookings_per_day=1, allow_overlapping=True)
    first, last, before, after = [new_york(*parts) for parts in DAYS[day]]
    assert day == f"{(after.astimezone(UTC) - first.astimezone(UTC)) // timedelta(hours=1)} hours"
    for held, inside in ((first, last), (last, first)):
        member = await studio.new_member()
        await studio.booked(await studio.new_class(start=held, length=1), member)
        error = await studio.refused(await studio.new_class(start=inside, length=1), member)
        assert error["details"]["reasons"] == ["booking_limit_reached"]
        for outside in (before, after):
            await studio.booked(await studio.new_class(start=outside, length=1), member)


async def test_both_hours_of_the_long_night_are_one_day(studio: BookingStudio) -> None:
    """01:30 occurs twice on 2030-11-03."""
    await studio.policy("studios", max_bookings_per_day=2)
    member = await studio.new_member()
    for fold in (0, 1):
        await studio.booked(await studio.new_class(start=new_york(2030, 11, 3, 1, 30, fold=fold), length=30), member)
    later = await studio.new_class(start=new_york(2030, 11, 3, 23, 30), length=10)
    assert (await studio.refused(later, member))["code"] == "booking_limit_reached"


async def test_the_day_is_the_studios_not_utcs(studio_factory: StudioFactory) -> None:
    """23:00 in Honolulu falls on another UTC day than noon there."""
    studio = await studio_factory.new_studio("Pacific/Honolulu")
    await studio.policy("studios", max_bookings_per_day=1)
    honolulu = ZoneInfo("Pacific/Honolulu")
    member = await studio.new_member()
    await studio.booked(await studio.new_class(start=datetime(2030, 6, 3, 12, tzinfo=honolulu)), member)
    evening = await studio.new_class(start=datetime(2030, 6, 3, 23, tzinfo=honolulu))
    assert (await studio.refused(evening, member))["code"] == "booking_limit_reached"
    await studio.booked(await studio.new_class(start=datetime(2030, 6, 4, 0, tzinfo=honolulu)), member)
    assert await studio.findings() == []


async def test_what_counts_towards_the_daily_limit(studio: BookingStudio) -> None:
    """Seats held, attended or missed count; waitlist entries and cancelled bookings do not."""
    await studio.policy("studios", max_bookings_per_day=1)
    start, member = new_york(2030, 6, 3, 9), await studio.new_member()
    full, _ = await studio.full_class(start=start + timedelta(hours=1))
    await studio.waits(full, member)
    booking = await studio.booked(await studio.new_class(start=start + timedelta(hours=3)), member)
    await studio.cancelled(booking["id"])
    held = await studio.booked(await studio.new_class(start=start + timedelta(hours=5)), member)
    last = await studio.new_class(start=start + timedelta(hours=7))
    for mark in ("checked_in", "confirmed", "no_show"):
        await studio.staff(attendance.mark, UUID(held["id"]), mark)
        assert (await studio.refused(last, member))["code"] == "booking_limit_reached"


# Overlap.


@pytest.mark.parametrize(("offset", "length"), [(-60, 60), (60, 60), (-600, 60), (600, 60)])
async def test_back_to_back_is_fine(studio: BookingStudio, offset: int, length: int) -> None:
    member, start = await studio.new_member(), booking_studio.utc(2030, 6, 3, 12)
    await studio.booked(await studio.new_class(start=start), member)
    beside = start + timedelta(minutes=offset)
    await studio.booked(await studio.new_class(start=beside, length=length), member)


@pytest.mark.parametrize(("offset", "length"), [(-60, 61), (59, 60), (10, 10), (-10, 600), (0, 60)])
async def test_overlaps(studio: BookingStudio, offset: int, length: int) -> None:
    member, start = await studio.new_member(), booking_studio.utc(2030, 6, 3, 12)
    booking = await studio.booked(await studio.new_class(start=start), member)
    class_id = await studio.new_class(start=start + timedelta(minutes=offset), length=length)
    assert (await studio.refused(class_id, member))["details"]["reasons"] == ["overlapping_booking"]
    await studio.policy("classes", class_id, allow_overlapping=True)
    other = await studio.booked(class_id, member)
    await studio.cancelled(other["id"])
    await studio.policy("classes", class_id)
    await studio.cancelled(booking["id"])
    await studio.booked(class_id, member)


async def test_a_waiting_or_absent_member_sits_in_no_other_class(studio: BookingStudio) -> None:
    member, start = await studio.new_member(), booking_studio.utc(2030, 6, 3, 12)
    full, _ = await studio.full_class(start=start)
    await studio.waits(full, member)
    missed = await studio.booked(await studio.new_class(start=start), member)
    await studio.staff(attendance.mark, UUID(missed["id"]), "no_show")
    await studio.booked(await studio.new_class(start=start), member)
