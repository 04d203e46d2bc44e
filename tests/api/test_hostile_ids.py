"""Hostile ids, cursors and limits: each is refused with the right fault, or read correctly."""

from urllib.parse import quote
from uuid import UUID, uuid4

import pytest

from tests.support.asgi import ask, assert_refused, post, shown
from tests.support.partner_api import PartnerApi
from tests.support.seed import Studio

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


@pytest.mark.parametrize("text", NOT_IDS, ids=shown)
async def test_what_is_not_an_id(shared_api: PartnerApi, key: str, text: str) -> None:
    serialized = quote(text, safe="")
    response = await ask(shared_api.app, "GET", f"/classes/{serialized}", key=key)
    # The server decodes escaped slashes, which makes it a different path.
    assert_refused(
        response, "not_found" if "/" in text else "validation_error", param=None if "/" in text else "class_id"
    )
    response = await ask(shared_api.app, "GET", f"/bookings?member_id={serialized}", key=key)
    assert_refused(response, "validation_error", param="member_id")
    response = await post(shared_api.app, "/bookings/validate", key, {"class_id": text, "member_id": ID})
    assert response.status in (400, 422)
    assert_refused(response, response.code)


@pytest.mark.parametrize("raw", ["%FF%FE", "%C0%AF", "%ED%A0%80", "%00", "%", "%zz", "%F0%9F%98"])
async def test_escapes_that_are_no_text(shared_api: PartnerApi, key: str, raw: str) -> None:
    assert_refused(await ask(shared_api.app, "GET", f"/classes/{raw}", key=key), "validation_error")
    assert_refused(await ask(shared_api.app, "GET", f"/bookings?class_id={raw}", key=key), "validation_error")
    assert_refused(await ask(shared_api.app, "GET", f"/bookings?{raw}={raw}", key=key), "validation_error")


@pytest.mark.parametrize("raw", ["a%2Fb", f"{ID}%2Fspots%2Fx", "%2F", "%2F%2F", "..%2F..%2Fetc%2Fpasswd"])
async def test_escaped_slashes_open_nothing(shared_api: PartnerApi, key: str, raw: str) -> None:
    response = await ask(shared_api.app, "GET", f"/classes/{raw}", key=key)
    assert response.status in (404, 422)
    assert_refused(response, response.code)


async def test_upper_case_ids_are_answered_in_lower_case(
    shared_api: PartnerApi, studios: list[Studio], key: str
) -> None:
    class_id, member_id = str(studios[0].first("class")), str(studios[0].first("member"))
    lower, upper = [
        await ask(shared_api.app, "GET", f"/classes/{each}", key=key) for each in (class_id, class_id.upper())
    ]
    assert upper.status == 200
    assert upper.json() == lower.json()
    assert upper.json()["id"] == class_id
    filtered = await ask(shared_api.app, "GET", f"/bookings?class_id={class_id.upper()}", key=key)
    assert {each["class_id"] for each in filtered.json()["data"]} == {class_id}
    body = {"class_id": class_id.upper(), "member_id": member_id.upper()}
    validated = await post(shared_api.app, "/bookings/validate", key, body)
    assert validated.status == 200
    assert validated.json()["reasons"][0]["code"] == "already_booked"


async def test_the_nil_id_is_an_id(shared_api: PartnerApi, key: str) -> None:
    for each in (UUID(int=0), UUID(int=2**128 - 1)):
        assert_refused(await ask(shared_api.app, "GET", f"/classes/{each}", key=key), "not_found")


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
async def test_what_is_not_a_cursor(shared_api: PartnerApi, key: str, cursor: str) -> None:
    for path in ("/classes", "/bookings", "/locations"):
        response = await ask(shared_api.app, "GET", f"{path}?cursor={quote(cursor, safe='')}", key=key)
        assert_refused(response, "invalid_cursor", param="cursor")


@pytest.mark.parametrize("path", LISTS)
async def test_cursors_of_other_lists_and_studios(
    shared_api: PartnerApi, studios: list[Studio], key: str, path: str
) -> None:
    """A row of another list, a row of another studio and an unknown row get the same response."""
    own = studios[0].first(KINDS[path])
    strangers = [ids[0] for kind, ids in studios[0].ids.items() if kind not in (KINDS[path], "waitlisted_booking")]
    strangers += [studios[1].first(KINDS[path]), studios[0].studio_id, uuid4()]
    bodies = set()
    for each in strangers:
        response = await ask(
            shared_api.app, "GET", f"{path}?cursor={each}", key=key, headers=[("x-request-id", "same")]
        )
        assert_refused(response, "invalid_cursor", param="cursor")
        bodies.add(response.body)
    assert len(bodies) == 1
    assert (await ask(shared_api.app, "GET", f"{path}?cursor={own}", key=key)).status == 200
    assert (await ask(shared_api.app, "GET", f"{path}?cursor={str(own).upper()}", key=key)).status == 200


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
async def test_what_is_not_a_limit(shared_api: PartnerApi, key: str, limit: str) -> None:
    for path in ("/classes", "/rooms"):
        response = await ask(shared_api.app, "GET", f"{path}?limit={quote(limit, safe='')}", key=key)
        assert_refused(response, "validation_error", param="limit")


@pytest.mark.parametrize("limit", ["1", "2", "200"])
async def test_limits(shared_api: PartnerApi, key: str, limit: str) -> None:
    response = await ask(shared_api.app, "GET", f"/classes?limit={limit}", key=key)
    assert len(response.json()["data"]) == min(3, int(limit))
