"""Hostile input: each request gets its documented response, never a 5xx, and the service keeps running."""

import json
import re
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

import pytest

from studiogate.web import request
from tests.support.asgi import PREFIX, ask, assert_refused, post
from tests.support.databases import run
from tests.support.live_server import serving
from tests.support.partner_api import Door
from tests.support.seed import Studio, issue_key, new_key

pytestmark = pytest.mark.anyio

ID = "0f6f1c11-8f5b-4f0e-8a43-5e0c7a3e0d6d"

# Ids

NOT_IDS = [
    "{" + ID + "}",
    "urn:uuid:" + ID,
    ID.replace("-", ""),
    ID + "0",
    ID[:-1],
    ID[:-1] + "g",
    ID[:-1] + "٣",
    ID[:-1] + "\uff11",
    ID + "\x00",
    "\x00",
    ID + "\n",
    " " + ID,
    ID + " ",
    "0" * 36,
    "-" * 36,
    ID.replace("-", "_"),
    ID.replace("-", "\u2010"),
    "null",
    "undefined",
    "1",
    "-1",
    "me",
    "%",
    "%2e%2e",
    "..",
    "'; drop table bookings; --",
    "<script>alert(1)</script>",
    "${jndi:ldap://x}",
    "\u202e" + ID,
    "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
    "a" * 100_000,
]


def shown(text: str) -> str:
    return ascii(text)[:40]


@pytest.mark.parametrize("text", NOT_IDS, ids=shown)
async def test_what_is_not_an_id(shared_door: Door, key: str, text: str) -> None:
    spelled = quote(text, safe="")
    told = await ask(shared_door.app, "GET", f"/classes/{spelled}", key=key)
    # The server decodes escaped slashes, which makes it a different path.
    assert_refused(told, "not_found" if "/" in text else "validation_error", param=None if "/" in text else "class_id")
    told = await ask(shared_door.app, "GET", f"/bookings?member_id={spelled}", key=key)
    assert_refused(told, "validation_error", param="member_id")
    told = await post(shared_door.app, "/bookings/validate", key, {"class_id": text, "member_id": ID})
    assert told.status in (400, 422)
    assert_refused(told, told.code)


@pytest.mark.parametrize("raw", ["%FF%FE", "%C0%AF", "%ED%A0%80", "%00", "%", "%zz", "%F0%9F%98"])
async def test_escapes_that_are_no_text(shared_door: Door, key: str, raw: str) -> None:
    assert_refused(await ask(shared_door.app, "GET", f"/classes/{raw}", key=key), "validation_error")
    assert_refused(await ask(shared_door.app, "GET", f"/bookings?class_id={raw}", key=key), "validation_error")
    assert_refused(await ask(shared_door.app, "GET", f"/bookings?{raw}={raw}", key=key), "validation_error")


@pytest.mark.parametrize("raw", ["a%2Fb", f"{ID}%2Fspots%2Fx", "%2F", "%2F%2F", "..%2F..%2Fetc%2Fpasswd"])
async def test_escaped_slashes_open_nothing(shared_door: Door, key: str, raw: str) -> None:
    told = await ask(shared_door.app, "GET", f"/classes/{raw}", key=key)
    assert told.status in (404, 422)
    assert_refused(told, told.code)


async def test_upper_case_ids_are_answered_in_lower_case(shared_door: Door, studios: list[Studio], key: str) -> None:
    class_id, member_id = str(studios[0].first("class")), str(studios[0].first("member"))
    lower, upper = [
        await ask(shared_door.app, "GET", f"/classes/{each}", key=key) for each in (class_id, class_id.upper())
    ]
    assert upper.status == 200
    assert upper.json() == lower.json()
    assert upper.json()["id"] == class_id
    filtered = await ask(shared_door.app, "GET", f"/bookings?class_id={class_id.upper()}", key=key)
    assert {each["class_id"] for each in filtered.json()["data"]} == {class_id}
    body = {"class_id": class_id.upper(), "member_id": member_id.upper()}
    validated = await post(shared_door.app, "/bookings/validate", key, body)
    assert validated.status == 200
    assert validated.json()["reasons"][0]["code"] == "already_booked"


async def test_the_nil_id_is_an_id(shared_door: Door, key: str) -> None:
    for each in (UUID(int=0), UUID(int=2**128 - 1)):
        assert_refused(await ask(shared_door.app, "GET", f"/classes/{each}", key=key), "not_found")


# Cursors and limits

NOT_CURSORS = [
    "",
    "x",
    "0",
    "null",
    ID,
    "{" + ID + "}",
    ID.replace("-", ""),
    ID + "\x00",
    ID + " ",
    "' or 1=1 --",
    "1' union select secret_hash from credential_secrets --",
    "\x00",
    "٣" * 36,
    "a" * 50_000,
    "eyJpZCI6MX0=",
    "\n",
]
LISTS = [
    "/locations",
    "/rooms",
    "/class-types",
    "/instructors",
    "/classes",
    "/products",
    "/forms",
    "/leads",
    "/members",
    "/bookings",
    "/waitlist",
    "/purchases",
]
KINDS = dict(
    zip(
        LISTS,
        (
            "location",
            "room",
            "class_type",
            "instructor",
            "class",
            "product",
            "form",
            "lead",
            "member",
            "booking",
            "waitlist",
            "purchase",
        ),
        strict=True,
    )
)


@pytest.mark.parametrize("cursor", NOT_CURSORS, ids=shown)
async def test_what_is_not_a_cursor(shared_door: Door, key: str, cursor: str) -> None:
    for path in ("/classes", "/bookings", "/locations"):
        told = await ask(shared_door.app, "GET", f"{path}?cursor={quote(cursor, safe='')}", key=key)
        assert_refused(told, "invalid_cursor", param="cursor")


@pytest.mark.parametrize("path", LISTS)
async def test_cursors_of_other_lists_and_studios(
    shared_door: Door, studios: list[Studio], key: str, path: str
) -> None:
    """A row of another list, a row of another studio and an unknown row get the same response."""
    own = studios[0].first(KINDS[path])
    strangers = [ids[0] for kind, ids in studios[0].ids.items() if kind not in (KINDS[path], "waitlisted_booking")]
    strangers += [studios[1].first(KINDS[path]), studios[0].studio_id, uuid4()]
    bodies = set()
    for each in strangers:
        told = await ask(shared_door.app, "GET", f"{path}?cursor={each}", key=key, headers=[("x-request-id", "same")])
        assert_refused(told, "invalid_cursor", param="cursor")
        bodies.add(told.body)
    assert len(bodies) == 1
    assert (await ask(shared_door.app, "GET", f"{path}?cursor={own}", key=key)).status == 200
    assert (await ask(shared_door.app, "GET", f"{path}?cursor={str(own).upper()}", key=key)).status == 200


@pytest.mark.parametrize(
    "limit",
    [
        "0",
        "201",
        "-1",
        "+1",
        "1.0",
        "1e1",
        " 1",
        "1 ",
        "1\n",
        "\u0661",
        "\uff11",
        "²",
        "1_0",
        "0x10",
        "0b1",
        "99999999999999999999",
        "1" * 5000,
        "",
        "null",
        "true",
        "NaN",
        "Infinity",
        "1,2",
        "[1]",
        "1\x00",
        "--1",
        "1;2",
        "000",
    ],
    ids=shown,
)
async def test_what_is_not_a_limit(shared_door: Door, key: str, limit: str) -> None:
    for path in ("/classes", "/rooms"):
        told = await ask(shared_door.app, "GET", f"{path}?limit={quote(limit, safe='')}", key=key)
        assert_refused(told, "validation_error", param="limit")


@pytest.mark.parametrize("limit", ["1", "2", "200"])
async def test_limits(shared_door: Door, key: str, limit: str) -> None:
    told = await ask(shared_door.app, "GET", f"/classes?limit={limit}", key=key)
    assert len(told.json()["data"]) == min(3, int(limit))


# Date-times

NOT_DATE_TIMES = [
    "",
    "2030-01-01",
    "2030-01-01T00:00:00",
    "2030-01-01T00:00Z",
    "2030-01-01T00Z",
    "2030-01-01 00:00:00Z",
    "20300101T000000Z",
    "2030-W01-1T00:00:00Z",
    "2030-001T00:00:00Z",
    "0000-01-01T00:00:00Z",
    "0001-01-01T00:00:00+00:01",
    "9999-12-31T23:59:59-00:01",
    "10000-01-01T00:00:00Z",
    "-001-01-01T00:00:00Z",
    "+2030-01-01T00:00:00Z",
    "2030-01-01T24:00:00Z",
    "2030-01-01T24:00:01Z",
    "2030-01-01T23:59:60Z",
    "2030-06-30T23:59:60+00:00",
    "2030-01-01T00:60:00Z",
    "2030-02-30T00:00:00Z",
    "2031-02-29T00:00:00Z",
    "2030-13-01T00:00:00Z",
    "2030-00-01T00:00:00Z",
    "2030-01-00T00:00:00Z",
    "2030-01-01T00:00:00+25:00",
    "2030-01-01T00:00:00+24:00",
    "2030-01-01T00:00:00+05:60",
    "2030-01-01T00:00:00+00:99",
    "2030-01-01T00:00:00+0500",
    "2030-01-01T00:00:00+05",
    "2030-01-01T00:00:00+05:00:00",
    "2030-01-01T00:00:00 Z",
    "2030-01-01T00:00:00.Z",
    "2030-01-01T00:00:00,5Z",
    "2030-01-01T00:00:00.1234567890Z",
    "2030-01-01T00:00:00Z ",
    "2030-01-01T00:00:00Z\n",
    "2030-01-01T00:00:00Z\x00",
    "٢٠٣٠-01-01T00:00:00Z",
    "2030-01-01T00:00:00\u22120:00",
    "2030-01-01T00:00:00 UTC",
    "2030-01-01T00:00:00[Europe/Berlin]",
    "1893456000",
    "1893456000.5",
    "now",
    "infinity",
    "-infinity",
    "epoch",
    "today",
    "null",
    "NaN",
    "Z" * 10_000,
]


@pytest.mark.parametrize("text", NOT_DATE_TIMES, ids=shown)
async def test_what_is_not_a_date_time(shared_door: Door, key: str, text: str) -> None:
    for path, name in (("/classes", "starts_after"), ("/classes", "starts_before"), ("/bookings", "updated_after")):
        told = await ask(shared_door.app, "GET", f"{path}?{name}={quote(text, safe='')}", key=key)
        assert_refused(told, "validation_error", param=name)


@pytest.mark.parametrize(
    "raw",
    [
        "2030-06-03T12:00:00Z",
        "2030-06-03t12:00:00z",
        "2030-06-03T12:00:00%2B00:00",
        "2030-06-03T12:00:00+00:00",
        "2030-06-03T12:00:00%2000:00",
        "2030-06-03T12:00:00-00:00",
        "2030-06-03T14:00:00%2B02:00",
        "2030-06-03T14:00:00+02:00",
        "2030-06-03T08:00:00-04:00",
        "2030-06-04T11:59:00%2B23:59",
        "2030-06-02T12:01:00-23:59",
        "2030-06-03T12:00:00.0Z",
        "2030-06-03T12:00:00.000000Z",
        "2030-06-03T12:00:00.000000000Z",
    ],
)
async def test_one_instant_many_spellings(shared_door: Door, studios: list[Studio], key: str, raw: str) -> None:
    """The lower bound is inclusive, the upper one exclusive; a plus that arrives as a space is read as a plus."""
    after = await ask(shared_door.app, "GET", f"/classes?starts_after={raw}", key=key)
    before = await ask(shared_door.app, "GET", f"/classes?starts_before={raw}", key=key)
    assert [each["id"] for each in after.json()["data"]] == [str(each) for each in studios[0].ids["class"]]
    assert before.json()["data"] == []


@pytest.mark.parametrize("raw", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "0001-01-01T23:59:00%2B23:59"])
async def test_the_ends_of_time(shared_door: Door, key: str, raw: str) -> None:
    for name in ("starts_after", "starts_before", "updated_after"):
        assert (await ask(shared_door.app, "GET", f"/classes?{name}={raw}", key=key)).status == 200


async def test_after_before_before(shared_door: Door, key: str) -> None:
    late, early = "2030-06-03T12:00:00.000001Z", "2030-06-03T12:00:00Z"
    told = await ask(shared_door.app, "GET", f"/classes?starts_after={late}&starts_before={early}", key=key)
    assert_refused(told, "validation_error", param="starts_after")
    told = await ask(shared_door.app, "GET", f"/classes?starts_after={late}&starts_before={early}&limit=0", key=key)
    assert sorted(fault["loc"][-1] for fault in told.json()["detail"]) == ["limit", "starts_after"]
    told = await ask(shared_door.app, "GET", f"/classes?starts_after={early}&starts_before={early}", key=key)
    assert told.json()["data"] == []


# Booleans, states, addresses


@pytest.mark.parametrize(
    "text", ["", "1", "0", "yes", "no", "on", "off", "TRUE", "True", "FALSE", "t", "null", " true", "true\x00"]
)
async def test_what_is_not_a_boolean(shared_door: Door, key: str, text: str) -> None:
    for path, name in (("/products", "active"), ("/forms", "include_drafts")):
        told = await ask(shared_door.app, "GET", f"{path}?{name}={quote(text, safe='')}", key=key)
        assert_refused(told, "validation_error", param=name)


@pytest.mark.parametrize(
    "text", ["", "SCHEDULED", "scheduled ", "scheduled\x00", "gone", "null", "s" * 10_000, "scheduled,cancelled"]
)
async def test_what_is_not_a_state(shared_door: Door, key: str, text: str) -> None:
    told = await ask(shared_door.app, "GET", f"/classes?status={quote(text, safe='')}", key=key)
    assert_refused(told, "validation_error", param="status")


NOT_EMAILS = [
    "",
    " ",
    "a",
    "@",
    "a@",
    "@b.example",
    "a@b",
    "a@@b.example",
    "a@b@c.example",
    "a b@c.example",
    "a@b..example",
    "a@.example",
    "a@b.example.",
    "a@-b.example",
    "a@b_c.example",
    ".a@b.example",
    "a.@b.example",
    "a..b@c.example",
    "Sam <sam@b.example>",
    "a@[127.0.0.1]",
    "a@127.0.0.1",
    '"a b"@c.example',
    "a@b.example\x00",
    "\x00a@b.example",
    "a\n@b.example",
    "a@b.example\nBcc: c@d.example",
    "a@b.example,c@d.example",
    "a" * 300 + "@b.example",
    "a@" + "b" * 64 + ".example",
    "a@" + "b." * 150 + "example",
    "a" * 60_000,
    "a@\u200b.example",
    "a\u202e@b.example",
    "a@\ufdfa.example",
    "a@xn--.example",
    "a@xn--zzzzzzzzzzz99999.example",
    "a@\ufffe.example",
    "\ufdfa" * 100 + "@b.example",
]


@pytest.mark.parametrize("text", NOT_EMAILS, ids=shown)
async def test_what_is_not_an_email(shared_door: Door, key: str, text: str) -> None:
    for path in ("/members", "/leads"):
        told = await ask(shared_door.app, "GET", f"{path}?email={quote(text, safe='')}", key=key)
        assert_refused(told, "validation_error", param="email")


async def test_emails_are_compared_in_normalized_form(shared_door: Door, studios: list[Studio], key: str) -> None:
    email = f"lead0@{studios[0].canary}.example"
    wide = "".join(chr(ord(each) + 0xFEE0) if each.isalpha() else each for each in email.split("@")[0])
    domain = email.split("@")[1]
    for each in (email, email.upper(), f"  {email}\t", f"{wide}@{domain}", f"lead0\uff20{domain}"):
        told = await ask(shared_door.app, "GET", f"/leads?email={quote(each, safe='')}", key=key)
        assert [lead["email"] for lead in told.json()["data"]] == [email], each
    for each in (f"le.ad0@{domain}", f"lead0+x@{domain}", f"\uff4cead0x@{domain}"):
        told = await ask(shared_door.app, "GET", f"/leads?email={quote(each, safe='')}", key=key)
        assert told.json()["data"] == []


async def test_international_domains(shared_door: Door, studios: list[Studio], key: str) -> None:
    await shared_door.connection.execute(
        "insert into leads (studio_id, id, email, first_name) values ($1, $2, $3, 'x') on conflict do nothing",
        studios[2].studio_id,
        uuid4(),
        "pelé@xn--bcher-kva.example",
    )
    own = await issue_key(shared_door.connection, studios[2])
    for each in (
        "pelé@bücher.example",
        "PELÉ@BÜCHER.EXAMPLE",
        "pele\u0301@xn--bcher-kva.example",
        "pelé@bücher。example",
    ):
        told = await ask(shared_door.app, "GET", f"/leads?email={quote(each, safe='')}", key=own)
        assert [lead["email"] for lead in told.json()["data"]] == ["pelé@xn--bcher-kva.example"], each


# The query as a whole


@pytest.mark.parametrize(
    "query",
    [
        "x=1",
        "limit[]=1",
        "LIMIT=0",
        "Cursor=x",
        "=",
        "&&&&",
        "==&=",
        "%00=%00",
        "a=%ff",
        "limit%00=0",
        "x;limit=0",
        "&".join(f"n{number}={number}" for number in range(2000)),
        "x=" + "y" * 60_000,
        "__proto__=1&constructor=2",
    ],
    ids=shown,
)
async def test_unknown_names_are_faults(shared_door: Door, key: str, query: str) -> None:
    """A mistyped name must not return everything. Separators alone are no names."""
    told = await ask(shared_door.app, "GET", "/classes?" + query, key=key)
    if query == "&&&&":
        assert (told.status, len(told.json()["data"])) == (200, 3)
        return
    faults = told.json()["detail"]
    assert (told.status, {fault["loc"][0] for fault in faults}) == (422, {"query"})
    assert {fault["type"] for fault in faults} == {"too_many_faults" if query.count("&") > 1000 else "extra_forbidden"}
    assert len(told.body) < 10_000


@pytest.mark.parametrize(
    ("query", "status"), [("limit=1&limit=2", 200), ("limit=1&limit=0", 422), ("limit=1&limit", 422)]
)
async def test_the_last_of_a_repeated_name_counts(shared_door: Door, key: str, query: str, status: int) -> None:
    told = await ask(shared_door.app, "GET", "/classes?" + query, key=key)
    assert told.status == status
    if status == 200:
        assert len(told.json()["data"]) == 2


# Headers

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
async def test_what_is_not_a_key(shared_door: Door, text: str) -> None:
    told = await ask(shared_door.app, "GET", "/studio", headers=[("x-service-key", text.encode())])
    assert_refused(told, "invalid_api_key")


@pytest.mark.parametrize("change", ["{} ", " {}", "{}\n", "\t{}", "{}\x00", '"{}"', "{},{}", "{}\r\nX: y", "Bearer {}"])
async def test_a_key_with_something_around_it(shared_door: Door, key: str, change: str) -> None:
    told = await ask(shared_door.app, "GET", "/studio", headers=[("x-service-key", change.replace("{}", key))])
    assert_refused(told, "invalid_api_key")


async def test_two_keys(shared_door: Door, studios: list[Studio], key: str) -> None:
    """Only the last key counts; their permissions are never combined."""
    other = await issue_key(shared_door.connection, studios[1], "studio:read")
    both = [("x-service-key", key), ("x-service-key", other)]
    told = await ask(shared_door.app, "GET", "/studio", headers=both)
    assert told.json()["id"] == str(studios[1].studio_id)
    assert_refused(await ask(shared_door.app, "GET", "/classes", headers=both), "insufficient_scope")
    told = await ask(shared_door.app, "GET", "/studio", headers=[("x-service-key", key), ("x-service-key", "x")])
    assert_refused(told, "invalid_api_key")


async def test_a_key_elsewhere_is_no_key(shared_door: Door, key: str) -> None:
    told = await ask(shared_door.app, "GET", f"/studio?x-service-key={key}&key={key}", headers=[("authorization", key)])
    assert_refused(told, "missing_api_key")


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
    shared_door: Door, studios: list[Studio], key: str, headers: list[tuple[str, str]]
) -> None:
    told = await ask(shared_door.app, "GET", f"/classes/{studios[0].first('class')}", key=key, headers=headers)
    assert told.status == 200
    assert told.json()["object"] == "class"


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
async def test_idempotency_keys(shared_door: Door, key: str, value: str, good: bool) -> None:
    """A valid key gets as far as the class, which does not exist, and is not stored."""
    body = {"class_id": ID, "member_id": ID}
    told = await post(shared_door.app, "/bookings", key, body, ("idempotency-key", value))
    assert_refused(told, "not_found" if good else "validation_error", param=None if good else "Idempotency-Key")
    told = await ask(shared_door.app, "DELETE", f"/bookings/{ID}", key=key, headers=[("idempotency-key", value)])
    assert_refused(told, "not_found" if good else "validation_error", param=None if good else "Idempotency-Key")


@pytest.mark.parametrize(
    ("reason", "good"),
    [("x" * 500, True), ("x" * 501, False), ("é" * 500, True), ("", False), ("a\x00", False), ("\ufffd", True)],
)
async def test_reasons(shared_door: Door, key: str, reason: str, good: bool) -> None:
    told = await ask(
        shared_door.app,
        "DELETE",
        f"/bookings/{ID}?reason={quote(reason, safe='')}",
        key=key,
        headers=[("idempotency-key", "reason-test")],
    )
    assert_refused(told, "not_found" if good else "validation_error", param=None if good else "reason")


# Bodies

GOOD = {"class_id": ID, "member_id": ID}
MEDIA_TYPES = [
    (None, False),
    ("", False),
    ("text/plain", False),
    ("text/json", False),
    ("application/jsonp", False),
    ("application/json-patch+json", False),
    ("application/vnd.api+json", False),
    ("application/x-www-form-urlencoded", False),
    ("multipart/form-data; boundary=x", False),
    ("json", False),
    ("*/*", False),
    ("application/ json", False),
    ("application/json, text/plain", False),
    ("\xff", False),
    ("application/json", True),
    ("Application/JSON", True),
    ("application/json; charset=utf-8", True),
    ("application/json;charset=UTF-8", True),
    ("application/json ; x=y", True),
    ("application/json;", True),
]


@pytest.mark.parametrize(("media_type", "good"), MEDIA_TYPES)
async def test_media_types(shared_door: Door, key: str, media_type: str | None, good: bool) -> None:
    headers = [] if media_type is None else [("content-type", media_type)]
    told = await ask(
        shared_door.app, "POST", "/bookings/validate", key=key, headers=headers, body=json.dumps(GOOD).encode()
    )
    assert_refused(told, "not_found" if good else "unsupported_media_type")


SPELLED = json.dumps(GOOD)
NOT_JSON = [
    b"",
    b" ",
    b"{",
    b"}",
    b"nul",
    b"{'class_id': 1}",
    b"{class_id: 1}",
    b'{"class_id": 1,}',
    b"[1,]",
    b"// x\n{}",
    SPELLED.encode() + b"x",
    SPELLED.encode() * 2,
    b"\xef\xbb\xbf" + SPELLED.encode(),
    SPELLED.encode("utf-16"),
    SPELLED.encode("utf-32"),
    b'{"class_id": "\xff"}',
    b'{"class_id": "\xed\xa0\x80"}',
    b'{"class_id": "\xc0\x80"}',
    b'{"class_id": "\x00"}',
    b'{"class_id": "\\u0000"}',
    b'{"\\u0000": 1}',
    b'{"class_id": "\\ud800"}',
    b'{"class_id": "\\udc00\\ud800"}',
    b'{"\\udfff": 1}',
    b'{"a": {"b": ["\\ud83d"]}}',
    b'{"class_id": "\\x41"}',
    b'{"class_id": "\n"}',
    b'{"class_id": NaN}',
    b'{"class_id": Infinity}',
    b'{"class_id": -Infinity}',
    b"NaN",
    b'{"class_id": 1e400}',
    b'{"class_id": -1e400}',
    b'{"class_id": 01}',
    b'{"class_id": +1}',
    b'{"class_id": .5}',
    b'{"class_id": 0x10}',
    b'{"class_id": ' + b"9" * 5000 + b"}",
    b'{"class_id": "a", "class_id": "b"}',
    b'{"class_id": "a", "cl\\u0061ss_id": "b"}',
    b'{"a": {"b": 1, "b": 2}}',
    b"[" * 33 + b"]" * 33,
    b'{"a":' * 33 + b"1" + b"}" * 33,
    b"[" * 1000 + b"]" * 1000,
    b"[" * 100_000 + b"]" * 100_000,
    b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    b"[" * 500_000,
    b'{"a":' * 150_000,
    b"x" * (1024 * 1024),
    b'"' * (1024 * 1024),
    b"\x1f\x8b\x08\x00",
]


@pytest.mark.parametrize("path", ["/bookings", "/bookings/validate"])
@pytest.mark.parametrize("body", NOT_JSON, ids=lambda body: ascii(body)[:40])
async def test_what_is_not_json(shared_door: Door, key: str, path: str, body: bytes) -> None:
    told = await post(shared_door.app, path, key, body, ("idempotency-key", "hostile-1"))
    error = assert_refused(told, "invalid_json")
    assert error["details"]["problem"]
    assert "sys." not in error["details"]["problem"], "what is wrong with the body, not what Python calls it"
    assert len(told.body) < 1000


NOT_BOOKINGS: list[tuple[Any, set[str]]] = [
    (None, {"body"}),
    (1, {"body"}),
    (True, {"body"}),
    ("text", {"body"}),
    ([], {"body"}),
    ([GOOD], {"body"}),
    ({}, {"class_id", "member_id"}),
    ({**GOOD, "x": 1}, {"x"}),
    ({**GOOD, "joinWaitlist": True}, {"joinWaitlist"}),
    ({**GOOD, "": 1}, {""}),
    ({**GOOD, "__class__": 1, "self": 2}, {"__class__", "self"}),
    ({**GOOD, "Class_id": ID}, {"Class_id"}),
    *(
        ({**GOOD, "join_waitlist": value}, {"join_waitlist"})
        for value in ("true", "false", "", 1, 0, 1.0, None, [], {})
    ),
    *(
        ({**GOOD, name: value}, {name})
        for name in ("class_id", "member_id")
        for value in (None, 1, 1.5, True, [], [ID], {}, {"id": ID}, "", "x", ID + "0", 10**400)
    ),
    *(({**GOOD, "class_spot_id": value}, {"class_spot_id"}) for value in (1, "", "x", [], {}, False, 10**40)),
    (
        {"class_id": 1, "member_id": 2, "join_waitlist": 3, "class_spot_id": 4, "x": 5},
        {"class_id", "member_id", "join_waitlist", "class_spot_id", "x"},
    ),
]


@pytest.mark.parametrize("path", ["/bookings", "/bookings/validate"])
@pytest.mark.parametrize(
    ("body", "faults"), NOT_BOOKINGS, ids=lambda value: ascii(sorted(value) if isinstance(value, set) else value)[:50]
)
async def test_what_is_not_a_booking(shared_door: Door, key: str, path: str, body: Any, faults: set[str]) -> None:
    told = await post(shared_door.app, path, key, body, ("idempotency-key", "hostile-2"))
    assert_refused(told, "validation_error")
    assert {fault["loc"][-1] for fault in told.json()["detail"]} == faults
    assert {fault["loc"][0] for fault in told.json()["detail"]} == {"body"}


@pytest.mark.parametrize(
    "body",
    [
        SPELLED.encode(),
        json.dumps({**GOOD, "join_waitlist": True, "class_spot_id": None}).encode(),
        b"\r\n\t " + SPELLED.encode() + b" \n",
        SPELLED.replace("class_id", "cl\\u0061ss_id").encode(),
        SPELLED.encode() + b" " * (1024 * 1024 - len(SPELLED)),
    ],
    ids=lambda body: ascii(body)[:30],
)
async def test_what_is_a_booking(shared_door: Door, key: str, body: bytes) -> None:
    """A valid body gets as far as the class, which does not exist."""
    assert_refused(await post(shared_door.app, "/bookings/validate", key, body), "not_found")


async def test_nesting_up_to_the_limit_is_json(shared_door: Door, key: str) -> None:
    depth = request.MAXIMUM_DEPTH
    told = await post(
        shared_door.app, "/bookings/validate", key, b'{"x":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"
    )
    assert_refused(told, "validation_error")


@pytest.mark.parametrize("declared", [True, False])
async def test_a_body_beyond_the_limit(shared_door: Door, key: str, declared: bool) -> None:
    chunks = [b" " * 65_536] * 16 + [b" "]
    headers = [("content-type", "application/json")]
    if declared:
        headers.append(("content-length", str(sum(map(len, chunks)))))
    told = await ask(shared_door.app, "POST", "/bookings/validate", key=key, headers=headers, body=chunks)
    error = assert_refused(told, "body_too_large")
    assert error["details"] == {"maximum_bytes": 1024 * 1024}


@pytest.mark.parametrize("length", ["9" * 20, "9" * 5000, "\u0661"])
async def test_lengths_that_are_no_lengths(shared_door: Door, key: str, length: str) -> None:
    headers = [("content-type", "application/json"), ("content-length", length.encode())]
    told = await ask(shared_door.app, "POST", "/bookings/validate", key=key, headers=headers, body=SPELLED.encode())
    assert told.status in (404, 413)


@pytest.mark.parametrize(
    "body",
    [
        b"{" + b",".join(b'"%x":0' % number for number in range(100_000)) + b"}",
        b'{"' + b"x" * 1_000_000 + b'":1}',
        b'{"x":[' + b",".join([b"[]"] * 300_000) + b"]}",
        b'{"x":[' + b",".join([b"1e308"] * 150_000) + b"]}",
        b'{"x":"' + "é".encode() * 500_000 + b'"}',
        b'{"x":"' + b"\\ud83d\\ude00" * 80_000 + b'"}',
    ],
    ids=["members", "long name", "many lists", "many numbers", "long text", "surrogate pairs"],
)
async def test_large_bodies_are_cheap(shared_door: Door, key: str, body: bytes) -> None:
    """A megabyte of faults gets a short response."""
    assert len(body) <= 1024 * 1024
    told = await post(shared_door.app, "/bookings/validate", key, body)
    assert_refused(told, "validation_error")
    assert len(told.body) < 100_000


# The real server


@pytest.fixture(scope="module")
def live(new_database: Callable[[], str]) -> Iterator[tuple[int, str]]:
    """The port of a running server, and the key of a studio."""
    url = new_database()
    key = run(new_key(url))
    with serving(url, rate_limit=0) as port:
        yield port, key


def exchange(port: int, *parts: bytes, pause: float = 0.0, half_close: bool = False, seconds: float = 5.0) -> bytes:
    """Send the parts, and read until the server closes the connection or sends nothing more."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
        try:
            for number, part in enumerate(parts):
                if number:
                    time.sleep(pause)
                connection.sendall(part)
            if half_close:
                connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the server has stopped reading
        received = b""
        try:
            while chunk := connection.recv(65_536):
                received += chunk
        except (TimeoutError, ConnectionError):
            pass
        return received


def head(method: str, path: str, key: str, *lines: str) -> bytes:
    all_lines = [f"{method} {PREFIX}{path} HTTP/1.1", "Host: x", f"X-Service-Key: {key}", *lines]
    return "\r\n".join([*all_lines, "", ""]).encode("latin-1")


def statuses(received: bytes) -> list[int]:
    return [int(each) for each in re.findall(rb"HTTP/1\.1 (\d{3})", received)]


def assert_still_serving(port: int, key: str) -> None:
    assert statuses(exchange(port, head("GET", "/studio", key, "Connection: close"))) == [200]


CLOSE = "Connection: close"
JSON_LINE = "Content-Type: application/json"


def test_a_slow_body(live: tuple[int, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A body that arrives too slowly is abandoned; the request ends with a response, not with a hanging task."""
    port, key = live
    monkeypatch.setattr(request, "BODY_SECONDS", 0.3)
    received = exchange(
        port, head("POST", "/bookings/validate", key, JSON_LINE, "Content-Length: 100", CLOSE), b"{", pause=0.1
    )
    assert statuses(received) == [408]
    assert b'"code":"request_timeout"' in received
    assert_still_serving(port, key)


def test_a_body_that_never_ends(live: tuple[int, str]) -> None:
    port, key = live
    received = exchange(
        port,
        head("POST", "/bookings/validate", key, JSON_LINE, "Content-Length: 100", CLOSE),
        b'{"class_id',
        half_close=True,
        seconds=1.0,
    )
    assert statuses(received) in ([], [400])
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(
            head("POST", "/bookings", key, JSON_LINE, "Idempotency-Key: cut-short", "Content-Length: 9") + b"{"
        )
    assert_still_serving(port, key)


def test_a_chunked_body_beyond_the_limit(live: tuple[int, str]) -> None:
    """The connection stays open: if the server closed it while we are still sending, the response could be lost."""
    port, key = live
    chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    received = exchange(
        port,
        head("POST", "/bookings/validate", key, JSON_LINE, "Transfer-Encoding: chunked"),
        chunk * 17 + b"0\r\n\r\n" + head("GET", "/studio", key, CLOSE),
    )
    assert statuses(received) == [413, 200]
    assert b'"code":"body_too_large"' in received


def test_a_chunked_body(live: tuple[int, str]) -> None:
    port, key = live
    spelled = SPELLED.encode()
    chunks = b"".join(b"1\r\n%c\r\n" % each for each in spelled) + b"0\r\n\r\n"
    received = exchange(
        port, head("POST", "/bookings/validate", key, JSON_LINE, "Transfer-Encoding: chunked", CLOSE), chunks
    )
    assert statuses(received) == [404]
    assert b'"code":"not_found"' in received


def test_a_body_declared_beyond_the_limit_is_not_awaited(live: tuple[int, str]) -> None:
    port, key = live
    lines = (JSON_LINE, "Content-Length: 999999999999", CLOSE)
    assert statuses(exchange(port, head("POST", "/bookings/validate", key, *lines))) == [413]
    lines = (JSON_LINE, "Content-Length: 999999999999", "Expect: 100-continue", CLOSE)
    assert statuses(exchange(port, head("POST", "/bookings/validate", key, *lines))) == [413]
    assert_still_serving(port, key)


def test_pipelined_requests(live: tuple[int, str]) -> None:
    """Each request gets its own response, in order, also after a refused body."""
    port, key = live
    spelled = SPELLED.encode()
    posted = head("POST", "/bookings/validate", key, JSON_LINE, f"Content-Length: {len(spelled)}") + spelled
    requests_ = [
        head("GET", "/studio", key),
        posted,
        head("GET", "/nothing", key),
        head("GET", "/studio", "x"),
        head("POST", "/bookings/validate", key, "Content-Type: text/plain", "Content-Length: 2") + b"{}",
        head("GET", "/classes?limit=1", key, CLOSE),
    ]
    assert statuses(exchange(port, b"".join(requests_))) == [200, 404, 404, 401, 415, 200]


def test_a_body_is_never_taken_for_a_request(live: tuple[int, str]) -> None:
    """The content of a GET or a refused POST is its body, even if it looks like a request."""
    port, key = live
    smuggled = head("GET", "/nothing", key)
    first = head("GET", "/studio", key, f"Content-Length: {len(smuggled)}") + smuggled
    second = head("POST", "/bookings/validate", key, f"Content-Length: {len(smuggled)}") + smuggled
    assert statuses(exchange(port, first + second + head("GET", "/classes", key, CLOSE))) == [200, 415, 200]


@pytest.mark.parametrize(
    "sent",
    [
        b"\r\n\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /partner/v1/studio\r\n\r\n",
        b"GET /partner/v1/studio HTTP/9.9\r\n\r\n",
        b"BREW /partner/v1/studio HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /partner/v1/stu dio HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /partner/v1/\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /partner/v1/studio HTTP/1.1\r\nHost: x\r\nX-Service-Key: a\x00b\r\n\r\n",
        b"GET /partner/v1/studio HTTP/1.1\r\nHost: x\r\nBad Header\r\n\r\n",
        b"GET /partner/v1/studio HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
        b"POST /partner/v1/bookings HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
        b"POST /partner/v1/bookings HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
        b"POST /partner/v1/bookings HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /partner/v1/bookings HTTP/1.1\r\nHost: x\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 100,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x00" * 1000,
        b"A" * 100_000,
    ],
    ids=lambda sent: ascii(sent)[:50],
)
def test_what_is_not_http(live: tuple[int, str], sent: bytes) -> None:
    """The server refuses it or does not understand it, never with a 5xx, and serves the next request."""
    port, key = live
    received = exchange(port, sent, half_close=True, seconds=0.5)
    assert all(400 <= status < 500 for status in statuses(received)), received
    assert not received or error_of(received)["type"] in ("invalid_request_error", "authentication_error")
    assert_still_serving(port, key)


def error_of(received: bytes) -> dict[str, Any]:
    """Return the only error received, and assert that it has the common shape."""
    head_, _, body = received.partition(b"\r\n\r\n")
    lines = head_.decode().lower().split("\r\n")
    error: dict[str, Any] = json.loads(body)["error"]
    assert "content-type: application/json" in lines
    assert f"x-request-id: {error['request_id']}" in lines
    assert "api-version: 2026-08-02" in lines
    return error


def test_a_method_that_nobody_knows(live: tuple[int, str]) -> None:
    port, key = live
    received = exchange(port, head("BREW", "/studio", key), seconds=2.0)
    assert statuses(received) == [405]
    assert error_of(received)["code"] == "method_not_allowed"
    assert b"allow: " in received.lower()


@pytest.mark.parametrize("size", [65_537, 70_000, 200_000, request.MAXIMUM_BODY])
def test_a_large_body_is_not_taken_for_a_head(live: tuple[int, str], size: int) -> None:
    """The last part of a body can exceed the limit for a head, and must not be taken for one."""
    port, key = live
    body = SPELLED.encode().ljust(size)
    for _ in range(3):
        sent = head("POST", "/bookings/validate", key, JSON_LINE, f"Content-Length: {size}") + body
        received = exchange(port, sent + head("GET", "/studio", key, CLOSE))
        assert statuses(received) == [404, 200]


def test_a_head_without_an_end(live: tuple[int, str]) -> None:
    port, key = live
    lines = [f"X-Large-{number}: {'x' * 1000}" for number in range(100)]
    received = exchange(port, head("GET", "/studio", key, *lines)[:-2], seconds=2.0)
    assert statuses(received) == [400]
    assert error_of(received)["code"] == "invalid_http"
    assert_still_serving(port, key)


def test_absolute_and_odd_targets(live: tuple[int, str]) -> None:
    port, key = live
    for target in (f"http://elsewhere.example{PREFIX}/studio", f"{PREFIX}/studio#x", f"{PREFIX}/studio?#x"):
        sent = f"GET {target} HTTP/1.1\r\nHost: x\r\nX-Service-Key: {key}\r\n{CLOSE}\r\n\r\n".encode()
        assert statuses(exchange(port, sent, seconds=1.0))[0] in (200, 400)
    assert_still_serving(port, key)


def test_large_headers(live: tuple[int, str]) -> None:
    """The server survives a header of 100 kB, whether it accepts or refuses it."""
    port, key = live
    received = exchange(port, head("GET", "/studio", key, "X-Large: " + "x" * 100_000, CLOSE))
    assert statuses(received)[0] in (200, 400, 431)
    received = exchange(port, head("GET", "/studio", key, "X-Request-Id: " + "x" * 100_000, CLOSE))
    assert statuses(received)[0] in (200, 400, 431)
    assert len(received) < 5000
    assert_still_serving(port, key)


def test_many_connections_cut_at_once(live: tuple[int, str]) -> None:
    port, key = live
    sent = head("POST", "/bookings/validate", key, JSON_LINE, f"Content-Length: {len(SPELLED)}") + SPELLED.encode()
    for length in range(0, len(sent), 7):
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(sent[:length])
    assert_still_serving(port, key)
