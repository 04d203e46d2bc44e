"""One's own account: invitation, password, second factor, sessions, studios."""

import base64
import hashlib
import html
import re

import pytest
import segno

from studiogate.domain.refusals import Code
from studiogate.domain.staff import Grant, Role
from studiogate.domain.staff.sign_in import LIMITS, Attempt
from studiogate.domain.staff.tokens import Purpose, link_path, step_at, totp_code
from studiogate.flows.staff.sessions import issue_link
from tests.support.booking_studio import StudioFactory
from tests.support.console import COOKIE, ORIGIN, Console, texts
from tests.support.staff_people import PASSWORD

pytestmark = pytest.mark.anyio
NEW = "a completely new password"


async def _link(console: Console, purpose: Purpose) -> str:
    assert console.person is not None
    async with console.studio.database.transaction() as connection:
        return link_path((await issue_link(connection, console.person.account_id, purpose)).token)


def _modules(code: segno.QRCode) -> set[tuple[int, int]]:
    """Return column and row of the dark modules, with the border that scanners need."""
    return {(x, y) for y, row in enumerate(code.matrix_iter(border=4)) for x, dark in enumerate(row) if dark}


def _drawn_modules(page: str) -> set[tuple[int, int]]:
    """Return the modules that a page's SVG draws: horizontal strokes of one module's height, from left to right."""
    path = re.search(r'<path stroke="#000" d="M([^"]+)"', page)
    assert path is not None
    drawn, x, y = set(), 0.0, 0.0
    for step in re.findall(r"[-\d.]+ [-\d.]+|h\d+", path[1]):
        if step.startswith("h"):
            drawn |= {(int(x) + each, int(y)) for each in range(int(step[1:]))}
            x += int(step[1:])
        else:
            x, y = x + float(step.split()[0]), y + float(step.split()[1])
    return drawn


@pytest.mark.parametrize(("mask", "digest"), [(0, "aa4a70de2ec9021f7c96954f"), (5, "c321449bb0dd6fe6fc57209c")])
def test_codes_are_those_of_another_encoder(mask: int, digest: str) -> None:
    """The digests are of the modules that the Python package `qrcode` draws for the same text, version and mask."""
    text = ("otpauth://totp/Studiogate:" + "x" * 600)[:458]
    code = segno.make_qr(text, error="l", boost_error=False, mask=mask)
    modules = "".join("1" if dark else "0" for row in code.matrix for dark in row)
    assert hashlib.sha256(modules.encode()).hexdigest().startswith(digest)


async def test_a_code_that_does_not_fit_is_not_drawn(console: Console) -> None:
    offered = await console.post("/console/account/second-factor")
    found = re.search(r'class="secret">([A-Z2-7]+)<', offered.text)
    assert found is not None
    kept = {"secret": found[1], "uri": "otpauth://totp/" + "x" * 3_000, "code": "000000"}
    wrong = await console.post("/console/account/second-factor/confirm", kept)
    assert (wrong.status_code, 'class="qr-code"' in wrong.text) == (401, False)


async def _send(console: Console, path: str, **fields: str):  # type: ignore[no-untyped-def]
    return await console.client.post(path, data=fields, headers={"Origin": ORIGIN})


async def test_an_invitation_becomes_an_account(console: Console) -> None:
    invited = await console.people.invite(Grant(Role.FRONT_DESK))
    assert invited.link is not None
    path, browser = link_path(invited.link.token), console.anonymous()
    opened = await browser.get(path)
    assert "Choose your name" in texts(opened)
    assert opened.headers["referrer-policy"] == "strict-origin"
    short = await _send(browser, path, name="Noor Haddad", password=NEW[:11])
    assert short.status_code == 422
    assert "at least 12 characters" in texts(short)
    assert 'value="Noor Haddad"' in short.text
    accepted = await _send(browser, path, name="Noor Haddad", password=NEW)
    assert (accepted.status_code, accepted.headers["location"]) == (303, "/console/")
    assert "Noor Haddad" in texts(await browser.get("/console/account"))
    used = await _send(console.anonymous(), path, name="Mallory", password=NEW)
    assert used.status_code == 410
    assert Code.LINK_EXPIRED.message in texts(used)


async def test_a_link_signs_in_once(console: Console) -> None:
    path, browser = await _link(console, Purpose.SIGN_IN), console.anonymous()
    for _ in range(2):  # a mail scanner opens it first
        assert (await browser.get(path)).status_code == 200
    assert (await _send(browser, path, code="")).status_code == 303
    assert (await browser.get("/console/account")).status_code == 200
    assert (await console.anonymous().get(path)).status_code == 410


async def test_a_reset_link_sets_a_password_and_ends_all_sessions(console: Console) -> None:
    path, browser = await _link(console, Purpose.RESET), console.anonymous()
    assert "Set a new password" in texts(await browser.get(path))
    done_ = await _send(browser, path, password=NEW)
    assert (done_.status_code, done_.headers["location"]) == (303, "/console/sign-in?reset=done")
    assert "Your new password is set." in texts(await browser.get(done_.headers["location"]))
    assert (await console.get("/console/account")).status_code == 303
    assert console.person is not None
    assert (await _send(browser, "/console/sign-in", email=console.person.email, password=NEW)).status_code == 303


async def test_a_forgotten_password_reveals_nothing_about_accounts(console: Console) -> None:
    browser = console.anonymous()
    assert "This installation sends no mail" in texts(await browser.get("/console/forgotten"))
    assert console.person is not None
    answers = [
        texts(await _send(browser, "/console/forgotten", email=email))
        for email in (console.person.email, "nobody@example.com")
    ]
    assert answers[0] == answers[1]


async def test_strangers_do_not_lock_a_browser_out_that_has_signed_in_before(console: Console) -> None:
    person, browser, stranger = console.person, console.anonymous(), console.anonymous()
    assert person is not None
    assert (await _send(browser, "/console/sign-in", email=person.email, password=PASSWORD)).status_code == 303
    assert (await browser.post("/console/sign-out")).status_code == 303
    for _ in range(LIMITS[Attempt.SIGN_IN].per_key):
        await _send(stranger, "/console/sign-in", email=person.email, password=NEW)
    assert (await _send(stranger, "/console/sign-in", email=person.email, password=PASSWORD)).status_code == 429
    assert (await _send(browser, "/console/sign-in", email=person.email, password=PASSWORD)).status_code == 303


async def test_a_password_that_is_easy_to_guess_is_refused_with_the_reason(console: Console) -> None:
    for new, why in (("password1234", "This is easy to guess."), ("hedge towel studio wall", "Use no part of")):
        refused = await console.post("/console/account/password", {"current_password": PASSWORD, "password": new})
        assert refused.status_code == 422
        assert why in texts(refused)


async def test_changing_the_password(console: Console) -> None:
    before = console.client.cookies.get(COOKIE)
    wrong = await console.post("/console/account/password", {"current_password": "wrong", "password": NEW})
    assert wrong.status_code == 401
    assert "Your account" in texts(wrong)
    assert Code.SIGN_IN_FAILED.message in texts(wrong)
    right = await console.post("/console/account/password", {"current_password": PASSWORD, "password": NEW})
    assert right.status_code == 303
    assert console.client.cookies.get(COOKIE) != before
    assert (await console._with_cookie(before, None).get("/console/account")).status_code == 303
    assert "Your password is changed." in texts(await console.get("/console/account"))
    assert "Your password is changed." not in texts(await console.get("/console/account")), "a toast is shown once"


async def test_a_second_factor_is_set_up_confirmed_asked_for_and_removed(console: Console) -> None:
    offered = await console.post("/console/account/second-factor")
    assert offered.status_code == 200
    found = re.search(r'class="secret">([A-Z2-7]+)<', offered.text)
    assert found is not None
    link = re.search(r'href="(otpauth://totp/[^"]+)"', offered.text)
    assert link is not None
    assert _drawn_modules(offered.text) == _modules(segno.make_qr(html.unescape(link[1]), error="l", boost_error=False))
    secret, now = _decoded(found[1]), await console.studio.now()
    kept = {"secret": found[1], "uri": "otpauth://totp/x"}
    wrong = await console.post("/console/account/second-factor/confirm", {"code": "000000", **kept})
    assert wrong.status_code == 401
    assert found[1] in wrong.text
    code = totp_code(secret, step_at(now))
    assert (await console.post("/console/account/second-factor/confirm", {"code": code, **kept})).status_code == 303
    browser, person = console.anonymous(), console.person
    assert person is not None
    asked = await _send(browser, "/console/sign-in", email=person.email, password=PASSWORD)
    assert asked.status_code == 401
    assert 'name="code"' in asked.text
    later = totp_code(secret, step_at(now) + 1)
    signed_in = await _send(browser, "/console/sign-in", email=person.email, password=PASSWORD, code=later)
    assert signed_in.status_code == 303
    assert (await console.post("/console/account/second-factor/remove")).status_code == 303
    assert "Set it up" in texts(await console.get("/console/account"))


def _decoded(text: str) -> bytes:
    return base64.b32decode(text + "=" * (-len(text) % 8))


async def test_sessions_are_listed_and_ended(console: Console) -> None:
    assert console.person is not None
    other = await console.as_person(console.person)
    page = await console.get("/console/account")
    ids = re.findall(r"/console/account/sessions/([0-9a-f-]{36})/end", page.text)
    assert len(ids) == 2  # that of the invitation, and the other one
    for each in ids:
        assert (await console.post(f"/console/account/sessions/{each}/end")).status_code == 303
    assert (await other.get("/console/account")).status_code == 303
    again = await console.as_person(console.person)
    assert (await console.post("/console/account/sessions/end-others")).status_code == 303
    assert (await again.get("/console/account")).status_code == 303


async def test_a_session_of_somebody_else_cannot_be_ended(console: Console) -> None:
    other = await console.as_role(Role.MANAGER)
    session_id = await console.people.value(
        "select id from staff_sessions where account_id = $1 and ended_at is null limit 1",
        other.person.account_id,  # type: ignore[union-attr]
    )
    assert (await console.post(f"/console/account/sessions/{session_id}/end")).status_code == 404
    assert (await other.get("/console/account")).status_code == 200


async def test_a_person_switches_between_their_studios(console: Console, studio_factory: StudioFactory) -> None:
    assert console.person is not None
    other = await studio_factory.new_studio()
    refused = await console.post("/console/account/studio", {"studio_id": str(other.id)})
    assert refused.status_code == 404
    await console.people.invite(Grant(Role.MANAGER), console.person.email, other.access)
    assert "Switch studio" in texts(await console.get("/console/account"))
    assert (await console.post("/console/account/studio", {"studio_id": str(other.id)})).status_code == 303
    page = texts(await console.get("/console/account"))
    assert "Role here manager" in page


async def test_a_form_opened_in_another_studio_asks_before_it_takes_effect(
    console: Console, studio_factory: StudioFactory
) -> None:
    """Of two tabs, one chose another studio: the form of the other tab must not create its member there unasked."""
    assert console.person is not None
    other = await studio_factory.new_studio()
    await console.people.invite(Grant(Role.MANAGER), console.person.email, other.access)
    form = {"csrf": await console.csrf(), "idempotency": "k" * 24, "first_name": "Ada", "last_name": "Moss"}
    assert (await console.post("/console/account/studio", {"studio_id": str(other.id)})).status_code == 303
    for htmx in ({}, {"HX-Request": "true"}):
        asked = await console.client.post("/console/members/new", data=form, headers={"Origin": ORIGIN, **htmx})
        assert asked.status_code in (400, 403)
        assert "chosen another studio, since this page was opened" in texts(asked)
        assert await other.rows("members") == []
    sent = await console.post("/console/members/new", form | {"csrf": await console.csrf()}, token="k" * 24)
    assert sent.status_code == 303, "whoever confirms it sends it to the studio that is named"
    assert len(await other.rows("members")) == 1


async def test_the_colour_scheme_is_kept(console: Console) -> None:
    answer = await console.post("/console/theme", {"theme": "dark", "back": "/console/account"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/console/account")
    assert '<html lang="en" data-theme="dark">' in (await console.get("/console/account")).text
