"""Hostile headers: keys, idempotency keys, reasons, and headers without a meaning here."""

from urllib.parse import quote

import pytest

from studiogate import API_VERSION
from tests.support.asgi import ask, assert_refused, post, shown
from tests.support.partner_api import PartnerApi
from tests.support.seed import Studio, issue_key

pytestmark = pytest.mark.anyio

ID = "0f6f1c11-8f5b-4f0e-8a43-5e0c7a3e0d6d"


NOT_KEYS = [
    "x",
    "Bearer abc",
    "sgk_live_",
    "null",
    "sgk_live_AAAAAAAA_" + "A" * 49,
    "a" * 100_000,
    "\x00",
    "' or 1=1 --",
    "{}",
    "sgk_live_\u0661AAAAAAA_",
]


@pytest.mark.parametrize("text", NOT_KEYS, ids=shown)
async def test_what_is_not_a_key(shared_api: PartnerApi, text: str) -> None:
    response = await ask(shared_api.app, "GET", "/studio", headers=[("x-service-key", text.encode())])
    assert_refused(response, "invalid_api_key")


@pytest.mark.parametrize("change", ["{}\n", "{}\x0b", "{}\xa0", "{}\x00", '"{}"', "{},{}", "{}\r\nX: y", "Bearer {}"])
async def test_a_key_with_something_around_it(shared_api: PartnerApi, key: str, change: str) -> None:
    response = await ask(shared_api.app, "GET", "/studio", headers=[("x-service-key", change.replace("{}", key))])
    assert_refused(response, "invalid_api_key")


@pytest.mark.parametrize("change", ["{} ", " {}", "\t{}", "{} \t "])
async def test_whitespace_around_a_value_is_not_part_of_it(shared_api: PartnerApi, key: str, change: str) -> None:
    def around(value: str) -> str:
        return change.replace("{}", value)

    asked = [("x-service-key", around(key)), ("api-version", around(API_VERSION)), ("x-request-id", around("mine"))]
    response = await ask(shared_api.app, "GET", "/studio", headers=asked)
    assert (response.status, response.header("x-request-id")) == (200, "mine")
    body = {"class_id": ID, "member_id": ID}
    response = await post(shared_api.app, "/bookings", key, body, ("idempotency-key", around("x" * 7)))
    assert_refused(response, "validation_error", param="Idempotency-Key")
    lead = {"email": "whitespace@example.com"}
    once = f"whitespace-{change!r}"
    first = await post(shared_api.app, "/leads", key, lead, ("idempotency-key", once))
    again = await post(shared_api.app, "/leads", key, lead, ("idempotency-key", around(once)))
    assert (first.header("idempotent-replayed"), again.header("idempotent-replayed")) == (None, "true")


async def test_two_keys(shared_api: PartnerApi, studios: list[Studio], key: str) -> None:
    """Only the last key counts; their permissions are never combined. Even with it, the request is refused."""
    other = await issue_key(shared_api.connection, studios[1], "studio:read")
    both = [("x-service-key", key), ("x-service-key", other)]
    response = await ask(shared_api.app, "GET", "/studio", headers=both)
    assert_refused(response, "validation_error", param="X-Service-Key")
    assert_refused(await ask(shared_api.app, "GET", "/classes", headers=both), "insufficient_scope")
    response = await ask(shared_api.app, "GET", "/studio", headers=[("x-service-key", key), ("x-service-key", "x")])
    assert_refused(response, "invalid_api_key")


async def test_a_key_elsewhere_is_no_key(shared_api: PartnerApi, key: str) -> None:
    response = await ask(
        shared_api.app, "GET", f"/studio?x-service-key={key}&key={key}", headers=[("authorization", key)]
    )
    assert_refused(response, "missing_api_key")


@pytest.mark.parametrize(
    "headers",
    [
        [("accept", "text/html")],
        [("accept", "\xff\xfe")],
        [("if-none-match", "\xff" * 1000)],
        [("if-none-match", ",,,")],
        [("cookie", "a=b; " * 1000)],
        [("content-length", "-1")],
        [("content-length", "x")],
        [("content-type", "\x00")],
        [("x-forwarded-for", "1.2.3.4, \x00")],
        [("host", "evil.example")],
        [(f"x-{number}", "y") for number in range(1000)],
        [("transfer-encoding", "gzip")],
        [("range", "bytes=0-1")],
        [("expect", "x")],
        [("x-http-method-override", "DELETE")],
    ],
    ids=lambda headers: shown(headers[0][0]),
)
async def test_headers_that_mean_nothing_here(
    shared_api: PartnerApi, studios: list[Studio], key: str, headers: list[tuple[str, str]]
) -> None:
    response = await ask(shared_api.app, "GET", f"/classes/{studios[0].first('class')}", key=key, headers=headers)
    assert response.status == 200
    assert response.json()["object"] == "class"


@pytest.mark.parametrize(
    ("value", "good"),
    [
        ("x" * 7, False),
        ("x" * 8, True),
        ("x" * 120, True),
        ("x" * 121, False),
        ("", False),
        ("é" * 8, True),
        ("é" * 121, False),
        ("a b c d e", True),
        ("'; drop table bookings; --", True),
        ("\x01" * 8, True),
        ("%00%00%00", True),
        ("\x00" * 8, False),
        ("x" * 8 + "\x00", False),
    ],
    ids=shown,
)
async def test_idempotency_keys(shared_api: PartnerApi, key: str, value: str, good: bool) -> None:
    """A valid key gets as far as the class, which does not exist, and is not stored."""
    body = {"class_id": ID, "member_id": ID}
    response = await post(shared_api.app, "/bookings", key, body, ("idempotency-key", value))
    assert_refused(response, "not_found" if good else "validation_error", param=None if good else "Idempotency-Key")
    response = await ask(shared_api.app, "DELETE", f"/bookings/{ID}", key=key, headers=[("idempotency-key", value)])
    assert_refused(response, "not_found" if good else "validation_error", param=None if good else "Idempotency-Key")


@pytest.mark.parametrize(
    ("reason", "good"),
    [("x" * 500, True), ("x" * 501, False), ("é" * 500, True), ("", False), ("a\x00", False), ("\ufffd", True)],
)
async def test_reasons(shared_api: PartnerApi, key: str, reason: str, good: bool) -> None:
    response = await ask(
        shared_api.app,
        "DELETE",
        f"/bookings/{ID}?reason={quote(reason, safe='')}",
        key=key,
        headers=[("idempotency-key", "reason-test")],
    )
    assert_refused(response, "not_found" if good else "validation_error", param=None if good else "reason")
