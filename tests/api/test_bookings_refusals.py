"""Every reason for which a booking is refused, alone and together, by POST /bookings and POST /bookings/validate."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.domain.instants import instant_text
from studiogate.domain.refusals import Code
from tests.support import attendance, booking_studio
from tests.support.booking_studio import DAY, HOUR, SOON, BookingStudio
from tests.support.seed import issue_key

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio

Case = tuple[dict[str, Any], list[str], dict[str, Any]]
"""The request body, the reasons in order, and the details of the first reason."""

Scenario = Callable[[BookingStudio], Awaitable[Case]]
SCENARIOS: dict[str, Scenario] = {}


def scenario(build: Scenario) -> Scenario:
    SCENARIOS[build.__name__] = build
    return build


def case(class_id: UUID, member: UUID, *reasons: str, wish: dict[str, Any] | None = None, **details: Any) -> Case:
    return {"class_id": class_id, "member_id": member, **(wish or {})}, list(reasons), details


@scenario
async def class_cancelled(s: BookingStudio) -> Case:
    class_id = await s.new_class(status="cancelled")
    return case(class_id, await s.new_member(), "class_cancelled")


@scenario
async def class_not_bookable(s: BookingStudio) -> Case:
    return case(await s.new_class(visible=False), await s.new_member(), "class_not_bookable")


@scenario
async def class_started(s: BookingStudio) -> Case:
    return case(await s.new_class(-1), await s.new_member(), "class_started", "booking_window_closed")


@scenario
async def booking_window_not_open(s: BookingStudio) -> Case:
    start = (await s.now()).replace(microsecond=0) + timedelta(minutes=SOON)
    class_id = await s.new_class(start=start, policy={"booking_opens_minutes_before": DAY})
    opens_at = instant_text(start - timedelta(minutes=DAY))
    assert (await s.get(f"/classes/{class_id}"))["booking_opens_at"] == opens_at
    return case(class_id, await s.new_member(), "booking_window_not_open", opens_at=opens_at)


@scenario
async def booking_window_closed(s: BookingStudio) -> Case:
    class_id = await s.new_class(HOUR, policy={"booking_closes_minutes_before": 2 * HOUR})
    return case(class_id, await s.new_member(), "booking_window_closed")


@scenario
async def already_booked(s: BookingStudio) -> Case:
    class_id, member = await s.new_class(), await s.new_member()
    booking = await s.booked(class_id, member)
    return case(class_id, member, "already_booked", booking_id=booking["id"])


@scenario
async def already_checked_in(s: BookingStudio) -> Case:
    class_id, member = await s.new_class(), await s.new_member()
    booking = await s.booked(class_id, member)
    await s.staff(attendance.mark, UUID(booking["id"]), "checked_in")
    return case(class_id, member, "already_booked", booking_id=booking["id"])


@scenario
async def already_waitlisted(s: BookingStudio) -> Case:
    class_id, _ = await s.full_class()
    member = await s.new_member()
    booking = await s.waits(class_id, member)
    wish = {"join_waitlist": True}
    return case(class_id, member, "already_waitlisted", wish=wish, booking_id=booking["id"])


@scenario
async def already_waitlisted_without_joining(s: BookingStudio) -> Case:
    class_id, _ = await s.full_class()
    member = await s.new_member()
    booking = await s.waits(class_id, member)
    return case(class_id, member, "already_waitlisted", "class_full", booking_id=booking["id"])


@scenario
async def member_suspended(s: BookingStudio) -> Case:
    return case(await s.new_class(), await s.new_member(suspended=True), "member_suspended")


@scenario
async def waiver_required(s: BookingStudio) -> Case:
    form = await s.new_form()
    class_id, member = await s.new_class(policy={"waiver_form_id": str(form)}), await s.new_member()
    await s.submit(form, member, status="rejected")
    await s.submit(await s.new_form(), member)
    return case(class_id, member, "waiver_required", form_id=str(form))


@scenario
async def no_active_membership(s: BookingStudio) -> Case:
    return case(await s.new_class(), await s.new_member(membership=False), "no_active_membership")


@scenario
async def no_active_membership_of_any_state(s: BookingStudio) -> Case:
    member, now = await s.new_member(membership=False), await s.now()
    for status in ("pending", "past_due", "cancelled", "expired"):
        await s.new_membership(member, status=status)
    await s.new_membership(member, started_at=now + timedelta(minutes=1))
    await s.new_membership(member, current_period_end=now)
    return case(await s.new_class(), member, "no_active_membership")


@scenario
async def no_active_membership_but_a_paused_one_that_does_not_fit(s: BookingStudio) -> Case:
    member = await s.new_member(membership=False)
    elsewhere = await s.new_product(locations=(s.other_location,))
    await s.new_membership(member, status="paused", product_id=elsewhere)
    return case(await s.new_class(), member, "no_active_membership")


@scenario
async def membership_paused(s: BookingStudio) -> Case:
    member = await s.new_member(membership=False)
    await s.new_membership(member, status="paused")
    return case(await s.new_class(), member, "membership_paused")


@scenario
async def membership_paused_by_its_schedule(s: BookingStudio) -> Case:
    """The pause has begun, but housekeeping has not run yet."""
    member, now = await s.new_member(membership=False), await s.now()
    pause: dict[str, Any] = {"pause_starts_at": now - timedelta(minutes=1), "pause_ends_at": now + timedelta(days=1)}
    await s.new_membership(member, **pause)
    return case(await s.new_class(), member, "membership_paused")


@scenario
async def membership_not_valid_for_class_type(s: BookingStudio) -> Case:
    member, other = await s.new_member(membership=False), await s.add("class_types", name="Other")
    await s.new_membership(member, product_id=await s.new_product(class_types=(other,)))
    await s.new_membership(member, status="paused")  # a usable one exists, so this one is not reported
    return case(await s.new_class(), member, "membership_not_valid_for_class")


@scenario
async def membership_not_valid_for_location(s: BookingStudio) -> Case:
    member = await s.new_member(membership=False)
    product = await s.new_product(class_types=(s.class_type,), locations=(s.other_location,))
    await s.new_membership(member, product_id=product)
    return case(await s.new_class(), member, "membership_not_valid_for_class")


@scenario
async def membership_not_valid_for_a_class_without_location(s: BookingStudio) -> Case:
    member = await s.new_member(membership=False)
    await s.new_membership(member, product_id=await s.new_product(locations=(s.location,)))
    class_id = await s.new_class(location_id=None, room_id=None)
    return case(class_id, member, "membership_not_valid_for_class")


@scenario
async def insufficient_credits(s: BookingStudio) -> Case:
    member = await s.new_member(0)
    elsewhere = await s.new_product(locations=(s.other_location,))
    await s.new_membership(member, 5, product_id=elsewhere)
    return case(await s.new_class(), member, "insufficient_credits")


@scenario
async def insufficient_credits_to_wait(s: BookingStudio) -> Case:
    class_id, _ = await s.full_class()
    return case(class_id, await s.new_member(0), "insufficient_credits", wish={"join_waitlist": True})


@scenario
async def booking_limit_reached(s: BookingStudio) -> Case:
    await s.policy("studios", max_bookings_per_day=1)
    member, noon = await s.new_member(), booking_studio.utc(2030, 6, 3, 16)
    await s.booked(await s.new_class(start=noon), member)
    return case(await s.new_class(start=noon + timedelta(hours=3)), member, "booking_limit_reached")


@scenario
async def booking_limit_of_none_at_all(s: BookingStudio) -> Case:
    class_id = await s.new_class(policy={"max_bookings_per_day": 0})
    return case(class_id, await s.new_member(), "booking_limit_reached")


@scenario
async def overlapping_booking(s: BookingStudio) -> Case:
    member = await s.new_member()
    await s.booked(await s.new_class(SOON, length=60), member)
    return case(await s.new_class(SOON + 59, length=60), member, "overlapping_booking")


@scenario
async def overlapping_booking_around_it(s: BookingStudio) -> Case:
    """A week-long class that began days ago still overlaps."""
    member, week = await s.new_member(), 7 * DAY
    long = await s.new_class(-week + DAY, length=week)
    await s.imported_booking(long, member)
    return case(await s.new_class(DAY - 1, length=1), member, "overlapping_booking")


@scenario
async def spot_required(s: BookingStudio) -> Case:
    await s.new_spots("A1")
    return case(await s.new_class(spot_selection_mode="required"), await s.new_member(), "spot_required")


@scenario
async def spot_not_found_in_a_class_without_spots(s: BookingStudio) -> Case:
    (spot,) = await s.new_spots("A1")
    return case(await s.new_class(), await s.new_member(), "spot_not_found", wish={"class_spot_id": spot})


@scenario
async def spot_not_found_in_another_room(s: BookingStudio) -> Case:
    other = await s.add("rooms", location_id=s.location, name="Other", capacity=1)
    (spot,) = await s.new_spots("A1", room=other)
    class_id = await s.new_class(spot_selection_mode="optional")
    return case(class_id, await s.new_member(), "spot_not_found", wish={"class_spot_id": spot})


@scenario
async def class_full_before_an_unknown_spot(s: BookingStudio) -> Case:
    class_id, _ = await s.full_class(spot_selection_mode="optional")
    details = {"waitlist_available": True, "available_count": 0}
    return case(class_id, await s.new_member(), "class_full", wish={"class_spot_id": uuid4()}, **details)


@scenario
async def class_full_before_spot_required(s: BookingStudio) -> Case:
    (spot,) = await s.new_spots("A1")
    class_id = await s.new_class(capacity=1, spot_selection_mode="required")
    await s.booked(class_id, await s.new_member(), class_spot_id=spot)
    return case(class_id, await s.new_member(), "class_full", waitlist_available=True, available_count=0)


@scenario
async def spot_taken(s: BookingStudio) -> Case:
    (spot,) = await s.new_spots("A1")
    class_id = await s.new_class(spot_selection_mode="required")
    await s.booked(class_id, await s.new_member(), class_spot_id=spot)
    return case(class_id, await s.new_member(), "spot_taken", wish={"class_spot_id": spot})


@scenario
async def class_full(s: BookingStudio) -> Case:
    class_id, _ = await s.full_class()
    return case(class_id, await s.new_member(), "class_full", waitlist_available=True, available_count=0)


@scenario
async def class_full_without_waitlist(s: BookingStudio) -> Case:
    class_id, _ = await s.full_class(allow_waitlist=False)
    return case(class_id, await s.new_member(), "class_full", waitlist_available=False, available_count=0)


@scenario
async def class_full_and_waitlist_full(s: BookingStudio) -> Case:
    class_id, _ = await s.full_class(policy={"waitlist_capacity": 1})
    await s.waits(class_id, await s.new_member())
    return case(class_id, await s.new_member(), "class_full", waitlist_available=False, available_count=0)


@scenario
async def class_of_no_seats(s: BookingStudio) -> Case:
    class_id = await s.new_class(capacity=0)
    return case(class_id, await s.new_member(), "class_full", waitlist_available=True, available_count=0)


@scenario
async def waitlist_not_allowed(s: BookingStudio) -> Case:
    class_id, _ = await s.full_class(allow_waitlist=False)
    return case(class_id, await s.new_member(), "waitlist_not_allowed", wish={"join_waitlist": True})


@scenario
async def waitlist_switched_off(s: BookingStudio) -> Case:
    class_id, _ = await s.full_class(policy={"waitlist_mode": "off"})
    return case(class_id, await s.new_member(), "waitlist_not_allowed", wish={"join_waitlist": True})


@scenario
async def waitlist_full(s: BookingStudio) -> Case:
    class_id, _ = await s.full_class(policy={"waitlist_capacity": 1})
    await s.waits(class_id, await s.new_member())
    return case(class_id, await s.new_member(), "waitlist_full", wish={"join_waitlist": True})


async def _everything_wrong(s: BookingStudio) -> tuple[UUID, UUID, UUID, UUID]:
    """Return a class, a member with every possible fault, the waiver's form and a taken spot."""
    form = await s.new_form()
    (spot,) = await s.new_spots("A1")
    columns: dict[str, Any] = {"capacity": 1, "spot_selection_mode": "optional"}
    class_id = await s.new_class(-1, **columns)
    await s.imported_booking(class_id, await s.new_member(), class_spot_id=spot)
    member = await s.new_member(0, suspended=True)
    await s.imported_booking(await s.new_class(0), member)
    limits = {"max_bookings_per_day": 0, "waiver_form_id": str(form)}
    await s.policy("classes", class_id, booking_opens_minutes_before=0, **limits)
    await s.change("classes", class_id, visible=False)
    return class_id, member, form, spot


REASONS_OF_THE_MEMBER = ("member_suspended", "waiver_required", "insufficient_credits", "booking_limit_reached")
REASONS_OF_THE_CLASS = ("class_not_bookable", "class_started", "booking_window_closed")


@scenario
async def everything_at_once(s: BookingStudio) -> Case:
    class_id, member, _, spot = await _everything_wrong(s)
    reasons = (*REASONS_OF_THE_CLASS, *REASONS_OF_THE_MEMBER, "overlapping_booking", "class_full")
    return case(class_id, member, *reasons, wish={"class_spot_id": spot})


@scenario
async def everything_at_once_while_waiting(s: BookingStudio) -> Case:
    """The spot is not checked for a member who joins the waitlist; the waitlist is closed instead."""
    class_id, member, _, spot = await _everything_wrong(s)
    await s.change("classes", class_id, allow_waitlist=False)
    reasons = (*REASONS_OF_THE_CLASS, *REASONS_OF_THE_MEMBER, "overlapping_booking", "waitlist_not_allowed")
    return case(class_id, member, *reasons, wish={"class_spot_id": spot, "join_waitlist": True})


@scenario
async def not_visible_not_open_and_already_there(s: BookingStudio) -> Case:
    class_id, member = (
        await s.new_class(policy={"booking_opens_minutes_before": 1}),
        await s.new_member(membership=False),
    )
    await s.change("classes", class_id, visible=False)
    reasons = ("class_not_bookable", "booking_window_not_open", "already_booked", "no_active_membership")
    await s.imported_booking(class_id, member)
    return case(class_id, member, *reasons)


@pytest.mark.parametrize("name", SCENARIOS)
async def test_refusal(studio: BookingStudio, name: str) -> None:
    body, reasons, details = await SCENARIOS[name](studio)
    before = await studio.snapshot()
    error = await studio.refused(**body)
    assert error["code"] == reasons[0]
    assert error["details"] == {**details, "reasons": reasons}
    assert error["param"] == ("class_spot_id" if reasons[0].startswith("spot_") else None)
    after = await studio.snapshot()
    assert after[:-1] == before[:-1], "a refusal leaves nothing but its remembered answer"


ORDER = """
    class_cancelled class_not_bookable class_started booking_window_not_open booking_window_closed already_booked
    already_waitlisted member_suspended waiver_required no_active_membership membership_paused
    membership_not_valid_for_class insufficient_credits booking_limit_reached overlapping_booking spot_required
    spot_not_found spot_taken class_full waitlist_not_allowed waitlist_full"""


def test_every_code_in_its_order_has_a_scenario() -> None:
    order = ORDER.split()
    assert [str(code) for code in Code if str(code) in order] == order
    assert [code for code in order if not any(name.startswith(code) for name in SCENARIOS)] == []


def test_the_guide_explains_every_code_in_its_order() -> None:
    guide = (Path(__file__).parents[2] / "docs/guides/booking.md").read_text()
    rows = [line.split("`")[1] for line in guide.splitlines() if line.startswith("| `")]
    assert [row for row in rows if row in ORDER.split()] == ORDER.split()


# A class or member that is not found does not count as a refusal of the booking, and is not stored for replay.


async def test_unknown_and_foreign_are_alike(
    studio: BookingStudio, studio_factory: booking_studio.StudioFactory
) -> None:
    other = await studio_factory.new_studio()
    class_id, member = await studio.new_class(), await studio.new_member()
    foreign_class, foreign_member = await other.new_class(), await other.new_member()
    pairs = {
        "class_id": [(uuid4(), member), (foreign_class, member), (uuid4(), uuid4())],
        "member_id": [(class_id, uuid4()), (class_id, foreign_member)],
    }
    for param, wanted in pairs.items():
        answers = [await studio.book(*pair) for pair in wanted]
        assert {(answer.status, answer.json()["error"]["param"]) for answer in answers} == {(404, param)}
        assert len({answer.body for answer in answers}) == 1


async def test_a_class_elsewhere_is_not_found_by_a_restricted_key(studio: BookingStudio) -> None:
    key = await issue_key(studio.api.connection, studio.studio, locations=[studio.location])
    member = await studio.new_member()
    for location, status in ((studio.location, 201), (studio.other_location, 404), (None, 404)):
        class_id = await studio.new_class(location_id=location, room_id=None, policy={"allow_overlapping": True})
        body = booking_studio.wire_body(class_id, member)
        assert (await studio.post(body, key=key)).status == status
        validated = await studio.ask("POST", "/bookings/validate", body=body, key=key)
        assert validated.status == (404 if status == 404 else 200)
        booking = await studio.imported_booking(class_id, await studio.new_member())
        for path in (f"/bookings/{booking}", f"/bookings/{booking}/cancellation-preview"):
            assert (await studio.ask("GET", path, key=key)).status == (404 if status == 404 else 200)
        cancelled = await studio.ask(
            "DELETE", f"/bookings/{booking}", key=key, headers={"Idempotency-Key": uuid4().hex}
        )
        assert cancelled.status == (404 if status == 404 else 200)
        receipt = await studio.ask("GET", f"/bookings/{booking}/cancellation", key=key)
        assert receipt.status == (404 if status == 404 else 200)
