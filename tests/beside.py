"""Work that goes on beside a test."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

Result = TypeVar("Result")


@asynccontextmanager
async def beside(work: Coroutine[Any, Any, Result], end: Callable[[], None]) -> AsyncIterator["asyncio.Task[Result]"]:
    """Ended and waited for whatever happens in the block: a task left alone would fail in somebody else's test, on a
    connection that is closed by then."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        end()
        await task
