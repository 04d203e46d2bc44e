"""Stored first results, by credential and idempotency key.

A claim locks the key until the transaction ends: a concurrent request with the same key waits for it inside PostgreSQL
and then finds either the committed result or, after a rollback, a free key. The result is one row, written once, in the
same transaction as the effect. There is no intermediate state to recover.

The lock makes concurrent duplicates wait; the row's primary key is what makes two effects impossible. A statement that
acquires the lock at the very moment its holder commits still has an older snapshot and misses the row. Storing its
result then conflicts with that row, and the whole transaction is retried.
"""

import hashlib
from dataclasses import dataclass
from typing import NamedTuple

import asyncpg

from studiogate.domain.access import Access
from studiogate.storage.db.pool import Connection, Record, TransactionConflictError

KEPT = "interval '24 hours'"  # from completion, by the database's clock


def first_result(credential_id: str, key: str, lock: str) -> str:
    """Return a query of one row: whether the key was free and is now locked, and the result that is stored under it.

    $1 is the studio, the arguments are the statement's parameters. Without a key, all columns are null.
    """
    return f"""
        select pg_try_advisory_xact_lock({lock}) as key_is_free, k.fingerprint, k.status as first_status, k.body
        from (values (true)) given left join idempotency_keys k
            on k.studio_id = $1 and k.credential_id = {credential_id} and k.key = {key}
            and k.completed_at > clock_timestamp() - {KEPT}"""


def answer_remembered(answer: str, credential_id: str, key: str, fingerprint: str, status: str) -> str:
    """Return the part of a statement that stores the answer which the statement builds; it yields a row on success.

    ``answer`` is a select of the answer's bytes; the others are the statement's parameters, $1 the studio.
    """
    return f"""
        insert into idempotency_keys (studio_id, credential_id, key, fingerprint, status, body, completed_at)
        select $1, {credential_id}, {key}, {fingerprint}, {status}, answer.body, clock_timestamp()
        from ({answer}) as answer(body) where {key} is not null
        on conflict (studio_id, credential_id, key) do update
            set fingerprint = excluded.fingerprint, status = excluded.status, body = excluded.body,
                completed_at = excluded.completed_at
            where idempotency_keys.completed_at <= clock_timestamp() - {KEPT}
        returning true as remembered"""


CLAIM = first_result("$2", "$3", "$4")
WAIT = "select pg_advisory_xact_lock($1)"
REMEMBER = answer_remembered("select $6::bytea", "$2", "$3::text", "$4", "$5")
IS_REMEMBERED = f"""
    select exists (select from idempotency_keys where studio_id = $1 and credential_id = $2 and key = $3
                   and completed_at > clock_timestamp() - {KEPT})"""

# A key whose result is being replaced is locked and skipped. The age is checked twice: a delete that had to wait for a
# row checks the updated row again but not its subquery, and would otherwise delete a result that was just stored.
SWEEP = f"""
    delete from idempotency_keys where studio_id = $1 and completed_at <= clock_timestamp() - {KEPT}
        and (credential_id, key) in (
            select credential_id, key from idempotency_keys
            where studio_id = $1 and completed_at <= clock_timestamp() - {KEPT} limit $2 for update skip locked)"""


class StillRunningError(Exception):
    """The first request with this key did not finish in time."""


@dataclass(frozen=True, slots=True)
class FirstResult:
    fingerprint: bytes
    status: int
    body: bytes


class Once(NamedTuple):
    """What makes two requests the same: a credential's key, and a fingerprint of the parameters."""

    key: str
    fingerprint: bytes


async def claim(connection: Connection, access: Access, key: str) -> FirstResult | None:
    """Claim the key for this transaction, or return the result that is stored under it."""
    return found_first(await claim_with(connection, access, key, CLAIM, (access.studio_id, access.credential_id, key)))


async def claim_with(
    connection: Connection, access: Access, key: str | None, statement: str, arguments: tuple[object, ...]
) -> Record:
    """Run a statement that contains ``first_result`` and takes the lock as its last argument; return its row. If
    another transaction holds the key, wait for it and run the statement again."""
    lock = None if key is None else _lock_number(access, key)
    (row,) = await connection.fetch(statement, *arguments, lock)
    if row["key_is_free"] is False:
        try:
            await connection.execute(WAIT, lock)
        except asyncpg.LockNotAvailableError as error:
            raise StillRunningError from error
        (row,) = await connection.fetch(statement, *arguments, lock)
    return row


def found_first(row: Record) -> FirstResult | None:
    if row["first_status"] is None:
        return None
    return FirstResult(row["fingerprint"], row["first_status"], row["body"])


def _lock_number(access: Access, key: str) -> int:
    """Return the key's advisory lock number. Credential ids are unique across studios. Two keys with the same number
    would only wait for each other."""
    name = f"{access.credential_id} {key}"
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), signed=True)


async def remember(connection: Connection, access: Access, once: Once, status: int, body: bytes) -> None:
    identity = (access.studio_id, access.credential_id, *once)
    check_remembered(await connection.fetchval(REMEMBER, *identity, status, body))


def check_remembered(remembered: object) -> None:
    """Raise, so that the transaction is rolled back, if another request's result is stored under the key."""
    if not remembered:
        raise TransactionConflictError("another request with this key was done first")


async def is_remembered(connection: Connection, access: Access, key: str) -> bool:
    return bool(await connection.fetchval(IS_REMEMBERED, access.studio_id, access.credential_id, key))


async def sweep(connection: Connection, access: Access, at_most: int) -> int:
    """Delete one batch of expired results; return their number."""
    status: str = await connection.execute(SWEEP, access.studio_id, at_most)
    return int(status.rpartition(" ")[2])
