"""Limits on the data of a lead, and the events that are emitted when it changes."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import uuid4

import pytest

from tests.api.test_conversion import events_of, lead_of, read
from tests.support.asgi import AsgiResponse, ask, assert_refused
from tests.support.partner_api import open_partner_api
from tests.support.people import Partner, locs, partner_of

pytestmark = pytest.mark.anyio

KIB = 1024


@pytest.fixture(scope="module")
async def partner(anyio_backend: object, new_database: Callable[[], str]) -> AsyncIterator[Partner]:
    async for api in open_partner_api(new_database(), rate_limit=0):
        yield await partner_of(api)


async def patch(partner: Partner, lead_id: str, body: dict[str, Any], *headers: tuple[str, str]) -> AsgiResponse:
    return await partner.send("PATCH", f"/leads/{lead_id}", json.dumps(body).encode(), *headers)


async def stored(partner: Partner, lead_id: str) -> int:
    return int(await partner.value("select octet_length(metadata::text) from leads where id = $1", lead_id))


async def test_metadata_is_measured_as_it_is_stored(partner: Partner) -> None:
    for value in ([1e308] * 8000, [1e308] * 60, [5e-324] * 60):
        response = await partner.post("/leads", {"email": "numbers@example.com", "metadata": {"a": value}})
        assert locs(response) == [["body", "metadata"]]
        assert response.json()["detail"][0]["msg"] == "Metadata should have at most 16 KiB as stored"
    lead_id = await lead_of(partner, "numbers@example.com", metadata={"a": [1e308] * 50})
    assert 15 * KIB < await stored(partner, lead_id) < 16 * KIB


async def test_the_result_of_every_merge_is_measured(partner: Partner) -> None:
    lead_id = await lead_of(partner, "merge@example.com", metadata={"a": "x" * 9_000})
    more = {"b": [1e308] * 30}
    assert locs(await partner.post("/leads", {"email": "merge@example.com", "metadata": more})) == [
        ["body", "metadata"]
    ]
    assert locs(await patch(partner, lead_id, {"metadata": more})) == [["body", "metadata"]]
    assert locs(await partner.post("/leads", {"email": "merge@example.com", "utm_source": "x" * 201})) == [
        ["body", "utm_source"]
    ]
    assert await stored(partner, lead_id) == 9_009
    assert (await patch(partner, lead_id, {"metadata": {"a": None, **more}})).status == 200


async def test_what_was_too_large_before_can_shrink_and_stay(partner: Partner) -> None:
    lead_id = await lead_of(partner, "legacy@example.com")
    await partner.api.connection.execute(
        "update leads set metadata = jsonb_build_object('a', repeat('x', 50000), 'b', 1) where id = $1", lead_id
    )
    assert (await partner.post("/leads", {"email": "legacy@example.com", "first_name": "A"})).status == 201
    assert (await patch(partner, lead_id, {"metadata": {"b": 1}})).status == 200
    assert locs(await patch(partner, lead_id, {"metadata": {"c": 1}})) == [["body", "metadata"]]
    assert locs(await patch(partner, lead_id, {"metadata": {"b": None}})) == [["body", "metadata"]]
    assert (await patch(partner, lead_id, {"metadata": {"a": None, "c": 1}})).status == 200


async def test_merges_at_once_do_not_exceed_it_together(partner: Partner) -> None:
    lead_id = await lead_of(partner, "together@example.com")
    responses = await asyncio.gather(*(patch(partner, lead_id, {"metadata": {f"k{n}": "x" * 6_000}}) for n in range(6)))
    assert {each.status for each in responses} <= {200, 422, 503}
    assert sum(each.status == 200 for each in responses) <= 2
    assert await stored(partner, lead_id) <= 16 * KIB


async def test_submissions_are_not_counted_and_cannot_be_forged(partner: Partner) -> None:
    form = {"title": "Note", "fields": [{"key": "a", "label": "A", "type": "text"}], "status": "published"}
    form_id = (await partner.post("/forms", form)).json()["id"]
    lead_id = await lead_of(partner, "full@example.com", metadata={"a": "x" * (16 * KIB - 9)})
    assert await stored(partner, lead_id) == 16 * KIB
    made = await partner.post(f"/forms/{form_id}/submissions", {"submitter_email": "full@example.com", "data": {}})
    assert made.status == 201, made.body
    lead = await read(partner, lead_id)
    assert [each["submission_id"] for each in lead["metadata"]["form_submissions"]] == [made.json()["id"]]
    assert (await events_of(partner, lead_id))[-1][2] == {"metadata": {"a": "x" * (16 * KIB - 9)}}
    assert (await patch(partner, lead_id, {"metadata": {"a": "y" * (16 * KIB - 9)}})).status == 200
    lead = await read(partner, lead_id)
    for forged in (["x" * 100], [], None, [{**lead["metadata"]["form_submissions"][0], "submission_id": form_id}]):
        body = {"metadata": {"form_submissions": forged}}
        assert locs(await patch(partner, lead_id, body)) == [["body", "metadata", "form_submissions"]]
        for email in ("full@example.com", "none@example.com"):
            refused = await partner.post("/leads", {"email": email, **body})
            assert locs(refused) == [["body", "metadata", "form_submissions"]]
    assert await read(partner, lead_id) == lead
    assert (await partner.get("/leads?email=none@example.com"))["data"] == []
    assert (await patch(partner, lead_id, {"metadata": {**lead["metadata"], "a": 1}})).status == 200
    assert (await read(partner, lead_id))["metadata"] == {**lead["metadata"], "a": 1}


async def test_staff_notes_have_64_kib_in_all(partner: Partner) -> None:
    lead_id = await lead_of(partner, "notes@example.com")
    for _ in range(6):
        assert (await patch(partner, lead_id, {"notes": "é" * 5_000})).status == 200
    left = 64 * KIB - 6 * 10_001
    response = await patch(partner, lead_id, {"notes": "x" * (left + 1), "first_name": "X"})
    error = assert_refused(response, "limit_reached", param="notes")
    assert error["details"] == {"limit": "staff_notes", "maximum": 64 * KIB}
    assert (await read(partner, lead_id))["first_name"] == ""
    assert (await patch(partner, lead_id, {"notes": "x" * left})).status == 200
    size = "select octet_length(staff_notes) from leads where id = $1"
    assert await partner.value(size, lead_id) == 64 * KIB


async def test_every_visible_change_is_announced_and_nothing_else(partner: Partner) -> None:
    lead_id = await lead_of(partner, "changes@example.com", first_name="A", metadata={"a": 1})
    seen = await read(partner, lead_id)

    async def changed(previous: dict[str, Any] | None, response: AsgiResponse) -> None:
        nonlocal seen
        assert response.status in (200, 201), response.body
        before, seen = seen, await read(partner, lead_id)
        last = (await events_of(partner, lead_id))[-1]
        if previous is None:
            assert seen == before
            return
        assert last == ("lead.updated", seen, previous)
        assert seen["updated_at"] > before["updated_at"]

    async def post(**body: Any) -> AsgiResponse:
        return await partner.post("/leads", {"email": "changes@example.com", **body})

    await changed({"first_name": "A"}, await patch(partner, lead_id, {"first_name": "B"}))
    await changed({"last_name": ""}, await post(first_name="C", last_name="L"))
    await changed({"phone": None}, await post(phone="(212) 555-0100"))
    await changed({"metadata": {"a": 1}}, await post(metadata={"b": 2}))
    await changed({"metadata": {"a": 1, "b": 2}}, await post(utm_source="x"))
    await changed({"phone": "+12125550100"}, await patch(partner, lead_id, {"phone": None}))
    both = await patch(partner, lead_id, {"status": "qualified", "last_name": "M", "notes": "n"})
    await changed({"status": "new", "last_name": "L"}, both)
    count = len(await events_of(partner, lead_id))
    await changed(None, await patch(partner, lead_id, {"first_name": "B"}))
    await changed(None, await patch(partner, lead_id, {"notes": "only staff see it"}))
    await changed(None, await patch(partner, lead_id, {"metadata": {"a": 1, "none": None}}))
    await changed(None, await post(first_name="Z", metadata={"b": 2}))
    assert len(await events_of(partner, lead_id)) == count


async def test_patch_and_its_alias_are_one_operation(partner: Partner) -> None:
    lead_id = await lead_of(partner, "alias@example.com")
    body = b'{"notes": "once", "metadata": {"a": 1, "b": 2}}'
    other = b'{ "metadata": {"b": 2, "a": 1}, "notes": "once" }'
    ways = [("PATCH", f"/leads/{lead_id}"), ("POST", f"/leads/{lead_id.upper()}/update")]
    for number, (first, second) in enumerate([ways, ways[::-1]]):
        header = ("idempotency-key", f"alias-key-{number}")
        one = await partner.send(*first, body, header)
        two = await partner.send(*second, other, header)
        assert (one.status, one.header("idempotent-replayed")) == (200, None)
        assert (two.status, two.body, two.header("idempotent-replayed")) == (200, one.body, "true")
        assert_refused(await partner.send(*second, b'{"notes": "x"}', header), "idempotency_key_reused")
    other_lead = await lead_of(partner, "alias2@example.com")
    response = await partner.send("POST", f"/leads/{other_lead}/update", body, ("idempotency-key", "alias-key-0"))
    assert_refused(response, "idempotency_key_reused")
    assert await partner.value("select staff_notes from leads where id = $1", lead_id) == "once\nonce"


async def test_an_etag_changes_with_updated_at_only(partner: Partner) -> None:
    lead_id = await lead_of(partner, "etag@example.com")

    async def etag() -> str | None:
        return (await ask(partner.api.app, "GET", f"/leads/{lead_id}", key=partner.key)).header("etag")

    before = await etag()
    await patch(partner, lead_id, {"notes": "x", "first_name": ""})
    assert await etag() == before
    await patch(partner, lead_id, {"phone": "+1 212 555 0100"})
    assert await etag() != before


PHONE, METADATA = ["body", "phone"], ["body", "metadata"]
FORGED = [*METADATA, "form_submissions"]


async def test_all_faults_of_a_lead_are_listed_together(partner: Partner) -> None:
    """With each other, and with those of the types; the size of the result counts, also for a lead that exists."""
    lead_id = await lead_of(partner, "all@example.com", metadata={"a": "x" * 9_000})
    large = {"phone": "12", "metadata": {"form_submissions": [1], "b": "y" * 20_000}}
    added = {"phone": "12", "metadata": {"form_submissions": [1], "b": "y" * 9_000}}
    for email, body, found in (
        ("new@example.com", large, [PHONE, FORGED, METADATA]),
        ("new@example.com", added, [PHONE, FORGED]),
        ("all@example.com", added, [PHONE, FORGED, METADATA]),
    ):
        assert locs(await partner.post("/leads", {"email": email, **body})) == found
        refused = await partner.post("/leads", {"email": email, "first_name": 1, **body})
        assert locs(refused) == [["body", "first_name"], *found]
    refused = await partner.post("/leads", {"email": "nobody", **large})
    assert locs(refused) == [["body", "email"], PHONE, FORGED, METADATA]
    for body in (large, added):
        assert locs(await patch(partner, lead_id, body)) == [PHONE, FORGED, METADATA]
        refused = await patch(partner, lead_id, {"status": "no", **body})
        assert locs(refused) == [["body", "status"], PHONE, FORGED, METADATA]
    assert locs(await patch(partner, str(uuid4()), large)) == [PHONE, METADATA], "before the 404"
    assert_refused(await patch(partner, str(uuid4()), {"metadata": added["metadata"]}), "not_found")
    assert (await read(partner, lead_id))["metadata"] == {"a": "x" * 9_000}
