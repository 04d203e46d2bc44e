"""Every action over HTTP emits exactly the events of this table, with the resource as GET returns it afterwards."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.api.conftest import Door, open_door
from tests.api.direct import ask
from tests.contract.test_resources import _coming_class, _give_membership
from tests.seed import Studio, issue_key, seed_studio

pytestmark = pytest.mark.anyio
PATHS = {
    "booking": "/bookings/{id}",
    "waitlist": "/waitlist/{id}",
    "form": "/forms/{id}",
    "form_submission": "/forms/{form_id}/submissions/{id}",
    "lead": "/leads/{id}",
    "member": "/members/{id}",
    "membership": "/memberships/{id}",
    "purchase": "/purchases/{id}",
    "class": "/classes/{id}",
}


@dataclass
class Stage:
    """A studio, a key, and the events since the last look."""

    door: Door
    studio: Studio
    key: str
    seen: set[str] = field(default_factory=set)

    async def act(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"Idempotency-Key": f"cause-{uuid4()}"}
        answer = await ask(self.door.app, method, path, self.key, body=body, headers=headers)
        assert answer.status < 300, answer.body
        return answer.json()

    async def news(self) -> list[tuple[str, dict[str, Any]]]:
        """Type and previous attributes of each new event; what GET answers now is the last event's object."""
        self.door.app._runtime.sequencer.kick(self.studio.studio_id)
        await self.door.app._runtime.sequencer.settled()
        listed = (await ask(self.door.app, "GET", "/events", self.key, query={"limit": 200})).json()["data"]
        new = [event for event in listed if event["id"] not in self.seen]
        self.seen |= {event["id"] for event in new}
        last = {event["data"]["object"]["id"]: event for event in new}
        for event in last.values():
            resource = event["data"]["object"]
            read = await ask(self.door.app, "GET", PATHS[resource["object"]].format(**resource), self.key)
            assert read.json() == resource, event["type"]
        assert all(event["actor"] == {"type": "partner"} for event in new)
        return [(event["type"], event["data"]["previous_attributes"]) for event in new]


@pytest.fixture
async def stage(database_url: str) -> AsyncIterator[Stage]:
    async for door in open_door(database_url):
        studio = await seed_studio(door.connection)
        await door.connection.execute(
            "delete from webhook_attempts; delete from webhook_deliveries; delete from events"
        )
        yield Stage(door, studio, await issue_key(door.connection, studio))


async def test_leads(stage: Stage) -> None:
    body = {"email": "cause@example.com", "metadata": {"a": 1}}
    lead = await stage.act("POST", "/leads", body)
    assert await stage.news() == [("lead.created", {})]
    await stage.act("POST", "/leads", body)
    assert await stage.news() == [], "identified, and nothing changed"
    await stage.act("POST", "/leads", {**body, "first_name": "Ca", "metadata": {"b": 2}})
    assert await stage.news() == [("lead.updated", {"first_name": "", "metadata": {"a": 1}})]
    path = f"/leads/{lead['id']}"
    await stage.act("PATCH", path, {"status": "qualified"})
    assert await stage.news() == [("lead.updated", {"status": "new"})]
    await stage.act("POST", path + "/update", {"metadata": {"a": None}})
    assert await stage.news() == [("lead.updated", {"metadata": {"a": 1, "b": 2}})]
    await stage.act("PATCH", path, {"notes": "only the staff reads this"})
    await stage.act("PATCH", path, {"status": "qualified"})
    assert await stage.news() == [], "nothing that a reader sees"


async def test_members(stage: Stage) -> None:
    person = {"email": "cause@example.com", "first_name": "Ca", "last_name": "Use"}
    await stage.act("POST", "/members", person)
    assert await stage.news() == [("member.created", {})]
    await stage.act("POST", "/leads", {"email": "other@example.com"})
    await stage.news()
    await stage.act("POST", "/members", {**person, "email": "other@example.com"})
    news = dict(await stage.news())
    assert set(news) == {"member.created", "lead.updated"}
    assert news["member.created"] == {}
    assert news["lead.updated"] == {"status": "new", "lifecycle_stage": "lead"}


async def test_forms(stage: Stage) -> None:
    question = {"key": "a", "label": "A", "type": "text"}
    form = await stage.act("POST", "/forms", {"title": "Cause", "fields": [question]})
    assert await stage.news() == [("form.created", {})]
    path = f"/forms/{form['id']}"
    await stage.act("PUT", path, {"status": "published"})
    assert await stage.news() == [("form.updated", {"status": "draft", "version": 1})]
    await stage.act("PUT", path, {"title": "Effect"})
    assert await stage.news() == [("form.updated", {"title": "Cause", "version": 2})]
    await stage.act("POST", path + "/submissions", {"submitter_email": "new@example.com", "data": {"a": "x"}})
    assert await stage.news() == [("form.submitted", {})]
    await stage.act("PUT", path, {"settings": {"create_lead": True}})
    await stage.news()
    await stage.act("POST", path + "/submissions", {"submitter_email": "new@example.com", "data": {"a": "x"}})
    # The lead is made first and then gains the submission, which has its id by then.
    expected = ["form.submitted", "lead.created", "lead.updated"]
    assert sorted(type_ for type_, _ in await stage.news()) == expected
    await stage.act("POST", path + "/submissions", {"submitter_email": "new@example.com", "data": {"a": "y"}})
    news = dict(await stage.news())
    assert set(news) == {"form.submitted", "lead.updated"}
    assert set(news["lead.updated"]) == {"metadata"}
    await stage.act("PUT", path, {"status": "archived"})
    assert await stage.news() == [("form.updated", {"status": "published", "version": 4})]


async def test_bookings(stage: Stage) -> None:
    class_id = await _coming_class(stage.door, stage.studio)
    await stage.door.connection.execute("update classes set capacity = 1 where id = $1", UUID(class_id))
    made = []
    for number, status in enumerate(("confirmed", "waitlisted", "waitlisted")):
        person = {"email": f"b{number}@example.com", "first_name": "Ca", "last_name": "Use"}
        member = await stage.act("POST", "/members", person)
        await _give_membership(stage.door, stage.studio, member["id"])
        await stage.news()
        wanted = {"class_id": class_id, "member_id": member["id"], "join_waitlist": True}
        made.append(await stage.act("POST", "/bookings", wanted))
        assert made[-1]["status"] == status
        assert await stage.news() == [("booking.created", {})], "the class's counts are announced by the booking alone"
    await stage.act("DELETE", f"/bookings/{made[0]['id']}")
    waiting = {"status": "waiting", "position": 1, "converted_to_booking": False, "promoted_at": None}
    expected = [
        ("booking.cancelled", {"status": "confirmed"}),
        ("booking.updated", {"status": "waitlisted", "waitlist_position": 1}),
        ("waitlist.updated", waiting),
        ("waitlist.updated", {"position": 2}),
    ]
    assert sorted(await stage.news(), key=repr) == sorted(expected, key=repr)
    await stage.act("DELETE", f"/bookings/{made[2]['id']}")
    expected = [
        ("booking.cancelled", {"status": "waitlisted", "waitlist_position": 1}),
        ("waitlist.updated", {"status": "waiting", "position": 1}),
    ]
    assert sorted(await stage.news(), key=repr) == sorted(expected, key=repr)
