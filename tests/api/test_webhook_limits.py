"""At most 10,000 deliveries are pending per endpoint, whatever requests more; the log has what was not queued."""

import asyncio
import json
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from jsonschema import Draft202012Validator

from studiogate.domain.access import operator_access
from studiogate.domain.events import EventType
from studiogate.domain.webhooks.deliveries import MAX_WAITING
from studiogate.flows import deliveries, housekeeping
from studiogate.storage.events import Change, emit
from studiogate.storage.webhooks import deliveries as stored_deliveries
from studiogate.storage.webhooks.deliveries import REPLAYED_AT_ONCE
from tests.api.test_webhooks import api, call, create, manager, studio
from tests.support.openapi_document import served_document
from tests.support.partner_api import PartnerApi
from tests.support.seed import Studio

pytestmark = pytest.mark.anyio
__all__ = ["api", "manager", "studio"]
FULL = {"limit": "waiting_deliveries", "maximum": MAX_WAITING}


async def fill(api: PartnerApi, endpoint_id: str, leave: int) -> None:
    """Insert pending deliveries until there is room for only ``leave`` more."""
    await api.connection.execute(
        """
        insert into webhook_deliveries (studio_id, id, endpoint_id, event_type, body)
        select studio_id, gen_random_uuid(), id, 'webhook_endpoint.test', '{}'
        from webhook_endpoints, generate_series(1, $2) where id = $1""",
        UUID(endpoint_id),
        MAX_WAITING - leave,
    )


async def waiting(api: PartnerApi, endpoint_id: str) -> int:
    counted: int = await api.connection.fetchval(
        "select count(*) from webhook_deliveries where endpoint_id = $1 and status = 'pending'", UUID(endpoint_id)
    )
    return counted


async def happen(api: PartnerApi, studio: Studio, times: int) -> list[str]:
    """Emit and number ``times`` events of a lead; return the ids of all lead updates in the log."""
    access, lead = operator_access(studio.studio_id), studio.first("lead")
    await emit(api.connection, access, EventType.LEAD_UPDATED, *[Change(lead)] * times)
    api.app._runtime.sequencer.kick(studio.studio_id)
    await api.app._runtime.sequencer.settled()
    rows = await api.connection.fetch(
        "select id from events where type = 'lead.updated' and sequence is not null order by sequence"
    )
    return [str(row["id"]) for row in rows]


async def test_events_beyond_the_limit_are_in_the_log_only(api: PartnerApi, studio: Studio, manager: str) -> None:
    full, free = [await create(api, manager, event_types=["lead.*"]) for _ in range(2)]
    await fill(api, full["id"], leave=2)
    logged = await happen(api, studio, 5)
    assert len(logged) == 5
    assert await waiting(api, full["id"]) == MAX_WAITING
    queued = await api.connection.fetch(
        "select event_id from webhook_deliveries where endpoint_id = $1 and event_id is not null", UUID(full["id"])
    )
    assert {str(row["event_id"]) for row in queued} == set(logged[:2]), "the oldest go first"
    assert await waiting(api, free["id"]) == 5, "another endpoint misses nothing"
    await happen(api, studio, 1)
    assert await waiting(api, full["id"]) == MAX_WAITING


async def test_nothing_can_be_asked_for_beyond_the_limit(api: PartnerApi, studio: Studio, manager: str) -> None:
    (event,) = await happen(api, studio, 1)
    made = await create(api, manager, event_types=["lead.*"])
    path = f"/webhook-endpoints/{made['id']}"
    await fill(api, made["id"], leave=0)
    span = {"since": "2020-01-01T00:00:00Z"}
    for asked, body in ((path + "/replay", span), (path + "/test", None), (f"/events/{event}/redeliver", None)):
        refused = await call(api, manager, "POST", asked, body)
        error = refused.json()["error"]
        assert (refused.status_code, error["type"], error["code"]) == (409, "conflict_error", "limit_reached"), asked
        assert error["details"] == FULL
    await api.connection.execute("delete from webhook_deliveries")
    assert (await call(api, manager, "POST", f"/events/{event}/redeliver")).json()["deliveries"] == 1


async def test_a_replay_fills_what_is_free_and_says_that_there_is_more(
    api: PartnerApi, studio: Studio, manager: str
) -> None:
    await happen(api, studio, 5)
    made = await create(api, manager, event_types=["lead.*"])
    await fill(api, made["id"], leave=3)
    body = {"since": "2020-01-01T00:00:00Z", "types": ["lead.*"]}
    replayed = (await call(api, manager, "POST", f"/webhook-endpoints/{made['id']}/replay", body)).json()
    assert (replayed["deliveries"], replayed["has_more"]) == (3, True)
    assert replayed["next_since"] is not None
    assert await waiting(api, made["id"]) == MAX_WAITING


async def test_one_replay_queues_a_part_and_the_next_ones_get_through_to_the_end(
    api: PartnerApi, studio: Studio, manager: str
) -> None:
    """More events have the same time than one replay takes: repeating it from that time must come to an end."""
    events = await happen(api, studio, REPLAYED_AT_ONCE + 200)
    await api.connection.execute("update events set created_at = date_trunc('second', now())")
    made = await create(api, manager, event_types=["lead.*"])
    path, since = f"/webhook-endpoints/{made['id']}/replay", "2020-01-01T00:00:00Z"
    replays: list[dict[str, Any]] = []
    while since and len(replays) < 5:
        replays.append((await call(api, manager, "POST", path, {"since": since, "types": ["lead.*"]})).json())
        since = replays[-1]["next_since"]
    assert [each["deliveries"] for each in replays] == [REPLAYED_AT_ONCE, REPLAYED_AT_ONCE + 200]
    assert [each["has_more"] for each in replays] == [True, False]
    queued = await api.connection.fetch("select distinct event_id from webhook_deliveries")
    assert {str(row["event_id"]) for row in queued} == set(events)


async def test_the_limit_holds_against_replays_and_events_at_once(
    api: PartnerApi, studio: Studio, manager: str
) -> None:
    (event,) = await happen(api, studio, 1)
    made = await create(api, manager, event_types=["lead.*"])
    await fill(api, made["id"], leave=5)
    path, span = f"/webhook-endpoints/{made['id']}", {"since": "2020-01-01T00:00:00Z", "types": ["lead.*"]}
    asked: list[Any] = [call(api, manager, "POST", path + "/replay", span) for _ in range(4)]
    asked += [call(api, manager, "POST", path + "/test") for _ in range(4)]
    asked += [call(api, manager, "POST", f"/events/{event}/redeliver") for _ in range(4)]
    answers = await asyncio.gather(*asked, happen(api, studio, 3))
    assert {each.status_code for each in answers[:-1]} == {202, 409}
    assert await waiting(api, made["id"]) == MAX_WAITING


async def test_an_endpoint_without_a_success_for_five_days_is_disabled_by_time_alone(
    api: PartnerApi, studio: Studio, manager: str
) -> None:
    """Even if nothing has been attempted since."""
    late, early, fine = [await create(api, manager) for _ in range(3)]
    for endpoint, since in ((late, "5 days"), (early, "4 days 23 hours")):
        await api.connection.execute(
            f"update webhook_endpoints set failing_since = now() - interval '{since}' where id = $1",
            UUID(endpoint["id"]),
        )
    before = (await call(api, manager, "GET", f"/webhook-endpoints/{late['id']}")).json()
    database = api.app._runtime.database
    assert await deliveries.disable_failing(database) == 1
    assert await deliveries.disable_failing(database) == 0
    assert deliveries.disable_failing in housekeeping.STEPS.values()
    after = (await call(api, manager, "GET", f"/webhook-endpoints/{late['id']}")).json()
    assert (after["enabled"], after["disabled_reason"]) == (False, "failing")
    row = await api.connection.fetchrow("select * from events where type = 'webhook_endpoint.disabled'")
    assert row is not None
    assert (json.loads(row["object"]), row["actor"]) == (after, "system")
    changed = ("enabled", "disabled_reason", "disabled_at")
    assert json.loads(row["previous_attributes"]) == {name: before[name] for name in changed}
    for other in (early, fine):
        assert (await call(api, manager, "GET", f"/webhook-endpoints/{other['id']}")).json()["enabled"] is True


async def test_the_test_message_is_an_event_by_the_schema(api: PartnerApi, studio: Studio, manager: str) -> None:
    """It is not in the log, so it has no sequence; its object is the endpoint as GET returns it."""
    made = await create(api, manager)
    await call(api, manager, "POST", f"/webhook-endpoints/{made['id']}/test")
    message = json.loads(await api.connection.fetchval("select body from webhook_deliveries where body is not null"))
    document = served_document()
    schema = document["webhooks"]["webhook_endpoint.test"]["post"]["requestBody"]["content"]["application/json"]
    whole = {**schema["schema"], "components": document["components"]}
    validator = Draft202012Validator(whole, format_checker=Draft202012Validator.FORMAT_CHECKER)
    assert [fault.message for fault in validator.iter_errors(message)] == []
    assert (message["type"], message["sequence"]) == ("webhook_endpoint.test", None)
    assert message["actor"] == {"type": "partner"}
    assert message["data"]["object"] == (await call(api, manager, "GET", f"/webhook-endpoints/{made['id']}")).json()
    logged = (await call(api, manager, "GET", "/events")).json()["data"]
    assert "webhook_endpoint.test" not in {each["type"] for each in logged}


async def test_replays_deliver_an_event_of_a_long_transaction(
    api: PartnerApi, studio: Studio, manager: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is older than its neighbours, and has a higher number; replays go on at a time."""
    monkeypatch.setattr(stored_deliveries, "REPLAYED_AT_ONCE", 3)
    events = await happen(api, studio, 5)
    for number, event in enumerate(events):
        age = timedelta(hours=10 if event == events[-1] else 5 - number)
        await api.connection.execute("update events set created_at = now() - $2::interval where id = $1", event, age)
    made = await create(api, manager, event_types=["lead.*"])
    since, replays = "2020-01-01T00:00:00Z", 0
    while since and replays < 5:
        body = {"since": since, "types": ["lead.updated"]}
        since = (await call(api, manager, "POST", f"/webhook-endpoints/{made['id']}/replay", body)).json()["next_since"]
        replays += 1
    queued = await api.connection.fetch("select event_id from webhook_deliveries where endpoint_id = $1", made["id"])
    assert {str(row["event_id"]) for row in queued} == set(events)


async def test_a_replay_to_a_disabled_endpoint_waits_until_it_is_enabled(
    api: PartnerApi, studio: Studio, manager: str
) -> None:
    await happen(api, studio, 2)
    made = await create(api, manager, event_types=["lead.*"], enabled=False)
    body = {"since": "2020-01-01T00:00:00Z", "types": ["lead.updated"]}
    path = f"/webhook-endpoints/{made['id']}"
    assert (await call(api, manager, "POST", f"{path}/replay", body)).json()["deliveries"] == 2
    due = "select count(*) from webhook_deliveries where endpoint_id = $1 and due_at < 'infinity'"
    assert await api.connection.fetchval(due, made["id"]) == 0
    await call(api, manager, "PATCH", path, {"enabled": True})
    assert await api.connection.fetchval(due, made["id"]) == 2


async def test_without_types_a_replay_delivers_what_the_endpoint_subscribes_to(
    api: PartnerApi, studio: Studio, manager: str
) -> None:
    events = await happen(api, studio, 2)
    deliveries_to = {}
    for wanted in ("purchase.*", "lead.updated", "*"):
        made = await create(api, manager, event_types=[wanted])
        path, body = f"/webhook-endpoints/{made['id']}/replay", {"since": "2020-01-01T00:00:00Z"}
        deliveries_to[wanted] = (await call(api, manager, "POST", path, body)).json()["deliveries"]
    all_events = await api.connection.fetchval("select count(*) from events where sequence is not null")
    assert deliveries_to == {"purchase.*": 0, "lead.updated": len(events), "*": all_events}
