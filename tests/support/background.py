"""Background tasks that run during a test."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

Result = TypeVar("Result")


@asynccontextmanager
async def beside(work: Coroutine[Any, Any, Result], end: Callable[[], None]) -> AsyncIterator["asyncio.Task[Result]"]:
    """Run a task during the block, and always end and await it: a task left running would fail in a later test, on a
    connection that is closed by then."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        end()
        await task
