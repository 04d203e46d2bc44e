"""The studio, its locations, rooms with spots, class types and instructors: create, change, deactivate."""

import asyncio
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.domain.access import operator_access
from studiogate.domain.mails import MailKind
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.schedule.fields import MAX_LISTED
from studiogate.domain.staff import Role
from studiogate.flows import studio as studio_flow
from studiogate.flows.bookings import mails
from studiogate.flows.schedule import class_types, instructors, locations, rooms
from studiogate.flows.schedule.rows import Given
from tests.support import booking_studio
from tests.support.booking_studio import BookingStudio
from tests.support.held_locks import somebody_waits
from tests.support.pictures import png
from tests.support.staff import audit_of, events_of, person, refused

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio
NEW = {"name": "New", "timezone": "Europe/Berlin", "currency": "EUR", "country": "DE"}
NOT_FOUND = Refusal(Code.NOT_FOUND)


def slugs() -> Iterator[str]:
    return iter([f"new-{uuid4().hex}" for _ in range(10)])


# The studio


async def test_a_studio_is_created_with_its_entry(studio: BookingStudio) -> None:
    access, slug = operator_access(uuid4()), next(slugs())
    given = Given({**NEW, "slug": slug, "policy": {"late_fee_amount": "5.00"}, "test": True})
    saved = await studio_flow.create(studio.api.connection, access, given)
    assert saved == (access.studio_id, (), 0)
    row = await studio.api.connection.fetchrow("select * from studios where slug = $1", slug)
    assert row is not None
    assert (row["studio_id"], row["currency"], row["test"], row["schedule_weeks_ahead"]) == (
        access.studio_id,
        "EUR",
        True,
        8,
    )
    entry = await studio.api.connection.fetchrow("select * from audit_log where studio_id = $1", access.studio_id)
    assert entry is not None
    assert (entry["action"], entry["subject_id"]) == ("studio.create", access.studio_id)
    again = await studio_flow.create(studio.api.connection, operator_access(uuid4()), given)
    assert again == Refusal(Code.SLUG_TAKEN, param="slug")


async def test_a_studio_refuses_wrong_values_and_unknown_forms(studio: BookingStudio) -> None:
    given = Given({**NEW, "slug": next(slugs()), "policy": {"waiver_form_id": str(uuid4())}})
    refusal = await studio_flow.create(studio.api.connection, operator_access(uuid4()), given)
    assert isinstance(refusal, Refusal)
    assert [fault.loc for fault in refusal.faults] == [("policy", "waiver_form_id")]
    refusal = await refused(studio, studio_flow.change, Given({"name": None, "country": "XX", "logo": 1}))
    assert {fault.loc[0] for fault in refusal.faults} == {"name", "country", "logo"}


async def test_a_changed_studio_keeps_what_is_not_given(studio: BookingStudio) -> None:
    before = dict(await studio.get("/studio"))
    given = Given({"name": "Renamed", "primary_color": "#2f5d50", "schedule_weeks_ahead": 4})
    saved = await studio.staff(studio_flow.change, given)
    assert saved.warnings == ()
    after = await studio.get("/studio")
    assert after == {**before, "name": "Renamed", "primary_color": "#2f5d50"}
    assert await audit_of(studio, studio.id) == [
        (
            "studio.change",
            {"name": [before["name"], "Renamed"], "primary_color": [None, "#2f5d50"], "schedule_weeks_ahead": [8, 4]},
        )
    ]
    await studio.staff(studio_flow.change, Given({"name": "Renamed"}))
    assert len(await audit_of(studio, studio.id)) == 1, "nothing differs"


async def test_a_new_slug_is_a_warning_and_another_studios_is_refused(
    studio: BookingStudio, studio_factory: Any
) -> None:
    other = await studio_factory.new_studio()
    taken = Given({"slug": other.studio.slug})
    assert await refused(studio, studio_flow.change, taken) == Refusal(Code.SLUG_TAKEN, param="slug")
    slug = Given({"slug": next(slugs())})
    refusal = await refused(studio, studio_flow.change, slug._replace(strict=True))
    assert refusal.code is Code.SCHEDULE_CONFLICT
    (warning,) = (await studio.staff(studio_flow.change, slug)).warnings
    assert (warning.code, warning.details) == ("addresses_change", {"slug": studio.studio.slug})
    assert refusal.details == {"warnings": [warning.as_json()]}


async def test_a_new_currency_must_fit_the_fees(studio: BookingStudio) -> None:
    await studio.policy("class_types", studio.class_type, late_fee_amount="5.00")
    refusal = await refused(studio, studio_flow.change, Given({"currency": "JPY"}))
    assert [fault.loc for fault in refusal.faults] == [("currency",)]
    await studio.staff(studio_flow.change, Given({"currency": "EUR", "policy": {"late_fee_amount": "7.00"}}))


async def test_a_fee_that_does_not_fit_is_found_among_many_that_do(studio: BookingStudio) -> None:
    for _ in range(MAX_LISTED + 1):
        await studio.policy("classes", await studio.new_class(), late_fee_amount="5")
    await studio.policy("locations", studio.location, late_fee_amount="5.00")
    refusal = await refused(studio, studio_flow.change, Given({"currency": "JPY"}))
    assert ["the policy of location" in fault.msg for fault in refusal.faults] == [True]


async def test_a_new_policy_announces_the_classes_that_inherit_it(studio: BookingStudio) -> None:
    class_id = await studio.new_class()
    own = await studio.new_class(policy={"cancellation_window_minutes": 10})
    past = await studio.new_class(-600)
    before = await studio.get(f"/classes/{class_id}")
    await studio.staff(studio_flow.change, Given({"policy": {"cancellation_window_minutes": 60}}))
    after = await studio.get(f"/classes/{class_id}")
    assert after["cancellation_cutoff_at"] != before["cancellation_cutoff_at"]
    assert after["updated_at"] > before["updated_at"]
    assert await events_of(studio, class_id) == [
        ("class.updated", {"cancellation_cutoff_at": before["cancellation_cutoff_at"]})
    ]
    assert await events_of(studio, own) == await events_of(studio, past) == []
    await studio.staff(class_types.change, studio.class_type, Given({"policy": {"promotion_cutoff_minutes": 5}}))
    await studio.staff(locations.change, studio.location, Given({"policy": {"booking_closes_minutes_before": 5}}))
    changed = [list(previous) for _, previous in await events_of(studio, class_id)]
    assert changed == [["cancellation_cutoff_at"], ["promotion_cutoff_at"], ["booking_closes_at"]]


async def test_staff_limited_to_a_location_cannot_change_what_concerns_all(studio: BookingStudio) -> None:
    limited = person(studio, Role.MANAGER, studio.location)
    for flow, given in ((studio_flow.change, Given({"name": "X"})), (locations.create, Given({"name": "X"}))):
        assert (await refused(studio, flow, given, access=limited)).code is Code.PERMISSION_DENIED
    assert (await refused(studio, studio_flow.store_logo, png(), access=limited)).code is Code.PERMISSION_DENIED
    assert (await refused(studio, studio_flow.remove_logo, access=limited)).code is Code.PERMISSION_DENIED
    switching = await refused(studio, mails.switch_mails, MailKind.BOOKED, False, access=limited)
    assert switching.code is Code.PERMISSION_DENIED


async def test_a_logo_is_recorded(studio: BookingStudio) -> None:
    path = await studio.staff(studio_flow.store_logo, png())
    name = path.rpartition("/")[2]
    assert [fault.loc for fault in (await refused(studio, studio_flow.store_logo, b"no image")).faults] == [("logo",)]
    assert await studio.staff(studio_flow.remove_logo) is True
    assert await studio.staff(studio_flow.remove_logo) is False
    assert await audit_of(studio, studio.id) == [
        ("studio.logo", {"logo": [None, name]}),
        ("studio.logo", {"logo": [name, None]}),
    ]


# Locations, class types, instructors


@pytest.mark.parametrize(
    ("flows", "kind", "values", "change"),
    [
        (locations, "location", {"name": "Mitte", "city": "Berlin"}, {"city": None, "timezone": "Europe/Paris"}),
        (class_types, "class_type", {"name": "Yoga", "recovery": True}, {"recovery": None, "description": "Slow"}),
        (instructors, "instructor", {"name": "Ida", "tags": ["a", "b"]}, {"tags": ["c"], "tagline": "Calm"}),
    ],
)
async def test_rows_are_created_changed_and_deactivated(
    studio: BookingStudio, flows: Any, kind: str, values: dict[str, Any], change: dict[str, Any]
) -> None:
    row_id = (await studio.staff(flows.create, Given(values))).id
    path = f"/{kind.replace('_', '-')}s/{row_id}"
    created = await studio.get(path)
    assert created.items() >= values.items()
    await studio.staff(flows.change, row_id, Given(change))
    cleared = {"city": ""} if kind == "location" else {}
    assert (await studio.get(path)).items() >= {**change, **cleared}.items()
    assert (await studio.staff(flows.deactivate, row_id)).warnings == ()
    actions = await audit_of(studio, row_id)
    assert [action for action, _ in actions] == [f"{kind}.{verb}" for verb in ("create", "change", "deactivate")]
    assert actions[2][1] == {"active": [True, False]}
    assert set(actions[1][1]) == set(change)
    assert await refused(studio, flows.change, uuid4(), Given({"name": "X"})) == NOT_FOUND
    assert await refused(studio, flows.deactivate, uuid4()) == NOT_FOUND
    refusal = await refused(studio, flows.change, row_id, Given({"name": "", "nonsense": 1}))
    assert {fault.loc[0] for fault in refusal.faults} == {"name", "nonsense"}


async def test_one_location_is_primary(studio: BookingStudio) -> None:
    first = (await studio.staff(locations.create, Given({"name": "A", "is_primary": True}))).id
    second = (await studio.staff(locations.create, Given({"name": "B", "is_primary": True}))).id
    await studio.staff(locations.change, studio.location, Given({"is_primary": True}))
    primary = await studio.rows("locations", "is_primary")
    assert [row["id"] for row in primary] == [studio.location]
    for former in (first, second):
        assert (await audit_of(studio, former))[-1] == ("location.change", {"is_primary": [True, False]})


async def test_choosing_the_primary_location_needs_the_whole_studio(studio: BookingStudio) -> None:
    """It changes the former primary location as well, which staff who are limited to others do not have."""
    former = (await studio.staff(locations.create, Given({"name": "A", "is_primary": True}))).id
    limited = person(studio, Role.MANAGER, studio.location)
    for value in (True, False):
        refusal = await refused(studio, locations.change, studio.location, Given({"is_primary": value}), access=limited)
        assert refusal.code is Code.PERMISSION_DENIED
    assert (await studio.row("locations", former))["is_primary"]


async def test_limited_staff_do_not_change_what_other_locations_use(studio: BookingStudio) -> None:
    """A class type's rules and an instructor's name reach the classes of every location."""
    teacher = await studio.add("instructors", name="Ida")
    class_id = await studio.new_class(instructor_id=teacher)
    limited = person(studio, Role.MANAGER, studio.other_location)
    rules = Given({"policy": {"cancellation_window_minutes": 5}})
    for flow, *arguments in (
        (class_types.change, studio.class_type, rules),
        (class_types.deactivate, studio.class_type),
        (instructors.change, teacher, Given({"name": "X"})),
        (instructors.deactivate, teacher),
    ):
        assert (await refused(studio, flow, *arguments, access=limited)).code is Code.PERMISSION_DENIED
    await studio.change("classes", class_id, location_id=studio.other_location)
    async with studio.database.connection() as connection:
        assert not isinstance(await class_types.change(connection, limited, studio.class_type, rules), Refusal)


async def test_a_room_that_moves_away_from_its_classes_is_a_warning(studio: BookingStudio) -> None:
    class_id = await studio.new_class()
    moved = Given({"location_id": str(studio.other_location)})
    assert (
        await refused(studio, rooms.change, studio.room, moved._replace(strict=True))
    ).code is Code.SCHEDULE_CONFLICT
    saved = await studio.staff(rooms.change, studio.room, moved)
    assert [each.details for each in saved.warnings] == [{"classes": 1}]
    assert (await studio.row("classes", class_id))["location_id"] == studio.location


async def test_two_become_primary_at_once(studio: BookingStudio) -> None:
    async def become(location_id: UUID) -> Any:
        async with studio.database.connection() as connection:
            return await locations.change(connection, studio.access, location_id, Given({"is_primary": True}))

    await asyncio.gather(*(become(each) for each in (studio.location, studio.other_location)))
    assert len(await studio.rows("locations", "is_primary")) == 1


async def test_deactivating_what_classes_use_is_a_warning(studio: BookingStudio) -> None:
    instructor = await studio.add("instructors", name="Ida")
    await studio.new_class(instructor_id=instructor)
    await studio.new_class(-600, instructor_id=instructor)
    for flow, row_id in (
        (instructors.deactivate, instructor),
        (class_types.deactivate, studio.class_type),
        (rooms.deactivate, studio.room),
        (locations.deactivate, studio.location),
    ):
        refusal = await refused(studio, flow, row_id, True)
        assert refusal.code is Code.SCHEDULE_CONFLICT
        (warning,) = (await studio.staff(flow, row_id)).warnings
        assert (warning.code, warning.details["classes"]) == ("classes_scheduled", 1)


async def test_locations_of_others_do_not_exist_for_limited_staff(studio: BookingStudio) -> None:
    limited = person(studio, Role.MANAGER, studio.other_location)
    name = Given({"name": "X"})
    assert await refused(studio, locations.change, studio.location, name, access=limited) == NOT_FOUND
    assert await refused(studio, rooms.change, studio.room, name, access=limited) == NOT_FOUND
    room = Given({"name": "X", "capacity": 1, "location_id": str(studio.location)})
    refusal = await refused(studio, rooms.create, room, access=limited)
    assert [(fault.loc, fault.type) for fault in refusal.faults] == [(("location_id",), "not_found")]
    async with studio.database.connection() as connection:
        done = await locations.change(connection, limited, studio.other_location, name)
    assert not isinstance(done, Refusal)


# Rooms with spots


def room_of(studio: BookingStudio, *labels: str, **values: Any) -> Given:
    spots = [{"label": label, "x": number, "y": 0} for number, label in enumerate(labels)]
    return Given({"name": "Hall", "location_id": str(studio.location), "capacity": 3, "spots": spots, **values})


async def test_a_room_has_spots_that_members_choose(studio: BookingStudio) -> None:
    room = (await studio.staff(rooms.create, room_of(studio, "A1", "A2", "A3"))).id
    class_id = await studio.new_class(room_id=room, spot_selection_mode="required")
    listed = (await studio.get(f"/classes/{class_id}/spots"))["data"]
    assert [spot["label"] for spot in listed] == ["A1", "A2", "A3"]
    await studio.booked(class_id, await studio.new_member(), class_spot_id=listed[0]["id"])
    without = Given({"spots": [{"label": "A2"}, {"label": "B1"}]})
    refusal = await refused(studio, rooms.change, room, without)
    assert refusal == Refusal(Code.INVALID_TRANSITION, {"spots_with_bookings": ["A1"]})
    await studio.staff(rooms.change, room, Given({"spots": [{"label": "B1"}, {"label": "A1", "x": 9, "y": 9}]}))
    after = (await studio.get(f"/classes/{class_id}/spots"))["data"]
    assert {spot["label"]: spot["available"] for spot in after} == {"A1": False, "B1": True}
    assert (after[0]["id"] if after[0]["label"] == "A1" else after[1]["id"]) == listed[0]["id"], "the same spot, moved"
    moved = Given({"spots": [{"label": "B1", "x": 1, "y": 1}, {"label": "A1", "x": 9, "y": 9}]})
    for _ in range(2):
        await studio.staff(rooms.change, room, moved)
    entries = await audit_of(studio, room)
    assert [action for action, _ in entries] == ["room.create", *["room.spots"] * 3], "the repetition changed nothing"
    before, after = ({spot["label"]: (spot["x"], spot["y"]) for spot in spots} for spots in entries[-1][1]["spots"])
    assert after == {"A1": (9, 9), "B1": (1, 1)} != before


async def test_more_spots_than_capacity_is_a_warning(studio: BookingStudio) -> None:
    given = room_of(studio, "A1", "A2", capacity=1)
    assert (await refused(studio, rooms.create, given._replace(strict=True))).code is Code.SCHEDULE_CONFLICT
    (warning,) = (await studio.staff(rooms.create, given)).warnings
    assert warning.code == "spots_exceed_capacity"
    (warning,) = (
        await studio.staff(rooms.change, studio.room, Given({"capacity": 0, "spots": [{"label": "A"}]}))
    ).warnings
    assert warning.details == {"spots": 1}
    assert (await studio.staff(rooms.change, studio.room, Given({"spots": None}))).warnings == ()
    assert await studio.rows("room_spots", "room_id = $2", studio.room) == []


async def test_a_room_needs_a_location_that_is_in_use(studio: BookingStudio) -> None:
    await studio.staff(locations.deactivate, studio.other_location)
    refusal = await refused(studio, rooms.create, room_of(studio, location_id=str(studio.other_location)))
    assert [(fault.loc, fault.type) for fault in refusal.faults] == [(("location_id",), "inactive")]


async def test_removing_a_spot_waits_for_a_booking_that_chooses_it(studio: BookingStudio) -> None:
    """The booking holds its class; the change of the room waits for it, then sees the booking."""
    (spot,) = await studio.new_spots("A1")
    class_id = await studio.new_class(spot_selection_mode="optional")
    member = await studio.new_member()

    async def without_spots() -> Any:
        async with studio.database.connection() as connection:
            return await rooms.change(connection, studio.access, studio.room, Given({"spots": []}))

    async with studio.database.transaction() as booking:
        await booking.execute(
            "update classes set booked_count = 1 where studio_id = $1 and id = $2", studio.id, class_id
        )
        change = asyncio.create_task(without_spots())
        await somebody_waits(booking)
        await booking.execute(
            """insert into bookings (studio_id, id, class_id, member_id, status, class_spot_id, location_id,
                                     start_time, end_time)
               select $1, gen_random_uuid(), c.id, $3, 'confirmed', $4, c.location_id, c.start_time, c.end_time
               from classes c where c.studio_id = $1 and c.id = $2""",
            studio.id,
            class_id,
            member,
            spot,
        )
    assert await change == Refusal(Code.INVALID_TRANSITION, {"spots_with_bookings": ["A1"]})
