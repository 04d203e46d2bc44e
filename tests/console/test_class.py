"""Class: everything of one class, its spot map and history, and what a manager changes."""

import re
from uuid import UUID

import pytest

from studiogate.domain.staff import Role
from studiogate.storage.bookings.roster import MAX_PEOPLE
from tests.support.booking_studio import HOUR, BookingStudio
from tests.support.console import ORIGIN, Console, texts

pytestmark = pytest.mark.anyio


async def test_everything_of_a_class(console: Console, studio: BookingStudio) -> None:
    taken, _ = await studio.new_spots("Bike 1", "Bike 2")
    class_id = await studio.new_class(5 * HOUR, title="Ride", spot_selection_mode="optional", description="Ride hard.")
    await studio.booked(class_id, await studio.new_member(first_name="Priya", last_name="Nair"), class_spot_id=taken)
    page = await console.get(f"/console/classes/{class_id}")
    shown = texts(page)
    for text in ("Ride", "Priya Nair", "Bike 1 · P, 9 left", "Spot map", "History", "Ride hard.", "needs cover"):
        assert text in shown
    assert "1 of 2 spots taken" in page.text
    assert re.findall(r"<title>(Bike[^<]*)</title>", page.text) == ["Bike 1: Priya Nair", "Bike 2: free"]
    assert (await console.get("/console/classes/nonsense")).status_code == 404


async def test_the_history_says_who_and_by_whom(console: Console, studio: BookingStudio) -> None:
    class_id, (booking,) = await studio.full_class(5 * HOUR)
    key = (await studio.rows("credentials"))[0]["name"]
    noor = await studio.waits(class_id, await studio.new_member(first_name="Noor", last_name="Haddad"))
    await studio.cancelled(booking["id"])
    await console.post(f"/console/schedule/classes/{class_id}", {"capacity": "4"})
    lines = re.findall(r"<li>(<time.*?)</li>", (await console.get(f"/console/classes/{class_id}")).text, re.DOTALL)
    shown = [re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", line)).strip() for line in lines]
    assert [re.sub(r"^\S+ \d+ \S+, \d\d:\d\d ", "", line) for line in shown] == [
        "Capacity changed from 1 to 4 Sam",
        "Noor Haddad promoted automatic",
        f"{(await studio.row('members', UUID(booking['member_id'])))['name']} cancelled late, credit forfeited {key}",
        f"Noor Haddad joined the waitlist {key}",
        f"{(await studio.row('members', UUID(booking['member_id'])))['name']} booked {key}",
    ]
    assert await studio.status(noor) == "confirmed"
    assert console.person is not None
    await console.people.sql("update staff_accounts set name = '' where id = $1", console.person.account_id)
    assert f"Capacity changed from 1 to 4 {console.person.email}" in texts(
        await console.get(f"/console/classes/{class_id}")
    )


async def test_a_manager_changes_a_class_and_stays_on_its_page(console: Console, studio: BookingStudio) -> None:
    """The forms are those of the schedule. They lead back to where they were opened, the message has an undo."""
    class_id, _ = await studio.full_class(5 * HOUR)
    waits = await studio.waits(class_id, await studio.new_member())
    own, path = f"/console/classes/{class_id}", f"/console/schedule/classes/{class_id}"
    sent_from = f"{ORIGIN}{own}"
    assert (await console.get(own)).text.count(f'<form method="post" action="{path}"') == 2
    done = await console.post(path, {"capacity": "2"}, Referer=sent_from)
    assert (done.status_code, done.headers["location"]) == (303, own)
    assert "1 member got a seat from the waitlist." in texts(await console.get(own))
    assert await studio.status(waits) == "confirmed"
    teacher = await studio.add("instructors", name="Ana Reyes")
    in_drawer = await console.post(path, {"instructor_id": str(teacher)}, htmx=True, **{"HX-Current-URL": ORIGIN + own})
    assert in_drawer.headers["hx-redirect"] == own
    page = await console.get(own)
    assert "Ana Reyes" in texts(page)
    undo = {"instructor_id": "", "confirmed": "on"}
    for name, value in undo.items():
        assert f'<input type="hidden" name="{name}" value="{value}">' in page.text
    assert (await console.post(path, undo, Referer=sent_from)).headers["location"] == own
    assert (await studio.row("classes", class_id))["instructor_id"] is None
    for given, code in (("1", 409), ("many", 422), ("", 422), ("-3", 422)):
        refused = await console.post(path, {"capacity": given}, Referer=sent_from)
        assert refused.status_code == code, given
        assert ("Seats that are booked: 2. Cancel or move bookings first." in texts(refused)) == (code == 409)


@pytest.mark.parametrize(
    "elsewhere", ["https://evil.example/console/classes/1", "//x/console/classes/..//evil.example", ""]
)
async def test_a_changed_class_leads_to_pages_of_the_console_only(
    console: Console, studio: BookingStudio, elsewhere: str
) -> None:
    class_id = await studio.new_class(5 * HOUR)
    path = f"/console/schedule/classes/{class_id}"
    done = await console.post(path, {"title": "Tour"}, Referer=elsewhere)
    assert done.status_code == 303
    assert done.headers["location"].startswith(("/console/schedule?", "/console/classes/1"))


async def test_rules_are_explained(console: Console, studio: BookingStudio) -> None:
    policy = {"cancellation_window_minutes": 720, "late_action": "fee_and_forfeit", "late_fee_amount": "15.00"}
    class_id = await studio.new_class(5 * HOUR)
    await studio.policy("classes", class_id, **policy)
    shown = texts(await console.get(f"/console/classes/{class_id}"))
    assert "Cancelling later than 12 h before the start costs the credit and a fee of $15.00." in shown
    assert "A free seat goes to the first waiting member who may book, until 1 h before the start." in shown


async def test_a_fee_is_shown_in_the_currency_in_which_it_was_charged(console: Console, studio: BookingStudio) -> None:
    """The studio has changed its currency since; the roster adds up what is owed by currency."""
    class_id, member = await studio.new_class(HOUR), await studio.new_member()
    policy = {"cancellation_window_minutes": 720, "late_action": "fee", "late_fee_amount": "15.00"}
    await studio.policy("classes", class_id, **policy)
    booking = await studio.booked(class_id, member)
    await studio.cancelled(booking["id"])
    await studio.sql("update studios set currency = 'JPY' where studio_id = $1")
    assert "$15.00 fee" in texts(await console.get(f"/console/classes/{class_id}"))
    again = await studio.new_class(2 * HOUR)
    await studio.booked(again, member)
    fee = {"member_id": member, "product_key": "late_cancel_fee", "product_type": "fee", "status": "failed"}
    await studio.add("purchases", **fee, amount_total=900, currency="JPY")
    assert "¥900 + $15.00 fee open" in texts(await console.get(f"/console/classes/{again}"))


async def test_only_managers_change_a_class(console: Console, studio: BookingStudio) -> None:
    class_id = await studio.new_class(5 * HOUR)
    desk = await console.as_role(Role.FRONT_DESK)
    page = texts(await desk.get(f"/console/classes/{class_id}"))
    assert "Cancel class" not in page
    assert "Substitute" not in page
    assert (await desk.post(f"/console/schedule/classes/{class_id}/cancel")).status_code == 403


async def test_cancel_one_booking(console: Console, studio: BookingStudio) -> None:
    class_id = await studio.new_class(5 * HOUR)
    member = await studio.new_member(3)
    booking = await studio.booked(class_id, member)
    done = await console.post(f"/console/bookings/{booking['id']}/cancel", {"reason": "Asked by phone"})
    assert "is cancelled. No fee, the credit is returned." in texts(await console.get(done.headers["location"]))
    assert await studio.credits(member) == 3
    again = await console.post(f"/console/bookings/{booking['id']}/cancel")
    assert again.status_code == 409
    assert "already cancelled" in texts(again)


async def test_move_a_booking(console: Console, studio: BookingStudio) -> None:
    class_id, other = await studio.new_class(5 * HOUR, title="Ride"), await studio.new_class(30 * HOUR, title="Flow")
    full, _ = await studio.full_class(29 * HOUR, title="Packed")
    member = await studio.new_member(3, first_name="Priya", last_name="Nair")
    booking = await studio.booked(class_id, member)
    page = await console.get(f"/console/bookings/{booking['id']}")
    assert re.search(r"selected>[^<]*Flow \(10 seats free\)", page.text), "the first with a free seat is proposed"
    drawer = texts(page)
    assert "Packed (full)" in drawer
    path = f"/console/bookings/{booking['id']}/move"
    refused = await console.post(path, {"class_id": str(full)})
    assert refused.status_code == 409
    assert "This class is full." in texts(refused)
    assert await studio.status(booking) == "confirmed"
    done = await console.post(path, {"class_id": str(other)})
    assert re.search(r"Moved to Flow, \S+ \d+ \S+, \d\d:\d\d\.", texts(await console.get(done.headers["location"])))
    assert await studio.status(booking) == "cancelled"
    assert await studio.credits(member) == 2
    assert (await console.get(f"/console/bookings/{booking['id']}")).status_code == 404


async def test_the_printed_roster(console: Console, studio: BookingStudio) -> None:
    class_id = await studio.new_class(HOUR, title="Ride", capacity=1)
    assert "Nobody has booked yet." in texts(await console.get(f"/console/classes/{class_id}/roster"))
    await studio.booked(class_id, await studio.new_member(first_name="Priya", last_name="Nair"))
    await studio.waits(class_id, await studio.new_member(first_name="Noor", last_name="Haddad"))
    page = texts(await console.get(f"/console/classes/{class_id}/roster"))
    for text in ("Ride", "1 of 1 booked · 1 waiting", "Priya Nair", "first visit", "Noor Haddad"):
        assert text in page


async def test_a_crowd_that_a_page_cannot_list_is_counted(console: Console, studio: BookingStudio) -> None:
    class_id = await studio.new_class(HOUR, capacity=MAX_PEOPLE + 2)
    await _fill(studio, class_id, "confirmed", MAX_PEOPLE + 2)
    await _fill(studio, class_id, "waitlisted", MAX_PEOPLE + 1)
    await studio.sql(
        "insert into waitlist_entries (studio_id, id, class_id, member_id, booking_id, location_id, position, status)"
        " select $1, gen_random_uuid(), class_id, member_id, id, location_id, row_number() over (), 'waiting'"
        " from bookings where studio_id = $1 and class_id = $2 and status = 'waitlisted'",
        class_id,
    )
    counts = {"booked_count": MAX_PEOPLE + 2, "waitlist_count": MAX_PEOPLE + 1}
    await studio.change("classes", class_id, **counts)
    for path in ("", "/roster"):
        page = texts(await console.get(f"/console/classes/{class_id}{path}"))
        assert "and 2 more people" in page
        assert "and 1 more person after them" in page
    assert f"{MAX_PEOPLE + 1} waiting" in page


async def _fill(studio: BookingStudio, class_id: UUID, status: str, number: int) -> None:
    """Insert bookings of new members."""
    await studio.sql(
        "with person as (insert into members (studio_id, id, first_name, last_name)"
        " select $1, gen_random_uuid(), 'Ada', $3 from generate_series(1, $4::integer) returning id)"
        " insert into bookings (studio_id, id, class_id, member_id, location_id, start_time, end_time, status)"
        " select $1, gen_random_uuid(), c.id, person.id, c.location_id, c.start_time, c.end_time, $3"
        " from person, classes c where c.studio_id = $1 and c.id = $2",
        class_id,
        status,
        number,
    )
