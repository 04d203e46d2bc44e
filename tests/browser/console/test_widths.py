"""Pages at all widths in a real browser: nothing is cut off, and every button can be reached."""

import json
import re

import pytest
from playwright.sync_api import Browser, Page, expect

from studiogate.domain.staff import Role
from tests.support.desk import Desk
from tests.support.desk_classes import new_class
from tests.support.watched_page import watched

pytestmark = pytest.mark.timeout(700)
WIDTHS = (360, 700, 768, 860, 960, 1024, 1100, 1280)
CUT_OFF = """() => [...document.querySelectorAll('#content :is(table .button, .table-scroll)')]
    .filter((each) => each.getBoundingClientRect().right > innerWidth || each.scrollWidth > each.clientWidth + 1)
    .map((each) => each.outerHTML.slice(0, 200))"""


def page_width(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth"))


@pytest.mark.parametrize("path", ["/sales", "/sales/fees", "/sales/renewals", "/schedule/series"])
def test_tables_fit(browser: Browser, desk_site: Desk, path: str) -> None:
    with desk_site.open(browser) as page:
        page.goto(desk_site.url(path))
        expect(page.locator(".table-scroll tbody tr").first).to_be_visible()
        for pixels in WIDTHS:
            page.set_viewport_size({"width": pixels, "height": 900})
            assert page_width(page) <= pixels, pixels
            assert page.evaluate(CUT_OFF) == [], pixels


BESIDE_ITS_FORM = """() => [...document.querySelectorAll('main form :is(input:not([type=hidden]), select)')]
    .filter((each) => each.getBoundingClientRect().right > each.form.getBoundingClientRect().right)
    .map((each) => each.name)"""


@pytest.mark.parametrize("path", ["/sales", "/insights", "/partners/events", "/partners/requests?code=x", "/audit"])
def test_filters_are_inside_their_form(browser: Browser, desk_site: Desk, path: str) -> None:
    with desk_site.open(browser, viewport={"width": 390, "height": 844}) as page:
        page.goto(desk_site.url(path))
        expect(page.get_by_label("From")).to_be_visible()
        assert page.evaluate(BESIDE_ITS_FORM) == []


@pytest.mark.parametrize("pixels", [360, 1440])
def test_the_first_page_uses_the_width(browser: Browser, desk_site: Desk, pixels: int) -> None:
    with watched(browser, desk_site.origin, viewport={"width": pixels, "height": 900}) as watch:
        watch.page.goto(desk_site.origin + "/")
        box = watch.page.locator("main").bounding_box()
        assert box is not None
        assert box["width"] >= min(pixels, 800)
        assert page_width(watch.page) <= pixels


def test_the_panel_of_today_ends_on_the_screen(browser: Browser, desk_site: Desk) -> None:
    """Also where the buttons of the top bar take two lines."""
    ride = new_class(desk_site, people=1)
    with desk_site.open(browser, viewport={"width": 1024, "height": 768}) as page:
        page.goto(ride.url)
        expect(page.locator(".panel-foot")).to_be_visible()
        assert page.locator(".topbar").evaluate("each => each.offsetHeight") > 80, "two lines"
        page.wait_for_function("document.querySelector('#panel').getBoundingClientRect().bottom <= innerHeight")


def test_a_day_without_classes_has_no_empty_panel(browser: Browser, desk_site: Desk) -> None:
    with desk_site.open(browser, Role.FRONT_DESK) as page:
        page.goto(desk_site.url("/today?day=2027-12-25"))
        expect(page.get_by_role("heading", name="No classes on")).to_be_visible()
        expect(page.locator("#panel")).to_be_hidden()


OUTSIDE = """() => {
    const map = document.querySelector('.spot-map').getBoundingClientRect();
    return [...document.querySelectorAll('.spot-map text')].filter((each) => {
      const box = each.getBoundingClientRect();
      return box.width && (box.left < map.left || box.right > map.right || box.bottom > map.bottom);
    }).map((each) => each.textContent);
}"""


def test_the_names_of_spots_are_inside_the_map(browser: Browser, desk_site: Desk) -> None:
    classes = "select id, room_id from classes where studio_id = $1 and spot_selection_mode is not null limit 1"
    (found,) = desk_site.sql(classes, desk_site.studio_id)
    spots = "select id from room_spots where studio_id = $1 and room_id = $2"
    for number, spot in enumerate(desk_site.sql(spots, desk_site.studio_id, found["room_id"])):
        desk_site.sql("update room_spots set label = $2 where id = $1", spot["id"], f"Reformer {50 + number}")
    with desk_site.open(browser) as page:
        page.goto(desk_site.url(f"/classes/{found['id']}"))
        expect(page.locator(".spot-map text").first).to_be_attached()
        assert page.evaluate(OUTSIDE) == []


def test_who_waits_can_be_read_beside_two_buttons(browser: Browser, desk_site: Desk) -> None:
    """No word is broken, and the buttons stay inside the list."""
    packed = new_class(desk_site, capacity=1, minutes=600, waitlist_mode="manual")
    booking = packed.book("Ada Moss")
    packed.book("Bartholomew Fitzgerald", waits=True)
    packed.cancel(booking)
    skipped = "update waitlist_entries set skip_reason = 'no_active_membership' where studio_id = $1 and class_id = $2"
    desk_site.sql(skipped, desk_site.studio_id, packed.id)
    with desk_site.open(browser, Role.MANAGER) as page:
        page.goto(packed.url)
        entry = page.locator(".waiting li")
        expect(entry.locator(".button")).to_have_count(2)
        for pixels in (1440, 1024, 360):
            page.set_viewport_size({"width": pixels, "height": 900})
            assert entry.locator(".seat-text").evaluate("each => each.offsetWidth") >= 96, pixels
            assert entry.evaluate("each => each.scrollWidth <= each.clientWidth"), pixels


def test_the_buttons_of_a_row_stay_in_one_line(browser: Browser, desk_site: Desk) -> None:
    """The class is on: each row has a badge, Check in and the link to more."""
    form = desk_site.sql("select id from forms where studio_id = $1 limit 1", desk_site.studio_id)[0]["id"]
    ride = new_class(desk_site, people=2)
    now = (
        "update classes set start_time = now() - interval '5 minutes', policy = policy || $2::text::jsonb where id = $1"
    )
    desk_site.sql(now, ride.id, json.dumps({"waiver_form_id": str(form)}))
    with desk_site.open(browser, Role.MANAGER) as page:
        page.goto(ride.url)
        expect(page.locator("#roster .seat", has_text="waiver missing")).to_have_count(2)
        for pixels in (1920, 1440, 1280):
            page.set_viewport_size({"width": pixels, "height": 900})
            assert page.evaluate(LINES_OF_BUTTONS) == [1, 1], pixels


def test_a_row_keeps_its_shape_in_every_state(browser: Browser, desk_site: Desk) -> None:
    """Nothing of the roster moves when somebody is checked in or marked as a no-show, whatever the warnings."""
    form = desk_site.sql("select id from forms where studio_id = $1 limit 1", desk_site.studio_id)[0]["id"]
    ride = new_class(desk_site, people=3)
    rules = json.dumps({"waiver_form_id": str(form)})
    desk_site.sql("update classes set policy = policy || $2::text::jsonb where id = $1", ride.id, rules)
    with desk_site.open(browser, Role.FRONT_DESK) as page:
        for pixels in (1440, 820, 390):
            page.set_viewport_size({"width": pixels, "height": 900})
            shapes = []
            for status in ("confirmed", "checked_in", "no_show"):
                desk_site.sql("update bookings set status = $2 where class_id = $1", ride.id, status)
                page.goto(ride.url)
                expect(page.locator(f"#roster .seat[data-status={status}]")).to_have_count(3)
                shapes.append(page.evaluate(SHAPES))
            assert shapes[0] == shapes[1] == shapes[2], pixels


# Where each row is, with its name, its lines, its warnings and its menu.
SHAPES = """() => {
    const found = document.querySelectorAll('#roster :is(.seat, .seat-name, .seat-line, .badge, .more-link)');
    return [...found].map((each) => {
        const { x, y, width, height } = each.getBoundingClientRect();
        return [each.className.split(' ')[0], x, y, width, height].join(' ');
    });
}"""

LINES_OF_BUTTONS = """() => [...document.querySelectorAll('#roster .seat-actions')].map((each) =>
    new Set([...each.querySelectorAll('.button')].map((one) => one.offsetTop + one.offsetHeight / 2)).size)"""


def test_a_toast_with_a_long_name_fits_a_phone(browser: Browser, desk_site: Desk) -> None:
    long_name = "<div class='toast' data-toast><span>" + "Wolfeschlegelsteinhausen" * 5 + " is changed.</span>"
    close = "<button class='icon-button' data-toast-close>x</button></div>"
    with desk_site.open(browser, viewport={"width": 360, "height": 740}) as page:
        page.goto(desk_site.url("/members"))
        page.locator("#toasts").evaluate("(each, html) => { each.innerHTML = html; }", long_name + close)
        expect(page.locator("[data-toast-close]")).to_be_in_viewport(ratio=1)
        assert page_width(page) <= 360


@pytest.mark.parametrize("path", ["/sales?status=refunded", "/members/{}/history"])
def test_the_chosen_tab_is_in_view_on_a_phone(browser: Browser, desk_site: Desk, path: str) -> None:
    member = desk_site.sql("select id from members where studio_id = $1 limit 1", desk_site.studio_id)[0]["id"]
    with desk_site.open(browser, viewport={"width": 360, "height": 740}) as page:
        page.goto(desk_site.url(path.format(member)))
        chosen = page.locator("#content :is(.tabs, .segmented) > [aria-current]")
        expect(chosen.first).to_be_visible()
        for each in chosen.all():
            expect(each).to_be_in_viewport(ratio=0.9)


def test_clashes_are_marked_on_narrow_cards(browser: Browser, desk_site: Desk) -> None:
    """Classes that clash overlap: the calendar shows them beside each other, with a sign instead of words."""
    rides = [new_class(desk_site, f"Clashing Ride {number}", minutes=60 * 24 * 8) for number in range(3)]
    with desk_site.open(browser) as page:
        page.goto(desk_site.url(f"/schedule?week={rides[0].day}"))
        page.locator("#calendar[data-ready]").wait_for()
        for ride in rides:
            card = page.locator(f'#calendar a[href$="{ride.id}"]')
            expect(card).to_have_accessible_name(re.compile("instructor clash.*room clash"))
            assert card.evaluate(SIGN_IS_FIRST)


SIGN_IS_FIRST = """(card) => {
    const box = (each) => each.getBoundingClientRect();
    const [sign, name] = [box(card.querySelector('em.x')), box(card.querySelector('b'))];
    return box(card).width < 104 && sign.height >= 12 && sign.bottom <= name.top + 1 && sign.right <= box(card).right;
}"""


@pytest.mark.parametrize("script", [True, False], ids=["script", "plain"])
def test_the_list_of_days_cannot_be_arranged_by_rooms(browser: Browser, desk_site: Desk, script: bool) -> None:
    with desk_site.open(browser, script=script) as page:
        page.goto(desk_site.url("/schedule?by=rooms"))
        expect(page.locator(".day" if not script else "#calendar[data-ready]").first).to_be_visible()
        expect(page.get_by_role("navigation", name="Arrange by")).to_be_visible(visible=script)
