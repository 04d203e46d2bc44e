"""Changed counts of classes are announced soon, seldom, and in the end truly: in a crowd, after a crash, and by two
processes at once."""

import asyncio
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest

from studiogate.flows import doctor, events
from studiogate.flows.bookings import staff as class_actions
from studiogate.flows.schedule import rooms
from studiogate.flows.schedule.rows import Given
from studiogate.storage import class_availability
from studiogate.storage.class_availability import COUNTS
from studiogate.storage.db.pool import Database
from tests.support import booking_studio
from tests.support.booking_studio import BookingStudio, wire_body
from tests.support.event_causes import AVAILABILITY

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio


# Whether something is left to compare.
LEFT = """
    compared < sequence or exists (select from class_availability where studio_id = $1 and due_at is not null)
    or exists (select from events where studio_id = $1 and sequence is null)"""


async def announced(studio: BookingStudio, class_id: UUID | None = None) -> list[Any]:
    """Return the events about changed counts, once nothing is left to announce."""
    while True:
        await events.number_all(studio.database)
        await events.announce_availability(studio.database)
        if not await studio.rows("event_heads", LEFT):
            break
        await asyncio.sleep(0.05)
    found = (await studio.get("/events", type=AVAILABILITY, limit=200))["data"]
    return [each for each in found if class_id is None or each["data"]["object"]["id"] == str(class_id)]


def check(found: list[Any], class_: Any) -> None:
    """Each event continues the one before it, no two are in one second, and the last one is true."""
    times = [datetime.fromisoformat(each["created_at"]) for each in found]
    assert all(later - earlier >= timedelta(seconds=1) for earlier, later in pairwise(times))
    for before, after in pairwise(each["data"] for each in found):
        changed = {name: before["object"][name] for name in COUNTS if before["object"][name] != after["object"][name]}
        assert after["previous_attributes"] == changed
    assert found[-1]["data"]["object"] == class_
    assert {each["actor"]["type"] for each in found} == {"system"}


async def test_a_crowd_is_a_handful_of_events(studio: BookingStudio) -> None:
    class_id = await studio.new_class(capacity=20)
    members = [await studio.new_member() for _ in range(100)]
    started = await studio.now()
    answers = await asyncio.gather(*(studio.post(wire_body(class_id, each)) for each in members))
    assert sum(answer.status == 201 for answer in answers) == 20
    found = await announced(studio, class_id)
    check(found, await studio.get(f"/classes/{class_id}"))
    assert len(found) <= (await studio.now() - started).total_seconds() + 2
    assert found[0]["data"]["previous_attributes"]["booked_count"] == 0


async def test_endpoints_name_it(studio: BookingStudio) -> None:
    wanted = {"named": [AVAILABILITY], "family": ["class.*"], "all": ["*"], "both": ["*", "class.*"]}
    for name, types in wanted.items():
        credential = (await studio.rows("credentials"))[0]["id"]
        columns = {"url": f"https://{name}.example", "event_types": types, "secret": b"", "credential_id": credential}
        await studio.add("webhook_endpoints", description=name, enabled=True, **columns)
    class_id = await studio.new_class()
    await studio.booked(class_id, await studio.new_member())
    await announced(studio)
    sent = await studio.rows("webhook_deliveries", "event_type = $2", AVAILABILITY)
    endpoints = {row["id"]: row["description"] for row in await studio.rows("webhook_endpoints")}
    assert sorted(endpoints[row["endpoint_id"]] for row in sent) == ["both", "family", "named"]


async def test_a_crash_loses_nothing(studio: BookingStudio, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was announced, its event and the place in the log commit together, or not at all."""
    class_id = await studio.new_class()
    await studio.booked(class_id, await studio.new_member())
    await events.number_all(studio.database)
    announce = class_availability.announce

    async def crash_afterwards(*arguments: Any) -> int:
        assert await announce(*arguments)
        raise ValueError

    with monkeypatch.context() as patched:
        patched.setattr(class_availability, "announce", crash_afterwards)
        for _ in range(3):
            with pytest.raises(ExceptionGroup):
                await events.announce_availability(studio.database)
    (only,) = await announced(studio, class_id)
    assert only["data"]["previous_attributes"] == {"booked_count": 0, "available_count": 10}


async def test_two_processes(studio: BookingStudio) -> None:
    """Both number and announce while bookings come and go, and the capacity changes."""
    class_id = await studio.new_class(capacity=50)
    other = Database(str(studio.api.app._runtime.settings.database_url), 2)
    ended = False

    async def keep_numbering(database: Database) -> None:
        while not ended:
            await events.number_all(database)
            await events.announce_availability(database)
            await asyncio.sleep(0.01)

    numbering = [asyncio.create_task(keep_numbering(each)) for each in (studio.database, other)]
    for capacity in (40, 60, 30):
        booked = [(await studio.post(wire_body(class_id, await studio.new_member()))).json()["id"] for _ in range(10)]
        await asyncio.gather(*(studio.cancel(each) for each in booked[:5]))
        await studio.staff(class_actions.change_capacity, class_id, capacity)
    ended = True
    await asyncio.gather(*numbering)
    found = await announced(studio, class_id)
    check(found, await studio.get(f"/classes/{class_id}"))
    await other.close()


async def test_doctor_compares_what_was_announced(studio: BookingStudio) -> None:
    class_id = await studio.new_class()
    await studio.booked(class_id, await studio.new_member())
    await announced(studio)
    room = (await studio.staff(rooms.create, Given({"name": "R", "location_id": str(studio.location), **ROOM}))).id
    await announced(studio)
    assert await found_by_doctor(studio) == {}
    await studio.change("classes", class_id, capacity=11)
    await studio.change("rooms", room, capacity=4)
    wrong = await found_by_doctor(studio)
    assert set(wrong) == {"announced counts", "announced changes"}
    assert str(class_id) in wrong["announced counts"]
    assert str(room) in wrong["announced changes"]
    await studio.change("rooms", room, capacity=3)


ROOM: dict[str, Any] = {"capacity": 3, "spots": []}


async def found_by_doctor(studio: BookingStudio) -> dict[str, str]:
    """Return what two of the doctor's checks say about the studio, by their names."""
    found = await doctor.examine(studio.api.connection)
    about = [each for each in found if each.subject.startswith("announced") and str(studio.id) in each.text]
    return {each.subject: each.text for each in about}
