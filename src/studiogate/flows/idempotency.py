"""Idempotent execution: the key, the effect and the response bytes commit in one transaction, or none of them does."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows import retry
from studiogate.storage import idempotency, people
from studiogate.storage.db.pool import Connection, Database, TransactionConflictError
from studiogate.storage.idempotency import FirstResult, IdempotencyKey, StoredAnswer


class Stored(NamedTuple):
    """The response to a request that was executed now; with a key, it is stored under it."""

    status: int
    body: bytes


class Replay(NamedTuple):
    """The response to an earlier request with the same key and the same parameters."""

    status: int
    body: bytes


Outcome = Stored | Refusal | Replay
"""What became of a request. After a refusal nothing has happened and nothing is stored."""


KEY_REUSED = Refusal(Code.IDEMPOTENCY_KEY_REUSED)
IN_PROGRESS = Refusal(Code.IDEMPOTENCY_IN_PROGRESS)


class Answers(NamedTuple):
    """How a front end responds. Statuses are its own: they are stored and returned here, never interpreted."""

    success: int = 0
    # The response to a refusal that is stored, such as a refused booking; None for any other.
    refusal: Callable[[Refusal], Stored | None] = lambda _refusal: None
    # Encrypts a success that contains a secret, which the database must not know.
    seal: Callable[[bytes], bytes] = bytes


class WriteContext(NamedTuple):
    """Who sends a write, under which key, and how it is answered."""

    access: Access
    once: IdempotencyKey | None = None
    answers: Answers = Answers()

    def success(self, result: str) -> Stored:
        return Stored(self.answers.success, self.answers.seal(result.encode()))

    def answer(self, response: Stored) -> list[StoredAnswer]:
        """Return what is to be stored: the response, if there is a key."""
        return [] if self.once is None else [StoredAnswer(self.access.credential_id, self.once, *response)]


Work = Callable[[Connection], Awaitable[str | Refusal]]
"""The write itself; returns the result in wire form, or a refusal."""


@dataclass(frozen=True, slots=True)
class EmailWork:
    """A write that needs the lock on the email of a person, which is taken in the statement that claims the key. It can
    store its response together with the effect, and then returns the response."""

    email: str
    write: Callable[[Connection, WriteContext], Awaitable[Stored | str | Refusal]]


Visible = Callable[[Connection], Awaitable[bool]]
"""Whether the caller may (still) see what the first result was about."""


def answer_purpose(studio_id: UUID, credential_id: str) -> str:
    """Return the purpose with which a remembered response that contains a secret is sealed."""
    return f"remembered answer {studio_id} {credential_id}"


class _ForgetError(Exception):
    """Rolls back the claim together with everything else."""

    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal


async def execute(database: Database, context: WriteContext, work: Work | EmailWork, visible: Visible) -> Outcome:
    """Do the work once per key, and answer every repetition with the bytes of the first response."""
    try:
        return await retry.repeated(lambda: _in_one_transaction(database, context, work, visible))
    except _ForgetError as forgotten:
        return forgotten.refusal
    except idempotency.StillRunningError:
        return IN_PROGRESS


async def _in_one_transaction(
    database: Database, context: WriteContext, work: Work | EmailWork, visible: Visible
) -> Outcome:
    async with database.transaction() as connection:
        first = await _claim(connection, context, work)
        if first is not None:
            answer = await replay(connection, context, first, visible)
            if answer == KEY_REUSED:
                raise _ForgetError(await _faults(connection, context, work) or KEY_REUSED)
            return answer
        result = await _done(connection, context, work)
        if isinstance(result, Stored):
            return result
        response = context.answers.refusal(result) if isinstance(result, Refusal) else context.success(result)
        if response is None:
            await check_not_stored(connection, context)
            raise _ForgetError(result)  # type: ignore[arg-type]  # every result in wire form has a response
        if context.once is not None:
            await idempotency.remember(connection, context.access, context.once, *response)
    return response


async def _claim(connection: Connection, context: WriteContext, work: Work | EmailWork) -> FirstResult | None:
    email = work.email if isinstance(work, EmailWork) else None
    if context.once is not None:
        return await idempotency.claim(connection, context.access, context.once.key, email)
    if email is not None:
        await people.lock_email(connection, context.access, email)
    return None


async def _done(connection: Connection, context: WriteContext, work: Work | EmailWork) -> Stored | str | Refusal:
    return await (work.write(connection, context) if isinstance(work, EmailWork) else work(connection))


async def _faults(connection: Connection, context: WriteContext, work: Work | EmailWork) -> Refusal | None:
    """Return the faults of a request whose key has been used for another one: they are reported before that. Those that
    depend on stored data are found by the work alone, so it is done, without the key; the caller must roll it back."""
    without_key = context._replace(once=None)
    await _claim(connection, without_key, work)
    result = await _done(connection, without_key, work)
    return result if isinstance(result, Refusal) and result.code is Code.VALIDATION_ERROR else None


async def check_not_stored(connection: Connection, context: WriteContext) -> None:
    """Raise TransactionConflictError if there is a first result that the claim just missed."""
    if context.once is not None and await idempotency.is_remembered(connection, context.access, context.once.key):
        raise TransactionConflictError


async def replay(
    connection: Connection, context: WriteContext, first: FirstResult, visible: Visible
) -> Replay | Refusal:
    """Return the first response, unless the parameters differ or the caller may not see it any more."""
    if context.once is None or first.fingerprint != context.once.fingerprint:
        return KEY_REUSED
    return Replay(first.status, first.body) if await visible(connection) else Refusal(Code.NOT_FOUND)


async def wait_for_key(database: Database, context: WriteContext) -> Refusal | Exception | None:
    """Wait until no transaction holds the key of a request; return why that cannot be awaited, if so."""
    try:
        async with database.transaction() as connection:
            await idempotency.wait_for_key(connection, context.access, context.once.key if context.once else "")
    except idempotency.StillRunningError:
        return IN_PROGRESS
    except Exception as error:
        return error
    return None
