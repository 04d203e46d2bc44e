"""A lead with the email of a member is converted, in whatever order and by whatever means the two are created."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import uuid4

import pytest

from studiogate.storage import idempotency, people
from studiogate.storage import leads as lead_storage
from tests.support.asgi import assert_refused
from tests.support.partner_api import open_partner_api
from tests.support.people import Partner, locs, partner_of
from tests.support.studio_files import exported, load

pytestmark = pytest.mark.anyio

MEMBER = {"first_name": "Jo", "last_name": "Ri"}


@pytest.fixture(scope="module")
async def partner(anyio_backend: object, new_database: Callable[[], str]) -> AsyncIterator[Partner]:
    async for api in open_partner_api(new_database(), rate_limit=0):
        yield await partner_of(api)


async def lead_of(partner: Partner, email: str, **more: Any) -> str:
    response = await partner.post("/leads", {"email": email, **more})
    assert response.status == 201, response.body
    return str(response.json()["id"])


async def member_of(partner: Partner, email: str) -> str:
    response = await partner.post("/members", {"email": email, **MEMBER})
    assert response.status == 201, response.body
    return str(response.json()["id"])


async def read(partner: Partner, lead_id: str) -> dict[str, Any]:
    return dict(await partner.get(f"/leads/{lead_id}"))


async def events_of(partner: Partner, subject: str) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Return type, object and previous attributes of the events about one row, in order."""
    rows = await partner.api.connection.fetch(
        "select type, object, previous_attributes from events where subject = $1 order by created_at, id", subject
    )
    return [(row["type"], json.loads(row["object"]), json.loads(row["previous_attributes"])) for row in rows]


async def imported(partner: Partner, **sections: list[dict[str, Any]]) -> None:
    document = json.loads(await exported(partner.api.connection, partner.studio.slug))
    studio = {"studio": document["studio"], **sections}
    assert (await load(partner.api.connection, studio)).faults == []


CONVERTED = {"status": "new", "lifecycle_stage": "lead"}


async def test_a_member_converts_the_lead(partner: Partner) -> None:
    lead_id = await lead_of(partner, "first-lead@example.com")
    await member_of(partner, "First-Lead@example.com")
    lead = await read(partner, lead_id)
    assert (lead["status"], lead["lifecycle_stage"]) == ("converted", "member")
    assert await events_of(partner, lead_id) == [
        ("lead.created", {**lead, **CONVERTED, "updated_at": lead["created_at"]}, {}),
        ("lead.updated", lead, CONVERTED),
    ]


async def test_a_lead_of_a_member_is_converted_at_once(partner: Partner) -> None:
    await member_of(partner, "first-member@example.com")
    lead_id = await lead_of(partner, "first-member@example.com")
    lead = await read(partner, lead_id)
    assert (lead["status"], lead["lifecycle_stage"]) == ("converted", "member")
    assert await events_of(partner, lead_id) == [("lead.created", lead, {})]


async def test_an_imported_member_converts_the_lead(partner: Partner) -> None:
    lead_id = await lead_of(partner, "import@example.com")
    member = {"id": str(uuid4()), "email": "import@example.com", **MEMBER}
    await imported(partner, members=[member])
    lead = await read(partner, lead_id)
    assert (lead["status"], lead["lifecycle_stage"]) == ("converted", "member")
    assert (await events_of(partner, lead_id))[1:] == [("lead.updated", lead, CONVERTED)]
    await imported(partner, members=[member])
    assert await read(partner, lead_id) == lead


async def test_an_imported_lead_of_a_member_is_converted(partner: Partner) -> None:
    await member_of(partner, "import-lead@example.com")
    row = {"id": str(uuid4()), "email": "import-lead@example.com", "status": "contacted", "last_name": "L"}
    await imported(partner, leads=[row])
    lead = await read(partner, row["id"])
    assert (lead["status"], lead["lifecycle_stage"], lead["last_name"]) == ("converted", "member", "L")
    # An older file does not undo the conversion, and does not clear the fields that it omits.
    await imported(partner, leads=[{"id": row["id"], "email": row["email"], "status": "new"}])
    assert await read(partner, row["id"]) == lead


async def test_a_member_that_gets_the_email_converts_the_lead(partner: Partner) -> None:
    member_id = await member_of(partner, "before@example.com")
    lead_id = await lead_of(partner, "after@example.com")
    await imported(partner, members=[{"id": member_id, "email": "after@example.com", **MEMBER}])
    assert (await read(partner, lead_id))["status"] == "converted"


async def test_a_profile_of_a_lead_is_no_member(partner: Partner) -> None:
    lead_id = await lead_of(partner, "profile@example.com")
    profile = {"id": str(uuid4()), "email": "profile@example.com", "role": "lead", **MEMBER}
    await imported(partner, members=[profile])
    assert (await read(partner, lead_id))["status"] == "new"
    await imported(partner, members=[{**profile, "role": "member"}])
    assert (await read(partner, lead_id))["status"] == "converted"


WITH_AND_WITHOUT_KEY = pytest.mark.parametrize("has_key", [True, False], ids=["key", "no key"])


def new_key(*, has_key: bool) -> list[tuple[str, str]]:
    return [("idempotency-key", uuid4().hex)] if has_key else []


async def both_at_once(partner: Partner, email: str, *, has_key: bool) -> str:
    lead, member = await asyncio.gather(
        partner.post("/leads", {"email": email}, *new_key(has_key=has_key)),
        partner.post("/members", {"email": email, **MEMBER}),
    )
    assert (lead.status, member.status) == (201, 201), (lead.body, member.body)
    return str((await read(partner, lead.json()["id"]))["status"])


@WITH_AND_WITHOUT_KEY
async def test_both_at_once(partner: Partner, has_key: bool) -> None:
    for _ in range(10):
        assert await both_at_once(partner, f"at-once-{uuid4().hex}@example.com", has_key=has_key) == "converted"


def forget_the_locks_of_emails(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = idempotency.CLAIM._text
    assert "key_is_free and status is null" in claim
    monkeypatch.setattr(idempotency.CLAIM, "_text", claim.replace("key_is_free and status is null", "false"))
    monkeypatch.setattr(people, "LOCK_EMAIL", "select $1::text, $2::text")


@WITH_AND_WITHOUT_KEY
async def test_without_the_email_s_lock_a_conversion_is_lost(
    partner: Partner, monkeypatch: pytest.MonkeyPatch, has_key: bool
) -> None:
    """Prove that the test above can fail: without the lock, the two transactions do not see each other."""
    lead_is_made, member_is_made, make = asyncio.Event(), asyncio.Event(), lead_storage.make_or_lock

    async def make_and_wait(*arguments: Any, **options: Any) -> Any:
        made = await make(*arguments, **options)
        lead_is_made.set()
        await member_is_made.wait()
        return made

    forget_the_locks_of_emails(monkeypatch)
    monkeypatch.setattr(lead_storage, "make_or_lock", make_and_wait)
    email = f"mutant-{uuid4().hex}@example.com"
    lead = asyncio.create_task(partner.post("/leads", {"email": email}, *new_key(has_key=has_key)))
    await lead_is_made.wait()
    assert (await partner.post("/members", {"email": email, **MEMBER})).status == 201
    member_is_made.set()
    assert (await read(partner, (await lead).json()["id"]))["status"] == "new", (
        "the test of both at once proves nothing"
    )


async def test_a_converted_lead_stays_so(partner: Partner) -> None:
    await member_of(partner, "final@example.com")
    lead_id = await lead_of(partner, "final@example.com")
    for method, path in (("PATCH", f"/leads/{lead_id}"), ("POST", f"/leads/{lead_id}/update")):
        response = await partner.send(method, path, b'{"status": "lost", "first_name": "X"}')
        error = assert_refused(response, "invalid_transition", param="status")
        assert error["details"] == {"from": "converted", "to": "lost"}
        assert locs(await partner.send(method, path, b'{"status": "converted"}')) == [["body", "status"]]
    assert (await read(partner, lead_id))["first_name"] == ""
    assert (await partner.send("PATCH", f"/leads/{lead_id}", b'{"first_name": "Y"}')).status == 200


async def test_a_member_is_given_the_submissions_of_before(partner: Partner) -> None:
    form = {"title": "Waiver", "fields": [{"key": "a", "label": "A", "type": "text"}], "status": "published"}
    form_id = (await partner.post("/forms", form)).json()["id"]
    sent = {}
    for way in ("api", "import"):
        body = {"submitter_email": f"waiver-{way}@example.com", "data": {"a": "x"}}
        made = await partner.post(f"/forms/{form_id}/submissions", body)
        assert made.status == 201, made.body
        assert made.json()["member_id"] is None
        sent[way] = made.json()["id"]
    api = await member_of(partner, "waiver-api@example.com")
    row = {"id": str(uuid4()), "email": "waiver-import@example.com", **MEMBER}
    await imported(partner, members=[row])
    for way, member_id in (("api", api), ("import", row["id"])):
        submission = await partner.get(f"/forms/{form_id}/submissions/{sent[way]}")
        assert submission["member_id"] == member_id, way
