"""Declare flows of the studio's side: permission, one transaction, the form that they claim. Preview them."""

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from studiogate.domain.access import Access
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Permission
from studiogate.storage import form_tokens
from studiogate.storage.db.failures import transaction_on
from studiogate.storage.db.pool import Connection, Database

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Flow = Callable[Concatenate[Connection, Access, Arguments], Coroutine[Any, Any, Result | Refusal]]

MAX_LOCATION = 2_000

# Every flow of the studio's side by its dotted name, with its permission: the table that tests and the console read.
STAFF_FLOWS: dict[str, Permission] = {}


class RefusedError(Exception):
    """Carries a refusal out of a transaction, which is then rolled back."""

    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal


class RepeatedFormError(Exception):
    """The form has taken effect already: it was sent twice. Nothing was done now."""


def staff_flow(permission: Permission) -> Callable[[Flow[Arguments, Result]], Flow[Arguments, Result]]:
    """Run the decorated flow in a transaction of its own, if the access has the permission. What a flow did before it
    returns a refusal is rolled back. Raises RepeatedFormError if the form that calls it has taken effect before."""

    def declare(flow: Flow[Arguments, Result]) -> Flow[Arguments, Result]:
        STAFF_FLOWS[f"{flow.__module__}.{flow.__qualname__}".removeprefix("studiogate.flows.")] = permission

        @wraps(flow)
        async def guarded(
            connection: Connection, access: Access, /, *args: Arguments.args, **kwargs: Arguments.kwargs
        ) -> Result | Refusal:
            if refusal := access.refusal_without_permission(permission):
                return refusal
            form = form_tokens.sent_form(access)
            try:
                async with transaction_on(connection):
                    if form is not None and not await form_tokens.claim(connection, access, form):
                        raise RepeatedFormError
                    if isinstance(outcome := await flow(connection, access, *args, **kwargs), Refusal):
                        raise RefusedError(outcome)
                    return outcome
            except RefusedError as refused:
                return refused.refusal

        return guarded

    return declare


async def note_location(database: Database, access: Access, location: str) -> None:
    """Note where the answer to a claimed form leads: a form that is sent twice leads to the same page."""
    form = form_tokens.sent_form(access)
    if form is not None:
        async with database.transaction() as connection:
            await form_tokens.set_location(connection, access, form, location[:MAX_LOCATION])


async def first_location(database: Database, access: Access) -> str | None:
    """Return where the first answer to the form led to."""
    if (form := form_tokens.sent_form(access)) is None:
        return None
    async with database.connection() as connection:
        return await form_tokens.read_location(connection, access, form)


@asynccontextmanager
async def undone(connection: Connection) -> AsyncIterator[None]:
    """Take back everything that is done inside."""
    transaction = connection.transaction()
    await transaction.start()
    try:
        yield
    finally:
        await transaction.rollback()


async def previewed(
    connection: Connection, access: Access, flow: Callable[[Connection, Access], Awaitable[Result]]
) -> Result:
    """Return what the flow returns now, with all its checks, and change nothing. The flow's locks are held until it
    ends. The token of the form that asks for a preview is not used up by it."""
    staff = access.staff
    reader = access if staff is None else replace(access, staff=replace(staff, form=None))
    async with undone(connection):
        return await flow(connection, reader)
