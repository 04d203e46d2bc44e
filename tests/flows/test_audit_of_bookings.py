"""What partners do to bookings is in the audit log, an entry per request, also if requests share a transaction; and the
doctor finds what staff did without an entry."""

import json
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.domain.events import EventType
from studiogate.domain.forms.states import SubmissionStatus
from studiogate.flows import catalog, events
from studiogate.flows.bookings import staff
from studiogate.flows.forms import staff as form_staff
from studiogate.flows.members import staff as members
from studiogate.flows.schedule import rooms
from studiogate.flows.schedule.rows import Given
from tests.support import booking_studio
from tests.support.batches import in_one_batch
from tests.support.booking_studio import SOON, BookingStudio, wire_body
from tests.support.seed import issue_key
from tests.support.staff import did

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio


async def entries(studio: BookingStudio) -> list[Any]:
    return await studio.rows("audit_log", "true order by occurred_at, id")


def changes(entry: Any) -> Any:
    return json.loads(entry["changes"])


def prefix(key: str) -> str:
    return key.split("_")[2]


async def test_a_booking_and_its_cancellation(studio: BookingStudio) -> None:
    (spot,) = await studio.new_spots("1")
    class_id, member = await studio.new_class(spot_selection_mode="optional"), await studio.new_member()
    booking = await studio.booked(class_id, member, class_spot_id=spot)
    await studio.cancelled(booking["id"])
    made, cancelled = await entries(studio)
    assert (made["action"], cancelled["action"]) == ("booking.create", "booking.cancel")
    for each in (made, cancelled):
        assert (each["subject_type"], str(each["subject_id"])) == ("booking", booking["id"])
        assert (each["channel"], each["actor_name"], each["account_id"]) == ("partner", prefix(studio.key), None)
        assert each["address"]
    assert changes(made) == {
        "class_id": [None, str(class_id)],
        "member_id": [None, str(member)],
        "status": [None, "confirmed"],
        "class_spot_id": [None, str(spot)],
        "membership_id": [None, str((await studio.row("bookings", booking["id"]))["membership_id"])],
        "credits_taken": [None, 1],
    }
    assert changes(cancelled) == {"status": ["confirmed", "cancelled"], "class_spot_id": [str(spot), None]}


async def test_a_place_on_the_waitlist_that_its_member_leaves(studio: BookingStudio) -> None:
    class_id, _ = await studio.full_class()
    waiting = await studio.waits(class_id, await studio.new_member())
    await studio.cancelled(waiting["id"])
    *_, joined, left = await entries(studio)
    assert changes(joined)["status"] == [None, "waitlisted"]
    assert changes(left) == {"status": ["waitlisted", "cancelled"]}


async def test_a_waiting_member_who_takes_a_free_seat(studio: BookingStudio) -> None:
    class_id, (first,) = await studio.full_class(30, policy={"promotion_cutoff_minutes": 60})
    member = await studio.new_member()
    waiting = await studio.waits(class_id, member)
    await studio.cancelled(first["id"])
    await studio.booked(class_id, member)
    entry = (await entries(studio))[-1]
    assert (entry["action"], str(entry["subject_id"])) == ("booking.change", waiting["id"])
    assert changes(entry)["status"] == ["waitlisted", "confirmed"]
    assert (entry["channel"], entry["actor_name"]) == ("partner", prefix(studio.key))


async def test_requests_of_one_batch_have_an_entry_each(studio: BookingStudio) -> None:
    class_id, other_key = await studio.new_class(capacity=2), await issue_key(studio.api.connection, studio.studio)
    one, other, late = [wire_body(class_id, await studio.new_member()) for _ in range(3)]
    answers = await in_one_batch(
        studio,
        [
            studio.post(one, "the same"),
            studio.post(other, key=other_key),
            studio.post(one, "the same"),
            studio.post(late),
        ],
    )
    assert [answer.status for answer in answers] == [201, 201, 201, 409]
    assert [(str(each["subject_id"]), each["actor_name"]) for each in await entries(studio)] == [
        (answers[0].json()["id"], prefix(studio.key)),
        (answers[1].json()["id"], prefix(other_key)),
    ]


async def test_staff_have_one_entry_for_the_whole_action(studio: BookingStudio) -> None:
    class_id, bookings = await studio.full_class(SOON, capacity=3)
    before = len(await entries(studio))
    await did(studio, staff.cancel_class, class_id)
    assert [each["action"] for each in (await entries(studio))[before:]] == ["class.cancel"]
    assert {await studio.status(booking) for booking in bookings} == {"cancelled"}


async def test_the_doctor_finds_a_change_by_staff_without_an_entry(studio: BookingStudio) -> None:
    class_id, _ = await studio.full_class()
    await did(studio, staff.cancel_class, class_id)
    assert await studio.findings() == []
    remembered = "update audit_log set transaction_id = {} where studio_id = $1 and action = 'class.cancel'"
    transaction_id = next(each["transaction_id"] for each in await entries(studio) if each["action"] == "class.cancel")
    await studio.sql(remembered.format("'1'"))
    found = await studio.findings()
    assert {(finding.subject, finding.level) for finding in found} == {("audit log", "fault")}
    assert len(found) == 2, "the class and its booking"
    await studio.sql(remembered.format(f"'{transaction_id}'"))


UNRECORDED = {
    "rooms": "capacity = capacity + 1",
    "products": "name = 'Cheaper'",
    "members": "suspended = not suspended",
    "form_submissions": "status = 'spam'",
}
# The doctor also compares these with their last event.
ANNOUNCED = ("rooms", "products")


@pytest.mark.parametrize("table", [*UNRECORDED, "notes"])
async def test_the_doctor_finds_what_was_changed_without_event_and_entry(studio: BookingStudio, table: str) -> None:
    member = await studio.new_member()
    room = Given({"name": "Hall", "location_id": str(studio.location), "capacity": 3, "spots": []})
    await did(studio, rooms.create, room)
    await did(studio, catalog.create_product, {"key": uuid4().hex, "name": "Ten", "product_type": "package"})
    await did(studio, members.suspend, member)
    await did(studio, members.add_note, member, "Bad knee.")
    submission = await studio.submit(await studio.new_form(), member)
    await did(studio, form_staff.decide, submission, SubmissionStatus.CONFIRMED)
    assert await studio.findings() == []
    table, change = (table, UNRECORDED[table]) if table in UNRECORDED else ("members", "staff_notes = ''")
    about = "select subject_id from audit_log"
    planted = studio.api.connection.transaction()
    await planted.start()
    await studio.sql(f"update {table} set {change} where studio_id = $1 and id in ({about})")
    found = await studio.findings()
    await planted.rollback()
    subjects = ["announced changes"] * (table in ANNOUNCED) + ["audited values"]
    assert sorted((finding.subject, finding.level) for finding in found) == [(each, "fault") for each in subjects]
    texts = {finding.subject: finding.text for finding in found}
    assert f"{change.partition(' ')[0]} was changed" in texts["audited values"]
    if table in ANNOUNCED:
        assert f"{table.removesuffix('s')} " in texts["announced changes"]
        assert "was changed without an event" in texts["announced changes"]


async def test_a_sample_event_is_recorded(studio: BookingStudio) -> None:
    member = await studio.new_member()
    assert await events.trigger(studio.api.connection, studio.access, EventType.MEMBER_UPDATED) == member
    (entry,) = await entries(studio)
    assert (entry["action"], entry["subject_type"], entry["subject_id"]) == ("event.trigger", "member", member)


async def test_a_sample_event_is_about_a_row_that_it_could_be_about(studio: BookingStudio) -> None:
    class_id = await studio.new_class()
    live, gone = [await studio.booked(class_id, await studio.new_member()) for _ in range(2)]
    await studio.cancelled(gone["id"])
    expected = {
        EventType.BOOKING_CREATED: UUID(live["id"]),
        EventType.BOOKING_CANCELLED: UUID(gone["id"]),
        EventType.CLASS_UPDATED: class_id,
        EventType.CLASS_CANCELLED: None,
        EventType.WEBHOOK_ENDPOINT_DISABLED: None,
    }
    found = {each: await events.trigger(studio.api.connection, studio.access, each) for each in expected}
    assert found == expected
