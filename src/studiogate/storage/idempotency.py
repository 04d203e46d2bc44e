"""Stored first results, by credential and idempotency key.

A claim locks the key until the transaction ends: a concurrent request with the same key waits for it inside PostgreSQL
and then finds either the committed result or, after a rollback, a free key. The result is one row, written once, in the
same transaction as the effect. There is no intermediate state to recover.

The lock makes concurrent duplicates wait; the row's primary key is what makes two effects impossible. A statement that
acquires the lock at the very moment its holder commits still has an older snapshot and misses the row. Storing its
result then conflicts with that row, and the whole transaction is retried.
"""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

import asyncpg

from studiogate.domain.access import Access
from studiogate.domain.retention import IDEMPOTENCY_KEY_HOURS
from studiogate.storage.db.pool import Connection, Record, TransactionConflictError
from studiogate.storage.db.statement import Statement, json_rows
from studiogate.storage.people import EMAIL_LOCK

KEPT = f"interval '{IDEMPOTENCY_KEY_HOURS} hours'"  # from completion, by the database's clock

# One row per request: whether its key was free and is now locked, and the result that is stored under it. Both are null
# without a key. The ids are what the request is about. ``offset 0`` makes each lookup one by the primary key, also in a
# plan that was made while the table was small.
CLAIMED = f"""
    select given.number, given.class_id, given.member_id, given.booking_id,
           pg_try_advisory_xact_lock(given.lock) as key_is_free, k.fingerprint, k.status, k.body
    from json_to_recordset(:claims::json) as given(
        number integer, credential_id text, key text, lock bigint, class_id uuid, member_id uuid, booking_id uuid)
    left join lateral (
        select * from idempotency_keys k
        where k.studio_id = :studio and k.credential_id = given.credential_id and k.key = given.key
        and k.completed_at > clock_timestamp() - {KEPT} offset 0) k on true"""

# Of these, the requests that are not to be executed now, as arrays: all null if there are none.
ALREADY_ANSWERED_OR_BUSY = """
    select array_agg(number) as numbers, array_agg(fingerprint) as fingerprints, array_agg(status) as first_statuses,
           array_agg(body) as bodies
    from claimed where key_is_free is false or status is not null"""


# The claim of one request. The email, if there is one, is locked for a request that is executed, and not for one that
# waits for its key: whoever holds the key may be about to lock the email.
CLAIM = Statement(f"""
    select *, case when key_is_free and status is null and :email::text is not null
                   then {EMAIL_LOCK.format(studio="(:studio::uuid)::text", email=":email")} is not null end as has_email
    from (
        select pg_try_advisory_xact_lock(:lock) as key_is_free, k.fingerprint, k.status, k.body
        from (values (true)) always left join (
            select * from idempotency_keys k
            where k.studio_id = :studio and k.credential_id = :credential_id and k.key = :key
            and k.completed_at > clock_timestamp() - {KEPT} offset 0) k on true
        offset 0) claimed""")


def stored_answers(answers: str) -> str:
    """Return the part of a statement that stores answers; it yields a row for each one stored. ``answers`` is a query
    of the credential, key, fingerprint, status and body of each."""
    return f"""
        insert into idempotency_keys (studio_id, credential_id, key, fingerprint, status, body, completed_at)
        select :studio, answer.*, clock_timestamp() from ({answers}) answer
        on conflict (studio_id, credential_id, key) do update
            set fingerprint = excluded.fingerprint, status = excluded.status, body = excluded.body,
                completed_at = excluded.completed_at
            where idempotency_keys.completed_at <= clock_timestamp() - {KEPT}
        returning true as stored"""


ANSWERS = """
    json_to_recordset(:answers::json)
        as each(credential_id text, key text, fingerprint bytea, status integer, body bytea)"""
REMEMBER = Statement(stored_answers(f"select * from {ANSWERS}"))
WAIT = "select pg_advisory_xact_lock($1)"
IS_REMEMBERED = f"""
    select exists (select from idempotency_keys where studio_id = $1 and credential_id = $2 and key = $3
                   and completed_at > clock_timestamp() - {KEPT})"""


class StillRunningError(Exception):
    """The first request with this key did not finish in time."""


class IdempotencyKey(NamedTuple):
    """What makes two requests the same: a credential's key, and a fingerprint of the parameters."""

    key: str
    fingerprint: bytes


class Claim(NamedTuple):
    """The key of one request in a batch, and its class, with the member who books or the booking to cancel."""

    credential_id: str
    key: str | None
    class_id: UUID
    member_id: UUID | None = None
    booking_id: UUID | None = None


class FirstResult(NamedTuple):
    fingerprint: bytes
    status: int
    body: bytes


class StoredAnswer(NamedTuple):
    """A response to store under a request's key."""

    credential_id: str
    once: IdempotencyKey
    status: int
    body: bytes


Found = dict[int, FirstResult | None]
"""By the number of a request: the result that is stored under its key, or None if another transaction holds the key."""


def claim_rows(claims: Sequence[Claim]) -> str:
    return json_rows(
        {
            "credential_id": each.credential_id,
            "key": each.key,
            "lock": None if each.key is None else _lock_number(each.credential_id, each.key),
            "class_id": each.class_id,
            "member_id": each.member_id,
            "booking_id": each.booking_id,
        }
        for each in claims
    )


def not_to_execute(row: Record) -> Found:
    """Read the columns of ``ALREADY_ANSWERED_OR_BUSY``."""
    if row["numbers"] is None:
        return {}
    found = zip(row["fingerprints"], row["first_statuses"], row["bodies"], strict=True)
    results = [None if each[1] is None else FirstResult(*each) for each in found]
    return dict(zip(row["numbers"], results, strict=True))


async def claim(connection: Connection, access: Access, key: str, email: str | None = None) -> FirstResult | None:
    """Claim the key for this transaction, or return the result that is stored under it. If another transaction holds
    the key, wait for it. The email of a person is locked together with the key, as ``people.lock_email`` does."""
    row = await _claim(connection, access, key, email)
    if row["status"] is None and not row["key_is_free"]:
        await wait_for_key(connection, access, key)
        row = await _claim(connection, access, key, email)
    return None if row["status"] is None else FirstResult(row["fingerprint"], row["status"], row["body"])


async def _claim(connection: Connection, access: Access, key: str, email: str | None) -> Record:
    return await CLAIM.row(
        connection,
        studio=access.studio_id,
        credential_id=access.credential_id,
        key=key,
        lock=_lock_number(access.credential_id, key),
        email=email,
    )


async def wait_for_key(connection: Connection, access: Access, key: str) -> None:
    """Wait until no other transaction holds the key; raise StillRunningError if that takes too long."""
    try:
        await connection.execute(WAIT, _lock_number(access.credential_id, key))
    except asyncpg.LockNotAvailableError as error:
        raise StillRunningError from error


def _lock_number(credential_id: str, key: str) -> int:
    """Return the key's advisory lock number. Two keys with the same number would only wait for each other."""
    return int.from_bytes(hashlib.blake2b(f"{credential_id} {key}".encode(), digest_size=8).digest(), signed=True)


async def remember(connection: Connection, access: Access, once: IdempotencyKey, status: int, body: bytes) -> None:
    await remember_all(connection, access, [StoredAnswer(access.credential_id, once, status, body)])


async def remember_all(connection: Connection, access: Access, answers: Sequence[StoredAnswer]) -> None:
    """Store answers; raise TransactionConflictError if another request's result is stored under one of the keys."""
    stored = await REMEMBER.rows(connection, studio=access.studio_id, answers=answer_rows(answers))
    check_stored(len(stored), len(answers))


def answer_rows(answers: Sequence[StoredAnswer]) -> str:
    return json_rows(
        {
            "credential_id": each.credential_id,
            "key": each.once.key,
            "fingerprint": each.once.fingerprint,
            "status": each.status,
            "body": each.body,
        }
        for each in answers
    )


def check_stored(stored: int, expected: int) -> None:
    if stored != expected:
        raise TransactionConflictError("another request with this key was done first")


async def is_remembered(connection: Connection, access: Access, key: str) -> bool:
    return bool(await connection.fetchval(IS_REMEMBERED, access.studio_id, access.credential_id, key))
