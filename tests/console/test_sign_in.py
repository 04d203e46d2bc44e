"""Signing in and out of the console."""

import pytest

from studiogate.domain.staff import Role
from tests.support.console import COOKIE, ORIGIN, Console, texts

pytestmark = pytest.mark.anyio


async def test_a_page_leads_to_the_sign_in_and_back(console: Console) -> None:
    person = await console.people.hire(Role.FRONT_DESK)
    browser = console.anonymous()
    asked = await browser.get("/console/?day=2026-11-16")
    assert asked.status_code == 303
    assert asked.headers["location"] == "/console/sign-in?next=%2Fconsole%2F%3Fday%3D2026-11-16"
    form = {"email": person.email, "password": person.password, "next": "/console/?day=2026-11-16"}
    signed_in = await browser.client.post("/console/sign-in", data=form, headers={"Origin": ORIGIN})
    assert (signed_in.status_code, signed_in.headers["location"]) == (303, "/console/?day=2026-11-16")
    cookie = signed_in.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert "Path=/console;" in cookie
    assert (await browser.get("/console/account")).status_code != 303


async def test_a_wrong_password_says_so_and_keeps_the_email(console: Console) -> None:
    person = await console.people.hire(Role.FRONT_DESK)
    browser = console.anonymous()
    form = {"email": person.email, "password": "wrong wrong wrong"}
    answer = await browser.client.post("/console/sign-in", data=form, headers={"Origin": ORIGIN})
    assert answer.status_code == 401
    assert "The email, the password or the code is wrong" in texts(answer)
    assert f'value="{person.email}"' in answer.text
    assert "wrong wrong wrong" not in answer.text
    assert COOKIE not in answer.headers.get("set-cookie", "")


async def test_signing_out_ends_the_session(console: Console) -> None:
    token = console.client.cookies.get(COOKIE)
    assert token is not None
    answer = await console.post("/console/sign-out")
    assert (answer.status_code, answer.headers["location"]) == (303, "/console/sign-in")
    assert f"{COOKIE}=;" in answer.headers["set-cookie"]
    again = console._with_cookie(token, console.person)
    assert (await again.get("/console/")).status_code == 303
