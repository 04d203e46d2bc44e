"""What `doctor` reads grows with the data and not with its square, whatever the data and its statistics look like."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from studiogate import clock
from studiogate.flows.doctor import INVARIANTS
from studiogate.storage import backup, doctor
from studiogate.storage.db import pool
from tests.support import skewed_studio
from tests.support.battery import Tally, battery
from tests.support.races.backups import run_command

pytestmark = pytest.mark.anyio

BOOKINGS = 2000
# How often a check may look at a row, on average of all rows: each table is read once by most, and sorted or hashed.
LOOKS = 8
# What the commands may take with the full size, their own start included.
AT_MOST_SECONDS = {"doctor": 30.0, "restore": 90.0}


def looked_at(plan: dict[str, Any]) -> float:
    """Return how many rows a node and those below it yielded or dropped."""
    dropped = sum(value for name, value in plan.items() if name.startswith("Rows Removed by"))
    own: float = (plan["Actual Rows"] + dropped) * plan["Actual Loops"]
    return own + sum(map(looked_at, plan.get("Plans", ())))


@pytest.mark.parametrize("analyzed", [True, False], ids=["current statistics", "no statistics"])
async def test_the_cost_of_each_check_is_linear(database_url: str, analyzed: bool) -> None:
    connection = await pool.connect(database_url)
    await skewed_studio.fill(connection, BOOKINGS)
    if analyzed:
        await connection.execute("analyze")
    tables = [table.name for table in await backup.tables(connection)]
    rows = sum([await connection.fetchval(f"select count(*) from {table}") for table in tables])
    costs = {}
    for promise in INVARIANTS:
        assert await doctor.violations(connection, promise) == []
        facts = () if promise.facts is None else (await promise.facts(connection),)
        explained = "explain (analyze, timing off, format json) " + doctor.statement(promise)
        costs[promise.name] = looked_at(json.loads(await connection.fetchval(explained, *facts))[0]["Plan"]) / rows
    assert {name: cost for name, cost in costs.items() if cost > LOOKS} == {}
    await connection.close()


@pytest.mark.parametrize("bookings", [pytest.param(200_000, marks=battery("backup"))])
async def test_backup_restore_and_doctor_of_a_large_studio(
    database_url: str, new_empty_database: Callable[[], str], tally: Tally, tmp_path: Path, bookings: int
) -> None:
    file, copy, seconds = tmp_path / "backup", new_empty_database(), dict[str, float]()
    connection = await pool.connect(database_url)
    await skewed_studio.fill(connection, bookings)
    await connection.execute("analyze")
    given = {"doctor": (), "backup": ("-o", str(file)), "restore": (str(file),)}
    for command, words in given.items():
        before, began = await connection.fetchval("select pg_current_wal_lsn()"), clock.monotonic()
        await run_command(copy if command == "restore" else database_url, file, command, *words)
        seconds[command] = clock.monotonic() - began
    written = await connection.fetchval("select pg_wal_lsn_diff(pg_current_wal_lsn(), $1)", before)
    tally.add(bookings=bookings)
    tally.measure(**{name: f"{took:.1f} s" for name, took in seconds.items()}, wal=f"{float(written) / 1e6:.0f} MB")
    restored = await pool.connect(copy)
    count = "select count(*) from bookings"
    assert await restored.fetchval(count) == await connection.fetchval(count)
    await restored.close()
    await connection.close()
    assert {name: took for name, took in seconds.items() if took > AT_MOST_SECONDS.get(name, took)} == {}
