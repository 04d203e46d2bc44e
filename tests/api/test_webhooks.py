"""/webhook-endpoints: creation, changes, redelivery, and the access of each key."""

import asyncio
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from studiogate.api.resources.webhooks import models
from studiogate.domain.access import operator_access
from studiogate.domain.events import EventType
from studiogate.storage.events import Change, emit
from tests.domain.test_webhooks_targets import HOSTILE
from tests.support.partner_api import PREFIX, PartnerApi, open_partner_api
from tests.support.seed import Studio, issue_key, seed_studio
from tests.support.webhook_studio import SECRET_KEY

pytestmark = pytest.mark.anyio
URL = "https://partner.example/hook"


@pytest.fixture
async def api(database_url: str) -> Any:
    async for opened in open_partner_api(database_url, secret_key=SECRET_KEY):
        yield opened


@pytest.fixture
async def studio(api: PartnerApi) -> Studio:
    seeded = await seed_studio(api.connection)
    await api.connection.execute(
        "delete from webhook_attempts; delete from webhook_deliveries; delete from webhook_endpoints"
    )
    return seeded


@pytest.fixture
async def manager(api: PartnerApi, studio: Studio) -> str:
    return await issue_key(api.connection, studio)


async def call(api: PartnerApi, key: str, method: str, path: str, body: Any = None, **headers: str) -> httpx2.Response:
    options = {} if body is None else {"json": body}
    given = {"X-Service-Key": key, **headers}
    return await api.client.request(method, PREFIX + path, headers=given, **options)


async def create(api: PartnerApi, key: str, **body: Any) -> Any:
    made = await call(api, key, "POST", "/webhook-endpoints", {"url": URL, **body})
    assert made.status_code == 201, made.text
    return made.json()


CONFLICT = """
    create sequence conflicts;
    create function conflict() returns trigger language plpgsql as $$ begin
        if nextval('conflicts') = 1 then raise 'a deadlock' using errcode = 'deadlock_detected'; end if;
        return new;
    end $$;
    create trigger conflict before update on webhook_endpoints for each row execute function conflict()"""


async def test_a_deletion_that_lost_a_conflict_is_executed_again(api: PartnerApi, manager: str) -> None:
    path = f"/webhook-endpoints/{(await create(api, manager))['id']}"
    await api.connection.execute(CONFLICT)
    assert (await call(api, manager, "DELETE", path)).status_code == 204
    assert (await call(api, manager, "GET", path)).status_code == 404


async def test_the_life_of_an_endpoint(api: PartnerApi, manager: str) -> None:
    made = await create(api, manager, description="ours")
    assert made["secret"].startswith("whsec_")
    assert (made["event_types"], made["enabled"], made["disabled_reason"]) == (["*"], True, None)
    models.WebhookEndpointWithSecret.model_validate(made)
    path = f"/webhook-endpoints/{made['id']}"
    read = (await call(api, manager, "GET", path)).json()
    assert read == {name: value for name, value in made.items() if name != "secret"}
    assert (await call(api, manager, "GET", "/webhook-endpoints")).json()["data"] == [read]
    changed = await call(api, manager, "PATCH", path, {"event_types": ["booking.*", "booking.*"], "enabled": False})
    assert changed.status_code == 200, changed.text
    assert (changed.json()["event_types"], changed.json()["enabled"]) == (["booking.*"], False)
    assert changed.json()["description"] == "ours"
    assert (await call(api, manager, "PATCH", path, {"description": None})).json()["description"] is None
    rotated = (await call(api, manager, "POST", path + "/rotate-secret")).json()
    assert rotated["secret"] != made["secret"]
    assert rotated["previous_secret_expires_at"] is not None
    gone = await call(api, manager, "DELETE", path)
    assert (gone.status_code, gone.content) == (204, b"")
    for method, more in (
        ("GET", ""),
        ("DELETE", ""),
        ("POST", "/test"),
        ("GET", "/deliveries"),
        ("POST", "/rotate-secret"),
    ):
        assert (await call(api, manager, method, path + more)).status_code == 404, (method, more)
    assert (await call(api, manager, "GET", "/webhook-endpoints")).json()["data"] == []


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"url": None},
        {"url": ""},
        {"url": URL, "event_types": []},
        {"url": URL, "event_types": ["booking"]},
        {"url": URL, "event_types": "*"},
        {"url": URL, "event_types": [1]},
        {"url": URL, "enabled": "true"},
        {"url": URL, "enabled": None},
        {"url": URL, "description": "x" * 501},
        {"url": URL, "secret": "mine"},
    ],
)
async def test_what_is_no_endpoint(api: PartnerApi, manager: str, body: Any) -> None:
    refused = await call(api, manager, "POST", "/webhook-endpoints", body)
    assert refused.status_code == 422, refused.text
    made = await create(api, manager)
    if "url" not in body or body["url"] == URL:
        changes = {name: value for name, value in body.items() if name != "url"}
        changed = await call(api, manager, "PATCH", f"/webhook-endpoints/{made['id']}", changes)
        assert changed.status_code == 422, changed.text


async def test_hostile_urls_are_refused_at_creation_and_change(api: PartnerApi, manager: str) -> None:
    made = await create(api, manager)
    for url in HOSTILE:
        for method, path in (("POST", "/webhook-endpoints"), ("PATCH", f"/webhook-endpoints/{made['id']}")):
            refused = await call(api, manager, method, path, {"url": url})
            assert refused.status_code == 422, url
            assert refused.json()["detail"][0]["loc"] == ["body", "url"]


async def test_a_name_that_leads_inside_is_refused(api: PartnerApi, manager: str) -> None:
    async def lookup(host: str, _port: int) -> list[str]:
        return {"inside.example": ["10.0.0.8"], "mapped.example": ["::ffff:10.0.0.8"]}.get(host, ["8.8.8.8"])

    api.app._runtime.resolver.lookup = lookup
    for host in ("inside.example", "mapped.example"):
        refused = await call(api, manager, "POST", "/webhook-endpoints", {"url": f"https://{host}/"})
        assert refused.status_code == 422
    assert await create(api, manager, url="https://outside.example/")


async def test_at_most_twenty_a_studio_also_at_once(api: PartnerApi, manager: str) -> None:
    answers = await asyncio.gather(*(call(api, manager, "POST", "/webhook-endpoints", {"url": URL}) for _ in range(24)))
    statuses = [each.status_code for each in answers]
    assert (statuses.count(201), statuses.count(409)) == (20, 4)
    refusal = next(each.json()["error"] for each in answers if each.status_code == 409)
    assert (refusal["code"], refusal["details"]) == ("limit_reached", {"limit": "webhook_endpoints", "maximum": 20})


async def test_a_repeated_creation_answers_with_the_same_secret_kept_sealed(api: PartnerApi, manager: str) -> None:
    headers = {"Idempotency-Key": uuid4().hex}
    first = await call(api, manager, "POST", "/webhook-endpoints", {"url": URL}, **headers)
    second = await call(api, manager, "POST", "/webhook-endpoints", {"url": URL}, **headers)
    assert first.status_code == 201
    assert first.content == second.content
    assert second.headers["idempotent-replayed"] == "true"
    kept = await api.connection.fetchval("select body from idempotency_keys")
    assert b"whsec_" not in kept


async def test_an_endpoint_is_within_reach_of_keys_that_see_all_it_sees(api: PartnerApi, studio: Studio) -> None:
    first, second = studio.ids["location"]
    whole = await issue_key(api.connection, studio)
    narrow = await issue_key(api.connection, studio, "webhooks:manage", "leads:read")
    there = await issue_key(api.connection, studio, locations=[first])
    elsewhere = await issue_key(api.connection, studio, locations=[second])
    made = {key: (await create(api, key))["id"] for key in (whole, narrow, there, elsewhere)}
    reach = {
        whole: set(made.values()),
        narrow: {made[narrow]},
        there: {made[there]},
        elsewhere: {made[elsewhere]},
    }
    for key, seen in reach.items():
        listed = (await call(api, key, "GET", "/webhook-endpoints")).json()["data"]
        assert {each["id"] for each in listed} == seen
        for endpoint_id in made.values():
            expected = 200 if endpoint_id in seen else 404
            path = f"/webhook-endpoints/{endpoint_id}"
            assert (await call(api, key, "GET", path)).status_code == expected
            assert (await call(api, key, "PATCH", path, {"description": "x"})).status_code == expected
            assert (await call(api, key, "GET", path + "/deliveries")).status_code == expected
            assert (await call(api, key, "POST", path + "/rotate-secret")).status_code == expected


async def _three_events(api: PartnerApi, studio: Studio) -> list[str]:
    access = operator_access(studio.studio_id)
    await emit(api.connection, access, EventType.LEAD_CREATED, Change(studio.first("lead")))
    await emit(api.connection, access, EventType.BOOKING_UPDATED, Change(studio.ids["booking"][0]))
    await emit(api.connection, access, EventType.BOOKING_CANCELLED, Change(studio.ids["booking"][1]))
    api.app._runtime.sequencer.kick(studio.studio_id)
    await api.app._runtime.sequencer.settled()
    rows = await api.connection.fetch("select id from events where sequence > 3 order by sequence")
    return [str(row["id"]) for row in rows]


async def test_asking_again(api: PartnerApi, studio: Studio, manager: str) -> None:
    _, updated, _ = await _three_events(api, studio)
    made = await create(api, manager, event_types=["booking.*"])
    path = f"/webhook-endpoints/{made['id']}"
    again = await call(api, manager, "POST", f"/events/{updated}/redeliver")
    assert (again.status_code, again.json()) == (
        202,
        {"object": "event_redelivery", "event_id": updated, "deliveries": 1},
    )
    assert (await call(api, manager, "POST", f"/events/{uuid4()}/redeliver")).status_code == 404
    span = {"since": "2020-01-01T00:00:00Z"}
    replayed = await call(api, manager, "POST", path + "/replay", {**span, "types": ["booking.cancelled", "lead.*"]})
    assert replayed.status_code == 202, replayed.text
    assert replayed.json()["deliveries"] == 2
    assert (await call(api, manager, "POST", path + "/replay", {**span, "until": "2020-01-02T00:00:00Z"})).json()[
        "deliveries"
    ] == 0
    for wrong in ({}, {**span, "until": "2019-01-01T00:00:00Z"}, {**span, "types": []}, {**span, "x": 1}):
        assert (await call(api, manager, "POST", path + "/replay", wrong)).status_code == 422
    tested = await call(api, manager, "POST", path + "/test")
    assert tested.status_code == 202
    models.WebhookDelivery.model_validate(tested.json())
    listed = (await call(api, manager, "GET", path + "/deliveries")).json()["data"]
    assert len(listed) == 4
    assert {each["status"] for each in listed} == {"pending"}
    page = (await call(api, manager, "GET", path + "/deliveries?limit=3")).json()
    rest = (await call(api, manager, "GET", f"{path}/deliveries?limit=3&cursor={page['next_cursor']}")).json()
    assert [each["id"] for each in page["data"] + rest["data"]] == [each["id"] for each in listed]


async def test_redelivery_needs_sight_of_the_event(api: PartnerApi, studio: Studio) -> None:
    lead, updated, cancelled = await _three_events(api, studio)
    narrow = await issue_key(
        api.connection, studio, "webhooks:manage", "bookings:read", locations=[studio.first("location")]
    )
    assert [
        (await call(api, narrow, "POST", f"/events/{each}/redeliver")).status_code
        for each in (lead, updated, cancelled)
    ] == [404, 202, 404]


async def test_a_bad_url_is_listed_with_the_other_faults(api: PartnerApi, manager: str) -> None:
    made = await create(api, manager)
    for method, path in (("POST", "/webhook-endpoints"), ("PATCH", f"/webhook-endpoints/{made['id']}")):
        response = await call(api, manager, method, path, {"url": "http://partner.example", "event_types": []})
        assert [fault["loc"] for fault in response.json()["detail"]] == [["body", "event_types"], ["body", "url"]]


async def test_an_absent_member_and_a_null_one_are_two_changes(api: PartnerApi, manager: str) -> None:
    """One keeps the description, the other clears it: they are not the same request under one key."""
    made = await create(api, manager, description="ours")
    path, once = f"/webhook-endpoints/{made['id']}", {"Idempotency-Key": "change-once"}
    assert (await call(api, manager, "PATCH", path, {"enabled": False}, **once)).status_code == 200
    response = await call(api, manager, "PATCH", path, {"enabled": False, "description": None}, **once)
    assert (response.status_code, response.json()["error"]["code"]) == (409, "idempotency_key_reused")


async def test_a_fault_inside_an_array_names_the_array(api: PartnerApi, manager: str) -> None:
    response = await call(api, manager, "POST", "/webhook-endpoints", {"url": URL, "event_types": ["*", "nothing"]})
    assert [fault["loc"] for fault in response.json()["detail"]] == [["body", "event_types", 1]]
    assert response.json()["error"]["param"] == "event_types"
