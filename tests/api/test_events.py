"""GET /events: visibility per key, order, paging and long polling."""

import asyncio
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate import clock
from studiogate.api.resources import events
from studiogate.domain.access import Scope, operator_access
from studiogate.domain.events import EventType
from studiogate.storage.events import Change, emit
from tests.support.newest_rows import newest_row
from tests.support.partner_api import PREFIX, PartnerApi
from tests.support.seed import Studio, issue_key, seed_studio
from tests.support.webhook_studio import LISTENERS

pytestmark = pytest.mark.anyio


@pytest.fixture
async def studio(api: PartnerApi) -> Studio:
    seeded = await seed_studio(api.connection)
    await api.connection.execute("delete from webhook_attempts; delete from webhook_deliveries; delete from events")
    return seeded


async def emit_one(api: PartnerApi, studio: Studio, type_: EventType, row_id: UUID) -> None:
    access = operator_access(studio.studio_id)
    await emit(api.connection, access, type_, Change(row_id))


async def number(api: PartnerApi, studio: Studio) -> None:
    api.app._runtime.sequencer.kick(studio.studio_id)
    await api.app._runtime.sequencer.settled()


async def listed(api: PartnerApi, key: str, **query: Any) -> Any:
    answer = await api.get("/events", key, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def everything(api: PartnerApi, studio: Studio) -> None:
    """Emit and number one event of every type, about the newest resource of its kind."""
    access = operator_access(studio.studio_id)
    for type_ in EventType:
        row_id = await newest_row(api.connection, studio.studio_id, type_)
        await emit(api.connection, access, type_, Change(row_id))
    await number(api, studio)


async def test_a_booking_is_in_the_log_at_once(api: PartnerApi, studio: Studio) -> None:
    key = await issue_key(api.connection, studio)
    body = {
        "class_id": str(studio.ids["class"][2]),
        "member_id": str(studio.ids["member"][2]),
        "join_waitlist": True,
    }
    headers = {"X-Service-Key": key, "Idempotency-Key": uuid4().hex}
    made = await api.client.post(f"{PREFIX}/bookings", json=body, headers=headers)
    assert made.status_code == 201, made.text
    await api.app._runtime.sequencer.settled()
    events = (await listed(api, key))["data"]
    assert [each["type"] for each in events] == ["booking.updated", "waitlist.updated", "booking.created"]
    created = events[-1]
    assert created["data"] == {"object": made.json(), "previous_attributes": {}}
    envelope = "id object type api_version created_at sequence studio_id actor data"
    assert list(created) == envelope.split()
    assert [each["actor"] for each in events] == [{"type": "partner"}] * 3
    assert [each["sequence"] for each in events] == [4, 5, 6]
    assert (await api.get(f"/events/{created['id']}", key)).json() == created
    again = await api.client.post(f"{PREFIX}/bookings", json=body, headers=headers)
    assert again.headers["idempotent-replayed"] == "true"
    await number(api, studio)
    assert len((await listed(api, key))["data"]) == 3


@pytest.mark.parametrize("scope", sorted({each.scope.value for each in EventType}))
async def test_a_key_sees_the_types_of_its_scopes(api: PartnerApi, studio: Studio, scope: str) -> None:
    await everything(api, studio)
    key = await issue_key(api.connection, studio, Scope.EVENTS_READ, scope)
    whole = await issue_key(api.connection, studio)
    expected = {each.value for each in EventType if each.scope == scope}
    if scope in ("forms:read", "webhooks:manage"):
        expected = set()  # the newest form is archived (managers only), and the endpoint's key sees more than this one
    seen = (await listed(api, key))["data"]
    assert {each["type"] for each in seen} == expected
    for event in (await listed(api, whole))["data"]:
        status = (await api.get(f"/events/{event['id']}", key)).status_code
        assert status == (200 if event["type"] in expected else 404)
        cursor = await api.get("/events", key, params={"cursor": event["id"]})
        assert cursor.status_code == (200 if event["type"] in expected else 400)


async def test_a_restricted_key_sees_its_places_and_what_is_studio_wide(api: PartnerApi, studio: Studio) -> None:
    for booking in studio.ids["booking"]:  # first location, second location, none
        await emit_one(api, studio, EventType.BOOKING_UPDATED, booking)
    for purchase in studio.ids["purchase"]:
        await emit_one(api, studio, EventType.PURCHASE_CREATED, purchase)
    await emit_one(api, studio, EventType.LEAD_CREATED, studio.first("lead"))
    await number(api, studio)
    for place in range(2):
        key = await issue_key(api.connection, studio, locations=[studio.ids["location"][place]])
        seen = {each["data"]["object"]["id"] for each in (await listed(api, key))["data"]}
        expected = [studio.ids["booking"][place], studio.ids["purchase"][place], studio.first("lead")]
        assert seen == {str(each) for each in expected}
        only = (await listed(api, key, type="booking.*"))["data"]
        assert [each["data"]["object"]["id"] for each in only] == [str(studio.ids["booking"][place])]


async def test_filters_and_pages(api: PartnerApi, studio: Studio) -> None:
    await everything(api, studio)
    key = await issue_key(api.connection, studio)
    families = {
        "*": len(EventType),
        "webhook_endpoint.*": 1,
        "booking.*": 3,
        "form.*": 3,
        "lead.*": 2,
        "class.cancelled": 1,
        "waitlist.updated": 1,
    }
    for pattern, count in families.items():
        assert len((await listed(api, key, type=pattern))["data"]) == count, pattern
    walked, cursor = [], None
    while True:
        page = await listed(api, key, limit=5, **({"cursor": cursor} if cursor else {}))
        walked += page["data"]
        cursor = page["next_cursor"]
        if not page["has_more"]:
            break
    assert [each["sequence"] for each in walked] == list(range(4, 4 + len(EventType)))
    for several, count in {"class.cancelled,waitlist.updated": 2, "form.*,lead.*,form.created": 5}.items():
        assert len((await listed(api, key, type=several))["data"]) == count, several
    later = walked[2]["created_at"]
    since = [each["id"] for each in walked if each["created_at"] >= later]
    assert [each["id"] for each in (await listed(api, key, created_after=later, limit=200))["data"]] == since
    assert (await listed(api, key, created_after="2999-01-01T00:00:00Z"))["data"] == []
    for wrong in ("bookings.*", "booking", "", "*.created", "booking.created,", ",*", "booking.created, form.*"):
        assert (await api.get("/events", key, params={"type": wrong})).status_code == 422, wrong
    for wrong in ("21", "-1", "x", ""):
        assert (await api.get("/events", key, params={"wait": wrong})).status_code == 422, wrong


async def test_waiting_ends_with_the_next_event(
    api: PartnerApi, studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The notification ends the wait: here the time never does."""
    listeners, key = api.app._runtime.event_listeners, await issue_key(api.connection, studio)
    await emit_one(api, studio, EventType.LEAD_CREATED, studio.first("lead"))
    await number(api, studio)
    (last,) = (await listed(api, key))["data"]
    wait = listeners.wait
    monkeypatch.setattr(listeners, "wait", lambda studio_id, _seconds: wait(studio_id, 3600.0))
    waiting = asyncio.create_task(listed(api, key, cursor=last["id"], wait=20))
    while not (listeners._waiting.get(studio.studio_id) and await api.connection.fetchval(LISTENERS)):
        assert not waiting.done()
        await asyncio.sleep(0.01)
    await emit_one(api, studio, EventType.LEAD_UPDATED, studio.first("lead"))
    await number(api, studio)
    (event,) = (await waiting)["data"]
    assert event["type"] == "lead.updated"


async def test_waiting_ends_when_its_time_is_over(
    api: PartnerApi, studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock moves only while the request waits."""
    listeners, key, now = api.app._runtime.event_listeners, await issue_key(api.connection, studio), [1_000.0]
    wait, waited = listeners.wait, list[float]()

    async def wait_no_longer(studio_id: UUID, seconds: float) -> bool:
        waited.append(seconds)
        now[0] += seconds
        return await wait(studio_id, 0.0)

    monkeypatch.setattr(listeners, "wait", wait_no_longer)
    monkeypatch.setattr(clock, "monotonic", lambda: now[0])
    assert (await listed(api, key, wait=3))["data"] == []
    assert waited == [events.LOOK_AGAIN_SECONDS] * 3
    assert (await listed(api, key))["data"] == []
    assert len(waited) == 3, "without the parameter there is no wait"


async def test_old_events_are_gone_before_they_are_swept(api: PartnerApi, studio: Studio) -> None:
    key = await issue_key(api.connection, studio)
    await emit_one(api, studio, EventType.LEAD_CREATED, studio.first("lead"))
    await number(api, studio)
    (event,) = (await listed(api, key))["data"]
    await api.connection.execute("update events set created_at = now() - interval '31 days'")
    assert (await listed(api, key))["data"] == []
    assert (await api.get(f"/events/{event['id']}", key)).status_code == 404
