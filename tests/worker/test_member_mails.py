"""Which mails members get, and what these say."""

import re
from datetime import timedelta
from uuid import UUID

import pytest

from studiogate import clock
from studiogate.domain.mails import UNTRUE
from studiogate.flows import housekeeping
from studiogate.flows.bookings import mails as member_mails
from studiogate.flows.bookings import staff, staff_bookings
from tests.support import booking_studio
from tests.support.mail_studio import MailStudio, html_of, mail_studio, text_of
from tests.support.smtp_server import smtp_server
from tests.support.week_pages import NEW_YORK
from tests.worker.test_mail import HEADERS

__all__ = ["mail_studio", "smtp_server"]
pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio


async def test_a_booking_is_confirmed_once(mail_studio: MailStudio) -> None:
    member, address = await mail_studio.member()
    class_id = await mail_studio.studio.new_class(title="Flow")
    await mail_studio.studio.booked(class_id, member)
    assert await mail_studio.kinds() == [], "the booking itself queues nothing"
    for _ in range(2):
        await mail_studio.work()
    (mail,) = mail_studio.arrived(address)
    assert mail["Subject"].startswith("You are booked: Flow, ")
    assert mail["From"].endswith("<desk@studio.example>")
    assert mail_studio.studio.studio.slug in mail["From"], "in the studio's name"
    assert mail["Auto-Submitted"] == "auto-generated"
    start = (await mail_studio.studio.row("classes", class_id))["start_time"].astimezone(NEW_YORK)
    assert f"{start.year}" in text_of(mail)
    assert "(America/New_York)" in text_of(mail)
    assert "Where: L, R" in text_of(mail)
    assert "Flow" in html_of(mail)


async def test_times_are_the_location_s_local_times(mail_studio: MailStudio) -> None:
    member, address = await mail_studio.member()
    await mail_studio.studio.change("locations", mail_studio.studio.location, timezone="Asia/Kolkata")
    class_id = await mail_studio.studio.new_class(start=booking_studio.utc(2031, 3, 1, 20, 0))
    await mail_studio.studio.booked(class_id, member)
    await mail_studio.work()
    (mail,) = mail_studio.arrived(address)
    assert "When: Sunday, 2 March 2031, 01:30 to 02:30 (Asia/Kolkata)" in text_of(mail)
    assert mail["Subject"] == "You are booked: Class, Sun 2 Mar, 01:30"


async def test_the_waitlist_and_the_promotion(mail_studio: MailStudio) -> None:
    class_id, (first,) = await mail_studio.studio.full_class()
    member, address = await mail_studio.member()
    await mail_studio.studio.waits(class_id, member)
    await mail_studio.work()
    (waits,) = mail_studio.arrived(address)
    assert waits["Subject"].startswith("You are on the waitlist: ")
    assert "Your position: 1" in text_of(waits)
    await mail_studio.studio.cancelled(first["id"])
    await mail_studio.work()
    _, promoted = mail_studio.arrived(address)
    assert promoted["Subject"].startswith("You have a place now: ")
    assert await mail_studio.kinds() == ["waitlisted", "promoted"], "members without an address get nothing"


async def test_a_seat_taken_by_an_own_request_is_a_booking(mail_studio: MailStudio) -> None:
    class_id, (first,) = await mail_studio.studio.full_class(90)
    await mail_studio.studio.policy("classes", class_id, promotion_cutoff_minutes=120)
    member, _ = await mail_studio.member()
    await mail_studio.studio.waits(class_id, member)
    await mail_studio.studio.cancelled(first["id"])
    await mail_studio.queue()
    await mail_studio.studio.booked(class_id, member)
    await mail_studio.queue()
    assert await mail_studio.kinds() == ["waitlisted", "booked"]


async def test_a_cancellation_comes_with_its_receipt(mail_studio: MailStudio) -> None:
    member, address = await mail_studio.member()
    class_id = await mail_studio.studio.new_class(60)
    await mail_studio.studio.policy("classes", class_id, late_action="fee_and_forfeit", late_fee_amount="12.50")
    booking = await mail_studio.studio.booked(class_id, member)
    await mail_studio.work()
    receipt = await mail_studio.studio.cancelled(booking["id"])
    await mail_studio.work()
    _, mail = mail_studio.arrived(address)
    assert mail["Subject"].startswith("Your booking is cancelled: ")
    assert f"Receipt: {receipt['id']}" in text_of(mail)
    assert "Fee for the late cancellation: 12.50 USD" in text_of(mail)
    assert "Credits forfeited: 1" in text_of(mail)
    assert "Credits left: 9" in text_of(mail)
    assert "This cancellation costs nothing." not in text_of(mail)


async def test_a_cancelled_class_is_one_mail_per_member(mail_studio: MailStudio) -> None:
    class_id = await mail_studio.studio.new_class(capacity=1)
    (seated, first), (waiting, second) = await mail_studio.member(), await mail_studio.member()
    await mail_studio.studio.booked(class_id, seated)
    await mail_studio.studio.waits(class_id, waiting)
    await mail_studio.queue()
    await mail_studio.studio.staff(staff.cancel_class, class_id)
    await mail_studio.work()
    for address in (first, second):
        mail = mail_studio.arrived(address)[-1]
        assert mail["Subject"].startswith("Your class is cancelled: ")
        assert "This cancellation costs nothing." in text_of(mail)
    assert "Credits returned: 1" in text_of(mail_studio.arrived(first)[-1])
    assert (await mail_studio.kinds())[2:] == ["class_cancelled", "class_cancelled"]


async def test_a_changed_class_notifies_everybody_in_it(mail_studio: MailStudio) -> None:
    teacher, other = [await mail_studio.studio.add("instructors", name=name) for name in ("Ada", "Ben <b>")]
    start = booking_studio.utc(2031, 6, 2, 14, 0)
    class_id = await mail_studio.studio.new_class(start=start, capacity=1, instructor_id=teacher)
    (seated, first), (waiting, second) = await mail_studio.member(), await mail_studio.member()
    await mail_studio.studio.booked(class_id, seated)
    await mail_studio.studio.waits(class_id, waiting)
    await mail_studio.work()
    moved = {"start_time": start + timedelta(hours=1), "end_time": start + timedelta(hours=2)}
    await mail_studio.change_class(
        class_id, **moved, location_id=mail_studio.studio.other_location, room_id=None, instructor_id=other
    )
    await mail_studio.work()
    for address in (first, second):
        mail = mail_studio.arrived(address)[-1]
        assert mail["Subject"] == "Your class has changed: Class, Mon 2 Jun, 11:00"
        when = "When: Monday, 2 June 2031, 11:00 to 12:00 (America/New_York) (before: Monday, 2 June 2031, 10:00 "
        assert when in text_of(mail)
        assert "Where: O (before: L, R)" in text_of(mail)
        assert "With: Ben <b> (before: Ada)" in text_of(mail)
        assert "Ben &lt;b&gt;" in html_of(mail)
    assert await mail_studio.kinds() == ["booked", "waitlisted", "class_changed", "class_changed"]


async def test_changes_that_members_need_not_know_send_nothing(mail_studio: MailStudio) -> None:
    member, _ = await mail_studio.member()
    class_id = await mail_studio.studio.new_class()
    booking = await mail_studio.studio.booked(class_id, member)
    await mail_studio.change_class(class_id, description="x")
    await mail_studio.studio.staff(staff.change_capacity, class_id, 20)
    await mail_studio.studio.move(class_id, 30)
    await mail_studio.studio.staff(staff_bookings.mark, UUID(booking["id"]), "checked_in")
    await mail_studio.queue()
    assert await mail_studio.kinds() == ["booked"]


async def test_a_member_who_booked_after_the_change_knows_it(mail_studio: MailStudio) -> None:
    class_id = await mail_studio.studio.new_class()
    await mail_studio.change_class(class_id, room_id=None)
    member, _ = await mail_studio.member()
    await mail_studio.studio.booked(class_id, member)
    await mail_studio.queue()
    assert await mail_studio.kinds() == ["booked"]


async def test_what_is_no_longer_true_is_not_sent(mail_studio: MailStudio) -> None:
    """While the worker is down, a member books and cancels, another one waits and is promoted."""
    class_id, (first,) = await mail_studio.studio.full_class()
    member, _ = await mail_studio.member()
    await mail_studio.studio.waits(class_id, member)
    await mail_studio.studio.cancelled(first["id"])
    other = await mail_studio.studio.new_class()
    gone = await mail_studio.studio.booked(other, member)
    await mail_studio.studio.cancelled(gone["id"])
    await mail_studio.queue()
    assert await mail_studio.kinds() == ["promoted", "booking_cancelled"]


async def test_a_class_that_has_begun_is_past_but_receipts_are_sent(mail_studio: MailStudio) -> None:
    class_id, _ = await mail_studio.studio.full_class()
    (seated, _), (waiting, address) = await mail_studio.member(), await mail_studio.member()
    other = await mail_studio.studio.new_class()
    await mail_studio.studio.booked(other, seated)
    await mail_studio.studio.waits(class_id, waiting)
    for begun in (class_id, other):
        await mail_studio.studio.move(begun, -1)
    await housekeeping.expire_waitlists(mail_studio.runtime.database)
    await mail_studio.work()
    assert await mail_studio.kinds() == ["booking_cancelled"]
    (mail,) = mail_studio.arrived(address)
    assert "The class began and no place became free." in text_of(mail)


@pytest.mark.parametrize("text", HEADERS, ids=ascii)
async def test_no_header_and_no_markup_can_be_smuggled_in(mail_studio: MailStudio, text: str) -> None:
    text = text.replace("\x00", "\x01")  # PostgreSQL stores no NUL
    member, address = await mail_studio.member(first_name=text)
    await mail_studio.studio.sql("update studios set name = $2 where studio_id = $1", text)
    await mail_studio.studio.change("locations", mail_studio.studio.location, name=text)
    await mail_studio.studio.booked(await mail_studio.studio.new_class(title=text), member)
    await mail_studio.work()
    (mail,) = mail_studio.arrived(address)
    names = ["Auto-Submitted", "Content-Type", "Date", "From", "MIME-Version", "Message-ID", "Subject", "To"]
    ours = [name for name in mail if not name.startswith("X-")]
    assert sorted(ours) == names
    assert set(re.findall(r"<(\w+)", html_of(mail))) <= {
        *("html", "head", "meta", "title", "body", "div", "p", "h1", "table", "tr", "td")
    }


async def test_a_promotion_by_hand_and_a_cancellation_by_the_studio(mail_studio: MailStudio) -> None:
    class_id, (first,) = await mail_studio.studio.full_class()
    await mail_studio.studio.policy("classes", class_id, waitlist_mode="manual")
    member, address = await mail_studio.member()
    waiting = await mail_studio.studio.waits(class_id, member)
    await mail_studio.studio.staff(staff_bookings.cancel_booking, UUID(first["id"]))
    entry = await mail_studio.studio.entry(waiting)
    await mail_studio.studio.staff(staff_bookings.promote_entry, UUID(entry["id"]))
    await mail_studio.studio.staff(staff_bookings.cancel_booking, UUID(waiting["id"]), "The instructor is ill")
    await mail_studio.work()
    assert await mail_studio.kinds() == ["booking_cancelled"]
    text = text_of(mail_studio.arrived(address)[-1])
    assert "Credits returned: 1" in text
    assert "Reason: The instructor is ill" in text


async def refuse_once(mail_studio: MailStudio) -> None:
    """Let the mail server put off the mails that are queued; they are due again at once."""
    await mail_studio.queue()
    mail_studio.smtp_server.answers += ["421 try later"] * len(await mail_studio.kinds())
    await mail_studio.work()
    assert mail_studio.smtp_server.answers == []
    await mail_studio.studio.sql("update mails set due_at = now() - interval '1 second' where studio_id = $1")


async def states(mail_studio: MailStudio) -> list[tuple[str, str]]:
    rows = await mail_studio.studio.rows("mails", "booking_id is not null order by created_at, id")
    return [(row["kind"], row["status"]) for row in rows]


async def test_a_queued_mail_that_is_no_longer_true_is_dropped(mail_studio: MailStudio) -> None:
    """The mail server refuses at first; in the meantime, the booking is cancelled."""
    member, address = await mail_studio.member()
    class_id = await mail_studio.studio.new_class()
    booking = await mail_studio.studio.booked(class_id, member)
    await mail_studio.change_class(class_id, room_id=None)
    await refuse_once(mail_studio)
    await mail_studio.studio.cancelled(booking["id"])
    await mail_studio.work()
    (mail,) = mail_studio.arrived(address)
    assert mail["Subject"].startswith("Your booking is cancelled: ")
    assert await states(mail_studio) == [
        ("booked", "failed"),
        ("class_changed", "failed"),
        ("booking_cancelled", "sent"),
    ]
    problems = {row["problem"] for row in await mail_studio.studio.rows("mails", "status = 'failed'")}
    assert problems == {UNTRUE}


async def test_a_queued_mail_about_a_class_that_has_begun_is_dropped_unless_it_is_a_receipt(
    mail_studio: MailStudio,
) -> None:
    (member, _), (other, address) = await mail_studio.member(), await mail_studio.member()
    class_id = await mail_studio.studio.new_class()
    await mail_studio.studio.booked(class_id, member)
    booking = await mail_studio.studio.booked(class_id, other)
    await mail_studio.studio.cancelled(booking["id"])
    await refuse_once(mail_studio)
    await mail_studio.studio.move(class_id, -1)
    await mail_studio.work()
    assert sorted(await states(mail_studio)) == [("booked", "failed"), ("booking_cancelled", "sent")]
    assert len(mail_studio.smtp_server.taken) == len(mail_studio.arrived(address)) == 1


async def test_a_queued_mail_that_is_older_than_a_day_is_dropped(mail_studio: MailStudio) -> None:
    member, _ = await mail_studio.member()
    for hours in (25, 23):
        await mail_studio.studio.booked(await mail_studio.studio.new_class(), member)
        await mail_studio.queue()
        await mail_studio.studio.sql(
            f"update events set created_at = now() - interval '{hours} hours'"
            " where studio_id = $1 and created_at > now() - interval '1 hour'"
        )
    await mail_studio.work()
    assert await states(mail_studio) == [("booked", "failed"), ("booked", "sent")]


async def test_dropped_mails_do_not_hold_up_the_others(mail_studio: MailStudio) -> None:
    (member, _), (other, address) = await mail_studio.member(remaining=None), await mail_studio.member()
    begun = [await mail_studio.studio.new_class() for _ in range(3)]
    for class_id in begun:
        await mail_studio.studio.booked(class_id, member)
    await mail_studio.queue()
    for class_id in begun:
        await mail_studio.studio.move(class_id, -1)
    await mail_studio.studio.booked(await mail_studio.studio.new_class(), other)
    await mail_studio.queue()
    (claimed,) = await member_mails.claim(mail_studio.runtime.database, mail_studio.studio.id, 1)
    assert claimed.message("desk@studio.example", clock.now())["To"] == address
