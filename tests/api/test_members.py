"""POST /members (CONTRACT 5)."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import uuid4

import pytest

from tests.support.asgi import AsgiResponse, assert_refused
from tests.support.partner_api import open_partner_api
from tests.support.people import Partner, locs, partner_of
from tests.support.seed import issue_key

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def partner(anyio_backend: object, new_database: Callable[[], str]) -> AsyncIterator[Partner]:
    async for api in open_partner_api(new_database(), rate_limit=0):
        yield await partner_of(api)


async def create(partner: Partner, email: str, *headers: tuple[str, str], **more: Any) -> AsgiResponse:
    body = {"email": email, "first_name": "Jo", "last_name": "Ri", **more}
    return await partner.post("/members", body, *headers)


async def test_a_new_member(partner: Partner) -> None:
    response = await create(partner, " Jo@Example.COM ", phone="(212) 555-0199")
    assert response.status == 201, response.body
    member = response.json()
    assert (member["name"], member["email"], member["role"]) == ("Jo Ri", "jo@example.com", "member")
    assert member == await partner.get(f"/members/{member['id']}")
    assert member["phone"] == "+12125550199"
    assert await partner.value("select phone from members where id = $1", member["id"]) == "+12125550199"


@pytest.mark.parametrize(
    ("given", "kept"),
    [("+44 20 7946 0000", "+442079460000"), ("212.555.0100", "+12125550100"), ("001 49 30 123456", None)],
)
async def test_phones_are_kept_as_e164(partner: Partner, given: str, kept: str | None) -> None:
    response = await create(partner, f"{uuid4().hex}@example.com", phone=given)
    if kept is None:
        assert locs(response) == [["body", "phone"]]
    else:
        assert await partner.value("select phone from members where id = $1", response.json()["id"]) == kept


async def test_the_same_email_exists(partner: Partner) -> None:
    first = await create(partner, "twice@example.com")
    error = assert_refused(await create(partner, "TWICE@example.com"), "member_exists")
    assert error["details"] == {"member_id": first.json()["id"]}
    blind = await issue_key(partner.api.connection, partner.studio, "members:write")
    body = {"email": "twice@example.com", "first_name": "X", "last_name": "Y"}
    error = assert_refused(await partner.post("/members", body, key=blind), "member_exists")
    assert error["details"] == {}


async def test_sixteen_at_once_make_one(partner: Partner) -> None:
    async def create_in_the_end() -> AsgiResponse:
        """Repeat what a busy machine refuses as overloaded."""
        while (response := await create(partner, "race@example.com")).status == 503:
            pass
        return response

    responses = await asyncio.gather(*(create_in_the_end() for _ in range(16)))
    assert sorted(each.status for each in responses) == [201] + [409] * 15
    made = next(each.json()["id"] for each in responses if each.status == 201)
    assert {each.json()["error"]["details"]["member_id"] for each in responses if each.status == 409} == {made}


async def test_the_lead_is_converted(partner: Partner) -> None:
    lead = (await partner.post("/leads", {"email": "becomes@example.com", "first_name": "Lee"})).json()
    await create(partner, "Becomes@example.com")
    found = await partner.get(f"/leads/{lead['id']}")
    assert (found["status"], found["lifecycle_stage"], found["first_name"]) == ("converted", "member", "Lee")


async def test_what_was_submitted_before_is_the_member_s(partner: Partner) -> None:
    form = partner.studio.first("form")
    sent = {"submitter_email": "signed@example.com", "data": {"q": "x"}}
    submission = (await partner.post(f"/forms/{form}/submissions", sent)).json()
    member = (await create(partner, "signed@example.com")).json()
    found = await partner.get(f"/forms/{form}/submissions/{submission['id']}")
    assert found["member_id"] == member["id"]


async def test_a_retry_with_its_key(partner: Partner) -> None:
    header = ("idempotency-key", f"member-{uuid4()}")
    first = await create(partner, "idem@example.com", header)
    again = await create(partner, "idem@example.com", header)
    assert (again.status, again.body) == (201, first.body)
    # A conflict is not stored: once it is resolved, the same key works.
    other = ("idempotency-key", f"member-{uuid4()}")
    assert_refused(await create(partner, "idem@example.com", other), "member_exists")
    await partner.api.connection.execute("update members set email = null where email = 'idem@example.com'")
    assert (await create(partner, "idem@example.com", other)).status == 201


@pytest.mark.parametrize(
    ("body", "faulty"),
    [
        ({}, ["email", "first_name", "last_name"]),
        ({"email": "a@b.example"}, ["first_name", "last_name"]),
        ({"email": "a", "first_name": "", "last_name": " ", "phone": 5}, ["email", "first_name", "last_name", "phone"]),
        ({"email": "a", "first_name": "A", "last_name": "B", "phone": "12"}, ["email", "phone"]),
        ({"email": "a", "first_name": "A", "last_name": "B", "phone": "2125550100"}, ["email"]),
        ({"email": "a@b.example", "first_name": None, "last_name": []}, ["first_name", "last_name"]),
        ({"email": "a@b.example", "first_name": "a\nb", "last_name": "x" * 201}, ["first_name", "last_name"]),
        ({"email": "a@b.example", "first_name": "A", "last_name": "B", "phone": ""}, ["phone"]),
        ({"email": "a@b.example", "first_name": "A", "last_name": "B", "name": "C", "role": "user"}, ["name", "role"]),
    ],
)
async def test_every_fault_at_once(partner: Partner, body: dict[str, Any], faulty: list[str]) -> None:
    assert [each[-1] for each in locs(await partner.post("/members", body))] == faulty


@pytest.mark.parametrize("body", [b"", b"[]", b"5", b"null", b'"x"'])
async def test_a_body_is_an_object(partner: Partner, body: bytes) -> None:
    response = await partner.send("POST", "/members", body)
    assert response.status in (400, 422)
    assert response.status == 400 or locs(response) == [["body"]]
