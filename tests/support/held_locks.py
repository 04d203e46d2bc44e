"""Hold a transaction open until another one waits for its locks: both orders of a race, without a clock."""

import asyncio
from typing import Any

BLOCKED = "select count(*) from pg_locks where not granted and $1 = any(pg_blocking_pids(pid))"


async def until_blocked(connection: Any, task: "asyncio.Task[Any]", waiting: int = 1) -> None:
    """Return once so many wait for a lock of this connection's transaction; the task must not end before."""
    process = await connection.fetchval("select pg_backend_pid()")
    while await connection.fetchval(BLOCKED, process) < waiting:
        assert not task.done(), task
        await asyncio.sleep(0.01)


async def somebody_waits(connection: Any) -> None:
    """Wait until another connection waits for a lock of this one."""
    while not await connection.fetchval(BLOCKED, connection.get_server_pid()):
        await asyncio.sleep(0.02)
