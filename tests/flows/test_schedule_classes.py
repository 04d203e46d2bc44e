"""Single classes of the studio's side: create and change, with events, entries, warnings and refusals."""

import asyncio
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.domain.instants import instant_text
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import Role
from studiogate.flows.bookings import staff
from studiogate.flows.schedule import classes, closures
from studiogate.flows.schedule.rows import Given, Saved
from tests.support import booking_studio
from tests.support.booking_studio import HOUR, SOON, BookingStudio
from tests.support.held_locks import somebody_waits
from tests.support.staff import audit_of, events_of, person, refused

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio
NOT_FOUND = Refusal(Code.NOT_FOUND)


async def times(studio: BookingStudio, minutes: float = SOON, length: float = 60) -> dict[str, str]:
    start = (await studio.now()).replace(second=0, microsecond=0) + timedelta(minutes=minutes)
    return {"start_time": instant_text(start), "end_time": instant_text(start + timedelta(minutes=length))}


async def new_values(studio: BookingStudio, **values: Any) -> dict[str, Any]:
    return {"title": "Yoga", "location_id": str(studio.location), "capacity": 5, **await times(studio), **values}


async def changed(studio: BookingStudio, class_id: UUID, **values: Any) -> Any:
    return await studio.staff(classes.change, class_id, Given(values))


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


# Creating


async def test_a_class_is_created_and_announced(studio: BookingStudio) -> None:
    values = await new_values(studio, room_id=str(studio.room), visible=False, description="Bring a mat.")
    saved = await studio.staff(classes.create, Given(values))
    assert saved.warnings == ()
    wire = await studio.get(f"/classes/{saved.id}")
    assert {**wire, "start_time": instant(wire["start_time"]), "end_time": instant(wire["end_time"])}.items() >= {
        **values,
        "start_time": instant(values["start_time"]),
        "end_time": instant(values["end_time"]),
        "status": "scheduled",
        "allow_waitlist": True,
    }.items()
    assert await events_of(studio, saved.id) == [("class.created", {})]
    ((action, fields),) = await audit_of(studio, saved.id)
    assert (action, fields["title"], fields["capacity"]) == ("class.create", [None, "Yoga"], [None, 5])


async def test_a_class_needs_a_location_times_ahead_and_rows_that_exist(studio: BookingStudio) -> None:
    for values, places in (
        (await new_values(studio, location_id=None), {"location_id"}),
        ({"title": "Yoga"}, {"location_id", "start_time", "end_time", "capacity"}),
        (await new_values(studio, **await times(studio, -5)), {"start_time"}),
        (await new_values(studio, **await times(studio, SOON, -5)), {"end_time"}),
        (await new_values(studio, **await times(studio, SOON, 8 * 24 * HOUR)), {"end_time"}),
        (await new_values(studio, start_time="2200-01-01T00:00:00Z", end_time="2200-01-01T01:00:00Z"), {"start_time"}),
        (await new_values(studio, room_id=str(uuid4()), instructor_id=str(uuid4())), {"room_id", "instructor_id"}),
        (await new_values(studio, status="cancelled"), {"status"}),
    ):
        refusal = await refused(studio, classes.create, Given(values))
        assert {fault.loc[0] for fault in refusal.faults} == places


async def test_limited_staff_create_at_their_locations_only(studio: BookingStudio) -> None:
    limited = person(studio, Role.MANAGER, studio.other_location)
    given = Given(await new_values(studio))
    refusal = await refused(studio, classes.create, given, access=limited)
    assert [(fault.loc, fault.type) for fault in refusal.faults] == [(("location_id",), "not_found")]
    class_id = await studio.new_class()
    assert await refused(studio, classes.change, class_id, Given({"title": "X"}), access=limited) == NOT_FOUND
    assert await refused(studio, staff.cancel_class, class_id, access=limited) == NOT_FOUND
    assert await refused(studio, staff.change_capacity, class_id, 3, access=limited) == NOT_FOUND


async def test_warnings_name_double_bookings_and_rooms(studio: BookingStudio) -> None:
    instructor = await studio.add("instructors", name="Ida")
    away = await studio.add("rooms", location_id=studio.other_location, name="Away", capacity=3)
    values = await new_values(studio, room_id=str(away), instructor_id=str(instructor))
    start = instant(values["start_time"])
    in_room = await studio.new_class(start=start + timedelta(minutes=30), room_id=away)
    taught = await studio.new_class(start=start - timedelta(minutes=59), instructor_id=instructor)
    await studio.new_class(start=start + timedelta(minutes=60), room_id=away, instructor_id=instructor)
    await studio.new_class(start=start, room_id=away, instructor_id=instructor, status="cancelled")
    refusal = await refused(studio, classes.create, Given(values, strict=True))
    assert refusal.code is Code.SCHEDULE_CONFLICT
    saved = await studio.staff(classes.create, Given(values))
    assert [(warning.code, warning.details.get("class_id")) for warning in saved.warnings] == [
        ("instructor_double_booked", str(taught)),
        ("room_double_booked", str(in_room)),
        ("larger_than_room", None),
        ("room_at_other_location", None),
    ]
    assert refusal.details["warnings"] == [warning.as_json() for warning in saved.warnings]
    assert (await changed(studio, saved.id, title="Renamed")).warnings == (), "only what has changed is looked at"
    assert (await changed(studio, saved.id, room_id=None, instructor_id=None, capacity=9)).warnings == ()


async def test_warnings_do_not_name_classes_of_other_locations(studio: BookingStudio) -> None:
    """Whoever plans one location learns that the instructor is busy, and nothing about the class elsewhere."""
    instructor = await studio.add("instructors", name="Ida")
    values = await new_values(studio, instructor_id=str(instructor))
    elsewhere: dict[str, Any] = {"location_id": studio.other_location, "room_id": None, "title": "Private event"}
    await studio.new_class(start=instant(values["start_time"]), instructor_id=instructor, **elsewhere)
    limited = studio.access.within([studio.location])
    saved = await classes.create(studio.api.connection, limited, Given(values))
    assert isinstance(saved, Saved)
    (warning,) = saved.warnings
    assert warning.as_json() == {
        "code": "instructor_double_booked",
        "message": "The instructor also teaches a class at another location at this time.",
    }
    named = (await studio.staff(classes.create, Given(values))).warnings
    assert any("Private event" in each.message for each in named), "but to whoever may see it"


async def test_a_class_on_a_closed_day_is_a_warning(studio: BookingStudio) -> None:
    values = await new_values(studio)
    day = str(instant(values["start_time"]).date())
    days = {"first_date": day, "last_date": str(instant(day).date() + timedelta(days=1)), "mode": "skip"}
    await studio.staff(closures.create, Given({**days, "location_id": str(studio.other_location)}))
    assert (await studio.staff(classes.create, Given(values))).warnings == ()
    first = str(instant(day).date() - timedelta(days=1))
    await studio.staff(closures.create, Given({**days, "first_date": first}))
    (warning,) = (await studio.staff(classes.create, Given(values))).warnings
    assert warning.code == "closed"


# Changing


async def test_a_moved_class_takes_its_bookings_along(studio: BookingStudio) -> None:
    class_id = await studio.new_class()
    booking = await studio.booked(class_id, await studio.new_member())
    before = await studio.get(f"/classes/{class_id}")
    moved = await times(studio, 2 * SOON, 90)
    saved = await changed(studio, class_id, **moved, title="Later")
    assert (saved.warnings, saved.promoted) == ((), 0)
    after = await studio.get(f"/classes/{class_id}")
    row = await studio.row("bookings", booking["id"])
    assert (row["start_time"], row["end_time"]) == (instant(moved["start_time"]), instant(moved["end_time"]))
    assert await status_of(studio, booking) == "confirmed"
    previous = {name: value for name, value in before.items() if after[name] != value and name != "updated_at"}
    assert set(previous) == {
        "title",
        "start_time",
        "end_time",
        "booking_closes_at",
        "cancellation_cutoff_at",
        "promotion_cutoff_at",
    }
    assert await events_of(studio, class_id) == [("class.updated", previous)]
    ((action, fields),) = await audit_of(studio, class_id)
    assert (action, set(fields), fields["title"]) == (
        "class.change",
        {"title", "start_time", "end_time"},
        ["Class", "Later"],
    )


async def status_of(studio: BookingStudio, booking: Any) -> str:
    return await studio.status(booking)


async def test_only_given_fields_change_and_null_clears(studio: BookingStudio) -> None:
    instructor = await studio.add("instructors", name="Ida")
    class_id = await studio.new_class(instructor_id=instructor, description="Old")
    await changed(studio, class_id, instructor_id=None, allow_waitlist=False)
    row = await studio.row("classes", class_id)
    assert (row["instructor_id"], row["allow_waitlist"], row["description"], row["room_id"]) == (
        None,
        False,
        "Old",
        studio.room,
    )
    assert await events_of(studio, class_id) == [
        ("class.updated", {"instructor_id": str(instructor), "allow_waitlist": True})
    ]
    await changed(studio, class_id, allow_waitlist=False, title="Class", policy={}, room_id=str(studio.room))
    assert len(await events_of(studio, class_id)) == len(await audit_of(studio, class_id)) == 1, "nothing differs"


async def test_new_seats_go_to_waiting_members(studio: BookingStudio) -> None:
    class_id, _ = await studio.full_class()
    waiting = [await studio.waits(class_id, await studio.new_member()) for _ in range(3)]
    await studio.sql("delete from events where studio_id = $1")
    saved = await changed(studio, class_id, capacity=3, title="Larger")
    assert saved.promoted == 2
    assert [await studio.status(each) for each in waiting] == ["confirmed", "confirmed", "waitlisted"]
    assert await events_of(studio, class_id) == [
        ("class.updated", {"title": "Class", "capacity": 1, "booked_count": 1, "waitlist_count": 3})
    ]


async def test_a_policy_that_promotes_fills_free_seats(studio: BookingStudio) -> None:
    class_id, (held,) = await studio.full_class(policy={"waitlist_mode": "manual"})
    waiting = await studio.waits(class_id, await studio.new_member())
    await studio.cancelled(held["id"])
    assert (await changed(studio, class_id, policy={})).promoted == 1
    assert await studio.status(waiting) == "confirmed"


async def test_the_capacity_cannot_be_below_the_seats_taken(studio: BookingStudio) -> None:
    class_id, _ = await studio.full_class(capacity=2)
    refusal = await refused(studio, classes.change, class_id, Given({"capacity": 1, "title": "X"}))
    assert refusal == Refusal(Code.INVALID_TRANSITION, {"booked_count": 2})
    assert (await studio.row("classes", class_id))["title"] == "Class"


async def test_chosen_spots_keep_the_room(studio: BookingStudio) -> None:
    spot, _ = await studio.new_spots("A1", "A2")
    other = await studio.add("rooms", location_id=studio.location, name="Other", capacity=10)
    class_id = await studio.new_class(spot_selection_mode="optional")
    booking = await studio.booked(class_id, await studio.new_member(), class_spot_id=spot)
    for values in ({"room_id": str(other)}, {"room_id": None}, {"spot_selection_mode": None}):
        refusal = await refused(studio, classes.change, class_id, Given(values))
        assert refusal == Refusal(Code.INVALID_TRANSITION, {"spots_chosen": 1})
    await changed(studio, class_id, spot_selection_mode="required")
    await studio.cancelled(booking["id"])
    await changed(studio, class_id, room_id=str(other), spot_selection_mode=None)


async def test_a_started_class_only_changes_its_title_and_instructor(studio: BookingStudio) -> None:
    class_id = await studio.new_class(-10)
    instructor = await studio.add("instructors", name="Ida")
    given = Given({"title": "X", "capacity": 9, **await times(studio)})
    refusal = await refused(studio, classes.change, class_id, given)
    assert refusal == Refusal(Code.CLASS_STARTED, {"fields": ["capacity", "end_time", "start_time"]})
    await changed(studio, class_id, title="Corrected", instructor_id=str(instructor))
    assert await events_of(studio, class_id) == [("class.updated", {"title": "Class", "instructor_id": None})]


async def test_a_start_that_was_not_announced_yet_has_its_own_event(studio: BookingStudio) -> None:
    class_id = await studio.new_class()
    await studio.move(class_id, -10)
    await studio.sql("delete from events where studio_id = $1")
    await changed(studio, class_id, title="Late")
    assert await events_of(studio, class_id) == [
        ("class.updated", {"status": "scheduled"}),
        ("class.updated", {"title": "Class"}),
    ]


async def test_a_cancelled_class_stays_as_it_is(studio: BookingStudio) -> None:
    class_id = await studio.new_class()
    await studio.staff(staff.cancel_class, class_id, "ill")
    assert await refused(studio, classes.change, class_id, Given({"title": "X"})) == Refusal(Code.CLASS_CANCELLED)
    ((action, fields),) = await audit_of(studio, class_id)
    assert (action, fields) == ("class.cancel", {"status": ["scheduled", "cancelled"]})
    (entry,) = await studio.rows("audit_log", "subject_id = $2", class_id)
    assert entry["reason"] == "ill"


async def test_a_moved_class_must_start_in_the_future(studio: BookingStudio) -> None:
    class_id = await studio.new_class()
    for given in (
        await times(studio, -60),
        {"end_time": instant_text(await studio.now())},
        {"title": "", "visible": 1},
    ):
        refusal = await refused(studio, classes.change, class_id, Given(given))
        assert refusal.code is Code.VALIDATION_ERROR
    assert await refused(studio, classes.change, uuid4(), Given({"title": "X"})) == NOT_FOUND


async def test_the_capacity_alone_is_recorded(studio: BookingStudio) -> None:
    class_id = await studio.new_class(capacity=2)
    await studio.staff(staff.change_capacity, class_id, 4)
    assert await audit_of(studio, class_id) == [("class.capacity", {"capacity": [2, 4]})]


# Races


async def test_a_smaller_class_waits_for_the_booking_that_takes_the_seat(studio: BookingStudio) -> None:
    class_id = await studio.new_class(capacity=2)
    for _ in range(1):
        await studio.booked(class_id, await studio.new_member())

    async def shrink() -> Any:
        async with studio.database.connection() as connection:
            return await classes.change(connection, studio.access, class_id, Given({"capacity": 1}))

    member = await studio.new_member()
    async with studio.database.transaction() as booking:
        await booking.execute(
            "select from classes where studio_id = $1 and id = $2 for no key update", studio.id, class_id
        )
        change = asyncio.create_task(shrink())
        await somebody_waits(booking)
        await booking.execute(
            "update classes set booked_count = 2 where studio_id = $1 and id = $2", studio.id, class_id
        )
        await booking.execute(
            """insert into bookings (studio_id, id, class_id, member_id, status, location_id, start_time, end_time)
               select $1, gen_random_uuid(), c.id, $3, 'confirmed', c.location_id, c.start_time, c.end_time
               from classes c where c.studio_id = $1 and c.id = $2""",
            studio.id,
            class_id,
            member,
        )
    assert await change == Refusal(Code.INVALID_TRANSITION, {"booked_count": 2})


async def test_bookings_and_changes_of_one_class_leave_no_seat_twice(studio: BookingStudio) -> None:
    class_id = await studio.new_class(capacity=3)
    members = [await studio.new_member() for _ in range(8)]
    moved = {capacity: await times(studio, SOON + capacity) for capacity in (2, 4, 6)}

    async def change(capacity: int) -> Any:
        async with studio.database.connection() as connection:
            given = Given({"capacity": capacity, **moved[capacity]})
            return await classes.change(connection, studio.access, class_id, given)

    async def book(member: UUID) -> Any:
        body = {"class_id": str(class_id), "member_id": str(member), "join_waitlist": True}
        return (await studio.post(body)).status

    outcomes = await asyncio.gather(*(book(each) for each in members), *(change(n) for n in moved))
    assert set(outcomes[:8]) == {201}
    row = await studio.row("classes", class_id)
    live = await studio.rows("bookings", "class_id = $2 and status = 'confirmed'", class_id)
    assert len(live) == row["booked_count"] == min(8, row["capacity"])
    assert {each["start_time"] for each in live} == {row["start_time"]}
