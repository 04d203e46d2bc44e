"""Live updates: a stream names the classes that changed, holds no connection, and is bounded."""

import asyncio
import json
from collections.abc import AsyncIterator, MutableMapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.console.desk import live
from studiogate.domain.staff import Role
from studiogate.storage.db import pool
from tests.support.booking_studio import HOUR, BookingStudio, wire_body
from tests.support.console import COOKIE, ORIGIN, Console
from tests.support.deadlines import LONG

pytestmark = pytest.mark.anyio


class Stream:
    """An open stream of server-sent events, as the server passes it to the application."""

    def __init__(self) -> None:
        self.sent: asyncio.Queue[MutableMapping[str, Any]] = asyncio.Queue()
        self.left = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    async def receive(self) -> dict[str, Any]:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        await self.sent.put(message)

    async def next(self, kind: str) -> dict[str, Any]:
        """Wait for the next event of a kind; return its id and data."""
        while True:
            message = await asyncio.wait_for(self.sent.get(), LONG)
            text = message.get("body", b"").decode()
            lines = dict(line.partition(": ")[::2] for line in text.splitlines() if ": " in line)
            if lines.get("event") == kind:
                return {"id": lines.get("id"), "data": json.loads(lines["data"]) if lines.get("data") else None}
            assert message["type"] == "http.response.start" or message.get("more_body"), f"it ended before {kind}"


@asynccontextmanager
async def stream(console: Console, since: int, **headers: str) -> AsyncIterator[Stream]:
    token = console.client.cookies.get(COOKIE)
    opened = Stream()
    sent = {"host": ORIGIN.removeprefix("http://"), "cookie": f"{COOKIE}={token}", **headers}
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/console/live",
        "query_string": f"since={since}".encode(),
        "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
        "client": ("127.0.0.1", 1),
    }
    opened.task = asyncio.create_task(console.app(scope, opened.receive, opened.send))
    try:
        yield opened
    finally:
        opened.left.set()
        await opened.task


async def sequence(console: Console) -> int:
    return int((await console.get("/console/live/changes")).json()["sequence"])


async def partner_books(studio: BookingStudio, class_id: UUID) -> None:
    """Book with a partner's key; the API numbers the event after its commit."""
    answer = await studio.post(wire_body(class_id, await studio.new_member()))
    assert answer.status == 201, answer.body


async def test_a_partners_booking_is_announced(console: Console, studio: BookingStudio) -> None:
    class_id = await studio.new_class(HOUR)
    async with stream(console, await sequence(console)) as opened:
        await partner_books(studio, class_id)
        event = await opened.next("classes")
        assert event["data"] == [str(class_id)]
        await console.app._runtime.sequencer.settled()
    async with stream(console, 0, **{"last-event-id": str(int(event["id"]) - 1)}) as resumed:
        assert (await resumed.next("classes"))["data"] == [str(class_id)], "a browser that reconnects misses nothing"


async def test_what_staff_do_is_announced_too(console: Console, studio: BookingStudio) -> None:
    class_id = await studio.new_class(10)
    booking = await studio.booked(class_id, await studio.new_member())
    since = await settled(console)
    async with stream(console, since) as opened:
        await console.post(f"/console/bookings/{booking['id']}/attendance", {"mark": "checked_in"})
        assert (await opened.next("classes"))["data"] == [str(class_id)]


async def settled(console: Console) -> int:
    await console.app._runtime.sequencer.settled()
    return await sequence(console)


async def test_changes_elsewhere_are_not_announced(console: Console, studio: BookingStudio) -> None:
    here = await studio.new_class(HOUR)
    there = await studio.new_class(HOUR, location_id=studio.other_location, room_id=None)
    person = await console.as_role(Role.FRONT_DESK, studio.location)
    async with stream(person, await sequence(console)) as opened:
        await partner_books(studio, there)
        await partner_books(studio, here)
        assert (await opened.next("classes"))["data"] == [str(here)]


async def test_waiting_streams_hold_no_connection(console: Console, studio: BookingStudio) -> None:
    """More streams than the pool has connections, all of them waiting: nobody uses a connection."""
    people = [await console.as_role(Role.FRONT_DESK) for _ in range(3)]
    class_id, since = await studio.new_class(HOUR), await sequence(console)
    async with stream(people[0], since) as first, stream(people[1], since) as second, stream(people[2], since) as third:
        await partner_books(studio, class_id)
        for opened in (first, second, third):
            await opened.next("classes")
        await console.app._runtime.sequencer.settled()
        while live.STREAMS.total != 3:
            await asyncio.sleep(0)
        _, opened_connections, idle, _ = studio.database.use
        assert opened_connections == idle, "every connection is idle"
    assert live.STREAMS.total == 0


async def test_a_stream_outlasts_a_busy_database(
    console: Console, studio: BookingStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "LOOK_AGAIN_SECONDS", 0.01)
    class_id, since = await studio.new_class(HOUR), await sequence(console)
    async with stream(console, since) as opened:
        await opened.next("hello")
        async with AsyncExitStack() as held:
            for _ in range(studio.database.use[0]):
                await held.enter_async_context(studio.database.connection())
            with monkeypatch.context() as patch:
                patch.setattr(pool, "ACQUIRE_SECONDS", 0.5)
                while not studio.database.use[3]:
                    await asyncio.sleep(0)
                while studio.database.use[3]:
                    await asyncio.sleep(0)
        await partner_books(studio, class_id)
        assert (await opened.next("classes"))["data"] == [str(class_id)]


async def test_an_account_has_a_few_streams_and_the_rest_polls(console: Console) -> None:
    since = await sequence(console)
    async with AsyncExitStack() as stack:
        for _ in range(live.MAX_OF_ACCOUNT):
            await (await stack.enter_async_context(stream(console, since))).next("hello")
        answer = await console.get(f"/console/live?since={since}")
        assert (answer.status_code, answer.headers["retry-after"]) == (204, "60")
        assert live.STREAMS.total == live.MAX_OF_ACCOUNT
    assert live.STREAMS.total == 0


async def test_a_stream_that_was_late_for_the_last_place_says_so(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live.STREAMS, "open", lambda _: False)
    async with stream(console, await sequence(console)) as opened:
        await opened.next("full")
    assert live.STREAMS.total == 0


async def test_a_process_has_a_bounded_number_of_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MAX_STREAMS", 2)
    streams = live.Streams()
    people = [uuid4() for _ in range(3)]
    assert [streams.open(each) for each in people] == [True, True, False]
    streams.close(people[0])
    assert streams.open(people[2])
    assert streams.total == 2


async def test_a_draining_process_ends_its_streams(console: Console) -> None:
    async with stream(console, await sequence(console)) as opened:
        while not live.STREAMS.total:
            await asyncio.sleep(0)
        listeners = console.app._runtime.event_listeners
        listeners.release_all()
        try:
            assert opened.task is not None
            await asyncio.wait_for(opened.task, LONG)
        finally:
            listeners._closed = False
    assert live.STREAMS.total == 0


@pytest.mark.parametrize(
    "change",
    [
        "update staff_sessions set ended_at = now() where account_id = $1",
        "update staff_accounts set disabled_at = now() where id = $1",
        "update staff_roles set disabled_at = now() where account_id = $1",
        "update staff_roles set role = 'instructor', instructor_id = $3 where account_id = $1 and $2::uuid is not null",
        "update staff_roles set location_ids = array[$2::uuid] where account_id = $1",
    ],
)
async def test_a_stream_ends_with_what_its_person_may_see(
    console: Console, studio: BookingStudio, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    assert live.TRUSTED_SECONDS + live.PAUSE_SECONDS < 5
    monkeypatch.setattr(live, "TRUSTED_SECONDS", 0.0)
    monkeypatch.setattr(live, "LOOK_AGAIN_SECONDS", 0.01)
    class_id, person = await studio.new_class(HOUR), await console.as_role(Role.FRONT_DESK)
    assert person.person is not None
    values = (person.person.account_id, studio.location, await studio.add("instructors", name="Ines"))
    async with stream(person, await sequence(console)) as opened:
        await opened.next("hello")
        await console.people.sql(change, *values[: change.count("$")])
        await partner_books(studio, class_id)
        assert opened.task is not None
        await asyncio.wait_for(opened.task, LONG)
        await console.people.sql("update staff_sessions set ended_at = now() where account_id = $1", values[0])
        sent = [opened.sent.get_nowait().get("body", b"") for _ in range(opened.sent.qsize())]
    assert not [each for each in sent if str(class_id).encode() in each]


async def test_polling_answers_at_once(console: Console, studio: BookingStudio) -> None:
    class_id, since = await studio.new_class(HOUR), await sequence(console)
    assert (await console.get(f"/console/live/changes?since={since}")).json() == {"sequence": since, "classes": []}
    await partner_books(studio, class_id)
    now = await settled(console)
    assert (await console.get(f"/console/live/changes?since={since}")).json() == {
        "sequence": now,
        "classes": [str(class_id)],
    }


async def test_a_reader_far_behind_reloads_everything(
    console: Console, studio: BookingStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studiogate.storage.class_clock.MAX_EVENTS", 1)
    since = await sequence(console)
    await partner_books(studio, await studio.new_class(HOUR))
    await settled(console)
    assert (await console.get(f"/console/live/changes?since={since}")).json()["classes"] == ["*"]


async def test_a_stream_without_a_session_is_refused_and_a_page_leads_to_sign_in(console: Console) -> None:
    visitor, path = console.anonymous(), f"/console/live?since={await sequence(console)}"
    assert (await visitor.get(path, headers={"Accept": "text/event-stream"})).status_code == 401
    assert (await visitor.get(path, headers={"Accept": "text/html"})).status_code == 303
