"""Idempotent execution: the key, the effect and the response bytes commit in one transaction, or none of them does."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple, NoReturn
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows import retry
from studiogate.storage import idempotency
from studiogate.storage.db.pool import Connection, Database, TransactionConflictError
from studiogate.storage.idempotency import FirstResult, Once


class Reply(NamedTuple):
    """A front end's response as it is stored. Unless ``kept``, nothing is remembered and nothing has happened."""

    status: int
    body: bytes
    kept: bool = True


class Executed(NamedTuple):
    status: int
    body: bytes
    replayed: bool


class Remembered(str):
    """A result that the statement that produced it has already stored under its key.

    Only for a front end that responds with exactly this text: a replay does not include later changes to it.
    """


Work = Callable[[Connection], Awaitable[str | Refusal]]
"""The write itself; returns the result in wire form, or a refusal."""


@dataclass(frozen=True, slots=True)
class Claiming:
    """A write that claims its key itself, in a statement that it needs anyway, or finds a first result there."""

    work: Callable[[Connection, Once | None], Awaitable[str | Refusal | FirstResult]]


Render = Callable[[str | Refusal], Reply]
"""Turns a result or a refusal into the front end's response."""

Visible = Callable[[Connection], Awaitable[bool]]
"""Whether the caller may (still) see what the first result was about."""


def answer_purpose(studio_id: UUID, credential_id: str) -> str:
    """Return the purpose with which a remembered response that contains a secret is sealed."""
    return f"remembered answer {studio_id} {credential_id}"


class _ForgetError(Exception):
    """Rolls back the claim together with everything else."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply


async def execute(
    database: Database, access: Access, once: Once | None, work: Work | Claiming, render: Render, visible: Visible
) -> Executed:
    """Do the work once per key, and answer every repetition with the bytes of the first response."""
    try:
        return await retry.repeated(lambda: _in_one_transaction(database, access, once, work, render, visible))
    except _ForgetError as forgotten:
        return Executed(forgotten.reply.status, forgotten.reply.body, replayed=False)
    except idempotency.StillRunningError:
        return _plain(render(Refusal(Code.IDEMPOTENCY_IN_PROGRESS)))


async def _in_one_transaction(
    database: Database, access: Access, once: Once | None, work: Work | Claiming, render: Render, visible: Visible
) -> Executed:
    async with database.transaction() as connection:
        outcome = await _outcome(connection, access, once, work)
        if isinstance(outcome, FirstResult):
            return await _replay(connection, once, outcome, render, visible)
        reply = render(outcome)
        if not reply.kept:
            await _forget(connection, access, once, reply)
        if once is not None and not isinstance(outcome, Remembered):
            await idempotency.remember(connection, access, once, reply.status, reply.body)
    return _plain(reply)


async def _outcome(
    connection: Connection, access: Access, once: Once | None, work: Work | Claiming
) -> str | Refusal | FirstResult:
    if isinstance(work, Claiming):
        return await work.work(connection, once)
    first = None if once is None else await idempotency.claim(connection, access, once.key)
    return first or await work(connection)


async def _forget(connection: Connection, access: Access, once: Once | None, reply: Reply) -> NoReturn:
    """Roll back, after looking once more for a first result that the claim just missed: only storing a response would
    otherwise detect it."""
    if once is not None and await idempotency.is_remembered(connection, access, once.key):
        raise TransactionConflictError
    raise _ForgetError(reply)


async def _replay(
    connection: Connection, once: Once | None, first: FirstResult, render: Render, visible: Visible
) -> Executed:
    if once is None or first.fingerprint != once.fingerprint:
        return _plain(render(Refusal(Code.IDEMPOTENCY_KEY_REUSED)))
    if not await visible(connection):
        return _plain(render(Refusal(Code.NOT_FOUND)))
    return Executed(first.status, first.body, replayed=True)


def _plain(reply: Reply) -> Executed:
    return Executed(reply.status, reply.body, replayed=False)
