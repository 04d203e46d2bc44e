"""A request that exceeds the drain limit gets a refusal like any other."""

import http.client
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from tests.support.databases import run
from tests.support.deadlines import LONG
from tests.support.live_server import serving
from tests.support.partner_api import PREFIX
from tests.support.seed import issue_key, seed_studio

BLOCKED = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"


def post(port: int, key: str, body: dict[str, Any]) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONG)
    headers = {"X-Service-Key": key, "Idempotency-Key": "drained-0", "Content-Type": "application/json"}
    connection.request("POST", f"{PREFIX}/bookings", json.dumps(body), headers)
    return connection.getresponse()


async def hold_up(database_url: str) -> tuple["asyncpg.Connection[Any]", str, dict[str, Any]]:
    """Lock a class; return the connection that holds the lock, a key, and the body of a booking of the class."""
    connection = await asyncpg.connect(database_url)
    studio = await seed_studio(connection)
    key = await issue_key(connection, studio)
    class_id: UUID = studio.first("class")
    await connection.execute("begin")
    await connection.execute("select from classes where id = $1 for update", class_id)
    return connection, key, {"class_id": str(class_id), "member_id": str(studio.first("member"))}


@pytest.mark.anyio
async def test_a_request_cut_off_by_the_drain_limit_gets_a_503(database_url: str) -> None:
    connection, key, body = await hold_up(database_url)
    with ThreadPoolExecutor(1) as thread:
        with serving(database_url) as port:
            asked = thread.submit(post, port, key, body)
            while not await connection.fetchval(BLOCKED):
                assert not asked.done(), asked.result().read()
                await connection.execute("select pg_stat_clear_snapshot()")
        answer = asked.result()
    await connection.close()
    error = json.loads(answer.read())["error"]
    assert (answer.status, error["code"], error["retryable"]) == (503, "overloaded", True)
    assert answer.headers["Retry-After"]
    assert answer.headers["Connection"] == "close"
    assert run(_kept(database_url)) == 0, "nothing of it has happened"


async def _kept(database_url: str) -> int:
    connection = await asyncpg.connect(database_url)
    count: int = await connection.fetchval("select count(*) from idempotency_keys")
    await connection.close()
    return count
