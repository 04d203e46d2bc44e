"""Attendance is marked by staff and by the class's own instructor, and leaves an audit entry."""

import json
from uuid import UUID

import pytest

from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import Role
from studiogate.flows.bookings import staff_bookings
from tests.flows.test_desk import person
from tests.support import booking_studio
from tests.support.booking_studio import HOUR, BookingStudio
from tests.support.staff import OF_STAFF

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio


async def soon(studio: BookingStudio, instructor: UUID | None = None) -> UUID:
    """Return a booking in a class that begins within the hour."""
    class_id = await studio.new_class(HOUR / 2, instructor_id=instructor)
    return UUID((await studio.booked(class_id, await studio.new_member()))["id"])


async def test_every_mark_is_in_the_audit_log(studio: BookingStudio) -> None:
    booking, connection = await soon(studio), studio.api.connection
    desk = person(studio, Role.FRONT_DESK)
    assert await staff_bookings.mark(connection, desk, booking, "checked_in") == "checked_in"
    assert await staff_bookings.mark(connection, desk, booking, "confirmed", undoes="checked_in") == "confirmed"
    await studio.move((await studio.row("bookings", booking))["class_id"], -1)
    assert await staff_bookings.mark(connection, desk, booking, "no_show") == "no_show"
    assert await staff_bookings.mark(connection, desk, booking, "checked_in", undoes="no_show") == "checked_in"
    entries = await studio.rows("audit_log", f"{OF_STAFF} order by occurred_at")
    assert [(entry["action"], json.loads(entry["changes"])) for entry in entries] == [
        ("booking.check_in", {"status": ["confirmed", "checked_in"]}),
        ("booking.check_in_undone", {"status": ["checked_in", "confirmed"]}),
        ("booking.no_show", {"status": ["confirmed", "no_show"]}),
        ("booking.no_show_undone", {"status": ["no_show", "checked_in"]}),
    ]
    assert {entry["subject_id"] for entry in entries} == {booking}
    emitted = await studio.rows("events", "type = 'booking.updated' order by created_at")
    assert [json.loads(event["previous_attributes"])["status"] for event in emitted] == [
        "confirmed",
        "checked_in",
        "confirmed",
        "no_show",
    ]


async def test_an_instructor_marks_their_own_classes_only(studio: BookingStudio) -> None:
    ada, ben = [await studio.add("instructors", name=name) for name in ("Ada", "Ben")]
    own, other, nobody = await soon(studio, ada), await soon(studio, ben), await soon(studio)
    connection, access = studio.api.connection, person(studio, Role.INSTRUCTOR, instructor=ada)
    assert await staff_bookings.mark(connection, access, own, "checked_in") == "checked_in"
    for booking in (other, nobody):
        assert await staff_bookings.mark(connection, access, booking, "checked_in") == Refusal(Code.NOT_FOUND)
    unknown = person(studio, Role.INSTRUCTOR)
    for booking in (own, nobody):
        assert await staff_bookings.mark(connection, unknown, booking, "checked_in") == Refusal(Code.NOT_FOUND)
    assert len(await studio.rows("audit_log", OF_STAFF)) == 1


async def test_a_location_s_desk_marks_its_own_classes_only(studio: BookingStudio) -> None:
    booking, connection = await soon(studio), studio.api.connection
    elsewhere = person(studio, Role.FRONT_DESK, studio.other_location)
    assert await staff_bookings.mark(connection, elsewhere, booking, "checked_in") == Refusal(Code.NOT_FOUND)
    here = person(studio, Role.FRONT_DESK, studio.location)
    assert await staff_bookings.mark(connection, here, booking, "checked_in") == "checked_in"


async def test_who_may_mark_cancel_and_promote(studio: BookingStudio) -> None:
    connection, booking = studio.api.connection, await soon(studio)
    developer = person(studio, Role.DEVELOPER)
    denied = await staff_bookings.mark(connection, developer, booking, "checked_in")
    assert denied == Refusal(Code.PERMISSION_DENIED, {"required_permission": "attendance"})
    instructor = person(studio, Role.INSTRUCTOR)
    for flow in (staff_bookings.cancel_booking, staff_bookings.promote_entry):
        refused = await flow(connection, instructor, booking)
        assert refused == Refusal(Code.PERMISSION_DENIED, {"required_permission": "bookings"})
