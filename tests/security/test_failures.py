"""Failures are logged without values: in our lines, libraries', uncaught exceptions, and PostgreSQL's log."""

import json
import subprocess
import sys
from pathlib import Path

import asyncpg
import pytest

from studiogate import telemetry
from studiogate.flows import doctor
from studiogate.server.postgres.embedded import running_postgres
from studiogate.storage.db import pool as database
from studiogate.storage.db.pool import Database
from tests.support.deadlines import LONG

EMAIL = "sam.secret@example.com"
BEGIN = """
import asyncio, logging, threading
from studiogate import telemetry
telemetry.configure_logging("json")
telemetry.take_over_failures()
class Leak(Exception): ...
def fail(): raise Leak("Key (email)=(sam.secret@example.com) already exists")
async def fail_later(): fail()
async def in_a_loop(work):
    asyncio.get_running_loop().set_exception_handler(telemetry.log_loop_failure)
    await work()
    await asyncio.sleep(0.05)
"""
WAYS = {
    "in the process": "fail()",
    "in a thread": "thread = threading.Thread(target=fail); thread.start(); thread.join()",
    "in a library that logs it": "try: fail()\nexcept Leak: logging.getLogger('uvicorn.error').exception('Exception')",
    "in a task that nobody waits for": """
async def work():
    asyncio.create_task(fail_later())
    await asyncio.sleep(0.01)
asyncio.run(in_a_loop(work))""",
    "in a callback": """
def call(given): fail()
async def work(): asyncio.get_running_loop().call_soon(call, 'sam.secret@example.com')
asyncio.run(in_a_loop(work))""",
}


@pytest.mark.parametrize("way", WAYS)
def test_a_failure_is_logged_without_its_message(way: str) -> None:
    """One line of JSON with where it happened and its kind, wherever it happens."""
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + WAYS[way]], capture_output=True, text=True, timeout=LONG, check=False
    )
    logged = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(logged) == 1, done
    assert logged[0]["level"] == "error"
    assert logged[0]["exception"].endswith("in fail\nLeak")
    assert EMAIL not in done.stdout + done.stderr


def test_a_problem_is_its_kind_and_our_notes() -> None:
    inner = ValueError(EMAIL)
    inner.add_note("class 1 of studio 2")
    problem = telemetry.problem_of(ExceptionGroup(EMAIL, [inner, KeyError(EMAIL)]))
    assert problem == "ExceptionGroup (ValueError class 1 of studio 2) (KeyError)"


@pytest.mark.parametrize("own", ["sgk_live_abcdefgh_secret", "x.sgk_test_1", "whsec_abc", "a-whsec_b"])
def test_a_secret_is_no_request_id(own: str) -> None:
    """A caller who puts a key into the wrong header does not find it in the log."""
    assert telemetry.request_id(own.encode()).startswith("req_")
    assert telemetry.request_id(b"order-17") == "order-17"


BAD = {
    "insert into kept values ($1)": EMAIL,
    "insert into kept (document) values ($1)": '{"email": "' + EMAIL,
    "insert into kept values ($1, '{}', 0)": EMAIL,
}


@pytest.mark.anyio
async def test_postgresql_does_not_log_values(tmp_path: Path) -> None:
    """A refused row, broken JSON, a failed check: the log has the message and the statement, and nobody's data."""
    with running_postgres(tmp_path) as server:
        connection = await asyncpg.connect(server.dsn())
        await connection.execute("create table kept (email text unique, document json, n int check (n > 0))")
        await connection.execute("insert into kept values ($1)", EMAIL)
        for statement, value in BAD.items():
            with pytest.raises(asyncpg.PostgresError):
                await connection.execute(statement, value)
        finding = await doctor.examine_log(connection)
        await connection.close()
    written = (tmp_path / "postgres.log").read_text()
    for words in ("duplicate key value", "invalid input syntax for type json", "violates check constraint"):
        assert words in written
    assert EMAIL not in written
    assert finding.level == "ok"


@pytest.mark.anyio
async def test_the_doctor_warns_of_a_server_that_logs_values(database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    await connection.execute(
        "set log_error_verbosity = verbose; set log_statement = 'all'; set log_parameter_max_length = -1"
    )
    finding = await doctor.examine_log(connection)
    await connection.close()
    assert finding.level == "warning"
    assert "log_error_verbosity = terse and log_parameter_max_length = 0" in finding.text


@pytest.mark.anyio
async def test_no_session_lets_parameters_into_errors(database_url: str) -> None:
    """This much can be asked of anybody's server."""
    pool = Database(database_url, 1)
    single = await database.connect(database_url)
    asked = "select setting from pg_settings where name = 'log_parameter_max_length_on_error' and source = 'client'"
    async with pool.connection() as pooled:
        assert [await each.fetchval(asked) for each in (pooled, single)] == ["0", "0"]
    await single.close()
    await pool.close()
