"""Partners: a key from its first request to its end, and a receiver that fails, recovers and gets what it missed."""

import asyncio
import json
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from studiogate.runtime import Runtime
from studiogate.server.api_process import FrontEnds
from studiogate.worker.webhooks import Deliverer
from tests.support.axe import complaints_in_light_and_dark
from tests.support.desk import Desk, LoadedDemo
from tests.support.site import Site, served

pytestmark = pytest.mark.timeout(300)
LOOPBACK = {"webhook_allow_cidrs": ["127.0.0.0/8"], "webhook_allow_http": True}
LEADS = 3


async def deliver_and_log(runtime: Runtime, app: FrontEnds) -> None:
    """Deliver webhooks and write the request log, as processes of the service do."""
    delivering = asyncio.create_task(Deliverer(runtime).run())
    try:
        while True:
            await app.partners.request_log.flush()
            await asyncio.sleep(0.1)
    finally:
        delivering.cancel()
        with suppress(asyncio.CancelledError):
            await delivering


@pytest.fixture(scope="module")
def desk(
    loaded_demo: LoadedDemo, databases: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Desk]:
    """The demo studio, whose webhooks are delivered and whose requests are logged."""
    folder = tmp_path_factory.mktemp("data") / "data"
    site = Site(databases(loaded_demo.template), shutil.copytree(loaded_demo.data, folder))
    with served(site, deliver_and_log, rate_limit=0, **LOOPBACK):
        yield Desk(site, loaded_demo.studio_id)


@pytest.fixture
def owner(browser: Browser, desk: Desk) -> Iterator[Page]:
    with desk.open(browser) as page:
        desk.sql("update staff_sessions set password_at = now()")  # a link does not count as the password
        yield page


def ask(desk: Desk, key: str, method: str, path: str, body: Any = None) -> int:
    """Send a request of a partner; return the status."""
    headers = {"X-Service-Key": key, "Idempotency-Key": uuid4().hex}
    return httpx2.request(method, f"{desk.origin}/partner/v1{path}", headers=headers, json=body).status_code


def reload_until(page: Page, shown: Locator) -> None:
    """Reload a page until it shows what another part of the service writes."""
    while not shown.count():
        page.reload()
    expect(shown.first).to_be_visible()


def test_a_key_is_made_used_rotated_and_revoked(owner: Page, desk: Desk) -> None:
    page, drawer = owner, owner.locator("#drawer")
    page.goto(desk.url("/partners/keys"))
    page.get_by_role("link", name="New key").click()
    page.get_by_label("Name", exact=True).fill("CityPass")
    page.get_by_role("link", name="Website", exact=True).click()
    expect(page.get_by_role("checkbox", name="Leads: create and change")).to_be_checked()
    expect(page.get_by_label("Name", exact=True)).to_have_value("CityPass")
    page.get_by_role("button", name="Make the key").click()
    key = page.locator(".secret-line code").inner_text()
    expect(page.locator("figure[data-drawn] canvas")).to_be_visible()
    assert complaints_in_light_and_dark(page) == []
    assert [ask(desk, key, "GET", path) for path in ("/studio", "/members")] == [200, 403]

    page.goto(desk.url("/partners/requests"))
    refused = page.get_by_role("row").filter(has_text="CityPass").get_by_role("link", name="GET /members")
    reload_until(page, refused)
    assert complaints_in_light_and_dark(page) == []
    refused.click()
    expect(drawer).to_contain_text("insufficient_scope")
    expect(drawer).to_contain_text("$STUDIOGATE_KEY")

    page.goto(desk.url(f"/partners/keys/{key.split('_')[2]}"))
    page.get_by_role("link", name="Rotate").click()
    drawer.get_by_role("button", name="Rotate").click()
    expect(page.get_by_text("works for another")).to_be_visible()
    rotated = page.locator(".secret-line code").inner_text()
    assert [ask(desk, each, "GET", "/studio") for each in (key, rotated)] == [200, 200]
    page.get_by_text("More", exact=True).click()
    page.get_by_role("link", name="Revoke").click()
    drawer.get_by_role("button", name="Revoke the key").click()
    expect(page.locator("#toasts")).to_contain_text("CityPass is revoked.")
    while (status := ask(desk, rotated, "GET", "/studio")) == 200:
        pass  # processes remember a key for some seconds
    assert status == 401


@dataclass
class Receiver:
    """A partner's server. ``status`` is its answer; ``taken`` are the ids of events that it answered with 200."""

    status: int = 500
    port: int = 0
    taken: set[str] = field(default_factory=set)
    changed: threading.Condition = field(default_factory=threading.Condition)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            event = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if receiver.status == 200:
                with receiver.changed:
                    receiver.taken.add(event["id"])
                    receiver.changed.notify_all()
            self.send_response(receiver.status)
            self.send_header("content-length", "4")
            self.end_headers()
            self.wfile.write(b"busy")

        def log_message(self, *_arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.port = server.server_address[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield receiver
    server.shutdown()
    server.server_close()


def test_a_broken_receiver_is_found_and_recovers(owner: Page, desk: Desk, receiver: Receiver) -> None:
    page, drawer = owner, owner.locator("#drawer")
    key, url = (desk.site.data / "demo.key").read_text().strip(), f"http://127.0.0.1:{receiver.port}/hook"
    page.goto(desk.url("/partners/webhooks"))
    page.locator("main").get_by_role("link", name="New endpoint").click()
    drawer.get_by_label("Key").select_option(key.split("_")[2])
    drawer.get_by_label("Address").fill(url)
    drawer.get_by_role("button", name="Make the endpoint").click()
    expect(page.locator(".secret-line code")).to_contain_text("whsec_")
    for number in range(LEADS):
        lead = {"email": f"lead-{number}@hooks.example", "first_name": "Lea", "last_name": "Dent"}
        assert ask(desk, key, "POST", "/leads", lead) == 201
    page.goto(desk.url("/partners/webhooks"))
    reload_until(page, page.get_by_text("Answered 500"))
    assert complaints_in_light_and_dark(page) == []
    page.get_by_role("link", name=url).click()
    expect(page.get_by_text("Failing since").first).to_be_visible()
    page.get_by_role("link", name="lead.created").first.click()
    expect(drawer.locator(".attempt").first).to_contain_text("busy")
    page.keyboard.press("Escape")

    receiver.status = 200
    page.get_by_role("link", name="Recover", exact=True).click()
    drawer.get_by_role("button", name="Send again").click()
    expect(page.locator("#toasts")).to_contain_text("on the way again, oldest first.")
    made = "select id::text from events where type = 'lead.created' and object ->> 'email' like '%@hooks.example'"
    wanted = {row["id"] for row in desk.sql(made)}
    assert len(wanted) == LEADS
    with receiver.changed:
        receiver.changed.wait_for(lambda: receiver.taken >= wanted)
    # On a slow machine the first deliveries have failed twice: their third attempt would come after five minutes.
    desk.sql("update webhook_deliveries set due_at = now() where status = 'pending' and claim is null")
    reload_until(page, page.locator("h1 .badge.good"))
    page.goto(desk.url("/partners/events?type=lead.created"))
    page.get_by_role("link", name="lead.created").first.click()
    expect(drawer.locator(".deliveries")).to_contain_text("delivered")
    assert complaints_in_light_and_dark(page) == []
