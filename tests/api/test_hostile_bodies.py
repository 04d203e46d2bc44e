"""Hostile bodies: media types, broken JSON, wrong shapes, lengths."""

import gzip
import json
from typing import Any

import pytest

from studiogate.web.body import MAX_DEPTH
from tests.support.asgi import ask, assert_refused, post
from tests.support.partner_api import PartnerApi

pytestmark = pytest.mark.anyio

ID = "0f6f1c11-8f5b-4f0e-8a43-5e0c7a3e0d6d"


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
    ('application/json; charset="utf-8"', True),
    ("application/json; Charset=utf8", True),
    ("application/json; charset=us-ascii", True),
    ("application/json;charset=UTF-16", False),
    ("application/json; charset=iso-8859-1", False),
    ('application/json; x=y; CHARSET = "utf-16"', False),
    ("application/json; charset=utf-8; charset=utf-16", False),
    ("application/json; charset=", False),
]


@pytest.mark.parametrize(("media_type", "good"), MEDIA_TYPES)
async def test_media_types(shared_api: PartnerApi, key: str, media_type: str | None, good: bool) -> None:
    headers = [] if media_type is None else [("content-type", media_type)]
    response = await ask(
        shared_api.app, "POST", "/bookings/validate", key=key, headers=headers, body=json.dumps(GOOD).encode()
    )
    assert_refused(response, "not_found" if good else "unsupported_media_type")


@pytest.mark.parametrize(
    ("coding", "good"),
    [
        ("identity", True),
        ("Identity", True),
        ("", True),
        ("gzip", False),
        ("GZIP", False),
        ("br", False),
        ("identity, gzip", False),
        ("utf-8", False),
    ],
)
async def test_a_body_is_not_encoded(shared_api: PartnerApi, key: str, coding: str, good: bool) -> None:
    """Whether it really is encoded or merely called so."""
    plain = json.dumps(GOOD).encode()
    headers = [("content-type", "application/json"), ("content-encoding", coding)]
    for body in (plain,) if good else (plain, gzip.compress(plain)):
        response = await ask(shared_api.app, "POST", "/bookings/validate", key=key, headers=headers, body=body)
        error = assert_refused(response, "not_found" if good else "unsupported_media_type")
        if not good:
            assert error["param"] == "Content-Encoding"
            assert error["details"] == {"problem": "the body must not be encoded"}


async def test_another_charset_is_named(shared_api: PartnerApi, key: str) -> None:
    headers = [("content-type", "application/json;charset=UTF-16")]
    body = json.dumps(GOOD).encode("utf-16")
    response = await ask(shared_api.app, "POST", "/bookings/validate", key=key, headers=headers, body=body)
    error = assert_refused(response, "unsupported_media_type", param="Content-Type")
    assert error["details"] == {"problem": "the charset must be utf-8"}


BOOKING = json.dumps(GOOD)
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
    BOOKING.encode() + b"x",
    BOOKING.encode() * 2,
    b"\xef\xbb\xbf" + BOOKING.encode(),
    BOOKING.encode("utf-16"),
    BOOKING.encode("utf-32"),
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
async def test_what_is_not_json(shared_api: PartnerApi, key: str, path: str, body: bytes) -> None:
    response = await post(shared_api.app, path, key, body, ("idempotency-key", "hostile-1"))
    error = assert_refused(response, "invalid_json")
    assert error["details"]["problem"]
    assert "sys." not in error["details"]["problem"], "what is wrong with the body, not what Python calls it"
    assert len(response.body) < 1000


NO_BOOLEANS: list[Any] = ["true", "false", "", 1, 0, 1.0, None, [], {}]
NO_IDS: list[Any] = [None, 1, 1.5, True, [], [ID], {}, {"id": ID}, "", "x", ID + "0", 10**400]
NO_SPOTS: list[Any] = [1, "", "x", [], {}, False, 10**40]
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
    *(({**GOOD, "join_waitlist": value}, {"join_waitlist"}) for value in NO_BOOLEANS),
    *(({**GOOD, name: value}, {name}) for name in ("class_id", "member_id") for value in NO_IDS),
    *(({**GOOD, "class_spot_id": value}, {"class_spot_id"}) for value in NO_SPOTS),
    (
        {"class_id": 1, "member_id": 2, "join_waitlist": 3, "class_spot_id": 4, "x": 5},
        {"class_id", "member_id", "join_waitlist", "class_spot_id", "x"},
    ),
]


@pytest.mark.parametrize("path", ["/bookings", "/bookings/validate"])
@pytest.mark.parametrize(
    ("body", "faults"), NOT_BOOKINGS, ids=lambda value: ascii(sorted(value) if isinstance(value, set) else value)[:50]
)
async def test_what_is_not_a_booking(shared_api: PartnerApi, key: str, path: str, body: Any, faults: set[str]) -> None:
    response = await post(shared_api.app, path, key, body, ("idempotency-key", "hostile-2"))
    assert_refused(response, "validation_error")
    assert {fault["loc"][-1] for fault in response.json()["detail"]} == faults
    assert {fault["loc"][0] for fault in response.json()["detail"]} == {"body"}


@pytest.mark.parametrize(
    "body",
    [
        BOOKING.encode(),
        json.dumps({**GOOD, "join_waitlist": True, "class_spot_id": None}).encode(),
        b"\r\n\t " + BOOKING.encode() + b" \n",
        BOOKING.replace("class_id", "cl\\u0061ss_id").encode(),
        BOOKING.encode() + b" " * (1024 * 1024 - len(BOOKING)),
    ],
    ids=lambda body: ascii(body)[:30],
)
async def test_what_is_a_booking(shared_api: PartnerApi, key: str, body: bytes) -> None:
    """A valid body gets as far as the class, which does not exist."""
    assert_refused(await post(shared_api.app, "/bookings/validate", key, body), "not_found")


async def test_nesting_up_to_the_limit_is_json(shared_api: PartnerApi, key: str) -> None:
    depth = MAX_DEPTH
    response = await post(
        shared_api.app, "/bookings/validate", key, b'{"x":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"
    )
    assert_refused(response, "validation_error")


@pytest.mark.parametrize("declared", [True, False])
async def test_a_body_beyond_the_limit(shared_api: PartnerApi, key: str, declared: bool) -> None:
    chunks = [b" " * 65_536] * 16 + [b" "]
    headers = [("content-type", "application/json")]
    if declared:
        headers.append(("content-length", str(sum(map(len, chunks)))))
    response = await ask(shared_api.app, "POST", "/bookings/validate", key=key, headers=headers, body=chunks)
    error = assert_refused(response, "body_too_large")
    assert error["details"] == {"maximum_bytes": 1024 * 1024}


@pytest.mark.parametrize("length", ["9" * 20, "9" * 5000, "\u0661"])
async def test_lengths_that_are_no_lengths(shared_api: PartnerApi, key: str, length: str) -> None:
    headers: list[tuple[str, str | bytes]] = [
        ("content-type", "application/json"),
        ("content-length", length.encode()),
    ]
    response = await ask(shared_api.app, "POST", "/bookings/validate", key=key, headers=headers, body=BOOKING.encode())
    assert response.status in (404, 413)


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
async def test_large_bodies_are_cheap(shared_api: PartnerApi, key: str, body: bytes) -> None:
    """A megabyte of faults gets a short response."""
    assert len(body) <= 1024 * 1024
    response = await post(shared_api.app, "/bookings/validate", key, body)
    assert_refused(response, "validation_error")
    assert len(response.body) < 100_000
