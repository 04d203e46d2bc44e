"""kill -9 of a process in the middle of each flow of the studio's side: all of the change is there, or nothing."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.flows.test_staff_permissions import FLOWS
from tests.support import booking_studio
from tests.support.battery import sampled, sized
from tests.support.booking_studio import BookingStudio, StudioFactory
from tests.support.races import killed_flow
from tests.support.races.killed_flow import Order, Report
from tests.support.races.staff_flow_cases import CASES, WITHOUT_CASE

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio
BEFORE_COMMIT, AFTER_COMMIT = 0, -1
EVERY_STATEMENT = 1_000
TABLES = """
    select table_name as name from information_schema.columns
    where table_schema = 'public' and column_name = 'studio_id' and table_name <> 'event_heads' order by 1"""
SESSION = "select count(*) from pg_stat_activity where pid = $1"
# Sessions end with their role, and there are none here; a new studio is one statement and its entry.
ONE_STATEMENT = frozenset({"staff.roles.end_sessions", "studio.create"})


class Killer:
    """The program that forks a process per order."""

    def __init__(self, studio: BookingStudio, process: asyncio.subprocess.Process) -> None:
        self._studio, self._process = studio, process

    async def run(self, flow: str, arguments: str, at: int, **options: Any) -> Report:
        """Run a flow in a process that is killed at a statement; return once PostgreSQL has ended its session."""
        dsn = str(self._studio.api.app._runtime.settings.database_url)
        wanted = Order(dsn, str(self._studio.id), flow, arguments, at, **options)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(vars(wanted)).encode() + b"\n")
        await self._process.stdin.drain()
        report = Report(**json.loads(await self._process.stdout.readline()))
        while await self._studio.api.connection.fetchval(SESSION, report.server_pid):
            await asyncio.sleep(0.01)
        return report


@pytest.fixture(scope="module")
async def program(anyio_backend: object) -> AsyncIterator[asyncio.subprocess.Process]:
    root = Path(__file__).parents[2]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", killed_flow.__name__),
        cwd=root,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    yield process
    assert process.stdin is not None
    process.stdin.close()
    await process.wait()


@pytest.fixture
def killer(studio: BookingStudio, program: asyncio.subprocess.Process) -> Killer:
    return Killer(studio, program)


async def stored(studio: BookingStudio) -> dict[str, str | None]:
    """A hash of every table's rows of the studio. Events are numbered at any time after their commit."""
    connection = studio.api.connection
    found = {}
    for table in [row["name"] for row in await connection.fetch(TABLES)]:
        line = "(to_jsonb(t) - 'sequence')::text"
        statement = f"select md5(string_agg({line}, '' order by {line})) from {table} t where studio_id = $1"
        found[table] = await connection.fetchval(statement, studio.id)
    return found


async def settled(studio: BookingStudio) -> dict[str, str | None]:
    """The same, once the application has nothing left to do in the background."""
    sequencer = studio.api.app._runtime.sequencer
    sequencer.kick(studio.id)
    await sequencer.settled()
    return await stored(studio)


def changed(before: dict[str, str | None], after: dict[str, str | None]) -> list[str]:
    return [table for table in before if before[table] != after[table]]


def test_every_flow_has_a_case() -> None:
    assert set(CASES) | WITHOUT_CASE | ONE_STATEMENT == set(FLOWS)


@sampled(4, "staff")
@pytest.mark.parametrize("flow", CASES)
@sized(1, EVERY_STATEMENT, "staff", "kills_at_most")
async def test_killed_in_the_middle(studio: BookingStudio, killer: Killer, flow: str, size: int) -> None:
    arguments = await CASES[flow](studio)
    before = await settled(studio)
    report = await killer.run(flow, arguments, BEFORE_COMMIT)
    assert report.killed
    assert changed(before, await stored(studio)) == [], "before the commit"
    places = range(2, report.statements + 1)
    for at in places if size == EVERY_STATEMENT else places[len(places) // 2 :][:size]:
        assert (await killer.run(flow, arguments, at)).killed
        assert changed(before, await stored(studio)) == [], f"before statement {at} of {report.statements}"
    assert (await killer.run(flow, arguments, AFTER_COMMIT)).killed
    assert "audit_log" in changed(before, await stored(studio)), "after the commit, everything is there"


@sampled(3, "staff")
@pytest.mark.parametrize("flow", ["bookings.staff.cancel_class", "members.erase.erase", "purchases.sell"])
async def test_a_flow_without_its_transaction_is_noticed(
    studio_factory: StudioFactory, program: asyncio.subprocess.Process, flow: str
) -> None:
    studio = await studio_factory.new_studio()  # what is left of it, the doctor would report
    arguments = await CASES[flow](studio)
    before = await settled(studio)
    assert (await Killer(studio, program).run(flow, arguments, BEFORE_COMMIT, autocommit=True)).killed
    assert changed(before, await stored(studio)) != []
