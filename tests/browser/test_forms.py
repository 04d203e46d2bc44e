"""The pages in a real browser: with and without JavaScript, on desktops and phones, by mouse and keyboard."""

import http.server
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Dialog, expect

from studiogate.hosted import bot_protection
from studiogate.hosted.bot_protection import SENDING
from studiogate.web.limits import Limit
from tests.support.form_filling import FORMS, WELCOME, data_of, draw, press
from tests.support.hosted_forms import HOSTILE
from tests.support.site import Site, serving
from tests.support.watched_page import Watched, watched

pytestmark = pytest.mark.timeout(700)
PHONE: dict[str, Any] = {
    "viewport": {"width": 375, "height": 740},
    "device_scale_factor": 2,
    "is_mobile": True,
    "has_touch": True,
}

# Two frames after fonts are there, what could still move has moved.
SETTLED = """document.fonts.ready.then(
    () => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); }))"""
# Ends when the page's own listeners, which were added before this one, have got the message.
FORGED_HEIGHT = """new Promise((done) => {
    addEventListener('message', () => done(), {once: true});
    postMessage({studiogate: 'height', value: 5000}, '*');
})"""


@pytest.fixture
def seen(browser: Browser, site: Site) -> Iterator[Watched]:
    with watched(browser, site.origin) as opened:
        yield opened


def keep_redirect_here(watch: Watched) -> None:
    """Answer the form's final redirect, which leads to the studio's own site, within the test."""
    watch.page.route(WELCOME, lambda route: route.fulfill(body="Welcome", content_type="text/plain"))
    watch.allowed.append(WELCOME)


@pytest.mark.parametrize("script", [True, False], ids=["script", "plain"])
@pytest.mark.parametrize("form", FORMS)
def test_demo_forms_are_filled_in_and_sent(
    site: Site, browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, script: bool
) -> None:
    fill, label, expected = FORMS[form]
    if not script:  # a script waits by itself for the time that the server expects of a person
        monkeypatch.setattr(bot_protection, "MIN_SECONDS", -1.0)
    with watched(browser, site.origin, script=script) as watch:
        keep_redirect_here(watch)
        page = watch.page
        page.goto(site.url(form))
        fill(page, script, tmp_path)
        goal = site.forms[form]["settings"].get("redirect_url") or site.url(form, "/done")
        with page.expect_request(goal):
            press(page, label)
        if script or goal != WELCOME:  # a redirect without scripts is followed to where the test cannot answer it
            page.wait_for_url(goal)
        if goal != WELCOME:
            expect(page.get_by_text(site.forms[form]["settings"]["confirmation_message"])).to_be_visible()
    data = data_of(site.submissions(form)[-1])
    assert expected.items() <= data.items()
    if form == "liability-waiver":
        assert data["signature"].startswith("data:image/png;base64,")
    if form == "movement-intake":
        assert len(data["clearance"]) == 1


def test_fields_come_and_go_as_answers_change(site: Site, seen: Watched) -> None:
    page = seen.page
    page.goto(site.url("movement-intake"))
    for label, value in {"What should we call you?": "S", "Your email": "s@example.com", "Age": "30"}.items():
        page.get_by_label(label).fill(value)
    page.get_by_role("textbox", name="Emergency contact", exact=True).fill("K")
    page.get_by_label("Emergency contact's phone").fill("2125550100")
    press(page, "Continue")
    details, pain = page.get_by_label("Where does it hurt"), page.get_by_text("Pain today")
    expect(page.get_by_text("Step 2 of 3")).to_be_visible()
    expect(details).to_be_hidden()
    page.get_by_label("A current injury").check()
    expect(details).to_be_visible()
    expect(pain).to_be_hidden()
    details.fill("knee")
    expect(pain).to_be_visible()
    page.get_by_label("A current injury").uncheck()
    expect(details).to_be_hidden()
    expect(pain).to_be_hidden()
    page.get_by_label("Pregnancy").check()
    expect(page.get_by_label("Due date")).to_be_visible()


@pytest.mark.parametrize("script", [True, False], ids=["script", "plain"])
def test_every_error_stands_beside_its_field(
    site: Site, browser: Browser, monkeypatch: pytest.MonkeyPatch, script: bool
) -> None:
    monkeypatch.setattr(bot_protection, "MIN_SECONDS", -1.0)
    with watched(browser, site.origin, script=script) as watch:
        page = watch.page
        page.goto(site.url("all-required"))
        press(page, "Send")
        errors = page.locator(".field .error:visible")
        expect(errors).to_have_count(18)
        expect(page.locator("#summary")).to_be_visible()
        expect(page.locator("#summary li")).to_have_count(18)
        for number in range(errors.count()):
            field = page.locator(".field:has(.error:visible)").nth(number)
            error = field.locator(".error")
            error_id = error.get_attribute("id")
            assert error_id is not None
            described = field.locator(f"[aria-describedby~='{error_id}']")
            assert described.count() or error_id in (field.get_attribute("aria-describedby") or "")
        if script:
            assert page.evaluate("document.activeElement.id") == "summary"
            page.locator("#summary a", has_text="Story").click()
            assert page.evaluate("document.activeElement.tagName") == "TEXTAREA"
            page.keyboard.type("better")
            expect(errors).to_have_count(17)


def test_a_file_shows_how_far_it_is(site: Site, seen: Watched, tmp_path: Path) -> None:
    page = seen.page
    page.goto(site.url("everything"))
    large = tmp_path / "scan.pdf"
    large.write_bytes(b"%PDF-1.4\n" + b"%" + b"x" * 1_500_000 + b"\n%%EOF\n")
    slow = page.context.new_cdp_session(page)
    slow.send("Network.enable")
    limits = {"offline": False, "latency": 20, "downloadThroughput": -1, "uploadThroughput": 60_000}
    slow.send("Network.emulateNetworkConditions", limits)
    page.get_by_label("Choose a file").set_input_files(large)
    bar = page.locator("progress")
    bar.wait_for()
    while bar.evaluate("(each) => each.value") <= 0.1:
        page.wait_for_timeout(50)
    assert bar.evaluate("(each) => each.value") <= 1
    slow.send("Network.emulateNetworkConditions", {**limits, "uploadThroughput": -1})
    expect(bar).to_have_count(0)
    expect(page.locator(".file")).to_contain_text("1.4 MB")
    expect(page.locator(".upload-status")).to_have_text("scan.pdf is uploaded.")
    wrong = tmp_path / "evil.pdf"
    wrong.write_bytes(b"MZ not a pdf at all")
    page.get_by_label("Choose a file").set_input_files(wrong)
    expect(page.locator(".file.failed")).to_contain_text("This")
    page.get_by_role("button", name="Remove evil.pdf").click()
    expect(page.locator(".file")).to_have_count(0)


def test_signatures_by_pointer_and_by_keys(site: Site, seen: Watched) -> None:
    page = seen.page
    page.goto(site.url("liability-waiver"))
    kept = page.locator("[data-type=signature] input[type=hidden]")
    draw(page)
    drawn = kept.input_value()
    assert drawn.startswith("data:image/png;base64,")
    assert len(drawn) < 200_000
    page.get_by_role("button", name="Clear").click()
    assert kept.input_value() == ""
    page.get_by_label("type your full name to sign").press_sequentially("Sam Example")
    typed = kept.input_value()
    assert typed.startswith("data:image/png;base64,")
    assert typed != drawn


def test_what_was_filled_in_outlasts_a_temporary_error(
    new_database: Callable[[], str], tmp_path: Path, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The network's limit is used up, then the database refuses; at last the form is sent as it was filled in."""
    form = "liability-waiver"
    fill, label, _ = FORMS[form]
    monkeypatch.setattr(bot_protection, "SENDING", Limit("used-up", 1 / 3600, 1))
    with serving(Site(new_database(), tmp_path)) as site, watched(browser, site.origin) as watch:
        watch.expected += ("the server responded with a status of 5",)
        page, trouble = watch.page, watch.page.locator("#trouble")
        signature = page.locator("[data-type=signature] input[type=hidden]")
        page.request.post(site.url(form), form={"action": "send"})
        page.goto(site.url(form))
        fill(page, True, tmp_path)
        signed = signature.input_value()
        expect(trouble).to_be_hidden()
        press(page, label)
        expect(trouble).to_have_text(
            "A lot was sent from your network. Wait a minute and try again. Your answers are still here."
        )
        expect(trouble).to_be_focused()
        monkeypatch.setattr(bot_protection, "SENDING", SENDING)
        site.sql("alter table form_submissions add constraint refused check (false) not valid")
        press(page, label)
        expect(trouble).to_contain_text("Something went wrong.")
        expect(page.get_by_label("Full legal name")).to_have_value("Sam Example")
        assert signature.input_value() == signed
        site.sql("alter table form_submissions drop constraint refused")
        press(page, label)
        page.wait_for_url(site.url(form, "/done"))
        (kept,) = site.submissions(form)
        assert data_of(kept)["signature"] == signed


def test_by_keys_alone(site: Site, seen: Watched) -> None:
    """Tab, arrows, space and Enter are enough."""
    page = seen.page
    page.goto(site.url("intro-offer"))
    page.keyboard.press("Tab")
    page.keyboard.type("Sam")
    page.keyboard.press("Tab")
    page.keyboard.type("keys@example.com")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.get_by_label("First name").focus()
    page.keyboard.press("Enter")
    page.wait_for_url(site.url("intro-offer", "/done"))
    data = data_of(site.submissions("intro-offer")[-1])
    assert (data["location"], data["interests"]) == ("denver", ["Reformer"])


@pytest.mark.parametrize("form", ["everything", "movement-intake", "not-yet", "hostile"])
@pytest.mark.parametrize("width", [320, 375, 768])
def test_narrow_screens(site: Site, browser: Browser, form: str, width: int) -> None:
    with watched(browser, site.origin, **{**PHONE, "viewport": {"width": width, "height": 740}}) as watch:
        page = watch.page
        page.goto(site.url(form))
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        small = page.evaluate("""[...document.querySelectorAll('button, .option, .tick, .star-option, select, .drop')]
            .filter((each) => each.offsetParent && each.getBoundingClientRect().height < 28).length""")
        assert small == 0, "everything can be hit by a thumb"


@pytest.mark.parametrize("form", ["intro-offer", "liability-waiver", "movement-intake", "everything", "closed"])
def test_dark_screens(site: Site, browser: Browser, form: str) -> None:
    with watched(browser, site.origin, color_scheme="dark") as watch:
        watch.page.goto(site.url(form))
        background = watch.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert sum(map(int, re.findall(r"\d+", background)[:3])) < 120


@pytest.mark.parametrize("form", ["intro-offer", "liability-waiver", "movement-intake", "everything"])
def test_first_paint_is_light_and_still(site: Site, seen: Watched, form: str) -> None:
    page = seen.page
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    received: list[float] = []
    session.on("Network.loadingFinished", lambda event: received.append(event["encodedDataLength"]))
    page.goto(site.url(form), wait_until="networkidle")
    page.evaluate(SETTLED)
    assert 4 <= len(received) <= 7
    print(f"{form}: {sum(received):.0f} bytes in {len(received)} responses")
    assert sum(received) < 100_000
    assert page.evaluate("window.shifts") == 0


def test_markup_in_every_text_stays_text(site: Site, seen: Watched) -> None:
    page = seen.page
    dialogs: list[str] = []

    def dismiss(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", dismiss)
    page.goto(site.url("hostile"))
    for box in page.locator("input[type=text], textarea").all():
        box.fill(HOSTILE)
    page.get_by_label("Your email").fill(HOSTILE)
    page.locator(".primary").click()
    expect(page.locator("#summary")).to_be_visible()
    page.get_by_label("Your email").fill("hostile@example.com")
    for name in ("mail", "amount", "call"):
        page.locator(f"[name^='f.{name}']").fill("")
    page.locator(".primary").click()
    page.wait_for_url(site.url("hostile", "/done"))
    expect(page.locator(".lead")).to_have_text(HOSTILE)
    assert dialogs == []
    assert page.locator("img, script:not([src])").count() == 0


class _Host(http.server.BaseHTTPRequestHandler):
    """A third-party site that embeds a form with our one line of HTML."""

    page = ""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.page.encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def host(site: Site) -> Iterator[str]:
    line = f'<script src="{site.origin}/f/embed.js" data-form="demo/intro-offer"></script>'
    _Host.page = f"<!doctype html><title>Host</title><h1>Our site</h1>{line}<p>Below the form</p>"
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Host)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


def test_one_line_embeds_a_form_that_fits(site: Site, browser: Browser, host: str) -> None:
    with watched(browser, site.origin) as watch:
        watch.allowed.append(host)
        page = watch.page
        page.goto(host)
        frame = page.frame_locator("iframe")
        frame.get_by_label("First name").fill("Em")
        box = page.locator("iframe")
        inner = frame.locator(".page").evaluate("(each) => each.getBoundingClientRect().height")
        page.wait_for_function(f"Math.abs(document.querySelector('iframe').offsetHeight - {inner}) < 2")
        before = box.evaluate("(each) => each.offsetHeight")
        frame.locator(".primary").click()
        frame.get_by_text(re.compile("Please check .* answers")).wait_for()
        page.wait_for_function(f"document.querySelector('iframe').offsetHeight > {before}")
        frame.get_by_label("Your email").fill("em@example.com")
        frame.get_by_text("Brooklyn").click()
        frame.locator(".primary").click()
        frame.get_by_role("heading", name="Thank you").wait_for()
        page.evaluate(FORGED_HEIGHT)
        assert box.evaluate("(each) => each.offsetHeight") < 2000, "only the frame itself is believed"
