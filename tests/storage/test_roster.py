"""The front desk's reads: a day's classes, the people of a class, its history and its changes."""

from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from studiogate.domain.bookings.roster import OpenFees, RosterWarning, roster_warnings
from studiogate.domain.bookings.states import BookingStatus
from studiogate.flows.bookings import staff_bookings
from studiogate.storage import class_changes, event_numbering
from studiogate.storage.bookings import read, roster
from studiogate.storage.bookings.roster import Seat
from studiogate.storage.sales_list import PurchaseFilters, list_purchases
from studiogate.storage.schedule import day
from tests.support import booking_studio
from tests.support.booking_studio import HOUR, BookingStudio

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio


async def seats(studio: BookingStudio, class_id: UUID) -> list[Seat]:
    start = (await studio.row("classes", class_id))["start_time"]
    return await roster.seats_of_class(studio.api.connection, studio.access, class_id, start)


async def warnings(studio: BookingStudio, class_id: UUID) -> dict[str, set[RosterWarning]]:
    situation = await read.find_class(studio.api.connection, studio.access, class_id)
    assert situation is not None
    local_day = situation.class_.start_time.astimezone(situation.timezone).date()
    found = await seats(studio, class_id)
    return {each.person.name: set(roster_warnings(each.person.attendee, situation.policy, local_day)) for each in found}


async def test_a_day_at_one_location_or_at_all(studio: BookingStudio) -> None:
    teacher = await studio.add("instructors", name="Ana Reyes")
    here = await studio.new_class(HOUR, title="Ride", instructor_id=teacher)
    there = await studio.new_class(2 * HOUR, title="Flow", location_id=studio.other_location, room_id=None)
    nowhere = await studio.new_class(3 * HOUR, title="Park", location_id=None, room_id=None)
    booking = await studio.booked(here, await studio.new_member())
    await studio.staff(staff_bookings.mark, UUID(booking["id"]), "checked_in")
    begins = await studio.now()
    ends = begins + timedelta(days=1)

    async def found(*locations: UUID, at: UUID | None = None) -> list[UUID]:
        access = studio.access.within(locations) if locations else studio.access
        classes = await day.classes_between(studio.api.connection, access, begins, ends, at)
        return [each.id for each in classes]

    assert await found() == [here, there, nowhere]
    assert await found(at=studio.location) == [here]
    assert await found(studio.other_location) == [there]
    assert await found(studio.other_location, at=studio.location) == []
    ride = await day.find_class(studio.api.connection, studio.access, here)
    assert ride is not None
    assert (ride.room, ride.instructor, ride.location, ride.booked_count, ride.checked_in_count) == (
        "R",
        "Ana Reyes",
        "L",
        1,
        1,
    )
    elsewhere = studio.access.within([studio.other_location])
    assert await day.find_class(studio.api.connection, elsewhere, here) is None


async def test_seats_with_spot_membership_and_partner(studio: BookingStudio) -> None:
    bike, _ = await studio.new_spots("Bike 3", "Bike 4")
    class_id = await studio.new_class(HOUR, capacity=3, spot_selection_mode="optional")
    await studio.booked(class_id, await studio.new_member(3, first_name="Zoe", last_name="Last"), class_spot_id=bike)
    gone = await studio.booked(class_id, await studio.new_member(first_name="Gone", last_name="Girl"))
    await studio.cancelled(gone["id"])
    imported = await studio.new_member(first_name="ada", last_name="First")
    await studio.imported_booking(class_id, imported, "no_show")
    first, last = await seats(studio, class_id)
    assert (first.person.name, first.status, first.spot, first.membership, first.partner) == (
        "ada First",
        BookingStatus.NO_SHOW,
        None,
        None,
        None,
    )
    assert first.marked_at is not None
    key = (await studio.rows("credentials"))[0]["name"]
    assert (last.person.name, last.spot, last.membership, last.credits_remaining) == ("Zoe Last", "Bike 3", "P", 2)
    assert (last.source, last.partner, last.marked_at) == ("partner_api", key, None)


async def test_warnings_agree_with_the_booking_rules(studio: BookingStudio) -> None:
    """A waiver that a booking would be refused for is missing on the roster too, and no other one."""
    form = await studio.new_form()
    class_id = await studio.new_class(HOUR)
    people = {status: await studio.new_member(first_name=status, last_name="X") for status in ("pending", "rejected")}
    for status, member in people.items():
        await studio.submit(form, member, status)
    await studio.policy("classes", class_id, waiver_form_id=str(form))
    await studio.booked(class_id, people["pending"])
    await studio.refused(class_id, people["rejected"])
    await studio.imported_booking(class_id, people["rejected"])
    found = await warnings(studio, class_id)
    assert {name: RosterWarning.WAIVER_MISSING in each for name, each in found.items()} == {
        "pending X": False,
        "rejected X": True,
    }


async def test_first_visits_fees_and_birthdays(studio: BookingStudio) -> None:
    earlier, class_id = await studio.new_class(-2 * HOUR), await studio.new_class(HOUR)
    regular, new = [await studio.new_member(first_name=name, last_name="X") for name in ("Regular", "New")]
    await studio.imported_booking(earlier, regular, "checked_in")
    missed = await studio.new_member(first_name="Missed", last_name="X")
    await studio.imported_booking(earlier, missed, "no_show")
    for member in (regular, new, missed):
        await studio.booked(class_id, member)
    fee = {"member_id": new, "product_key": "late_cancel_fee", "product_type": "fee", "currency": "USD"}
    await studio.add("purchases", **fee, amount_total=Decimal("15.00"), status="pending", location_id=studio.location)
    await studio.add("purchases", **fee, amount_total=Decimal("7.00"), status="cancelled", location_id=studio.location)
    form = await studio.new_form()
    situation = await read.find_class(studio.api.connection, studio.access, class_id)
    assert situation is not None
    local = situation.class_.start_time.astimezone(situation.timezone)
    born = local.date().replace(year=2000) if (local.month, local.day) != (2, 29) else local.date()
    for answer, member in ((str(born), regular), ("no date", missed)):
        submission = await studio.submit(form, member)
        await studio.change("form_submissions", submission, data=f'{{"date_of_birth": "{answer}"}}')
    assert await warnings(studio, class_id) == {
        "Regular X": {RosterWarning.BIRTHDAY},
        "New X": {RosterWarning.FIRST_VISIT, RosterWarning.FEE_OPEN},
        "Missed X": {RosterWarning.FIRST_VISIT},
    }
    (owing,) = (each for each in await seats(studio, class_id) if each.person.attendee.open_fees)
    assert owing.person.attendee.open_fees == (OpenFees(Decimal("15.00"), "USD"),)


async def test_open_fees_are_those_of_sales_by_currency(studio: BookingStudio) -> None:
    """A payment that failed is still owed; what was charged in another currency is not added up."""
    class_id, member = await studio.new_class(HOUR), await studio.new_member()
    await studio.booked(class_id, member)
    fee = {"member_id": member, "product_key": "late_cancel_fee", "product_type": "fee"}
    for status, currency, amount in (
        ("pending", "USD", "15.00"),
        ("failed", "USD", "5.00"),
        ("failed", "EUR", "7.50"),
        (None, None, "1.00"),
        ("pending", "CHF", "0.00"),
        ("completed", "USD", "100.00"),
    ):
        await studio.add("purchases", **fee, amount_total=Decimal(amount), currency=currency, status=status)
    (seat,) = await seats(studio, class_id)
    assert seat.person.attendee.open_fees == (OpenFees(Decimal("7.50"), "EUR"), OpenFees(Decimal("21.00"), "USD"))
    filters = PurchaseFilters(member_id=member, open_fees=True)
    listed = await list_purchases(studio.api.connection, studio.access, filters, None, 10)
    assert sum(each["amount_total"] for each in listed.rows) == Decimal("28.50")


async def test_a_fee_at_another_location_is_not_seen(studio: BookingStudio) -> None:
    class_id, member = await studio.new_class(HOUR), await studio.new_member()
    await studio.booked(class_id, member)
    fee = {"member_id": member, "product_key": "late_cancel_fee", "product_type": "fee", "currency": "USD"}
    await studio.add("purchases", **fee, amount_total=9, status="pending", location_id=studio.other_location)
    start = (await studio.row("classes", class_id))["start_time"]
    (seat,) = await roster.seats_of_class(
        studio.api.connection, studio.access.within([studio.location]), class_id, start
    )
    assert seat.person.attendee.open_fees == ()


async def test_the_waitlist_by_position_with_skip_reasons(studio: BookingStudio) -> None:
    class_id, (booking,) = await studio.full_class(5 * HOUR)
    poor, rich = [await studio.new_member(1, first_name=name, last_name="X") for name in ("Poor", "Rich")]
    for member in (poor, rich):
        await studio.waits(class_id, member)
    await studio.set_credits(poor, 0)
    await studio.cancelled(booking["id"])
    start = (await studio.row("classes", class_id))["start_time"]
    (waiting,) = await roster.waiting_for_class(studio.api.connection, studio.access, class_id, start)
    assert (waiting.person.name, waiting.position, waiting.skip_reason) == ("Poor X", 1, "insufficient_credits")


async def history_of(studio: BookingStudio, class_id: UUID) -> tuple[dict[str, Any], list[roster.ClassAction]]:
    connection = studio.api.connection
    placed = await roster.placed_bookings(connection, studio.access, class_id)
    subjects = [class_id, *(each.id for each in placed), *(each.entry_id for each in placed if each.entry_id)]
    return {each.name: each for each in placed}, await roster.actions_on(connection, studio.access, subjects)


async def test_the_history_names_partners_and_people(studio: BookingStudio) -> None:
    class_id, (booking,) = await studio.full_class(5 * HOUR)
    key = (await studio.rows("credentials"))[0]["name"]
    waits = await studio.waits(class_id, await studio.new_member(first_name="Second", last_name="X"))
    await studio.cancelled(booking["id"])
    await studio.staff(staff_bookings.mark, UUID(waits["id"]), "checked_in")
    last = await studio.waits(class_id, await studio.new_member(first_name="Third", last_name="X"))
    await studio.staff(staff_bookings.cancel_booking, UUID(last["id"]), "no time")
    placed, actions = await history_of(studio, class_id)
    second, third = placed["Second X"], placed["Third X"]
    assert (second.partner, second.was_promoted, second.cancelled_at) == (key, True, None)
    assert second.joined_at is not None
    assert second.taken_at is not None
    (first,) = (each for name, each in placed.items() if name not in ("Second X", "Third X"))
    assert (first.cancellation_type, first.cancelled_by, first.credits_returned) == ("late", key, 0)
    assert (third.cancelled_by, third.cancellation_type) == (None, "studio")
    assert [(each.action, each.actor_name, each.reason) for each in actions] == [
        ("booking.cancel", "operator", "no time"),
        ("booking.check_in", "operator", None),
    ]


async def test_changes_name_the_classes_that_an_access_may_see(studio: BookingStudio) -> None:
    here = await studio.new_class()
    there = await studio.new_class(location_id=studio.other_location, room_id=None)
    connection = studio.api.connection
    for class_id in (here, there):
        await studio.booked(class_id, await studio.new_member())
    async with connection.transaction():
        await event_numbering.number(connection, studio.access)
    everywhere = await class_changes.changed_since(connection, studio.access, 0)
    assert everywhere.class_ids == {here, there}
    only_here = await class_changes.changed_since(connection, studio.access.within([studio.location]), 0)
    assert (only_here.class_ids, only_here.sequence) == (frozenset({here}), everywhere.sequence)
    assert (await class_changes.changed_since(connection, studio.access, everywhere.sequence)).class_ids == set()
