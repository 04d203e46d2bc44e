"""Previews for staff: who is affected by cancelling or moving a class, and a flow that is only tried out."""

from dataclasses import replace
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest

from studiogate.domain.access import Access
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import FormToken, Role
from studiogate.flows import staff_flow
from studiogate.flows.bookings import staff
from studiogate.flows.schedule import closures
from studiogate.flows.schedule.rows import Given
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import new_id
from tests.support import booking_studio
from tests.support.booking_studio import DAY, SOON, BookingStudio
from tests.support.staff import OF_STAFF, person

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio


async def test_the_preview_of_a_cancellation_says_what_the_cancellation_does(studio: BookingStudio) -> None:
    class_id = await studio.new_class(capacity=3)
    people = [("Ada", 3), ("Ben", None), ("Cem", 1)]
    for first, remaining in people:
        await studio.booked(class_id, await studio.new_member(remaining, first_name=first, last_name="M"))
    await studio.imported_booking(await studio.new_class(), await studio.new_member())
    await studio.waits(class_id, await studio.new_member(first_name="Aaron", last_name="M"))
    found = await staff.affected_by_cancelling(studio.api.connection, studio.access, class_id)
    assert found is not None
    assert [(each.name, each.is_waiting, each.credits_returned) for each in found] == [
        ("Ada M", False, 1),
        ("Ben M", False, 0),
        ("Cem M", False, 1),
        ("Aaron M", True, 0),
    ]
    done = await studio.staff(staff.cancel_class, class_id)
    assert (done.bookings_cancelled, done.credits_returned) == (
        len(found),
        sum(each.credits_returned for each in found),
    )


async def test_a_class_elsewhere_has_no_preview(studio: BookingStudio) -> None:
    limited = person(studio, Role.MANAGER, studio.other_location)
    class_id = await studio.new_class()
    assert await staff.affected_by_cancelling(studio.api.connection, limited, class_id) is None


async def test_moving_names_members_with_another_class_at_the_new_time(studio: BookingStudio) -> None:
    class_id, other = await studio.new_class(SOON), await studio.new_class(SOON + DAY, room_id=None)
    long = await studio.new_class(SOON - DAY, length=4 * DAY, room_id=None)
    free, busy, away = [await studio.new_member(first_name=name, last_name="M") for name in ("Ada", "Ben", "Cem")]
    for member in (free, busy, away):
        await studio.booked(class_id, member)
    await studio.booked(other, busy)
    await studio.imported_booking(long, away)
    start = (await studio.row("classes", other))["start_time"]
    hour = timedelta(minutes=60)

    async def overlapping(offset: timedelta) -> set[str]:
        between = (start + offset, start + offset + hour)
        found = await staff.affected_by_moving(studio.api.connection, studio.access, class_id, between)
        assert len(found) == 3
        return {each.name for each in found if each.overlaps}

    assert await overlapping(timedelta(minutes=59)) == {"Ben M", "Cem M"}
    assert await overlapping(hour) == {"Cem M"}, "one ends when the other begins"
    assert await overlapping(timedelta(days=9)) == set()


async def test_the_preview_of_a_closure_is_what_it_cancels(studio: BookingStudio) -> None:
    class_id = await studio.new_class(5 * DAY)
    await studio.new_class(9 * DAY)
    day = str((await studio.row("classes", class_id))["start_time"].astimezone(ZoneInfo("America/New_York")).date())
    given = Given({"first_date": day, "last_date": day, "mode": "cancel", "location_id": str(studio.location)})
    assert await closures.preview(studio.api.connection, studio.access, given) == [class_id]
    assert await studio.rows("closures") == []
    assert (await studio.staff(closures.create, given)).cancelled == 1
    wrong = Given({**given.values, "mode": "never"})
    refusal = await closures.preview(studio.api.connection, studio.access, wrong)
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.VALIDATION_ERROR


async def test_what_is_tried_out_leaves_nothing_and_does_not_use_the_form_up(studio: BookingStudio) -> None:
    class_id = await studio.new_class()
    await studio.booked(class_id, await studio.new_member(3))
    access = person(studio, Role.MANAGER)
    assert access.staff is not None
    token = FormToken("a" * 24, new_id())
    access = replace(access, staff=replace(access.staff, form=token))
    before = await studio.snapshot()

    async def cancel(connection: Connection, access: Access) -> staff.CancelledClass | Refusal:
        return await staff.cancel_class(connection, access, class_id)

    tried = await staff_flow.previewed(studio.api.connection, access, cancel)
    assert tried == staff.CancelledClass(1, 1)
    assert await studio.snapshot() == before
    assert (await studio.rows("audit_log", OF_STAFF), await studio.rows("staff_form_tokens")) == ([], [])
    refused = await staff_flow.previewed(studio.api.connection, studio.access.within(()), cancel)
    assert refused == Refusal(Code.NOT_FOUND)
