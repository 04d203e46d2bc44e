"""Forms in which something is chosen offer everything that exists, a page at a time."""

import re
from datetime import datetime, timedelta
from html import unescape
from uuid import UUID, uuid4

import httpx2
import pytest

from studiogate.console.framework.paging import PER_PAGE
from studiogate.storage.schedule.day import MAX_CLASSES
from tests.support.booking_studio import HOUR, BookingStudio
from tests.support.console import Console, texts

pytestmark = pytest.mark.anyio
MANY = PER_PAGE + 3


async def all_values(console: Console, path: str, name: str, more: str) -> list[str]:
    """Follow the links to more choices; return the values of all of them."""
    values: list[str] = []
    pages = 0
    while path:
        page = (await console.get(path)).text
        # The value of a radio button or of an option.
        values += re.findall(rf'name="{name}" value="([^"]+:[^"]+)"', page) or re.findall(
            r'<option value="([^"]+-[^"]+)"', page
        )
        link = re.search(rf'href="([^"]+)"[^>]*>{more}<', page)
        path, pages = (unescape(link[1]) if link else ""), pages + 1
        assert pages < 20
    return values


async def products(studio: BookingStudio, count: int) -> list[str]:
    """Return the choices of that many products with a price."""
    found = []
    for number in range(count):
        kind = {"key": uuid4().hex, "name": f"Pack {number}", "product_type": "package", "credits_granted": 5}
        product = await studio.add("products", **kind)
        price = await studio.add(
            "prices", product_id=product, amount=10 + number, currency="USD", price_type="one_time"
        )
        found.append(f"{product}:{price}")
    return found


async def test_every_product_can_be_sold(console: Console, studio: BookingStudio) -> None:
    member, expected = await studio.new_member(membership=False), await products(studio, MANY)
    found = await all_values(console, f"/console/members/{member}/sell", "offer", "More products")
    assert sorted(found) == sorted(expected)


async def test_a_refused_sale_shows_the_page_of_its_product(console: Console, studio: BookingStudio) -> None:
    member = await studio.new_member(membership=False)
    offers = await products(studio, MANY)
    first = (await console.get(f"/console/members/{member}/sell")).text
    link = re.search(r'href="[^"]*after=([^"&]+)"', first)
    assert link is not None
    oldest = next(each for each in offers if each not in first)
    sent = {"offer": oldest, "quantity": "none", "after": link[1]}
    refused = await console.post(f"/console/members/{member}/sell", sent)
    assert refused.status_code == 422
    assert f'value="{oldest}" required checked' in refused.text


async def test_every_product_can_be_sold_to_a_walk_in(console: Console, studio: BookingStudio) -> None:
    member, class_id = await studio.new_member(membership=False), await studio.new_class(HOUR)
    expected = await products(studio, MANY)
    path = f"/console/classes/{class_id}/walk-in?member={member}"
    assert sorted(await all_values(console, path, "offer", "More products")) == sorted(expected)


async def test_every_form_can_be_sent(console: Console, studio: BookingStudio) -> None:
    member, forms = await studio.new_member(), [str(await studio.new_form()) for _ in range(MANY)]
    found = await all_values(console, f"/console/members/{member}/form-link", "form_id", "More forms")
    assert sorted(found) == sorted(forms)


async def test_everybody_of_one_name_is_found(console: Console, studio: BookingStudio) -> None:
    people = {str(await studio.new_member(membership=False, first_name="Ana", last_name="Silva")) for _ in range(30)}
    class_id, kept = await studio.new_class(HOUR), next(iter(people))
    walk_in = f"/console/classes/{class_id}/walk-in/find"
    assert await _found(console, walk_in, {"q": "Silva"}, r"walk-in\?member=([0-9a-f-]{36})") == people
    merge = f"/console/members/{kept}/merge"
    assert await _found(console, merge, {"text": "Silva"}, r"/merge/([0-9a-f-]{36})") == people - {kept}


async def _found(console: Console, path: str, fields: dict[str, str], pattern: str) -> set[str]:
    """Search, and press More until there is no more."""
    found: set[str] = set()
    after: str | None = ""
    while after is not None:
        page = (await console.post(path, {**fields, "after": after}, htmx=True)).text
        more_found = set(re.findall(pattern, page)) - found
        assert more_found, "a page that has nothing new"
        found |= more_found
        more = re.search(r'name="after" value="([^"]+)"', page)
        after = more[1] if more else None
    return found


async def test_every_class_of_a_day_can_be_booked(console: Console, studio: BookingStudio) -> None:
    member = await studio.new_member()
    start = (await studio.now() + timedelta(days=2)).replace(hour=15, minute=0)
    classes = {str(await studio.new_class(start=start)) for _ in range(MANY)}
    path, found = f"/console/members/{member}/book?day={start.date()}", set[str]()
    while path:
        page = (await console.get(path)).text
        found |= set(re.findall(r"book\?class=([0-9a-f-]{36})", page))
        link = re.search(r'href="([^"]+)"[^>]*>More classes of this day<', page)
        path = unescape(link[1]) if link else ""
    assert found == classes


def plain(page: httpx2.Response) -> str:
    return texts(page).replace("\N{NO-BREAK SPACE}", " ")


async def test_times_at_a_location_in_another_zone_name_it(console: Console, studio: BookingStudio) -> None:
    member, start = await studio.new_member(), (await studio.now() + timedelta(days=2)).replace(hour=15, minute=0)
    tokyo = await studio.add("locations", name="Shibuya", city="Tokyo", state="", timezone="Asia/Tokyo")
    at_home, elsewhere = await studio.new_class(start=start), await studio.new_class(start=start, location_id=tokyo)
    path = f"/console/members/{member}/book"
    assert plain(await console.get(f"{path}?day={start.date()}")).count("Shibuya JST") == 1
    assert " JST" in plain(await console.get(f"{path}?class={elsewhere}"))
    own = plain(await console.get(f"{path}?class={at_home}"))
    assert " JST" not in own
    assert re.search("10:00 EST|11:00 EDT", own)


async def test_a_booking_can_move_to_every_class(console: Console, studio: BookingStudio) -> None:
    """Also to classes on a day with many, at another location, and weeks ahead."""
    booking, now = await _booking(studio), await studio.now()
    many = [await studio.new_class(start=now + timedelta(days=3, minutes=each)) for each in range(70)]
    others = [await studio.new_class(start=now + timedelta(days=each)) for each in (1, 4, 20, 40)]
    found: list[str] = []
    path = f"/console/bookings/{booking}"
    while len(found) < len(many) + len(others):
        page = (await console.get(path)).text
        found += re.findall(r'<option value="([0-9a-f-]{36})"[^>]*>[A-Z][a-z]{2} [0-9]', page)
        link = re.search(r'href="([^"]+)"[^>]*>Later classes<', page)
        assert link is not None
        path = unescape(link[1])
    assert sorted(found) == sorted(map(str, [*many, *others]))


async def test_a_booking_can_move_to_another_location(console: Console, studio: BookingStudio) -> None:
    booking, elsewhere = await _booking(studio), studio.other_location
    class_id = await studio.new_class(HOUR, location_id=elsewhere, room_id=None)
    assert str(class_id) not in (await console.get(f"/console/bookings/{booking}")).text
    shown = await console.get(f"/console/bookings/{booking}?location={elsewhere}")
    assert f'<option value="{class_id}"' in shown.text


async def test_a_list_that_is_cut_ends_with_a_whole_day(console: Console, studio: BookingStudio) -> None:
    booking, now = await _booking(studio), await studio.now()
    first = [await studio.new_class(start=now + timedelta(days=1, seconds=each)) for each in range(2)]
    forenoon = (now + timedelta(days=3)).replace(hour=16)  # in the studio's time zone
    await _new_classes(studio, forenoon, MAX_CLASSES)
    page = (await console.get(f"/console/bookings/{booking}")).text
    assert re.findall(r'<option value="([0-9a-f-]{36})"[^>]*>[A-Z][a-z]{2} [0-9]', page) == list(map(str, first))


async def _new_classes(studio: BookingStudio, begins: datetime, number: int) -> None:
    """Make classes that begin a second after each other."""
    await studio.sql(
        "insert into classes (studio_id, id, title, class_type_id, location_id, start_time, end_time, capacity)"
        " select $1, gen_random_uuid(), 'Class', $2, $3, $4::timestamptz + number * interval '1 second',"
        " $4::timestamptz + interval '2 hours', 5 from generate_series(1, $5::integer) number",
        studio.class_type,
        studio.location,
        begins,
        number,
    )


async def _booking(studio: BookingStudio) -> UUID:
    return await studio.imported_booking(await studio.new_class(HOUR), await studio.new_member())


async def test_all_forms_and_changes_of_a_member_can_be_read(console: Console, studio: BookingStudio) -> None:
    member, form = await studio.new_member(), await studio.new_form()
    sent = {str(await studio.submit(form, member)) for _ in range(45)}
    for number in range(45):
        await console.post(f"/console/members/{member}/note", {"note": f"Note {number}"})
    assert await _linked(console, f"/console/members/{member}/forms", r"/forms/([0-9a-f-]{36})") == sent
    pages = [await console.get(path) for path in await _pages(console, f"/console/members/{member}/history")]
    assert sum(page.text.count("Member: note") for page in pages) == 45


async def test_a_running_membership_is_shown_however_many_came_after_it(
    console: Console, studio: BookingStudio
) -> None:
    member = await studio.new_member(membership=False)
    running = await studio.new_membership(member, 7)
    for number in range(90):
        product = await studio.add("products", key=f"pack-{number}", name=f"Pack {number}.", product_type="package")
        await studio.new_membership(member, 0, product_id=product, status="expired")
    path = f"/console/members/{member}"
    pages = [texts(await console.get(each)) for each in await _pages(console, path)]
    assert len(pages) == 3
    assert all("7 credits left" in page for page in pages)
    assert sorted(re.findall(r"Pack \d+\.", " ".join(pages))) == sorted(f"Pack {number}." for number in range(90))
    assert str(running) in (await console.get(f"{path}/credits")).text


async def test_a_day_with_more_classes_than_a_page_can_show_says_so(console: Console, studio: BookingStudio) -> None:
    begins = (await studio.now()).replace(hour=16) + timedelta(days=2)  # the forenoon of the studio's time zone
    await _new_classes(studio, begins, MAX_CLASSES)
    path = f"/console/today?day={begins.date()}&location="
    assert "more classes" not in texts(await console.get(f"{path}all"))
    await studio.new_class(start=begins + timedelta(hours=3), title="Last one")
    everywhere = texts(await console.get(f"{path}all"))
    assert "Last one" not in everywhere
    assert "The last ones are missing: choose a location to see them." in everywhere
    assert "The last ones are missing." in texts(await console.get(f"{path}{studio.location}"))


async def _pages(console: Console, path: str) -> list[str]:
    paths = []
    while path:
        paths.append(path)
        link = re.search(r'class="more"><a class="button" href="([^"]+)"', (await console.get(path)).text)
        path = unescape(link[1]) if link else ""
    return paths


async def _linked(console: Console, path: str, pattern: str) -> set[str]:
    pages = [(await console.get(each)).text for each in await _pages(console, path)]
    return {each for page in pages for each in re.findall(pattern, page)}
