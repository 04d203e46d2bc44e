"""Run a staff flow for a request, or try out what it would do."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from studiogate.console.framework.request import ConsoleRequest
from studiogate.domain.access import Access
from studiogate.flows import staff_flow
from studiogate.flows.retry import repeated
from studiogate.storage.db.pool import Connection

Result = TypeVar("Result")


async def run(
    request: ConsoleRequest, flow: Callable[..., Awaitable[Result]], *arguments: object, **options: object
) -> Result:
    """Run a flow with the access of the signed-in person, again after a conflict."""

    async def once() -> Result:
        async with request.database.connection() as connection:
            return await flow(connection, request.access, *arguments, **options)

    return await repeated(once)


async def try_out(request: ConsoleRequest, flow: Callable[[Connection, Access], Awaitable[Result]]) -> Result:
    """Return what a flow would do now; nothing is changed."""

    async def once() -> Result:
        async with request.database.connection() as connection:
            return await staff_flow.previewed(connection, request.access, flow)

    return await repeated(once)
