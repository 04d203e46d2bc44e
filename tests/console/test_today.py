"""Today: the day's classes, the roster beside, check-in, no-show, undo, promotion; all of it without scripts."""

import gzip
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from studiogate.domain.bookings.states import BookingStatus
from studiogate.domain.staff import Role
from studiogate.storage.db.pool import Database
from tests.support.booking_studio import HOUR, BookingStudio
from tests.support.console import Console, texts

pytestmark = pytest.mark.anyio
FULL_PAGE, ZIPPED_PAGE = 60 * 1024, 12 * 1024
MAX_STATEMENTS = 12


async def today(studio: BookingStudio, class_id: UUID, **query: str) -> str:
    """The address of the day on which a class is, which tests near midnight need."""
    start = (await studio.row("classes", class_id))["start_time"]
    day = await studio.api.connection.fetchval("select ($1 at time zone 'America/New_York')::date::text", start)
    rest = "".join(f"&{name}={value}" for name, value in query.items())
    return f"/console/today?day={day}{rest}"


async def test_the_day_at_each_location(console: Console, studio: BookingStudio) -> None:
    here = await studio.new_class(HOUR, title="Ride")
    await studio.new_class(HOUR, title="Flow", location_id=studio.other_location, room_id=None)
    for location, shown, hidden in ((studio.location, "Ride", "Flow"), (studio.other_location, "Flow", "Ride")):
        page = texts(await console.get(await today(studio, here, location=str(location))))
        assert "1 class · 0 booked" in page
        assert shown in page
        assert hidden not in page
    both = texts(await console.get(await today(studio, here, location="all")))
    assert "2 classes" in both
    only = await console.as_role(Role.FRONT_DESK, studio.other_location)
    page = texts(await only.get(await today(studio, here, location=str(studio.location))))
    assert "Flow" in page
    assert "Ride" not in page


async def test_states_of_classes(console: Console, studio: BookingStudio) -> None:
    teacher = await studio.add("instructors", name="Ana Reyes")
    soon = await studio.new_class(30, title="Soon", instructor_id=teacher)
    await studio.new_class(-90, title="Past", instructor_id=teacher)
    full, _ = await studio.full_class(35, title="Packed")
    await studio.waits(full, await studio.new_member())
    page = await console.get(await today(studio, soon, location="all"))
    if (await today(studio, soon)) == (await today(studio, full)):
        cards = {title: texts_of(page.text, title) for title in ("Soon", "Packed")}
        assert re.search(r"in (29|30) min", cards["Soon"])
        assert "Ana Reyes" in cards["Soon"]
        assert "needs cover" in cards["Packed"]
        assert "1 waiting" in cards["Packed"]
        assert "1/1" in cards["Packed"]


def texts_of(page: str, title: str) -> str:
    (card,) = re.findall(rf'<a class="class-card[^>]*>(?:(?!</a>).)*>{title}<.*?</a>', page, re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", card))


async def test_a_class_of_the_url_opens_its_roster(console: Console, studio: BookingStudio) -> None:
    form = await studio.new_form()
    first, second = await studio.new_class(HOUR, title="First"), await studio.new_class(HOUR + 1, title="Second")
    await studio.booked(first, await studio.new_member(3, first_name="Priya", last_name="Nair"))
    await studio.policy("classes", first, waiver_form_id=str(form))
    await studio.booked(second, await studio.new_member(first_name="Kofi", last_name="Boateng"))
    page = texts(await console.get(await today(studio, first, **{"class": str(first)})))
    assert "Priya Nair" in page
    assert "P, 2 left · first visit" in page
    assert "waiver missing" in page
    assert "0 of 1 checked in · 9 seats free" in page
    assert "Kofi Boateng" not in page
    assert "Kofi Boateng" in texts(await console.get(await today(studio, second, **{"class": str(second)})))


async def test_names_are_text_and_not_markup(console: Console, studio: BookingStudio) -> None:
    nasty = '<script>alert("x")</script>'
    class_id = await studio.new_class(HOUR, title=nasty)
    await studio.booked(class_id, await studio.new_member(first_name=nasty, last_name='"><img src=x>'))
    for path in (await today(studio, class_id), f"/console/classes/{class_id}", f"/console/classes/{class_id}/roster"):
        page = await console.get(path)
        assert page.status_code == 200
        assert "<script>alert" not in page.text
        assert "<img" not in page.text
        assert "&lt;script&gt;alert" in page.text


async def booked_now(studio: BookingStudio, minutes: float = 10, **member: Any) -> tuple[UUID, str]:
    class_id = await studio.new_class(minutes)
    names = {"first_name": "Priya", "last_name": "Nair", **member}
    booking = await studio.booked(class_id, await studio.new_member(**names))
    return class_id, booking["id"]


async def status(studio: BookingStudio, booking_id: str) -> str:
    return str((await studio.row("bookings", UUID(booking_id)))["status"])


async def test_check_in_and_undo_as_plain_forms(console: Console, studio: BookingStudio) -> None:
    desk = await console.as_role(Role.FRONT_DESK)
    class_id, booking = await booked_now(studio)
    done = await desk.post(f"/console/bookings/{booking}/attendance", {"mark": "checked_in"})
    assert done.status_code == 303
    assert await status(studio, booking) == "checked_in"
    page = await desk.get(done.headers["location"])
    assert "Checked in Priya Nair." in texts(page)
    assert "1 of 1 checked in" in texts(page)
    assert 'name="mark" value="confirmed"' in page.text
    undone = await desk.post(f"/console/bookings/{booking}/attendance", {"mark": "confirmed", "undoes": "checked_in"})
    assert undone.status_code == 303
    assert f"class={class_id}" in undone.headers["location"]
    assert await status(studio, booking) == "confirmed"


async def test_a_script_gets_the_row_alone(console: Console, studio: BookingStudio) -> None:
    _, booking = await booked_now(studio)
    row = await console.post(f"/console/bookings/{booking}/attendance", {"mark": "checked_in"}, htmx=True)
    assert row.status_code == 200
    assert f'id="b-{booking}"' in row.text
    assert "<html" not in row.text
    assert "1 of 1 checked in" in texts(row)


async def test_no_show_only_after_the_start(console: Console, studio: BookingStudio) -> None:
    class_id, booking = await booked_now(studio)
    path = f"/console/bookings/{booking}/attendance"
    early = await console.post(path, {"mark": "no_show"}, htmx=True)
    assert (early.status_code, early.headers["x-refusal"]) == (409, "invalid_transition")
    assert "Priya Nair can be marked as no-show from" in texts(early)
    page = await console.post(path, {"mark": "no_show"})
    assert page.status_code == 409
    assert "This change of state is not possible." in texts(page)
    assert "Priya Nair" in texts(page), "the page of the class is shown again"
    await studio.move(class_id, -1)
    assert (await console.post(path, {"mark": "no_show"})).status_code == 303
    assert await status(studio, booking) == "no_show"
    assert (await console.post(path, {"mark": "checked_in", "undoes": "no_show"})).status_code == 303
    assert await status(studio, booking) == BookingStatus.CHECKED_IN


async def test_the_same_form_sent_twice_has_one_effect(console: Console, studio: BookingStudio) -> None:
    _, booking = await booked_now(studio)
    path = f"/console/bookings/{booking}/attendance"
    for _ in range(2):
        assert (await console.post(path, {"mark": "checked_in"}, token="t" * 24)).status_code == 303
    assert len(await studio.rows("audit_log", "action = 'booking.check_in'")) == 1


async def test_an_instructor_sees_and_marks_only_their_own_classes(console: Console, studio: BookingStudio) -> None:
    teacher = await studio.add("instructors", name="Ines")
    own, own_booking = await booked_now(studio, first_name="Own", last_name="Person")
    await studio.change("classes", own, instructor_id=teacher)
    other, other_booking = await booked_now(studio, first_name="Other", last_name="Person")
    person = await console.as_role(Role.INSTRUCTOR, instructor=teacher)
    assert "Own Person" in texts(await person.get(await today(studio, own, **{"class": str(own)})))
    for path in (await today(studio, other, **{"class": str(other)}), f"/console/classes/{other}"):
        page = texts(await person.get(path))
        assert "Not your class" in page
        assert "Other Person" not in page
    assert (await person.get(f"/console/classes/{other}/roster")).status_code == 404
    refused = await person.post(f"/console/bookings/{other_booking}/attendance", {"mark": "checked_in"})
    assert refused.status_code == 404
    done = await person.post(f"/console/bookings/{own_booking}/attendance", {"mark": "checked_in"})
    assert done.status_code == 303
    assert await status(studio, other_booking) == "confirmed"


async def test_an_instructor_finds_the_classes_that_they_teach(console: Console, studio: BookingStudio) -> None:
    """At one location and at all of them; the first of them is open."""
    teacher = await studio.add("instructors", name="Maya")
    person = await console.as_role(Role.INSTRUCTOR, instructor=teacher)
    other, _ = await booked_now(studio, first_name="Other", last_name="Person")
    own, _ = await booked_now(studio, first_name="Own", last_name="Person")
    assert "Classes that you teach on this day appear here" in texts(await person.get(await today(studio, own)))
    await studio.change("classes", own, instructor_id=teacher)
    for place in ({}, {"location": "all"}):
        page = await person.get(await today(studio, own, **place))
        assert "Own Person" in texts(page)
        assert (f"class={own}" in page.text, f"class={other}" in page.text) == (True, False), place
        assert f"class={other}" in (await console.get(await today(studio, own, **place))).text


async def test_what_belongs_to_another_location_does_not_exist(console: Console, studio: BookingStudio) -> None:
    class_id, booking = await booked_now(studio)
    person = await console.as_role(Role.MANAGER, studio.other_location)
    for path in (f"/console/classes/{class_id}", f"/console/classes/{class_id}/walk-in"):
        assert (await person.get(path)).status_code == 404
    assert "Priya" not in texts(await person.get(await today(studio, class_id, **{"class": str(class_id)})))
    for path, fields in (
        (f"/console/bookings/{booking}/attendance", {"mark": "checked_in"}),
        (f"/console/bookings/{booking}/cancel", {}),
        (f"/console/classes/{class_id}/cancel", {}),
        (f"/console/classes/{class_id}/capacity", {"capacity": "20"}),
    ):
        assert (await person.post(path, fields)).status_code == 404, path
    assert await status(studio, booking) == "confirmed"


async def waiting_with_a_seat(studio: BookingStudio) -> tuple[UUID, Any]:
    """A class with a free seat, and a member who waits because nobody is promoted automatically."""
    class_id, (booking,) = await studio.full_class(5 * HOUR)
    await studio.policy("classes", class_id, waitlist_mode="manual")
    waits = await studio.waits(class_id, await studio.new_member(1, first_name="Noor", last_name="Haddad"))
    await studio.cancelled(booking["id"])
    return class_id, waits


async def test_promote_by_hand(console: Console, studio: BookingStudio) -> None:
    class_id, waits = await waiting_with_a_seat(studio)
    page = await console.get(await today(studio, class_id, **{"class": str(class_id)}))
    assert "1 Noor Haddad joined" in texts(page)
    entry = (await studio.entry(waits))["id"]
    assert f"/console/waitlist/{entry}/promote" in page.text
    done = await console.post(f"/console/waitlist/{entry}/promote")
    assert done.status_code == 303
    assert await studio.status(waits) == "confirmed"
    after = texts(await console.get(done.headers["location"]))
    assert "Promoted Noor Haddad from the waitlist." in after
    assert "Noor Haddad promoted · Sam" in after


async def test_a_skip_reason_has_the_button_that_resolves_it(console: Console, studio: BookingStudio) -> None:
    class_id, waits = await waiting_with_a_seat(studio)
    await studio.set_credits(waits["member_id"], 0)
    entry = (await studio.entry(waits))["id"]
    refused = await console.post(f"/console/waitlist/{entry}/promote", htmx=True)
    assert (refused.status_code, refused.headers["x-refusal"]) == (409, "insufficient_credits")
    assert "The member has no credits left for this class." in texts(refused)
    sell = f"/console/classes/{class_id}/walk-in?member={waits['member_id']}"
    assert f'href="{sell}"' in refused.text
    await studio.policy("classes", class_id, waitlist_mode="auto")
    await studio.change("waitlist_entries", entry, skip_reason="insufficient_credits")
    page = await console.get(await today(studio, class_id, **{"class": str(class_id)}))
    assert "skipped: no credits left" in texts(page)
    assert f'href="{sell}"' in page.text


async def test_an_empty_day_says_what_to_do(console: Console) -> None:
    page = texts(await console.get("/console/today?day=2031-01-01"))
    assert "No classes on Wed 1 Jan" in page
    assert "Plan a class" in page
    desk = await console.as_role(Role.FRONT_DESK)
    assert "Plan a class" not in texts(await desk.get("/console/today?day=2031-01-01"))


@pytest.mark.parametrize(
    "query", ["?day=nonsense", "?day=9999-12-31&location=x", "?class=x&location=all", "?day=2026-13-01"]
)
async def test_any_url_shows_a_page(console: Console, query: str) -> None:
    assert (await console.get(f"/console/today{query}")).status_code == 200


# Bars.


async def full_day(studio: BookingStudio) -> UUID:
    """36 classes of one day and location; in one of them all 24 have a seat and 8 wait. Returns that one."""
    teachers = [await studio.add("instructors", name=name) for name in ("Ana Reyes", "Mira Okafor", "Jonas Weber")]
    noon = await studio.api.connection.fetchval(
        "select ((date_trunc('day', now() at time zone 'America/New_York') + interval '1 day 6 hours')"
        " at time zone 'America/New_York')"
    )
    classes = [
        await studio.new_class(
            start=noon + timedelta(minutes=25 * number),
            title=f"Reformer Basics {number}",
            instructor_id=teachers[number % 3],
            capacity=24,
            length=50,
        )
        for number in range(36)
    ]
    for number in range(32):
        member = await studio.new_member(5, first_name=f"Maximiliane{number}", last_name="Hohenberger-Lindqvist")
        await studio.booked(classes[0], member, join_waitlist=number >= 24)
    return classes[0]


@asynccontextmanager
async def counted_statements(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[list[str]]:
    seen: list[str] = []
    original = Database.connection

    @asynccontextmanager
    async def counting(self: Database, *arguments: Any, **options: Any) -> AsyncIterator[Any]:
        async with original(self, *arguments, **options) as connection:
            with connection.query_logger(lambda record: seen.append(record.query)):
                yield connection

    with monkeypatch.context() as patched:
        patched.setattr(Database, "connection", counting)
        yield seen


async def test_a_full_day_is_small_and_takes_few_statements(
    console: Console, studio: BookingStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    class_id = await full_day(studio)
    paths = [await today(studio, class_id, **{"class": str(class_id)}), f"/console/classes/{class_id}"]
    for path in paths:
        await console.get(path)
        async with counted_statements(monkeypatch) as seen:
            page = await console.get(path)
        assert page.status_code == 200
        assert len(seen) <= MAX_STATEMENTS, "\n".join(seen)
        assert page.text.count('class="seat"') == 24
        assert len(page.content) <= FULL_PAGE, (path, len(page.content))
        assert len(gzip.compress(page.content, 5)) <= ZIPPED_PAGE, path
    assert (await console.get(paths[0])).text.count('class="class-card"') == 36


@pytest.mark.parametrize(("minutes", "offered"), [(12 * HOUR + 2, False), (12 * HOUR - 2, True)])
async def test_check_in_is_offered_once_it_opens(
    console: Console, studio: BookingStudio, minutes: int, offered: bool
) -> None:
    class_id = await studio.new_class(minutes)
    await studio.booked(class_id, await studio.new_member())
    page = (await console.get(f"/console/classes/{class_id}")).text
    assert ('value="checked_in"' in page) is offered
    assert 'value="no_show"' not in page


async def test_today_opens_the_next_class_shortly_before_it(console: Console, studio: BookingStudio) -> None:
    now_on, later = await studio.new_class(-30, title="On"), await studio.new_class(15, title="Next")
    page = (await console.get(await today(studio, later))).text
    assert f'data-url="?class={later}"' in page
    await studio.move(later, 25)
    if await today(studio, later) == await today(studio, now_on):
        page = (await console.get(await today(studio, later))).text
        assert f'data-url="?class={now_on}"' in page
        assert re.search(rf'href="\?class={later}" data-class-link aria-label="The class after"', page)


async def test_what_is_over_is_folded_while_something_is_ahead(console: Console, studio: BookingStudio) -> None:
    over, later = await studio.new_class(-90, title="Over"), await studio.new_class(15, title="Next")
    if await today(studio, later) != await today(studio, over):
        return
    page = (await console.get(await today(studio, later))).text
    folded = page.partition('<details class="over">')[2].partition("</details>")[0]
    assert "1 class is over" in folded
    assert f"class={over}" in folded
    assert f"class={later}" not in folded
    opened = (await console.get(await today(studio, later, **{"class": str(over)}))).text
    assert '<details class="over" open>' in opened


async def test_a_check_in_for_a_later_class_is_no_visit_yet(console: Console, studio: BookingStudio) -> None:
    class_id, booking = await booked_now(studio)
    await console.post(f"/console/bookings/{booking}/attendance", {"mark": "checked_in"})
    member = (await studio.row("bookings", UUID(booking)))["member_id"]
    page = texts(await console.get(f"/console/members/{member}"))
    assert "Last visit not yet" in page
    assert "Nothing is booked." not in page
    await studio.move(class_id, -1)
    page = texts(await console.get(f"/console/members/{member}"))
    assert "Last visit not yet" not in page
    assert "Nothing is booked." in page
