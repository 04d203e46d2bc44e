"""Run a flow to learn what it would do, and take everything back."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

from studiogate.domain.access import Access
from studiogate.storage.db.pool import Connection

Result = TypeVar("Result")


class _TakenBackError(Exception):
    """Ends a transaction that must leave nothing behind."""


async def previewed(
    connection: Connection, access: Access, flow: Callable[[Connection, Access], Awaitable[Result]]
) -> Result:
    """Return what the flow returns now, with all its checks, and change nothing.

    The flow's locks are held until it ends. The token of the form that asks for a preview is not used up by it.
    """
    staff = access.staff
    reader = access if staff is None else replace(access, staff=replace(staff, form=None))
    outcome: list[Result] = []
    with suppress(_TakenBackError):
        async with connection.transaction():
            outcome.append(await flow(connection, reader))
            raise _TakenBackError
    return outcome[0]
