"""Events and webhook endpoints in the console: what each role sees of them, and what is done with an endpoint."""

import json
import re
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.domain import event_masks
from studiogate.domain.audit import MASK
from studiogate.domain.events import EventType
from studiogate.domain.staff import Role
from studiogate.flows import events, keys
from studiogate.flows.keys import KeyRequest
from studiogate.storage.events import subject_of
from tests.support import console as fixtures
from tests.support.booking_studio import BookingStudio
from tests.support.console import Console, Fields, texts
from tests.support.seed import seed_studio

pytestmark = pytest.mark.anyio
console, people = fixtures.console, fixtures.people
studio_factory, studio = fixtures.studio_factory, fixtures.studio
PATH = "/console/partners/webhooks"
EVENTS = "/console/partners/events"
ADDRESS = "https://93.184.216.34/hook"  # a public address, so that no name is looked up
SECRET = re.compile(r"whsec_[0-9A-Za-z+/=]{20,}")


async def new_key(studio: BookingStudio, *scopes: str) -> str:
    return str((await studio.staff(keys.issue, KeyRequest("CityPass", list(scopes) or ["schedule:read"]))).id)


async def new_endpoint(console: Console, key: str, *types: str) -> UUID:
    answer = await console.post(f"{PATH}/new", {"key": key, "url": ADDRESS, "event_types": list(types) or ["*"]})
    assert answer.status_code == 200, texts(answer)
    assert SECRET.search(answer.text)
    (row,) = await console.studio.rows("webhook_endpoints", "credential_id = $2", key)
    return UUID(str(row["id"]))


async def booked(studio: BookingStudio, **place: Any) -> UUID:
    """Make a booking; return the id of its event."""
    made = await studio.booked(await studio.new_class(**place), await studio.new_member())
    await events.number_studio(studio.database, studio.access)
    (event,) = await studio.rows("events", "subject = $2 and type = 'booking.created'", UUID(made["id"]))
    return UUID(str(event["id"]))


async def test_events_are_found_by_type_resource_and_day(console: Console, studio: BookingStudio) -> None:
    await booked(studio)
    event_id = await booked(studio)
    (row,) = await studio.rows("events", "id = $2", event_id)

    async def shown(query: str) -> list[str]:
        page = await console.get(f"{EVENTS}?{query}")
        return re.findall(r"/partners/events/([0-9a-f-]{36})", page.text)

    assert (await shown(""))[0] == str(event_id), "the newest first"
    assert await shown(f"resource={row['subject']}") == [str(event_id)]
    assert str(event_id) in await shown("type=booking.*")
    assert await shown("type=lead.created") == []
    assert await shown(f"resource={uuid4()}") == []
    assert await shown("resource=nothing") == []
    assert await shown("to=2020-01-01") == []
    assert str(event_id) in await shown("from=2020-01-01")


async def test_events_come_a_page_at_a_time(
    console: Console, studio: BookingStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studiogate.console.partners.webhooks.PER_PAGE", 2)
    for _ in range(3):
        await booked(studio)
    for query in ("", "?type=booking.*"):
        path, found = EVENTS + query, list[int]()
        while path:
            page = (await console.get(path)).text
            found += [int(each) for each in re.findall(r'<td class="number muted">(\d+)</td>', page)]
            link = re.search(r'href="([^"]+)">More<', page)
            path = link[1].replace("&amp;", "&") if link else ""
        assert found == sorted(set(found), reverse=True)
        assert len(found) >= 3


async def test_a_developer_sees_no_people_in_events(console: Console, studio: BookingStudio) -> None:
    sent = {"email": "ada@example.com", "first_name": "Ada", "last_name": "Moss", "metadata": {"age": 9876543210}}
    made = (await studio.ask("POST", "/leads", body=sent)).json()
    await events.number_studio(studio.database, studio.access)
    (event,) = await studio.rows("events", "subject = $2", UUID(made["id"]))
    path = f"{EVENTS}/{event['id']}"
    assert "ada@example.com" in (await console.get(path)).text
    developer = await console.as_role(Role.DEVELOPER)
    page = await developer.get(path)
    assert page.status_code == 200
    assert "lead.created" in page.text
    assert made["id"] in page.text
    for each in ("ada@example.com", "Ada", "Moss", "9876543210"):
        assert each not in re.sub(r'value="[^"]*"', "", texts(page).partition("Content")[2]), each


@pytest.mark.parametrize("type_", EventType)
async def test_masked_events_say_nothing_about_a_person(studio: BookingStudio, type_: EventType) -> None:
    """Every text of a seeded studio has its canary: none is left in what a masked event shows."""
    seeded = await seed_studio(studio.api.connection, f"masks-{uuid4().hex[:8]}")
    if event_masks.NEEDS.get(type_.scope) is None:
        return
    source = subject_of(type_).resource
    rows = await studio.api.connection.fetch(
        f"select row_to_json(w)::text as wire from (select {source.columns} from {source.table} {source.alias}"
        f" {source.joins} where {source.alias}.studio_id = $1) w",
        seeded.studio_id,
    )
    assert rows, type_
    for row in rows:
        wire = json.loads(row["wire"])
        event = {"type": type_.value, "data": {"object": wire, "previous_attributes": {**wire, "name": "Ada"}}}
        text = json.dumps(event_masks.masked(event), ensure_ascii=False)
        assert seeded.canary not in text
        assert "Ada" not in text
        assert wire["id"] in text


def test_what_is_not_known_is_masked() -> None:
    event = {"data": {"object": {"id": "1", "diet": "vegan", "metadata": {"q": "a"}, "tags": ["x"], "phone": None}}}
    assert event_masks.masked(event) == {
        "data": {"object": {"id": "1", "diet": MASK, "metadata": MASK, "tags": MASK, "phone": None}}
    }


async def test_people_of_one_location_see_no_events_of_another(console: Console, studio: BookingStudio) -> None:
    elsewhere = await booked(studio, location_id=studio.other_location, room_id=None)
    here = await booked(studio)
    manager = await console.as_role(Role.MANAGER, studio.location)
    page = (await manager.get(EVENTS)).text
    assert str(here) in page
    assert str(elsewhere) not in page
    assert (await manager.get(f"{EVENTS}/{elsewhere}")).status_code == 404
    assert (await console.get(f"{EVENTS}/{elsewhere}")).status_code == 200


async def test_an_endpoint_is_made_changed_and_deleted(console: Console, studio: BookingStudio) -> None:
    key = await new_key(studio)
    endpoint = await new_endpoint(console, key, "class.*")
    assert "unused" in texts(await console.get(PATH))
    page = await console.get(f"{PATH}/{endpoint}")
    assert not SECRET.search(page.text), "the secret is shown once"
    changed = await console.post(f"{PATH}/{endpoint}/change", {"url": ADDRESS + "2", "event_types": ["booking.*"]})
    assert changed.status_code == 303
    row = await studio.row("webhook_endpoints", endpoint)
    assert (row["url"], row["event_types"]) == (ADDRESS + "2", ["booking.*"])
    off = await console.post(f"{PATH}/{endpoint}/off")
    assert off.status_code == 303
    assert "Switched off; nothing waits." in texts(await console.get(PATH))
    assert (await console.post(f"{PATH}/{endpoint}/on")).status_code == 303
    assert (await studio.row("webhook_endpoints", endpoint))["enabled"]
    rotated = await console.post(f"{PATH}/{endpoint}/rotate")
    assert SECRET.search(rotated.text)
    assert "also signs until" in texts(rotated)
    assert 'class="button danger"' in (await console.get(f"{PATH}/{endpoint}/delete")).text
    assert (await console.post(f"{PATH}/{endpoint}/delete")).headers["location"] == PATH
    assert str(endpoint) not in (await console.get(PATH)).text


async def test_changes_of_two_people_to_an_endpoint_are_both_kept(console: Console, studio: BookingStudio) -> None:
    """Each form sends all fields back; those that it showed as they come back are not a change."""
    endpoint = await new_endpoint(console, await new_key(studio), "booking.*")
    path = f"{PATH}/{endpoint}/change"
    page = (await console.get(path)).text
    seen = re.search(r'name="seen" value="([^"]+)"', page)
    assert seen is not None
    shown: Fields = {"url": ADDRESS, "event_types": ["booking.*"], "description": "", "seen": seen[1]}
    assert (await console.post(path, {**shown, "url": ADDRESS + "2"})).status_code == 303
    assert (await console.post(path, {**shown, "event_types": ["lead.*", "booking.*"]})).status_code == 303
    assert (await console.post(path, {**shown, "description": "CityPass"})).status_code == 303
    row = await studio.row("webhook_endpoints", endpoint)
    assert (row["url"], row["event_types"], row["description"]) == (ADDRESS + "2", ["lead.*", "booking.*"], "CityPass")
    wrong = await console.post(path, {**shown, "url": "nonsense"})
    assert seen[1] in wrong.text, "after a refusal the form still says what it showed first"


async def test_what_is_wrong_with_an_endpoint_is_said(console: Console, studio: BookingStudio) -> None:
    key = await new_key(studio)
    for url in ("http://example.com/", "https://127.0.0.1/", "nothing", ""):
        refused = await console.post(f"{PATH}/new", {"key": key, "url": url, "event_types": "everything"})
        assert refused.status_code == 422, url
        assert {"f-url-fault"} <= set(re.findall(r'id="([\w-]+-fault)"', refused.text))
        assert "choose at least one kind of event" in texts(refused)
    unknown = await console.post(f"{PATH}/new", {"key": "AAAAAAAA", "url": ADDRESS, "event_types": "*"})
    assert "must be a key that is in use" in texts(unknown)
    assert await studio.rows("webhook_endpoints", "credential_id = $2", key) == []


async def test_a_developer_sends_nobodys_data_to_an_address_of_their_own(
    console: Console, studio: BookingStudio
) -> None:
    of_people, of_classes = await new_key(studio, "members:read"), await new_key(studio)
    endpoint = await new_endpoint(console, of_people)
    developer = await console.as_role(Role.DEVELOPER)
    offered = (await developer.get(f"{PATH}/new")).text
    assert (of_people in offered, of_classes in offered) == (False, True)
    form: Fields = {"url": "https://93.184.216.34/mine", "event_types": ["*"]}
    for path in (f"{PATH}/new", f"{PATH}/{endpoint}/change"):
        refused = await developer.post(path, {**form, "key": of_people})
        assert refused.status_code == 403, path
    assert (await studio.row("webhook_endpoints", endpoint))["url"] == ADDRESS
    assert len(await studio.rows("webhook_endpoints", "credential_id = $2", of_people)) == 1
    # What changes neither the address nor the types is theirs to change.
    noted = await developer.post(f"{PATH}/{endpoint}/change", {**form, "url": ADDRESS, "description": "Old"})
    assert noted.status_code == 303


async def attempted(studio: BookingStudio, endpoint: UUID, event: UUID, response: str = "busy") -> UUID:
    """Record that the delivery of an event was answered with 500; return the delivery."""
    (row,) = await studio.rows("webhook_deliveries", "endpoint_id = $2 and event_id = $3", endpoint, event)
    connection = studio.api.connection
    await connection.execute(
        "update webhook_deliveries set attempts = 1, status = 'failed' where studio_id = $1 and id = $2",
        studio.id,
        row["id"],
    )
    await connection.execute("update webhook_endpoints set failing_since = now() where id = $1", endpoint)
    await connection.execute(
        "insert into webhook_attempts (studio_id, delivery_id, number, attempted_at, duration_ms, status, response)"
        " values ($1, $2, 1, now(), 12, 500, $3)",
        studio.id,
        row["id"],
        response,
    )
    return UUID(str(row["id"]))


async def test_a_failing_endpoint_says_so_and_recovers(console: Console, studio: BookingStudio) -> None:
    endpoint = await new_endpoint(console, await new_key(studio, "bookings:read"), "booking.*")
    first, second = await booked(studio), await booked(studio)
    deliveries = [await attempted(studio, endpoint, each) for each in (first, second)]
    listed = texts(await console.get(PATH))
    assert "Failing since" in listed
    assert "Answered 500; nothing waits." in listed
    page = await console.fragment(f"{PATH}/{endpoint}/deliveries/{deliveries[0]}")
    assert "answered 500" in texts(page)
    assert "busy" in texts(page)
    again = await console.post(f"{PATH}/{endpoint}/deliveries/{deliveries[0]}/resend")
    assert again.status_code == 303
    pending = "endpoint_id = $2 and status = 'pending'"
    assert [row["event_id"] for row in await studio.rows("webhook_deliveries", pending, endpoint)] == [first]
    form = await console.fragment(f"{PATH}/{endpoint}/recover")
    failed = re.search(r'value="([^"]+)" required checked', form.text)
    assert failed is not None
    # One attempt reaches the receiver while the form is open: what was missed before is still to be sent again.
    await studio.sql("update webhook_endpoints set failing_since = null where studio_id = $1 and id = $2", endpoint)
    recovered = await console.post(f"{PATH}/{endpoint}/recover", {"since": failed[1]})
    assert recovered.status_code == 303
    waiting = [row["event_id"] for row in await studio.rows("webhook_deliveries", pending, endpoint)]
    assert sorted(waiting) == sorted([first, first, second])
    for since in ("ever", "2026-13-01T00:00:00Z", "2026-11-19T10:00:00", "0001-01-01T00:00:00Z"):
        refused = await console.post(f"{PATH}/{endpoint}/recover", {"since": since})
        assert refused.status_code == 422


async def test_an_answer_may_repeat_what_a_developer_does_not_see(console: Console, studio: BookingStudio) -> None:
    endpoint = await new_endpoint(console, await new_key(studio, "bookings:read"), "booking.*")
    delivery = await attempted(studio, endpoint, await booked(studio), "no such person: Ada Moss")
    path = f"{PATH}/{endpoint}/deliveries/{delivery}"
    assert "Ada Moss" in texts(await console.get(path))
    developer = await console.as_role(Role.DEVELOPER)
    page = texts(await developer.get(path))
    assert "answered 500" in page
    assert "Ada Moss" not in page


async def test_recovering_takes_more_events_than_one_replay(
    console: Console, studio: BookingStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studiogate.storage.webhooks.deliveries.REPLAYED_AT_ONCE", 2)
    endpoint = await new_endpoint(console, await new_key(studio, "bookings:read"), "booking.*")
    made = {await booked(studio) for _ in range(4)}
    await studio.api.connection.execute("delete from webhook_deliveries where endpoint_id = $1", endpoint)
    assert (await console.post(f"{PATH}/{endpoint}/recover", {"since": "the last hour"})).status_code == 303
    queued = await studio.rows("webhook_deliveries", "endpoint_id = $2", endpoint)
    assert {row["event_id"] for row in queued} == made
