"""Staff book for members: by the rules, or overriding them with a reason that the audit log keeps."""

import json
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.domain.access import Access, staff_access
from studiogate.domain.bookings.overrides import OVERRIDABLE, Override
from studiogate.domain.purchases import Order
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import PERMISSIONS, Channel, Permission, Role, Staff
from studiogate.flows.bookings import desk, staff
from studiogate.flows.bookings.desk import Booked, StaffBooking
from tests.support import booking_studio
from tests.support.booking_studio import DAY, HOUR, SOON, BookingStudio

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio
Build = Callable[[BookingStudio], Awaitable[StaffBooking]]
WALK_IN = Override(wanted=True, reason="Paid at the desk")


def person(studio: BookingStudio, role: Role, *locations: UUID, instructor: UUID | None = None) -> Access:
    account = Staff("desk@example.com", PERMISSIONS[role], Channel.CONSOLE, UUID(int=7), instructor)
    return staff_access(studio.id, account, locations or None)


async def attempt(
    studio: BookingStudio, wanted: StaffBooking, access: Access | None = None, order: Order | None = None
) -> Booked | Refusal:
    return await desk.book_for_member(studio.api.connection, access or studio.access, wanted, order)


async def refused(
    studio: BookingStudio, wanted: StaffBooking, access: Access | None = None, order: Order | None = None
) -> Refusal:
    """Attempt a booking that must be refused and change nothing; return the refusal."""
    before, entries = await studio.snapshot(), len(await studio.rows("audit_log"))
    done = await attempt(studio, wanted, access, order)
    assert isinstance(done, Refusal), done
    assert (await studio.snapshot(), len(await studio.rows("audit_log"))) == (before, entries)
    return done


async def entry_of(studio: BookingStudio, booking_id: str) -> Any:
    (entry,) = await studio.rows("audit_log", "subject_id = $2", UUID(booking_id))
    return entry


async def test_a_booking_with_its_event_and_its_audit_entry(studio: BookingStudio) -> None:
    class_id, member = await studio.new_class(), await studio.new_member()
    access = person(studio, Role.FRONT_DESK)
    done = await attempt(studio, StaffBooking(class_id, member), access)
    assert isinstance(done, Booked)
    booking = done.booking
    assert booking == await studio.get(f"/bookings/{booking['id']}")
    assert (booking["status"], booking["booking_source"], done.overridden) == ("confirmed", "staff", ())
    assert (await studio.counts(class_id), await studio.credits(member)) == ((1, 0), 9)
    (event,) = await studio.rows("events")
    assert (event["type"], event["actor"], json.loads(event["object"])) == ("booking.created", "staff", booking)
    entry = await entry_of(studio, booking["id"])
    assert (entry["action"], entry["actor_name"], entry["reason"]) == ("booking.create", "desk@example.com", None)
    changes = json.loads(entry["changes"])
    assert changes["status"] == [None, "confirmed"]
    assert changes["member_id"] == [None, str(member)]
    assert "overridden_rules" not in changes


async def ordered(studio: BookingStudio, member: UUID, **limits: tuple[UUID, ...]) -> Order:
    """Return the order of a product that is on sale."""
    product = await studio.new_product(**limits)
    price = {"amount": "20.00", "currency": "USD", "price_type": "one_time", "default": True}
    return Order(member, product, await studio.add("prices", product_id=product, **price), studio.location)


async def test_a_sale_and_its_booking_happen_together(studio: BookingStudio) -> None:
    class_id, member = await studio.new_class(), await studio.new_member(membership=False)
    order = await ordered(studio, member)
    done = await attempt(studio, StaffBooking(class_id, member), order=order)
    assert isinstance(done, Booked)
    (membership,) = await studio.rows("memberships")
    (booking,) = await studio.rows("bookings")
    assert (booking["membership_id"], done.overridden) == (membership["id"], ())
    events = [event["type"] for event in await studio.rows("events", "true order by id")]
    assert events == ["membership.created", "purchase.created", "booking.created"]
    assert await studio.unrecorded() == []


async def test_a_sale_or_a_booking_that_is_refused_prevents_the_other(studio: BookingStudio) -> None:
    class_id, member = await studio.new_class(), await studio.new_member(membership=False)
    wanted, aerial = StaffBooking(class_id, member), await studio.add("class_types", name="Aerial")
    sells_nothing = Staff("desk@example.com", PERMISSIONS[Role.FRONT_DESK] - {Permission.SALES}, Channel.CONSOLE)
    for order, access, code in [
        (await ordered(studio, member, class_types=(aerial,)), None, Code.MEMBERSHIP_NOT_VALID_FOR_CLASS),
        (await ordered(studio, member, locations=(studio.other_location,)), None, Code.VALIDATION_ERROR),
        (await ordered(studio, member), staff_access(studio.id, sells_nothing, None), Code.PERMISSION_DENIED),
    ]:
        assert (await refused(studio, wanted, access, order)).code == code
    assert [await studio.rows(table) for table in ("memberships", "purchases", "sales")] == [[], [], []]


async def suspended(studio: BookingStudio) -> StaffBooking:
    return StaffBooking(await studio.new_class(), await studio.new_member(suspended=True))


async def without_waiver(studio: BookingStudio) -> StaffBooking:
    class_id = await studio.new_class()
    await studio.policy("classes", class_id, waiver_form_id=str(await studio.new_form()))
    return StaffBooking(class_id, await studio.new_member())


async def without_membership(studio: BookingStudio) -> StaffBooking:
    return StaffBooking(await studio.new_class(), await studio.new_member(membership=False))


async def with_paused_membership(studio: BookingStudio) -> StaffBooking:
    member = await studio.new_member(membership=False)
    await studio.new_membership(member, status="paused")
    return StaffBooking(await studio.new_class(), member)


async def with_other_membership(studio: BookingStudio) -> StaffBooking:
    member = await studio.new_member(membership=False)
    product = await studio.new_product(locations=(studio.other_location,))
    await studio.new_membership(member, product_id=product)
    return StaffBooking(await studio.new_class(), member)


async def without_credits(studio: BookingStudio) -> StaffBooking:
    return StaffBooking(await studio.new_class(), await studio.new_member(0))


async def hidden(studio: BookingStudio) -> StaffBooking:
    return StaffBooking(await studio.new_class(visible=False), await studio.new_member())


async def begun(studio: BookingStudio) -> StaffBooking:
    return StaffBooking(await studio.new_class(-5), await studio.new_member())


async def too_early(studio: BookingStudio) -> StaffBooking:
    class_id = await studio.new_class(3 * DAY)
    await studio.policy("classes", class_id, booking_opens_minutes_before=DAY)
    return StaffBooking(class_id, await studio.new_member())


async def too_late(studio: BookingStudio) -> StaffBooking:
    class_id = await studio.new_class(HOUR)
    await studio.policy("classes", class_id, booking_closes_minutes_before=2 * HOUR)
    return StaffBooking(class_id, await studio.new_member())


async def second_of_the_day(studio: BookingStudio) -> StaffBooking:
    start, member = booking_studio.utc(2031, 5, 5, 16), await studio.new_member()
    await studio.booked(await studio.new_class(start=start), member)
    class_id = await studio.new_class(start=booking_studio.utc(2031, 5, 5, 19))
    await studio.policy("classes", class_id, max_bookings_per_day=1)
    return StaffBooking(class_id, member)


async def overlapping(studio: BookingStudio) -> StaffBooking:
    member = await studio.new_member()
    await studio.booked(await studio.new_class(SOON), member)
    return StaffBooking(await studio.new_class(SOON + 30), member)


async def without_spot(studio: BookingStudio) -> StaffBooking:
    await studio.new_spots("A1")
    return StaffBooking(await studio.new_class(spot_selection_mode="required"), await studio.new_member())


RULES: dict[Code, Build] = {
    Code.CLASS_NOT_BOOKABLE: hidden,
    Code.CLASS_STARTED: begun,
    Code.BOOKING_WINDOW_NOT_OPEN: too_early,
    Code.BOOKING_WINDOW_CLOSED: too_late,
    Code.MEMBER_SUSPENDED: suspended,
    Code.WAIVER_REQUIRED: without_waiver,
    Code.NO_ACTIVE_MEMBERSHIP: without_membership,
    Code.MEMBERSHIP_PAUSED: with_paused_membership,
    Code.MEMBERSHIP_NOT_VALID_FOR_CLASS: with_other_membership,
    Code.INSUFFICIENT_CREDITS: without_credits,
    Code.BOOKING_LIMIT_REACHED: second_of_the_day,
    Code.OVERLAPPING_BOOKING: overlapping,
    Code.SPOT_REQUIRED: without_spot,
}


def test_every_rule_that_can_be_overridden_is_tried() -> None:
    assert set(RULES) == OVERRIDABLE


@pytest.mark.parametrize("code", RULES)
async def test_a_rule_is_overridden_with_a_reason(studio: BookingStudio, code: Code) -> None:
    wanted = await RULES[code](studio)
    refusal = await refused(studio, wanted)
    assert code in refusal.details["reasons"]
    done = await attempt(studio, wanted._replace(override=WALK_IN))
    assert isinstance(done, Booked), done
    assert done.booking["status"] == "confirmed"
    assert [str(each) for each in done.overridden] == refusal.details["reasons"]
    entry = await entry_of(studio, done.booking["id"])
    assert entry["reason"] == "Paid at the desk"
    assert json.loads(entry["changes"])["overridden_rules"] == [None, refusal.details["reasons"]]
    row = await studio.row("bookings", done.booking["id"])
    needs_credit = code not in (Code.NO_ACTIVE_MEMBERSHIP, Code.MEMBERSHIP_PAUSED, Code.INSUFFICIENT_CREDITS)
    assert row["credits_taken"] == int(needs_credit and code is not Code.MEMBERSHIP_NOT_VALID_FOR_CLASS)
    if code is Code.SPOT_REQUIRED:
        assert row["class_spot_id"] is not None, "a spot is assigned"


async def test_what_cannot_be_overridden(studio: BookingStudio) -> None:
    full, (held,) = await studio.full_class()
    waiting = await studio.waits(full, await studio.new_member())
    newcomer = await studio.new_member()
    closed, _ = await studio.full_class(allow_waitlist=False)
    narrow, _ = await studio.full_class()
    await studio.policy("classes", narrow, waitlist_capacity=0)
    gone = await studio.new_class()
    await studio.staff(staff.cancel_class, gone)
    begun, _ = await studio.full_class()
    await studio.move(begun, -1)
    (spot,) = await studio.new_spots("A1")
    spots = await studio.new_class(spot_selection_mode="optional")
    await studio.booked(spots, await studio.new_member(), class_spot_id=spot)
    cases = [
        (StaffBooking(full, newcomer), Code.CLASS_FULL),
        (StaffBooking(full, UUID(held["member_id"])), Code.ALREADY_BOOKED),
        (StaffBooking(full, UUID(waiting["member_id"])), Code.ALREADY_WAITLISTED),
        (StaffBooking(closed, newcomer, join_waitlist=True), Code.WAITLIST_NOT_ALLOWED),
        (StaffBooking(narrow, newcomer, join_waitlist=True), Code.WAITLIST_FULL),
        (StaffBooking(gone, newcomer), Code.CLASS_CANCELLED),
        (StaffBooking(begun, newcomer, join_waitlist=True), Code.CLASS_STARTED),
        (StaffBooking(spots, newcomer, class_spot_id=spot), Code.SPOT_TAKEN),
        (StaffBooking(spots, newcomer, class_spot_id=uuid4()), Code.SPOT_NOT_FOUND),
    ]
    for wanted, code in cases:
        refusal = await refused(studio, wanted._replace(override=WALK_IN))
        assert refusal.code is code, wanted
        assert set(refusal.details["reasons"]) - set(OVERRIDABLE) or code is Code.CLASS_STARTED


async def test_a_seat_that_a_waiting_member_was_promised_is_not_given_away(studio: BookingStudio) -> None:
    class_id, (held,) = await studio.full_class(policy={"waitlist_mode": "manual"})
    await studio.waits(class_id, await studio.new_member())
    await studio.cancelled(held["id"])
    assert await studio.counts(class_id) == (0, 1)
    refusal = await refused(studio, StaffBooking(class_id, await studio.new_member(), override=WALK_IN))
    assert refusal.code is Code.CLASS_FULL


async def test_the_waitlist_may_be_joined(studio: BookingStudio) -> None:
    class_id, _ = await studio.full_class()
    member = await studio.new_member(suspended=True)
    done = await attempt(studio, StaffBooking(class_id, member, join_waitlist=True, override=WALK_IN))
    assert isinstance(done, Booked)
    assert (done.booking["status"], done.booking["waitlist_position"]) == ("waitlisted", 1)
    assert (done.overridden, await studio.credits(member)) == ((Code.MEMBER_SUSPENDED,), 10)


async def test_a_waiting_member_takes_an_open_seat_by_staff(studio: BookingStudio) -> None:
    """After the promotion cutoff seats are open to everybody; the waiting member's own booking is confirmed."""
    class_id, (held,) = await studio.full_class(90)
    await studio.policy("classes", class_id, promotion_cutoff_minutes=120)
    waiting = await studio.waits(class_id, await studio.new_member())
    await studio.cancelled(held["id"])
    done = await attempt(studio, StaffBooking(class_id, UUID(waiting["member_id"])))
    assert isinstance(done, Booked)
    assert (done.booking["id"], done.booking["status"]) == (waiting["id"], "confirmed")


@pytest.mark.parametrize("reason", [None, "", "   ", "x" * 501])
async def test_an_override_needs_a_reason(studio: BookingStudio, reason: str | None) -> None:
    wanted = StaffBooking(await studio.new_class(), await studio.new_member(), override=Override(True, reason))
    refusal = await refused(studio, wanted)
    assert refusal.code is Code.VALIDATION_ERROR
    assert [fault.loc for fault in refusal.faults] == [("reason",)]
    longest = await attempt(studio, wanted._replace(override=Override(True, "x" * 500)))
    assert isinstance(longest, Booked)


async def test_what_does_not_exist_or_is_elsewhere(
    studio: BookingStudio, studio_factory: booking_studio.StudioFactory
) -> None:
    other = await studio_factory.new_studio()
    class_id, member = await studio.new_class(), await studio.new_member()
    desk_elsewhere = person(studio, Role.FRONT_DESK, studio.other_location)
    for wanted, access, param in [
        (StaffBooking(uuid4(), member), None, "class_id"),
        (StaffBooking(await other.new_class(), member), None, "class_id"),
        (StaffBooking(class_id, uuid4()), None, "member_id"),
        (StaffBooking(class_id, await other.new_member()), None, "member_id"),
        (StaffBooking(class_id, member), desk_elsewhere, "class_id"),
    ]:
        assert await refused(studio, wanted, access) == Refusal(Code.NOT_FOUND, param=param)
    here = await attempt(studio, StaffBooking(class_id, member), person(studio, Role.FRONT_DESK, studio.location))
    assert isinstance(here, Booked)


@pytest.mark.parametrize("role", Role)
async def test_who_may_book(studio: BookingStudio, role: Role) -> None:
    wanted = StaffBooking(await studio.new_class(), await studio.new_member())
    done = await attempt(studio, wanted, person(studio, role))
    allowed = role in (Role.OWNER, Role.MANAGER, Role.FRONT_DESK)
    assert isinstance(done, Booked) is allowed
    if isinstance(done, Refusal):
        assert (done.code, done.details) == (Code.PERMISSION_DENIED, {"required_permission": "bookings"})
