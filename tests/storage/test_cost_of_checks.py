"""What `doctor` reads grows with the data and not with its square, whatever the data and its statistics look like."""

import json
from typing import Any

import pytest

from studiogate.flows.doctor import PROMISES
from studiogate.storage import backup, invariants
from studiogate.storage.db import pool
from tests.support import skewed_studio

pytestmark = pytest.mark.anyio

BOOKINGS = 2000
# How often a check may look at a row, on average of all rows: each table is read once by most, and sorted or hashed.
LOOKS = 8


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
    for promise in PROMISES:
        assert await invariants.violations(connection, promise) == []
        facts = () if promise.facts is None else (await promise.facts(connection),)
        explained = "explain (analyze, timing off, format json) " + invariants.statement(promise)
        costs[promise.name] = looked_at(json.loads(await connection.fetchval(explained, *facts))[0]["Plan"]) / rows
    assert {name: cost for name, cost in costs.items() if cost > LOOKS} == {}
    await connection.close()
