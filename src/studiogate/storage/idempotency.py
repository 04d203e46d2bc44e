"""Remembered first results, by credential and key.

The claim is an insert: a concurrent request with the same key waits for it inside PostgreSQL and then finds either
the committed result or, after a rollback, an open place. There is no in-between state to recover.
"""

from dataclasses import dataclass
from typing import NamedTuple

import asyncpg

from studiogate.domain.access import Access
from studiogate.storage.database import Connection

KEPT = "interval '24 hours'"  # from completion, by the database's clock

CLAIM = f"""
    insert into idempotency_keys (studio_id, credential_id, key, fingerprint) values ($1, $2, $3, $4)
    on conflict (studio_id, credential_id, key) do update
        set fingerprint = excluded.fingerprint, status = null, body = null, completed_at = null
        where idempotency_keys.completed_at <= clock_timestamp() - {KEPT}
    returning true"""

FIND = """
    select fingerprint, status, body from idempotency_keys
    where studio_id = $1 and credential_id = $2 and key = $3"""

REMEMBER = """
    update idempotency_keys set status = $4, body = $5, completed_at = clock_timestamp()
    where studio_id = $1 and credential_id = $2 and key = $3"""


def answer_remembered(answer: str, credential_id: str, key: str, status: str) -> str:
    """REMEMBER for a statement that makes the answer itself: the part of it that keeps it. $1 is the studio.

    ``answer`` names the part with the answer (``object``); the others are the statement's parameters.
    """
    return f"""
        update idempotency_keys
        set status = {status}, body = convert_to({answer}.object::text, 'UTF8'), completed_at = clock_timestamp()
        from {answer} where studio_id = $1 and credential_id = {credential_id} and key = {key}"""


# A key that is being claimed anew is locked and passed over. The age is asked twice: a delete that had to wait for a
# row looks at the fresh row again but not at its subquery, and would forget a result of this very moment.
SWEEP = f"""
    delete from idempotency_keys where studio_id = $1 and completed_at <= clock_timestamp() - {KEPT}
        and (credential_id, key) in (
            select credential_id, key from idempotency_keys
            where studio_id = $1 and completed_at <= clock_timestamp() - {KEPT} limit $2 for update skip locked)"""


class StillRunningError(Exception):
    """The first request with this key did not end in time."""


@dataclass(frozen=True, slots=True)
class FirstResult:
    fingerprint: bytes
    status: int
    body: bytes


class Remembering(NamedTuple):
    """Under which claimed key, and with which status, an answer is kept."""

    key: str
    status: int


async def claim(connection: Connection, access: Access, key: str, fingerprint: bytes) -> FirstResult | None:
    """Take the key for this transaction, or return the result that is remembered under it."""
    identity = (access.studio_id, access.credential_id, key)
    try:
        if await connection.fetchval(CLAIM, *identity, fingerprint):
            return None
    except asyncpg.LockNotAvailableError as error:
        raise StillRunningError from error
    row = await connection.fetchrow(FIND, *identity)
    if row is None:
        # Swept between the two statements: nobody holds it now.
        return await claim(connection, access, key, fingerprint)
    return FirstResult(row["fingerprint"], row["status"], row["body"])


async def remember(connection: Connection, access: Access, key: str, status: int, body: bytes) -> None:
    await connection.execute(REMEMBER, access.studio_id, access.credential_id, key, status, body)


async def sweep(connection: Connection, access: Access, at_most: int) -> int:
    """Forget what has expired, a batch at a time."""
    status: str = await connection.execute(SWEEP, access.studio_id, at_most)
    return int(status.rpartition(" ")[2])
