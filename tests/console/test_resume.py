"""A form whose session ended, or that needs the password again, loses nothing: it is kept and sent again."""

import json
import re
from html import unescape

import pytest

from studiogate.domain.staff import Grant, Role
from studiogate.flows.staff import sessions
from tests.support.booking_studio import StudioFactory
from tests.support.console import ORIGIN, Console, texts
from tests.support.staff_people import PASSWORD

pytestmark = pytest.mark.anyio
TARGET = "/console/theme"
TYPED = {"theme": "dark", "back": "/console/account?note=\u00fcber <b>all</b>", "idempotency": "k" * 24}


def hidden(page: str) -> dict[str, str]:
    """The hidden fields of the form that is sent at once, or of all forms of a page without one."""
    form = page.partition("data-send-now")[2].partition("</form>")[0] if "data-send-now" in page else page
    fields = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', form)
    return {unescape(name): unescape(value) for name, value in fields}


async def _end_session(console: Console) -> None:
    assert console.person is not None
    ended = "update staff_sessions set ended_at = now() where account_id = $1 and ended_at is null"
    await console.people.sql(ended, console.person.account_id)


async def test_a_form_of_an_ended_session_is_sent_after_signing_in(console: Console) -> None:
    csrf, person = await console.csrf(), console.person
    assert person is not None
    await _end_session(console)
    asked = await console.client.post(TARGET, data={"csrf": csrf, **TYPED}, headers={"Origin": ORIGIN})
    assert asked.status_code == 401
    assert "What you typed is kept." in texts(asked)
    kept = hidden(asked.text)
    assert dict(json.loads(kept["kept"])) == TYPED
    wrong = {**kept, "email": person.email, "password": "wrong wrong wrong"}
    again = await console.client.post("/console/resume", data=wrong, headers={"Origin": ORIGIN})
    assert again.status_code == 401
    assert hidden(again.text) == kept
    right = {**kept, "email": person.email, "password": PASSWORD}
    ready = await console.client.post("/console/resume", data=right, headers={"Origin": ORIGIN})
    assert ready.status_code == 200
    form = hidden(ready.text[ready.text.index("data-send-now") - 200 :])
    assert {name: form[name] for name in TYPED} == TYPED
    sent = await console.client.post(TARGET, data=form, headers={"Origin": ORIGIN})
    assert sent.status_code == 303


async def test_htmx_asks_in_a_dialog_and_gets_a_fresh_token(console: Console) -> None:
    csrf, person = await console.csrf(), console.person
    assert person is not None
    await _end_session(console)
    htmx = {"Origin": ORIGIN, "HX-Request": "true"}
    asked = await console.client.post(TARGET, data={"csrf": csrf, **TYPED}, headers=htmx)
    assert asked.status_code == 401
    assert asked.headers["hx-retarget"] == "#dialog-content"
    assert "<html" not in asked.text
    data = {**hidden(asked.text), "email": person.email, "password": PASSWORD}
    ready = await console.client.post("/console/resume", data=data, headers=htmx)
    assert ready.status_code == 204
    fresh = json.loads(ready.headers["hx-trigger"])["resumeForm"]["csrf"]
    sent = await console.client.post(TARGET, data={"csrf": fresh, **TYPED}, headers=htmx)
    assert sent.status_code == 303


@pytest.mark.parametrize("htmx", [False, True])
async def test_nobody_else_sends_the_form_that_somebody_typed(console: Console, htmx: bool) -> None:
    csrf = await console.csrf()
    await _end_session(console)
    headers = {"Origin": ORIGIN, **({"HX-Request": "true"} if htmx else {})}
    asked = await console.client.post(TARGET, data={"csrf": csrf, **TYPED}, headers=headers)
    other = await console.people.hire(Role.OWNER)
    data = {**hidden(asked.text), "email": other.email, "password": PASSWORD}
    answer = await console.client.post("/console/resume", data=data, headers=headers)
    assert "resumeForm" not in answer.headers.get("hx-trigger", "")
    assert answer.headers["hx-redirect" if htmx else "location"] == "/console/"
    assert answer.text == ""
    shown = await console.get("/console/account")
    assert other.email in shown.text
    assert "typed by somebody else or for another studio: it was not sent." in texts(shown)


async def test_a_form_that_waits_for_the_password_stays_with_its_person(console: Console) -> None:
    """Somebody else signs in, in another tab, while the page asks for the password."""
    assert console.person is not None
    old = "update staff_sessions set password_at = now() - interval '1 hour' where account_id = $1"
    await console.people.sql(old, console.person.account_id)
    asked = await console.post("/console/account/second-factor")
    kept = {name: value for name, value in hidden(asked.text).items() if name in ("kept", "target", "owner")}
    other = await console.as_role(Role.OWNER)
    answer = await other.post("/console/confirm", {**kept, "password": PASSWORD})
    assert (answer.status_code, answer.headers["location"]) == (303, "/console/")


async def test_a_kept_form_is_not_sent_to_another_studio(console: Console, studio_factory: StudioFactory) -> None:
    """The new session starts in the studio where the person worked last, which is another one by now."""
    other = await studio_factory.new_studio()
    csrf, person = await console.csrf(), console.person
    assert person is not None
    await _end_session(console)
    asked = await console.client.post(TARGET, data={"csrf": csrf, **TYPED}, headers={"Origin": ORIGIN})
    await console.people.invite(Grant(Role.OWNER), person.email, other.access)
    elsewhere = await console.people.session(person)
    assert await sessions.choose_studio(console.people.database, elsewhere, other.id) is None
    data = {**hidden(asked.text), "email": person.email, "password": PASSWORD}
    answer = await console.client.post("/console/resume", data=data, headers={"Origin": ORIGIN})
    assert (answer.status_code, answer.headers["location"]) == (303, "/console/")


async def test_a_page_of_an_earlier_session_asks_before_it_sends(console: Console) -> None:
    """Somebody signed in again in another tab: the form is kept, and sent only when that person wants it."""
    csrf = await console.csrf()
    other = await console.as_role(Role.MANAGER)
    asked = await other.client.post(TARGET, data={"csrf": csrf, **TYPED}, headers={"Origin": ORIGIN})
    assert asked.status_code == 403
    assert "You have signed in again, or chosen another studio, since this page was opened." in texts(asked)
    assert "data-send-now" not in asked.text
    assert 'value="dark"' in asked.text


async def test_a_dangerous_action_asks_for_the_password_and_goes_on(console: Console) -> None:
    assert console.person is not None
    old = "update staff_sessions set password_at = now() - interval '1 hour' where account_id = $1"
    await console.people.sql(old, console.person.account_id)
    asked = await console.post("/console/account/second-factor")
    assert asked.status_code == 403
    assert "Enter your password again" in texts(asked)
    form = hidden(asked.text[asked.text.index('action="/console/confirm"') :])
    wrong = await console.client.post(
        "/console/confirm", data={**form, "password": "wrong wrong wrong"}, headers={"Origin": ORIGIN}
    )
    assert wrong.status_code == 401
    ready = await console.client.post(
        "/console/confirm", data={**form, "password": PASSWORD}, headers={"Origin": ORIGIN}
    )
    assert ready.status_code == 200
    sent = await console.post("/console/account/second-factor")
    assert sent.status_code == 200
    assert "otpauth://" in sent.text


async def test_passwords_are_never_kept(console: Console) -> None:
    csrf = await console.csrf()
    await _end_session(console)
    data = {"csrf": csrf, "idempotency": "k" * 24, "current_password": "SECRET-1", "password": "SECRET-2"}
    asked = await console.client.post("/console/account/password", data=data, headers={"Origin": ORIGIN})
    assert asked.status_code == 401
    assert "SECRET" not in asked.text


async def test_a_kept_form_leads_nowhere_else(console: Console) -> None:
    person = console.person
    assert person is not None
    for target in ("https://evil.example/", "//evil.example/console/", "/console/../evil", "/partner/v1/x"):
        data = {"email": person.email, "password": PASSWORD, "target": target, "kept": '[["a","b"]]'}
        answer = await console.anonymous().client.post("/console/resume", data=data, headers={"Origin": ORIGIN})
        assert (answer.status_code, answer.headers["location"]) == (303, "/console/")
