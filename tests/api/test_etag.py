"""Single resources carry a weak ETag; a client that has the current state gets 304 and no body."""

import re

import pytest

from tests.support.asgi import AsgiResponse, ask, assert_common, assert_refused
from tests.support.partner_api import PartnerApi
from tests.support.seed import Studio, issue_key

pytestmark = pytest.mark.anyio

SINGLE = {
    "/locations/": "location",
    "/rooms/": "room",
    "/class-types/": "class_type",
    "/instructors/": "instructor",
    "/classes/": "class",
    "/products/": "product",
    "/forms/": "form",
    "/leads/": "lead",
    "/members/": "member",
    "/memberships/": "membership",
    "/bookings/": "booking",
    "/waitlist/": "waitlist",
    "/purchases/": "purchase",
}


async def get(api: PartnerApi, key: str, path: str, known: str | None = None, method: str = "GET") -> AsgiResponse:
    headers = [] if known is None else [("if-none-match", known)]
    return await ask(api.app, method, path, key=key, headers=headers)


@pytest.mark.parametrize("start", ["/studio", *SINGLE])
async def test_every_single_resource(shared_api: PartnerApi, studios: list[Studio], key: str, start: str) -> None:
    path = start if start == "/studio" else start + str(studios[0].first(SINGLE[start]))
    response = await get(shared_api, key, path)
    etag = response.header("etag") or ""
    assert re.fullmatch(r'W/"[0-9a-f]+"', etag)
    assert (await get(shared_api, key, path)).header("etag") == etag
    for method in ("GET", "HEAD"):
        again = await get(shared_api, key, path, etag, method)
        assert (again.status, again.body) == (304, b"")
        assert again.header("etag") == etag
        assert again.header("content-type") is None
        assert again.header("content-length") is None
        assert_common(again)


@pytest.mark.parametrize(
    ("known", "status"),
    [
        ("*", 304),
        (" * ", 304),
        ("{}", 304),
        ('"{opaque}"', 304),
        ('"x", {}', 304),
        ('{},"x"', 304),
        ('W/"a",W/"b" , {} ,', 304),
        ("  {}  ", 304),
        ('"x"', 200),
        ('W/"x"', 200),
        ("", 200),
        (",", 200),
        ("{opaque}", 200),
        ('w/"{opaque}"', 200),
        ('"{opaque}', 200),
        ('"*"', 200),
        ('W/"{opaque}x"', 200),
        ("\xff", 200),
    ],
)
async def test_if_none_match(shared_api: PartnerApi, studios: list[Studio], key: str, known: str, status: int) -> None:
    """Weak comparison: a strong tag with the same text matches too."""
    path = f"/classes/{studios[0].first('class')}"
    etag = (await get(shared_api, key, path)).header("etag") or ""
    sent = known.replace("{opaque}", etag[3:-1]).replace("{}", etag)
    response = await get(shared_api, key, path, sent)
    assert response.status == status
    assert bool(response.body) is (status == 200)


async def test_a_change_changes_the_tag(shared_api: PartnerApi, studios: list[Studio], key: str) -> None:
    room = studios[0].first("room")
    before = await get(shared_api, key, f"/rooms/{room}")
    await shared_api.connection.execute("update rooms set capacity = capacity + 1 where id = $1", room)
    after = await get(shared_api, key, f"/rooms/{room}", before.header("etag"))
    assert after.status == 200
    assert after.header("etag") != before.header("etag")
    assert after.json()["capacity"] == before.json()["capacity"] + 1


async def test_a_tag_opens_nothing(shared_api: PartnerApi, studios: list[Studio], key: str) -> None:
    """A 304 confirms that the caller may see the resource, so every check comes first."""
    class_id = studios[0].first("class")
    etag = (await get(shared_api, key, f"/classes/{class_id}")).header("etag")
    stranger = await issue_key(shared_api.connection, studios[1])
    elsewhere = await issue_key(shared_api.connection, studios[0], locations=[studios[0].ids["location"][1]])
    narrow = await issue_key(shared_api.connection, studios[0], "studio:read")
    for known in (etag, "*"):
        assert_refused(await get(shared_api, stranger, f"/classes/{class_id}", known), "not_found")
        assert_refused(await get(shared_api, elsewhere, f"/classes/{class_id}", known), "not_found")
        assert_refused(await get(shared_api, narrow, f"/classes/{class_id}", known), "insufficient_scope")
        assert_refused(await get(shared_api, "x", f"/classes/{class_id}", known), "invalid_api_key")
        assert_refused(await get(shared_api, key, "/classes/x", known), "validation_error")


async def test_lists_have_no_tag(shared_api: PartnerApi, studios: list[Studio], key: str) -> None:
    response = await get(shared_api, key, "/classes", "*")
    assert response.status == 200
    assert response.header("etag") is None
