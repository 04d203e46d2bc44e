"""Which mails members get, and what these say."""

import re
from datetime import timedelta
from uuid import UUID

import pytest

from studiogate.flows import housekeeping
from studiogate.flows.bookings import attendance, staff, staff_bookings
from tests.support import booking_studio
from tests.support.mailroom import Mailroom, html_of, room, text_of
from tests.support.postman import postman
from tests.worker.test_mail import HEADERS

__all__ = ["postman", "room"]
pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio


async def test_a_booking_is_confirmed_once(room: Mailroom) -> None:
    member, address = await room.member()
    class_id = await room.studio.new_class(title="Flow")
    await room.studio.booked(class_id, member)
    assert await room.kinds() == [], "the booking itself queues nothing"
    for _ in range(2):
        await room.work()
    (mail,) = room.arrived(address)
    assert mail["Subject"].startswith("You are booked: Flow, ")
    assert mail["From"].endswith("<desk@studio.example>")
    assert room.studio.studio.slug in mail["From"], "in the studio's name"
    assert mail["Auto-Submitted"] == "auto-generated"
    start = (await room.studio.row("classes", class_id))["start_time"]
    assert f"{start.year}" in text_of(mail)
    assert "(America/New_York)" in text_of(mail)
    assert "Where: L, R" in text_of(mail)
    assert "Flow" in html_of(mail)


async def test_times_are_the_location_s_local_times(room: Mailroom) -> None:
    member, address = await room.member()
    await room.studio.change("locations", room.studio.location, timezone="Asia/Kolkata")
    class_id = await room.studio.new_class(start=booking_studio.utc(2031, 3, 1, 20, 0))
    await room.studio.booked(class_id, member)
    await room.work()
    (mail,) = room.arrived(address)
    assert "When: Sunday, 02 March 2031, 01:30 to 02:30 (Asia/Kolkata)" in text_of(mail)
    assert mail["Subject"] == "You are booked: Class, Sun 02 Mar, 01:30"


async def test_the_waitlist_and_the_promotion(room: Mailroom) -> None:
    class_id, (first,) = await room.studio.full_class()
    member, address = await room.member()
    await room.studio.waits(class_id, member)
    await room.work()
    (waits,) = room.arrived(address)
    assert waits["Subject"].startswith("You are on the waitlist: ")
    assert "Your position: 1" in text_of(waits)
    await room.studio.cancelled(first["id"])
    await room.work()
    _, promoted = room.arrived(address)
    assert promoted["Subject"].startswith("You have a place now: ")
    assert await room.kinds() == ["waitlisted", "promoted"], "members without an address get nothing"


async def test_a_seat_taken_by_an_own_request_is_a_booking(room: Mailroom) -> None:
    class_id, (first,) = await room.studio.full_class(90)
    await room.studio.policy("classes", class_id, promotion_cutoff_minutes=120)
    member, _ = await room.member()
    await room.studio.waits(class_id, member)
    await room.studio.cancelled(first["id"])
    await room.queue()
    await room.studio.booked(class_id, member)
    await room.queue()
    assert await room.kinds() == ["waitlisted", "booked"]


async def test_a_cancellation_comes_with_its_receipt(room: Mailroom) -> None:
    member, address = await room.member()
    class_id = await room.studio.new_class(60)
    await room.studio.policy("classes", class_id, late_action="fee_and_forfeit", late_fee_amount="12.50")
    booking = await room.studio.booked(class_id, member)
    await room.queue()
    receipt = await room.studio.cancelled(booking["id"])
    await room.work()
    _, mail = room.arrived(address)
    assert mail["Subject"].startswith("Your booking is cancelled: ")
    assert f"Receipt: {receipt['id']}" in text_of(mail)
    assert "Fee for the late cancellation: 12.50 USD" in text_of(mail)
    assert "Credits forfeited: 1" in text_of(mail)
    assert "Credits left: 9" in text_of(mail)
    assert "This cancellation costs nothing." not in text_of(mail)


async def test_a_cancelled_class_is_one_mail_per_member(room: Mailroom) -> None:
    class_id = await room.studio.new_class(capacity=1)
    (seated, first), (waiting, second) = await room.member(), await room.member()
    await room.studio.booked(class_id, seated)
    await room.studio.waits(class_id, waiting)
    await room.queue()
    await room.studio.staff(staff.cancel_class, class_id)
    await room.work()
    for address in (first, second):
        mail = room.arrived(address)[-1]
        assert mail["Subject"].startswith("Your class is cancelled: ")
        assert "This cancellation costs nothing." in text_of(mail)
    assert "Credits returned: 1" in text_of(room.arrived(first)[-1])
    assert (await room.kinds())[2:] == ["class_cancelled", "class_cancelled"]


async def test_a_changed_class_tells_everybody_in_it(room: Mailroom) -> None:
    teacher, other = [await room.studio.add("instructors", name=name) for name in ("Ada", "Ben <b>")]
    start = booking_studio.utc(2031, 6, 2, 14, 0)
    class_id = await room.studio.new_class(start=start, capacity=1, instructor_id=teacher)
    (seated, first), (waiting, second) = await room.member(), await room.member()
    await room.studio.booked(class_id, seated)
    await room.studio.waits(class_id, waiting)
    await room.work()
    moved = {"start_time": start + timedelta(hours=1), "end_time": start + timedelta(hours=2)}
    await room.change_class(
        class_id, **moved, location_id=room.studio.other_location, room_id=None, instructor_id=other
    )
    await room.work()
    for address in (first, second):
        mail = room.arrived(address)[-1]
        assert mail["Subject"] == "Your class has changed: Class, Mon 02 Jun, 11:00"
        when = "When: Monday, 02 June 2031, 11:00 to 12:00 (America/New_York) (before: Monday, 02 June 2031, 10:00 "
        assert when in text_of(mail)
        assert "Where: O (before: L, R)" in text_of(mail)
        assert "With: Ben <b> (before: Ada)" in text_of(mail)
        assert "Ben &lt;b&gt;" in html_of(mail)
    assert await room.kinds() == ["booked", "waitlisted", "class_changed", "class_changed"]


async def test_changes_that_members_need_not_know_send_nothing(room: Mailroom) -> None:
    member, _ = await room.member()
    class_id = await room.studio.new_class()
    booking = await room.studio.booked(class_id, member)
    await room.change_class(class_id, description="x")
    await room.studio.staff(staff.change_capacity, class_id, 20)
    await room.studio.move(class_id, 30)
    await room.studio.staff(attendance.mark, UUID(booking["id"]), "checked_in")
    await room.queue()
    assert await room.kinds() == ["booked"]


async def test_a_member_who_booked_after_the_change_knows_it(room: Mailroom) -> None:
    class_id = await room.studio.new_class()
    await room.change_class(class_id, room_id=None)
    member, _ = await room.member()
    await room.studio.booked(class_id, member)
    await room.queue()
    assert await room.kinds() == ["booked"]


async def test_what_is_no_longer_true_is_not_sent(room: Mailroom) -> None:
    """While the worker is down, a member books and cancels, another one waits and is promoted."""
    class_id, (first,) = await room.studio.full_class()
    member, _ = await room.member()
    await room.studio.waits(class_id, member)
    await room.studio.cancelled(first["id"])
    other = await room.studio.new_class()
    gone = await room.studio.booked(other, member)
    await room.studio.cancelled(gone["id"])
    await room.queue()
    assert await room.kinds() == ["promoted", "booking_cancelled"]


async def test_a_class_that_has_begun_is_past_but_receipts_are_sent(room: Mailroom) -> None:
    class_id, _ = await room.studio.full_class()
    (seated, _), (waiting, address) = await room.member(), await room.member()
    other = await room.studio.new_class()
    await room.studio.booked(other, seated)
    await room.studio.waits(class_id, waiting)
    for begun in (class_id, other):
        await room.studio.move(begun, -1)
    await housekeeping.expire_waitlists(room.runtime.database)
    await room.work()
    assert await room.kinds() == ["booking_cancelled"]
    (mail,) = room.arrived(address)
    assert "The class began and no place became free." in text_of(mail)


@pytest.mark.parametrize("text", HEADERS, ids=ascii)
async def test_no_header_and_no_markup_can_be_smuggled_in(room: Mailroom, text: str) -> None:
    text = text.replace("\x00", "\x01")  # PostgreSQL stores no NUL
    member, address = await room.member(first_name=text)
    await room.studio.sql("update studios set name = $2 where studio_id = $1", text)
    await room.studio.change("locations", room.studio.location, name=text)
    await room.studio.booked(await room.studio.new_class(title=text), member)
    await room.work()
    (mail,) = room.arrived(address)
    names = ["Auto-Submitted", "Content-Type", "Date", "From", "MIME-Version", "Message-ID", "Subject", "To"]
    ours = [name for name in mail if not name.startswith("X-")]
    assert sorted(ours) == names
    assert set(re.findall(r"<(\w+)", html_of(mail))) <= {
        *("html", "head", "meta", "title", "body", "div", "p", "h1", "table", "tr", "td")
    }


async def test_a_promotion_by_hand_and_a_cancellation_by_the_studio(room: Mailroom) -> None:
    class_id, (first,) = await room.studio.full_class()
    await room.studio.policy("classes", class_id, waitlist_mode="manual")
    member, address = await room.member()
    waiting = await room.studio.waits(class_id, member)
    await room.studio.staff(staff_bookings.cancel_booking, UUID(first["id"]))
    entry = await room.studio.entry(waiting)
    await room.studio.staff(staff_bookings.promote_entry, UUID(entry["id"]))
    await room.studio.staff(staff_bookings.cancel_booking, UUID(waiting["id"]), "The instructor is ill")
    await room.work()
    assert await room.kinds() == ["booking_cancelled"]
    text = text_of(room.arrived(address)[-1])
    assert "Credits returned: 1" in text
    assert "Reason: The instructor is ill" in text
