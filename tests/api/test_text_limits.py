"""The length of every text of leads and members is checked before anything else is done with it."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import quote

import pytest

from tests.support.asgi import AsgiResponse, ask
from tests.support.counted_work import Count, counted
from tests.support.partner_api import open_partner_api
from tests.support.people import Partner, locs, partner_of

pytestmark = pytest.mark.anyio

COMBINING = "\u0301"
NAMES = ["first_name", "last_name", "source", *(f"utm_{each}" for each in ("source", "medium", "campaign"))]
NAMES += [f"utm_{each}" for each in ("term", "content", "id")]
HOSTILE = "a" + COMBINING * 60 + "@" + ("b" + COMBINING * 40 + ".") * 4 + "example" + COMBINING * 10_000
EMAIL, NAME, PHONE, NOTES = 254, 200, 50, 10_000
FIELDS = [
    ("POST", "/leads", "email", EMAIL),
    *[("POST", "/leads", name, NAME) for name in NAMES],
    ("POST", "/leads", "phone", PHONE),
    ("PATCH", "/leads/{lead}", "first_name", NAME),
    ("PATCH", "/leads/{lead}", "last_name", NAME),
    ("PATCH", "/leads/{lead}", "phone", PHONE),
    ("PATCH", "/leads/{lead}", "status", NAME),
    ("PATCH", "/leads/{lead}", "notes", NOTES),
    ("POST", "/leads/{lead}/update", "last_name", NAME),
    ("POST", "/members", "email", EMAIL),
    ("POST", "/members", "first_name", NAME),
    ("POST", "/members", "last_name", NAME),
    ("POST", "/members", "phone", PHONE),
]
# An ordinary request executes about 10,000; a text at its limit may cost as much again, one beyond it nothing.
BYTECODES = 60_000
# The most expensive known address of 254 characters: four long IDNA labels, processed twice if it is refused.
BYTECODES_OF_AN_EMAIL = 700_000
# One pass over an email per character of its local part (64), twice if it is refused.
NORMALIZING = 150 * 254**2


@pytest.fixture(scope="module")
async def partner(anyio_backend: object, new_database: Callable[[], str]) -> AsyncIterator[Partner]:
    async for api in open_partner_api(new_database(), rate_limit=0):
        yield await partner_of(api)


async def sent(
    partner: Partner, monkeypatch: pytest.MonkeyPatch, route: tuple[str, str], field: str, text: str
) -> tuple[AsgiResponse, Count]:
    method, path = route
    if "{lead}" in path:
        made = await partner.post("/leads", {"email": "limits@example.com"})
        path = path.format(lead=made.json()["id"])
    body: dict[str, Any] = {} if method == "PATCH" or path.endswith("update") else {"email": "text@example.com"}
    if path == "/members":
        body |= {"first_name": "A", "last_name": "B"}
    body[field] = text
    with counted(monkeypatch) as count:
        response = await partner.send(method, path, json.dumps(body).encode())
    return response, count


@pytest.mark.parametrize(("method", "path", "field", "limit"), FIELDS)
async def test_a_text_at_its_limit_is_cheap(
    partner: Partner, monkeypatch: pytest.MonkeyPatch, method: str, path: str, field: str, limit: int
) -> None:
    for text in (
        COMBINING * limit,
        "a" + COMBINING * (limit - 1),
        "\ufdfa" * limit,
        "1" * limit,
        "(" * limit,
        HOSTILE[:limit],
    ):
        response, count = await sent(partner, monkeypatch, (method, path), field, text)
        assert response.status in (200, 201, 409, 422), response.body
        most = BYTECODES_OF_AN_EMAIL if field == "email" else BYTECODES
        assert count.bytecodes < most, (text[:3], count.bytecodes)
        assert count.normalizing < NORMALIZING, (text[:3], count.normalizing)


@pytest.mark.parametrize(("method", "path", "field", "limit"), FIELDS)
async def test_a_text_beyond_its_limit_is_only_measured(
    partner: Partner, monkeypatch: pytest.MonkeyPatch, method: str, path: str, field: str, limit: int
) -> None:
    for text in ("x" + COMBINING * limit, COMBINING * 80_000, "1" * 80_000, "\u202e" * 80_000, "@" * 80_000):
        response, count = await sent(partner, monkeypatch, (method, path), field, text)
        assert locs(response) == [["body", field]]
        assert count.bytecodes < BYTECODES, (text[:3], count.bytecodes)
        assert count.normalizing == 0 or field != "email", text[:3]


@pytest.mark.parametrize("path", ["/leads", "/members"])
async def test_the_email_filter_is_measured_first(partner: Partner, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    for text, normalizing in ((COMBINING * 254, NORMALIZING), (COMBINING * 255, 1), (COMBINING * 9_000, 1)):
        with counted(monkeypatch) as count:
            response = await ask(partner.api.app, "GET", f"{path}?email={quote(text)}", key=partner.key)
        assert locs(response) == [["query", "email"]]
        # Percent-decoding is linear.
        assert count.bytecodes < BYTECODES + 20 * len(quote(text))
        assert count.normalizing < normalizing


async def test_the_message_names_characters(partner: Partner) -> None:
    response = await partner.post("/leads", {"email": "x" * 255})
    assert response.json()["detail"][0]["msg"] == "String should have at most 254 characters"


HIDDEN = ["\u202e", "\u202a", "\u2066", "\u2069", "\u200e", "\u200f", "\u061c", "\u200b", "\ufeff", "\u00ad", "\u3164"]
HIDDEN += ["\u2060", "\U000e0041", "\u0007", "\u2028"]


@pytest.mark.parametrize("hidden", HIDDEN, ids=ascii)
async def test_names_are_without_hidden_characters(partner: Partner, hidden: str) -> None:
    name = f"Sam{hidden}Lee"
    response = await partner.post("/leads", {"email": "hidden@example.com", "first_name": name, "last_name": name})
    assert locs(response) == [["body", "first_name"], ["body", "last_name"]]
    assert response.json()["detail"][0]["msg"] == (
        "Input should be a line without control characters, text direction marks and invisible characters"
    )
    member = {"email": "hidden@example.com", "first_name": name, "last_name": "L"}
    assert locs(await partner.post("/members", member)) == [["body", "first_name"]]
    assert locs(await partner.post("/forms", {"title": name})) == [["body", "title"]]


@pytest.mark.parametrize(
    "name", ["\u0645\u06cc\u200c\u062f", "क्\u200dष", "👩\u200d👧", "José", "Ö'Brien-Ñ", "דוד", "❤\ufe0f"]
)
async def test_names_of_the_world_are_taken(partner: Partner, name: str) -> None:
    response = await partner.post("/leads", {"email": "world@example.com", "first_name": name})
    assert response.status == 201, response.body
