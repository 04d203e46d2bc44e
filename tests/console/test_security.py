"""What an attacker might try against the console: forged forms, frames, redirects, markup in names, fixed sessions."""

import hashlib
import re
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

import studiogate.console
from studiogate import telemetry
from studiogate.console import screens
from studiogate.console.app import ConsoleApp
from studiogate.console.framework import checks
from studiogate.console.framework.page import Audience
from studiogate.console.framework.request import Person, is_own_path
from studiogate.console.framework.templating import ASSETS, find
from studiogate.domain.staff import Grant, Role
from studiogate.domain.staff.tokens import csrf_token, link_path, new_token
from studiogate.runtime import Runtime
from studiogate.web.limits import Limit
from studiogate.web.request import Request
from studiogate.web.static_assets import SHARED
from tests.support.console import COOKIE, ORIGIN, Console, new_client, texts
from tests.support.secret_search import Secrets
from tests.support.staff_people import PASSWORD

pytestmark = pytest.mark.anyio
CONSOLE = Path(studiogate.console.__file__).parent
ACTIONS = [route for route in screens.routes() if route.method == "POST"]
MARKUP = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'><b>"


def path_of(path: str) -> str:
    return "/console" + re.sub(r"\{[^}]*\}", lambda _: str(uuid4()), path)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "null"},
        {"Origin": "https://evil.example"},
        {"Origin": "http://console.test.evil.example"},
        {"Origin": "http://evil.example/console.test"},
        {"Origin": ORIGIN, "Sec-Fetch-Site": "cross-site"},
        {"Origin": ORIGIN, "Sec-Fetch-Site": "same-site"},
        {"Origin": "file://console.test"},
    ],
)
async def test_forms_of_other_sites_are_refused(console: Console, headers: dict[str, str]) -> None:
    """Every action, also those of anybody: a forged sign-in would put the victim into the attacker's account."""
    data = {"csrf": await console.csrf(), "idempotency": "k" * 24, "theme": "dark"}
    for route in ACTIONS:
        answer = await console.client.post(path_of(route.path), data=data, headers=headers)
        assert answer.status_code == 400, route.path
        assert "set-cookie" not in answer.headers, route.path


async def test_a_form_without_the_sessions_token_does_nothing(console: Console) -> None:
    other = await console.as_role(Role.MANAGER)
    token = console.client.cookies.get(COOKIE)
    assert token is not None
    for csrf in ("", "x", await other.csrf(), "A" * 86, csrf_token(token, console.studio.access.studio_id)):
        data = {"csrf": csrf, "idempotency": "k" * 24, "theme": "dark", "back": "/console/account"}
        for route in ACTIONS:
            if route.needs is Audience.ANYBODY:
                continue
            answer = await console.client.post(path_of(route.path), data=data, headers={"Origin": ORIGIN})
            assert answer.status_code == 403, (route.path, csrf)
    assert (await console.get("/console/account")).status_code == 200, "still signed in"


async def test_a_form_without_its_own_token_does_nothing(console: Console) -> None:
    for token in ("", "short", "x" * 65, "with spaces in it..."):
        data = {"csrf": await console.csrf(), "idempotency": token, "theme": "dark"}
        answer = await console.client.post("/console/theme", data=data, headers={"Origin": ORIGIN})
        assert answer.status_code == 403


async def test_the_csrf_token_differs_in_every_page(console: Console) -> None:
    """Pages are compressed: a constant secret beside what somebody typed could be guessed from their sizes."""
    page = await console.get("/console/account")
    found = re.findall(r'name="csrf" value="([^"]*)"', page.text)
    assert len(found) == len(set(found)) > 3
    assert await console.csrf() not in found


async def test_a_session_is_never_the_visitors_choice(console: Console) -> None:
    """Session fixation: whatever cookie a browser has, signing in makes a new session."""
    person = await console.people.hire(Role.FRONT_DESK)
    planted = "A" * 43
    browser = console._with_cookie(planted, None)
    form = {"email": person.email, "password": person.password}
    answer = await browser.client.post("/console/sign-in", data=form, headers={"Origin": ORIGIN})
    assert answer.status_code == 303
    assert planted not in answer.headers["set-cookie"]
    assert (await console._with_cookie(planted, None).get("/console/account")).status_code == 303
    own = console.client.cookies.get(COOKIE)
    assert own is not None
    again = await console.client.post("/console/sign-in", data=form, headers={"Origin": ORIGIN})
    assert own not in again.headers["set-cookie"]


async def test_pages_cannot_be_framed_and_run_nothing_inline(console: Console) -> None:
    for answer in (
        await console.get("/console/account"),
        await console.anonymous().get("/console/sign-in"),
        await console.get("/console/nothing-here"),
        await console.fragment("/console/search?q=a"),
    ):
        policy = answer.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert "script-src 'self'" in policy
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"


OUTSIDE = [
    "https://evil.example",
    "//evil.example",
    "/\\evil.example",
    "/console//../..//evil.example",
    "/console/\\evil.example",
    "javascript:alert(1)",
    "/console/../../evil",
    "/console/x\r\nSet-Cookie: a=b",
    "/partner/v1",
    "/consolex",
    "console/today",
    " /console/",
    "/console/\u2028",
]


@pytest.mark.parametrize("location", OUTSIDE)
async def test_no_page_leads_to_another_site(console: Console, location: str) -> None:
    person = await console.people.hire(Role.FRONT_DESK)
    form = {"email": person.email, "password": PASSWORD, "next": location}
    answer = await console.anonymous().client.post("/console/sign-in", data=form, headers={"Origin": ORIGIN})
    assert answer.headers["location"] == "/console/"
    signed_in = await console.client.get("/console/sign-in", params={"next": location})
    assert signed_in.headers["location"] == "/console/"
    themed = await console.post("/console/theme", {"theme": "dark", "back": location})
    assert themed.headers["location"] == "/console/"


@pytest.mark.parametrize("location", ["/console/", "/console/today?day=2026-11-16&location=x", "/console/members/1"])
def test_own_pages_are_own(location: str) -> None:
    assert is_own_path(location)


async def test_markup_in_names_is_text(console: Console) -> None:
    """Names of the studio, a location and a person, and a toast: each is shown as it is typed."""
    await console.studio.sql("update studios set name = $2 where studio_id = $1", MARKUP)
    await console.studio.sql("update locations set name = $2 where studio_id = $1", MARKUP)
    await console.people.sql("update staff_accounts set name = $1", MARKUP)
    manager = await console.as_role(Role.MANAGER, console.studio.location)
    await console.people.sql("update staff_accounts set name = $1", MARKUP)
    for path in ("/console/account", "/console/welcome", "/console/search?q=" + MARKUP.replace("+", " ")):
        page = await manager.get(path)
        assert page.status_code == 200, path
        assert "<script>alert" not in page.text, path
        assert "onerror=alert(1)>" not in page.text.replace("&gt;", ""), path
        assert "&lt;script&gt;" in page.text, path
    invited = await console.post("/console/staff/invite", {"email": MARKUP, "role": "owner"})
    assert "<script>alert" not in invited.text


async def test_a_toast_of_somebody_else_is_not_shown(console: Console) -> None:
    console.client.cookies.set("studiogate_toast", "eyJ0ZXh0IjogIm93bmVkIn0." + "0" * 64, path="/console")
    assert "owned" not in texts(await console.get("/console/account"))


async def test_cookies_are_for_https_where_the_service_is(console: Console) -> None:
    runtime = console.studio.api.app._runtime
    settings = runtime.settings.model_copy(update={"public_url": "https://console.test"})
    app = type(console.app)(replace(runtime, settings=settings))
    person = await console.people.hire(Role.FRONT_DESK)
    async with new_client(app) as client:
        form = {"email": person.email, "password": person.password}
        answer = await client.post("/console/sign-in", data=form, headers={"Origin": "https://console.test"})
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Secure-studiogate=")
    assert cookie.endswith("; HttpOnly; SameSite=Lax; Secure")


async def test_no_log_line_has_a_secret_or_a_person(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    """Addresses of the console hold one-time tokens, ids of people and what somebody searched for; a log line names the
    route only."""
    lines: list[str] = []
    monkeypatch.setattr(telemetry.request_records, "add", lambda record: lines.append(repr(record)))
    secrets = Secrets()
    invited = await console.people.invite(Grant(Role.FRONT_DESK))
    assert invited.link is not None
    secrets.keep("link", invited.link.token)
    secrets.keep("session", str(console.client.cookies.get(COOKIE)))
    secrets.keep("email", invited.email)
    browser, member = console.anonymous(), secrets.keep("member", str(uuid4()))
    await browser.get(link_path(invited.link.token))
    accepted = {"name": secrets.text("name"), "password": secrets.text("password")}
    await browser.client.post(link_path(invited.link.token), data=accepted, headers={"Origin": ORIGIN})
    await console.get(f"/console/search?q={secrets.text('searched')}")
    await console.get(f"/console/members/{member}?note={secrets.text('note')}")
    await console.post("/console/staff/invite", {"email": secrets.email("invited"), "role": "owner"})
    assert len(lines) == 5
    assert any("/console/link/{token}" in line for line in lines)
    assert secrets.found_in("\n".join(lines)) == set()


INLINE = re.compile(r"<style|<script(?![^>]*\bsrc=)|\sstyle\s*=|\son[a-z]+\s*=|javascript:|hx-on", re.IGNORECASE)


def test_no_template_has_inline_scripts_or_styles() -> None:
    """The policy would block them in browsers; this says which template it is."""
    templates = sorted((CONSOLE / "templates").rglob("*.html"))
    assert len(templates) > 15
    for file in templates:
        markup = re.sub(r"\{[{%#].*?[}%#]\}", "", file.read_text(), flags=re.DOTALL)
        assert INLINE.findall(markup) == [], file.name
    for text in (
        "<style>",
        "<script>",
        '<p style="x">',
        '<a onclick="x">',
        '<a href="javascript:x">',
        "<p hx-on:click>",
    ):
        assert INLINE.search(text), text


def test_every_form_of_a_template_carries_its_tokens() -> None:
    """A form of a signed-in person without them would never be accepted."""
    for file in sorted((CONSOLE / "templates").rglob("*.html")):
        for form in re.findall(r"<form\b.*?</form>", file.read_text(), re.DOTALL | re.IGNORECASE):
            is_public = "signed_out.html" in file.read_text() or file.name == "_ask_sign_in.html"
            if 'method="post"' in form and not is_public:
                assert "form_fields()" in form or "csrf_field()" in form, file.name


@pytest.mark.parametrize("folder", [SHARED / "vendor" / "htmx", CONSOLE / "static" / "vendor" / "uplot"])
def test_vendored_files_are_the_ones_that_were_recorded(folder: Path) -> None:
    recorded = dict(re.findall(r"^\| (\S+) \| ([0-9a-f]{64}) \|$", (folder / "README.md").read_text(), re.MULTILINE))
    assert set(recorded) == {file.name for file in folder.iterdir() if file.suffix in (".js", ".css")}
    for name, digest in recorded.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    assert (folder / "LICENSE").exists()


async def test_assets_are_cached_forever_under_their_hash(console: Console) -> None:
    page = await console.anonymous().get("/console/sign-in")
    found = re.findall(r'(?:href|src)="(/console/assets/[^"]+)"', page.text)
    assert len(found) >= 5
    for path in found:
        answer = await console.anonymous().get(path)
        assert answer.status_code == 200, path
        assert "immutable" in answer.headers["cache-control"]
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert (await console.get(found[0].replace(found[0].split("/")[3], "0" * 16))).status_code == 404
    assert (await console.get("/console/assets/../app.py")).status_code == 404


async def test_all_assets_of_the_shell_are_small(console: Console) -> None:
    page = await console.get("/console/account")
    paths = re.findall(r'(?:href|src)="(/console/assets/[^"]+)"', page.text)
    modules = [ASSETS.address(name) for name in ASSETS.names if name.endswith(".js") and "vendor" not in name]
    size = sum(len(answer.body) for path in {*paths, *modules} if (answer := find(path, zipped=True)) is not None)
    assert size < 80_000, "of the 150 kB that all assets may have"


def limited(console: Console) -> ConsoleApp:
    """Return the same console with limits."""
    runtime = console.studio.api.app._runtime
    return ConsoleApp(replace(runtime, settings=runtime.settings.model_copy(update={"rate_limit": 1000})))


async def test_random_cookies_do_not_reach_the_database_of_a_limited_address(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An open session at the same address is not refused for it; a cookie that is wrong is looked up once."""
    monkeypatch.setattr(checks, "VISITS", Limit("console-visits", 1 / 3600, 5))
    resolved: list[str] = []
    real = checks.person_of_token

    async def counted(runtime: Runtime, request: Request, token: str) -> Person | None:
        resolved.append(token)
        return await real(runtime, request, token)

    monkeypatch.setattr(checks, "person_of_token", counted)
    own = console.client.cookies.get(COOKIE)
    assert own is not None
    async with new_client(limited(console)) as client:

        async def status(cookie: str) -> int:
            return (await client.get("/console/account", headers={"Cookie": f"{COOKIE}={cookie}"})).status_code

        assert await status(own) == 200
        assert [await status("A" * 43) for _ in range(3)] == [303] * 3
        statuses = [await status(new_token()) for _ in range(20)]
        assert statuses == [303] + [429] * 19
        assert len(resolved) == 3
        assert await status(own) == 200
        await console.people.sql("update staff_sessions set ended_at = now()")
        assert [await status(own) for _ in range(3)] == [429] * 3


async def test_too_many_requests_are_refused(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "VISITS", Limit("console-visits", 1 / 3600, 5))
    async with new_client(limited(console)) as client:
        answers = [await client.get("/console/sign-in") for _ in range(6)]
    assert [each.status_code for each in answers] == [200] * 5 + [429]
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 3600
