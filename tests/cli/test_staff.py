"""The commands `studiogate class …` and `studiogate booking …`, as an operator uses them."""

import asyncio
import json
import re
import sys
import threading
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import asyncpg
import pytest

from studiogate.cli.main import main
from tests.support.booking_studio import BookingStudio, StudioFactory
from tests.support.databases import run
from tests.support.partner_api import open_partner_api

Build = Callable[[BookingStudio], Awaitable[Any]]


class CommandOutput(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class CommandLine:
    """Runs commands on a separate database, and reads what they changed."""

    def __init__(self, url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.url, self._monkeypatch, self._capsys = url, monkeypatch, capsys
        monkeypatch.setenv("STUDIOGATE_DATABASE_URL", url)

    def type(self, *words: object) -> CommandOutput:
        self._monkeypatch.setattr(sys, "argv", ["studiogate", *map(str, words)])
        status: Any = 0
        try:
            main()
        except SystemExit as end:
            status = end.code
        said = self._capsys.readouterr()
        return CommandOutput(status, said.out, said.err)

    def studio(self, build: Build) -> Any:
        """Create a studio, and return what ``build`` creates in it."""

        made = []

        async def work() -> None:
            async for api in open_partner_api(self.url):
                studio = await StudioFactory(api).new_studio()
                made.append((studio.id, await build(studio)))

        run(work())
        return made[0]

    def worker_reports(self, *, sends: bool | None) -> None:
        """Record in the database what a worker with or without a mail server does; None: no worker has for long."""
        self.look("insert into deployment (key_fingerprint) values ($1) on conflict do nothing", bytes(16))
        query = "update deployment set worker_sends_mail = $1, worker_seen_at = now() - $2::interval"
        self.look(query, sends, timedelta(minutes=3 if sends is None else 0))

    def look(self, query: str, *values: Any) -> Any:
        async def work() -> Any:
            connection = await asyncpg.connect(self.url)
            try:
                return await connection.fetchval(query, *values)
            finally:
                await connection.close()

        return run(work())


@pytest.fixture(scope="module")
def url(new_database: Callable[[], str]) -> str:
    return new_database()


@pytest.fixture
def command_line(url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(url, monkeypatch, capsys)


async def full_with_waitlist(studio: BookingStudio) -> tuple[UUID, UUID, UUID]:
    """Return the class, the booking that has the seat, and the one that waits."""
    class_id, (held,) = await studio.full_class()
    waiting = await studio.waits(class_id, await studio.new_member())
    return class_id, UUID(held["id"]), UUID(waiting["id"])


BOOKING_STATUS = "select status from bookings where id = $1"


def test_cancel_a_class(command_line: CommandLine) -> None:
    _, (class_id, held, waiting) = command_line.studio(full_with_waitlist)
    said = command_line.type("class", "cancel", class_id)
    assert (said.status, said.out) == (0, "Cancelled, with 2 bookings; 1 credit returned.\n")
    assert [command_line.look(BOOKING_STATUS, each) for each in (held, waiting)] == ["cancelled", "cancelled"]
    again = command_line.type("class", "cancel", class_id)
    assert (again.status, again.err) == (1, "error: The class is cancelled already.\n")


def test_cancel_a_class_in_json(command_line: CommandLine) -> None:
    _, (class_id, _, _) = command_line.studio(full_with_waitlist)
    said = command_line.type("class", "cancel", class_id, "--json")
    assert said.json == {"id": str(class_id), "status": "cancelled", "bookings_cancelled": 2, "credits_returned": 1}


def test_change_the_capacity(command_line: CommandLine) -> None:
    _, (class_id, _, waiting) = command_line.studio(full_with_waitlist)
    said = command_line.type("class", "capacity", class_id, 3)
    assert (said.status, said.out) == (0, "The capacity is 3 now; 1 member promoted from the waitlist.\n")
    assert command_line.look(BOOKING_STATUS, waiting) == "confirmed"
    refused = command_line.type("class", "capacity", class_id, 1)
    assert refused.status == 1
    assert refused.err == "error: 2 seats are taken: cancel bookings first, or choose a capacity of 2 or more.\n"
    said = command_line.type("class", "capacity", class_id, 2, "--json")
    assert said.json == {"id": str(class_id), "capacity": 2, "promoted": 0}
    assert command_line.type("class", "capacity", class_id, -1).status == 2


async def stand_in_the_way(url: str, class_id: UUID, waiting: UUID, is_locked: threading.Event) -> None:
    """Lock the waiting member and then the class: the wrong order, as in a manual session on the database."""
    connection = await asyncpg.connect(url)
    blocked = "select exists (select from pg_locks where not granted and $1 = any(pg_blocking_pids(pid)))"
    try:
        async with connection.transaction():
            member = "select from members where id = (select member_id from bookings where id = $1) for update"
            await connection.execute("set local deadlock_timeout = '1min'")  # make the command the victim
            await connection.execute(member, waiting)
            is_locked.set()
            while not await connection.fetchval(blocked, connection.get_server_pid()):
                await asyncio.sleep(0.02)
            await connection.execute("select from classes where id = $1 for update", class_id)
    finally:
        await connection.close()


@pytest.mark.parametrize("command", [("class", "capacity", 3), ("class", "cancel")])
def test_a_deadlock_is_not_the_end(command_line: CommandLine, url: str, command: tuple[str, str, int]) -> None:
    _, (class_id, _, waiting) = command_line.studio(full_with_waitlist)
    is_locked = threading.Event()
    thread = threading.Thread(target=run, args=[stand_in_the_way(url, class_id, waiting, is_locked)])
    thread.start()
    is_locked.wait()
    said = command_line.type(*command[:2], class_id, *command[2:])
    thread.join()
    assert said.status == 0, said.err
    assert command_line.look(BOOKING_STATUS, waiting) in ("confirmed", "cancelled")


async def begun_with_waitlist(studio: BookingStudio) -> tuple[UUID, UUID, UUID]:
    class_id, held, waiting = await full_with_waitlist(studio)
    await studio.move(class_id, -1)
    return class_id, held, waiting


def test_attendance_has_its_time(command_line: CommandLine) -> None:
    _, (_, held, _) = command_line.studio(full_with_waitlist)
    for command, text in (("check-in", "checked in"), ("no-show", "marked as no-show")):
        said = command_line.type("booking", command, held)
        assert said.status == 1
        assert re.fullmatch(rf"error: The booking can be {text} from [-0-9]+ [:0-9]+ UTC on\.\n", said.err)
    assert command_line.look(BOOKING_STATUS, held) == "confirmed"


def test_check_in_and_no_show(command_line: CommandLine) -> None:
    _, (_, held, waiting) = command_line.studio(begun_with_waitlist)
    steps = [
        (("check-in",), 0, "The booking is checked_in now.\n"),
        (("check-in",), 1, "error: The booking is checked_in already.\n"),
        (("no-show",), 1, "error: The booking is checked_in and cannot become no_show.\n"),
        (("no-show", "--undo"), 1, "error: The booking is checked_in, not no_show: there is nothing to take back.\n"),
        (("check-in", "--undo"), 0, "The booking is confirmed now.\n"),
        (
            ("check-in", "--undo"),
            1,
            "error: The booking is confirmed, not checked_in: there is nothing to take back.\n",
        ),
        (("no-show", "--undo"), 1, "error: The booking is confirmed, not no_show: there is nothing to take back.\n"),
        (("no-show",), 0, "The booking is no_show now.\n"),
        (("no-show", "--undo"), 0, "The booking is checked_in now.\n"),
    ]
    for (command, *options), status, text in steps:
        said = command_line.type("booking", command, held, *options)
        assert (said.status, said.out + said.err) == (status, text)
    assert command_line.type("booking", "check-in", held, "--undo", "--json").json == {
        "id": str(held),
        "status": "confirmed",
    }
    # Undoing a check-in must not give a seat to a waiting member.
    refused = command_line.type("booking", "check-in", waiting, "--undo")
    assert (refused.status, refused.err) == (1, "error: The booking is waitlisted and cannot become confirmed.\n")
    assert command_line.look(BOOKING_STATUS, waiting) == "waitlisted"


def test_what_is_unknown(command_line: CommandLine) -> None:
    unknown = uuid4()
    assert (
        command_line.type("class", "cancel", unknown).err
        == f"error: There is no class {unknown}: `studiogate class list --studio SLUG` shows them.\n"
    )
    assert (
        command_line.type("booking", "check-in", unknown).err
        == f"error: There is no booking {unknown}: `studiogate booking list --studio SLUG` shows them.\n"
    )
    gone = command_line.type("class", "cancel", unknown, "--studio", "gone").err
    assert gone.startswith("error: There is no studio 'gone': `studiogate studio list`")
    assert command_line.type("booking", "no-show", "nonsense").status == 2


def test_an_id_of_two_studios_needs_the_studios_name(command_line: CommandLine) -> None:
    class_id = uuid4()

    async def build(studio: BookingStudio) -> str:
        await studio.new_class(id=class_id)
        return studio.studio.slug

    (first_id, first), (second_id, _) = command_line.studio(build), command_line.studio(build)
    refused = command_line.type("class", "cancel", class_id)
    assert (refused.status, "say which with --studio SLUG" in refused.err) == (1, True)
    assert command_line.type("class", "cancel", class_id, "--studio", first).status == 0
    status = "select status from classes where studio_id = $1 and id = $2"
    assert [command_line.look(status, each, class_id) for each in (first_id, second_id)] == ["cancelled", "scheduled"]


def test_the_doctor_is_content_afterwards(command_line: CommandLine) -> None:
    said = command_line.type("doctor", "--json")
    assert [each for each in said.json if each["level"] == "fault"] == []


def test_json_writes_instants_as_the_api_does(command_line: CommandLine) -> None:
    command_line.studio(lambda studio: studio.new_member())
    slug = command_line.look("select slug from studios")
    command_line.type("key", "create", "--studio", slug, "--name", "n", "--scope", "studio:read")
    created_at = command_line.type("key", "list", "--json").json[-1]["created_at"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00", created_at)


async def _with_a_waitlist(s: BookingStudio) -> tuple[Any, Any]:
    """Return a booking in a class with a manual waitlist, and the booking that waits for its seat."""
    class_id, (first,) = await s.full_class(policy={"waitlist_mode": "manual"})
    return first, await s.entry(await s.waits(class_id, await s.new_member()))


def test_cancel_a_booking_and_promote_by_hand(command_line: CommandLine) -> None:
    _, (first, entry) = command_line.studio(_with_a_waitlist)
    full = command_line.type("waitlist", "promote", entry["id"])
    assert (full.status, "This class is full." in full.err) == (1, True)
    long = command_line.type("booking", "cancel", first["id"], "--reason", "x" * 501)
    assert (long.status, "at most 500 characters" in long.err) == (1, True)
    cancelled = command_line.type("booking", "cancel", first["id"], "--reason", "Double booked", "--json")
    assert cancelled.status == 0, cancelled.err
    assert (cancelled.json["cancellation_type"], cancelled.json["reason"]) == ("studio", "Double booked")
    again = command_line.type("booking", "cancel", first["id"])
    assert (again.status, "already cancelled" in again.err) == (1, True)
    promoted = command_line.type("waitlist", "promote", entry["id"], "--json")
    booked = {"booking_id": entry["booking_id"], "overridden_rules": []}
    assert promoted.json == {"id": entry["id"], "status": "converted", **booked}
    twice = command_line.type("waitlist", "promote", entry["id"])
    assert (twice.status, "waitlist entry is converted" in twice.err) == (1, True)
    assert command_line.type("waitlist", "promote", uuid4()).status == 1


async def _with_a_purchase(s: BookingStudio) -> UUID:
    columns = {"product_key": "towel", "product_type": "retail", "status": "pending"}
    return await s.add("purchases", member_id=await s.new_member(), **columns)


def test_mark_a_purchase(command_line: CommandLine) -> None:
    _, purchase = command_line.studio(_with_a_purchase)
    assert command_line.type("purchase", "mark", purchase, "failed", "--json").json == {
        "id": str(purchase),
        "status": "failed",
    }
    assert "The purchase is completed now." in command_line.type("purchase", "mark", purchase, "completed").out
    again = command_line.type("purchase", "mark", purchase, "completed")
    assert (again.status, "is completed already" in again.err) == (1, True)
    assert command_line.type("purchase", "mark", purchase, "refunded").status == 2
