"""A studio, and the events that an action causes in it.

A test of an action names the event types that it causes (``causing``). That they were emitted is checked after the
test; that every type has such a test is checked by ``test_event_causes.py``.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID, uuid4

import pytest

from studiogate.cli.main import main
from studiogate.flows.events import announce_availability
from studiogate.worker import housekeeping as sweep
from tests.support.booking_studio import BookingStudio, StudioFactory, opened_factory
from tests.support.webhook_studio import SECRET_KEY

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
    "product": "/products/{id}",
    "studio": "/studio",
    "location": "/locations/{id}",
    "room": "/rooms/{id}",
    "class_type": "/class-types/{id}",
    "instructor": "/instructors/{id}",
    "webhook_endpoint": "/webhook-endpoints/{id}",
}
AVAILABILITY = "class.availability_changed"
News = tuple[str, dict[str, Any]]
Test = TypeVar("Test", bound=Callable[..., Any])


def causing(*types: str) -> Callable[[Test], Test]:
    """Name the event types that a test causes."""

    def named(test: Test) -> Test:
        vars(test)["event_types"] = frozenset(types)
        return test

    return named


def caused_by(test: Callable[..., Any]) -> frozenset[str]:
    found: frozenset[str] = vars(test).get("event_types", frozenset())
    return found


def in_any_order(news: list[News]) -> list[News]:
    return sorted(news, key=repr)


def difference(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return the expected ``previous_attributes`` for a resource that GET returned before and after."""
    return {name: value for name, value in before.items() if after[name] != value and name != "updated_at"}


@dataclass
class EventStudio:
    """A studio, actions on it, and the events since the last call of ``news``."""

    studio: BookingStudio
    seen: set[str] = field(default_factory=set)
    types: set[str] = field(default_factory=set)

    async def act(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"Idempotency-Key": f"cause-{uuid4()}"}
        answer = await self.studio.ask(method, path, body=body, headers=headers)
        assert answer.status < 300, answer.body
        return answer.json()

    async def command(self, *words: object) -> None:
        """Run ``studiogate`` with these arguments, on this studio's database."""
        url = self.studio.api.app._runtime.settings.database_url
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", ["studiogate", *map(str, words)])
            patch.setenv("STUDIOGATE_DATABASE_URL", str(url))
            assert await asyncio.to_thread(_exit_status) == 0

    async def sweep(self) -> None:
        """Run one sweep of the worker."""
        await sweep.sweep_once(self.studio.api.app._runtime)

    async def news(self, actor: str = "partner") -> list[News]:
        """Return type and previous attributes of each new event; the last event's object must equal the GET. Those of
        changed counts, which follow a moment later, are returned by ``availability``."""
        sequencer = self.studio.api.app._runtime.sequencer
        sequencer.kick(self.studio.id)
        await sequencer.settled()
        listed = (await self.studio.get("/events", limit=200))["data"]
        new = [each for each in listed if each["id"] not in self.seen and each["type"] != AVAILABILITY]
        self.seen |= {event["id"] for event in new}
        self.types |= {event["type"] for event in new}
        last = {event["data"]["object"]["id"]: event for event in new}
        for event in last.values():
            resource = event["data"]["object"]
            assert await self.studio.get(PATHS[resource["object"]].format(**resource)) == resource, event["type"]
        assert {event["actor"]["type"] for event in new} <= {actor}
        return [(event["type"], event["data"]["previous_attributes"]) for event in new]

    async def availability(self) -> list[dict[str, Any]]:
        """Return the events about changed counts, once the second after each change is over."""
        sequencer = self.studio.api.app._runtime.sequencer
        sequencer.kick(self.studio.id)
        await sequencer.settled()
        later = "update class_availability set due_at = now(), announced_at = announced_at - interval '1 second'"
        await self.studio.sql(f"{later} where studio_id = $1 and announced_at is not null")
        await announce_availability(self.studio.database)
        events: list[dict[str, Any]] = (await self.studio.get("/events", type=AVAILABILITY, limit=200))["data"]
        self.types |= {event["type"] for event in events}
        assert {event["actor"]["type"] for event in events} <= {"system"}
        return events

    async def full_class(self, waiting: int = 1, **columns: Any) -> tuple[UUID, Any, list[Any]]:
        """Return a class of one seat, the booking that has it, and the waiting ones; their events are skipped."""
        class_id, (held,) = await self.studio.full_class(**columns)
        waits = [await self.studio.waits(class_id, await self.studio.new_member()) for _ in range(waiting)]
        await self.news()
        return class_id, held, waits


def _exit_status() -> Any:
    try:
        main()
    except SystemExit as end:
        return end.code
    return 0


@pytest.fixture(scope="module")
async def studio_factory(anyio_backend: object, new_database: Callable[[], str]) -> AsyncIterator[StudioFactory]:
    async for factory in opened_factory(new_database(), secret_key=SECRET_KEY):
        yield factory


@pytest.fixture
async def event_studio(studio_factory: StudioFactory, request: pytest.FixtureRequest) -> AsyncIterator[EventStudio]:
    """Yield a new studio; afterwards the named events must have been emitted."""
    opened = EventStudio(await studio_factory.new_checked_studio())
    yield opened
    assert opened.types == caused_by(request.function)
