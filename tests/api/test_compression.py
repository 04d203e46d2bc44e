"""Answers are compressed for clients that accept it: not small ones, not secrets, not those to bookings."""

import gzip
import json
from collections.abc import AsyncIterator, Callable
from uuid import uuid4

import pytest

from studiogate.web import front_end
from studiogate.web.request import Request
from tests.support import booking_studio
from tests.support.asgi import AsgiResponse, ask
from tests.support.booking_studio import BookingStudio, wire_body
from tests.support.partner_api import PartnerApi, open_partner_api
from tests.support.people import Partner, partner_of
from tests.support.webhook_studio import ALLOW_LOOPBACK

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio
GZIP = ("accept-encoding", "gzip")
JSON = ("content-type", "application/json")


async def both(api: PartnerApi, key: str | None, target: str, method: str = "GET") -> tuple[AsgiResponse, AsgiResponse]:
    """Return the answer to the same request without and with compression."""
    plain = await ask(api.app, method, target, key=key)
    return plain, await ask(api.app, method, target, key=key, headers=[GZIP])


def is_compressed(response: AsgiResponse) -> bool:
    assert "accept-encoding" in (response.header("vary") or "").lower(), "a cache must tell the forms apart"
    return response.header("content-encoding") == "gzip"


async def test_a_list_is_compressed(shared_api: PartnerApi, key: str) -> None:
    plain, compressed = await both(shared_api, key, "/classes")
    assert len(plain.body) > front_end.MIN_COMPRESSED
    assert (is_compressed(plain), is_compressed(compressed)) == (False, True)
    assert gzip.decompress(compressed.body) == plain.body
    assert compressed.header("content-length") == str(len(compressed.body))
    assert len(compressed.body) < len(plain.body)
    _, head = await both(shared_api, key, "/classes", "HEAD")
    assert (is_compressed(head), head.body) == (True, b"")
    assert head.header("content-length") == compressed.header("content-length")


async def test_a_small_answer_is_not(shared_api: PartnerApi, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, same = await both(shared_api, key, "/studio")
    assert (is_compressed(same), same.body) == (False, plain.body)
    monkeypatch.setattr(front_end, "MIN_COMPRESSED", len(plain.body))
    assert not is_compressed((await both(shared_api, key, "/studio"))[1])
    monkeypatch.setattr(front_end, "MIN_COMPRESSED", len(plain.body) - 1)
    assert is_compressed((await both(shared_api, key, "/studio"))[1])


async def test_the_etag_is_that_of_both_forms(
    shared_api: PartnerApi, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(front_end, "MIN_COMPRESSED", 0)
    plain, compressed = await both(shared_api, key, "/studio")
    etag = compressed.header("etag") or ""
    assert is_compressed(compressed)
    assert etag == plain.header("etag")
    again = await ask(shared_api.app, "GET", "/studio", key=key, headers=[GZIP, ("if-none-match", etag)])
    assert (again.status, again.body, is_compressed(again)) == (304, b"", False)
    assert again.header("etag") == etag


async def test_a_large_answer_is_compressed_beside_the_event_loop(
    shared_api: PartnerApi, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(front_end, "LARGE", 1_000)
    plain, compressed = await both(shared_api, key, "/classes")
    assert gzip.decompress(compressed.body) == plain.body


async def test_errors_are_compressed_too(shared_api: PartnerApi, key: str) -> None:
    unknown = "&".join(f"parameter_{number}=1" for number in range(50))
    plain, compressed = await both(shared_api, key, f"/classes?{unknown}")
    assert (compressed.status, is_compressed(compressed)) == (422, True)
    faults = [json.loads(each)["detail"] for each in (plain.body, gzip.decompress(compressed.body))]
    assert faults[0] == faults[1]


async def test_the_document_is_compressed_once(shared_api: PartnerApi, monkeypatch: pytest.MonkeyPatch) -> None:
    path = "//partner/v1/openapi.json"
    plain, compressed = await both(shared_api, None, path)
    assert is_compressed(compressed)
    assert gzip.decompress(compressed.body) == plain.body
    monkeypatch.setattr(gzip, "compress", None)
    assert (await both(shared_api, None, path))[1].body == compressed.body


@pytest.mark.parametrize(
    ("accepted", "takes"),
    [
        ("gzip", True),
        ("GZIP", True),
        ("deflate, gzip;q=0.5, br", True),
        ("br,gzip", True),
        ("gzip;q=1.0", True),
        ("gzip; q=0.001", True),
        ("", False),
        ("br", False),
        ("gzip;q=0", False),
        ("gzip ; q=0.000, br", False),
        ("x-gzipped", False),
        ("identity;q=1, *;q=0", False),
    ],
)
def test_what_a_client_accepts(accepted: str, takes: bool) -> None:
    headers = [(b"accept-encoding", accepted.encode())]
    scope = {"method": "GET", "path": "/", "headers": headers, "query_string": b""}
    assert Request(scope, lambda: pytest.fail("there is no body")).takes_gzip is takes


@pytest.fixture(scope="module")
async def webhook_partner(anyio_backend: object, new_database: Callable[[], str]) -> AsyncIterator[Partner]:
    async for api in open_partner_api(new_database(), **ALLOW_LOOPBACK):
        yield await partner_of(api)


async def test_secrets_are_not_compressed(webhook_partner: Partner, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a caller chooses, such as the description, stands beside them: a compressed size would compare the two."""
    monkeypatch.setattr(front_end, "MIN_COMPRESSED", 0)
    again = ("idempotency-key", uuid4().hex)
    endpoint = json.dumps({"url": "http://127.0.0.1:9/hooks", "description": "ours"}).encode()
    for _ in range(2):
        made = await webhook_partner.send("POST", "/webhook-endpoints", endpoint, GZIP, again)
        assert (made.status, is_compressed(made), b"whsec_" in made.body) == (201, False, True)
    path = f"/webhook-endpoints/{made.json()['id']}"
    rotated = await webhook_partner.send("POST", path + "/rotate-secret", b"{}", GZIP, ("idempotency-key", uuid4().hex))
    assert (rotated.status, is_compressed(rotated), b"whsec_" in rotated.body) == (200, False, True)
    changed = await webhook_partner.send("PATCH", path, b'{"description": "theirs"}', GZIP)
    assert (changed.status, is_compressed(changed)) == (200, True)


async def test_the_road_of_a_booking_has_no_compression(studio: BookingStudio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front_end, "MIN_COMPRESSED", 0)
    body = json.dumps(wire_body(await studio.new_class(), await studio.new_member())).encode()

    async def send(method: str, path: str, body: bytes = b"") -> AsgiResponse:
        headers = [GZIP, JSON, ("idempotency-key", uuid4().hex)]
        return await ask(studio.api.app, method, path, key=studio.key, headers=headers, body=body)

    booked = await send("POST", "/bookings", body)
    assert (booked.status, is_compressed(booked)) == (201, False)
    path = f"/bookings/{booked.json()['id']}"
    assert is_compressed(await send("GET", path))
    cancelled = await send("DELETE", path)
    assert (cancelled.status, is_compressed(cancelled)) == (200, False)
