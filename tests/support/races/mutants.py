"""Mutants of the API process, with one mistake each, which the races must detect. The product does not use this file.

The environment names a file, and the mutation that this file names is in force, so that one service serves all
mutations. Without a file the process is unchanged.
"""

import asyncio
import copy
import os
import re
from collections.abc import Callable
from itertools import count
from typing import Any

import uvicorn

from studiogate.api.framework import auth as access
from studiogate.api.framework import errors
from studiogate.domain import keys
from studiogate.domain.bookings.waitlist import plan_promotions
from studiogate.flows import idempotency as idempotent
from studiogate.flows.bookings import cancel, executor, promote, scheduler
from studiogate.server import api_process
from studiogate.storage import idempotency
from studiogate.storage.bookings import cancel as cancel_booking
from studiogate.storage.bookings import create, lock, read
from studiogate.storage.db import load_shedding
from studiogate.storage.db import pool as database
from studiogate.storage.db.statement import Statement
from tests.support import long_timeouts_api

VARIABLE = "TEST_MUTATION"
KEYS_LATER_SECONDS = 0.2  # long enough for nearly every kill to hit it
Function = Callable[..., Any]
release = database.Database.release
matching_secret, look_up = keys._matching, access.Authenticator._look_up
lock_batch, record_bookings = lock.lock_batch, create.record_bookings
record_cancellations = cancel_booking.record_cancellations
execute_batch, run_statement = executor.execute, Statement.rows
fill_slots = scheduler.Scheduler._fill_slots
releases = count(1)
CLASS_LOCK, MEMBER_LOCK = "for no key update of c", "for no key update of m"
LOCKING, UNLOCKED = "lock_booking_members", "unlocked_booking_members"
ONE_AT_A_TIME = "select pg_advisory_xact_lock(20260001)"


async def _nothing(*_: object, **__: object) -> None:
    pass


def _without(locks: str, text: str) -> str:
    return re.sub(locks + "( skip locked)?", "", text)


def _unlocked_statement(*, classes: bool, members: bool) -> Statement:
    """The statement that begins a batch, without some of its locks."""
    statement = copy.copy(lock.LOCK_BATCH)
    if not classes:
        statement._text = _without(CLASS_LOCK, statement._text)
    if not members:
        statement._text = statement._text.replace(LOCKING, UNLOCKED)
    return statement


NO_CLASS_LOCKED = _unlocked_statement(classes=False, members=True)
NO_MEMBER_LOCKED = _unlocked_statement(classes=True, members=False)
NOTHING_LOCKED = _unlocked_statement(classes=False, members=False)


async def _define_unlocked(connection: Any) -> None:
    """Define the function that locks members once more, without its locks."""
    if await connection.fetchval("select to_regproc($1) is null", UNLOCKED):
        await connection.execute(ONE_AT_A_TIME)
        source = await connection.fetchval("select pg_get_functiondef($1::regproc)", LOCKING)
        await connection.execute(_without(MEMBER_LOCK, source).replace(LOCKING, UNLOCKED))


async def _run_without_class_locks(statement: Statement, connection: Any, **values: Any) -> Any:
    return await run_statement(NO_CLASS_LOCKED if statement is lock.LOCK_BATCH else statement, connection, **values)


async def _run_without_member_locks(statement: Statement, connection: Any, **values: Any) -> Any:
    if statement is lock.LOCK_BATCH:
        await _define_unlocked(connection)
        statement = NO_MEMBER_LOCKED
    return await run_statement(statement, connection, **values)


async def _read_facts_and_then_lock(connection: Any, access: Any, claims: Any) -> Any:
    await _define_unlocked(connection)
    values = {"studio": access.studio_id, "locations": access.location_ids, "depth": 0}
    rows = await run_statement(NOTHING_LOCKED, connection, claims=idempotency.claim_rows(claims), **values)
    read_before = {row["id"]: lock._locked_class(row).people for row in rows if row["id"] is not None}
    locked = await lock_batch(connection, access, claims)
    classes = {key: each._replace(people=read_before.get(key)) for key, each in locked.classes.items()}
    return locked._replace(classes=classes)


async def _lock_without_the_keys(connection: Any, access: Any, claims: Any) -> Any:
    return await lock_batch(connection, access, [each._replace(key=None) for each in claims])


async def _record_without_the_key(connection: Any, access: Any, classes: Any, new: Any) -> Any:
    bookings = [each._replace(once=None) for each in new.bookings]
    return await record_bookings(connection, access, classes, new._replace(bookings=bookings))


async def _record_cancellations_without_the_key(connection: Any, access: Any, cancellations: Any, _success: Any) -> Any:
    await record_cancellations(connection, access, [each._replace(once=None) for each in cancellations])


async def _remember_later(pool: database.Database, batch: Any) -> Any:
    """Commit the effects first, and their keys in a separate transaction."""
    bare = [each._replace(context=each.context._replace(once=None)) for each in batch]
    async with pool.transaction() as connection:
        fates = await executor._Batch(connection, bare).execute()
    await asyncio.sleep(KEYS_LATER_SECONDS)
    async with pool.transaction() as connection:
        for (context, _), fate in zip(batch, fates, strict=True):
            first = await idempotency.claim(connection, context.access, context.once.key)
            if first is None and isinstance(fate, idempotent.Stored):
                await idempotency.remember(connection, context.access, context.once, *fate)
    return fates


async def _replay_to_anybody(_connection: Any, _context: Any, first: Any, _visible: Any) -> idempotent.Replay:
    return idempotent.Replay(first.status, first.body)


def _repeat_to_anybody(_context: Any, _first: Any, response: Any) -> idempotent.Replay:
    return idempotent.Replay(*response)


async def _render_anew(_connection: Any, _context: Any, first: Any, _visible: Any) -> idempotent.Replay:
    """Replay as if the response had been stored as jsonb, which does not preserve its bytes."""
    return idempotent.Replay(first.status, first.body.replace(b",", b", "))


def _repeat_anew(_context: Any, _first: Any, response: Any) -> idempotent.Replay:
    return idempotent.Replay(response.status, response.body.replace(b",", b", "))


async def _share_one_fate(pool: database.Database, batch: Any) -> Any:
    fates = await execute_batch(pool, batch)
    return [fates[0]] * len(fates)


def _leave_the_state(situation: Any, people: Any, _new: Any) -> Any:
    return situation, people


def _no_promotions(*_: object) -> list[Any]:
    return []


def _last_come_first_served(class_: Any, policy: Any, entries: Any, spots: Any, now: Any) -> Any:
    turned = sorted(entries, key=lambda entry: entry.position, reverse=True)
    renumbered = [entry._replace(position=place) for place, entry in enumerate(turned, start=1)]
    return plan_promotions(class_, policy, renumbered, spots, now)


def _never(*_: object) -> bool:
    return False


def _leak_the_first(pool: database.Database, connection: database.Connection) -> None:
    """Leak one connection: a service that has none left would answer nothing, and the test would wait for it."""
    if next(releases) > 1:
        release(pool, connection)


def _newest_secret_only(kept: Any, presented_hash: bytes) -> Any:
    return matching_secret(list(kept)[:1], presented_hash)


async def _believe_the_cache(authenticator: access.Authenticator, credential_id: str) -> Any:
    """Trust the cached credential for a while, whatever key is presented."""
    return authenticator._cached(credential_id) or await look_up(authenticator, credential_id)


async def _wait_without_end(pool: database.Database) -> database.Connection:
    return await pool._waiting.wait(3600, pool._give) or await pool._connect()


async def _never_wait(pool: database.Database) -> database.Connection:
    pool._open += 1
    return pool._take_idle() or await pool._connect()


def _slots_without_bound(queue: Any, *_: object) -> bool:
    queue._free_slots = max(queue._free_slots, 1)
    return bool(fill_slots(queue))


def _no_headers(*_: object) -> list[Any]:
    return []


def _leave_at_once(*_: object, **__: object) -> None:
    os._exit(0)


MUTATIONS: dict[str, list[tuple[Any, str, Function]]] = {
    "class lock skipped": [(lock, "lock_class", read.find_class), (Statement, "rows", _run_without_class_locks)],
    "member lock skipped": [(lock, "lock_members", _nothing), (Statement, "rows", _run_without_member_locks)],
    "facts read before the lock": [(lock, "lock_batch", _read_facts_and_then_lock)],
    "key not claimed": [
        (idempotency, "claim", _nothing),
        (idempotency, "remember_all", _nothing),
        (lock, "lock_batch", _lock_without_the_keys),
        (create, "record_bookings", _record_without_the_key),
        (cancel_booking, "record_cancellations", _record_cancellations_without_the_key),
        (executor, "identity", lambda context: ("", str(id(context)))),
    ],
    "key remembered later": [(executor, "_in_one_transaction", _remember_later)],
    "parameters not compared": [(executor, "replay", _replay_to_anybody), (executor, "_repeated", _repeat_to_anybody)],
    "parameters not compared in a batch": [(executor, "_repeated", _repeat_to_anybody)],
    "answer rendered anew": [(executor, "replay", _render_anew), (executor, "_repeated", _repeat_anew)],
    "fate shared": [(executor, "execute", _share_one_fate)],
    "earlier decisions of the batch ignored": [(promote, "after_booking", _leave_the_state)],
    "promotion skipped": [
        (promote, "plan_promotions", _no_promotions),
        (cancel, "plan_promotions", _no_promotions),
    ],
    "promotion postponed": [(cancel, "plan_promotions", _no_promotions)],
    "waitlist reversed": [
        (promote, "plan_promotions", _last_come_first_served),
        (cancel, "plan_promotions", _last_come_first_served),
    ],
    "old secret ended at once": [(keys, "_matching", _newest_secret_only)],
    "new secret not looked up": [(access.Authenticator, "_look_up", _believe_the_cache)],
    "old secret never ended": [(keys, "_past", _never)],
    "connections leaked": [(database.Database, "release", _leak_the_first)],
    "lines without end": [
        (load_shedding.WaitEstimate, "would_time_out", _never),
        (database.Database, "_wait_for_connection", _wait_without_end),
        (scheduler.Scheduler, "_is_over", lambda _queue, request: request.result.done()),
    ],
    "connections without bound": [
        (database.Database, "acquire", _never_wait),
        (scheduler.Scheduler, "_fill_slots", _slots_without_bound),
    ],
    "no Retry-After": [(errors, "_headers_of", _no_headers)],
    "drain skipped": [(uvicorn.Server, "shutdown", _leave_at_once)],
}
COMMIT_NOT_AWAITED = "commit not awaited"  # PostgreSQL acknowledges before the log is on disk


# Opened while the process still has all privileges: started by root, it drops them before it serves.
CONTROL = os.open(os.environ[VARIABLE], os.O_RDONLY | os.O_CREAT) if VARIABLE in os.environ else None


def in_force() -> str:
    return "" if CONTROL is None else os.pread(CONTROL, 200, 0).decode()


def _switched(name: str, original: Function, mistaken: Function) -> Function:
    def either(*arguments: Any, **named: Any) -> Any:
        return (mistaken if in_force() == name else original)(*arguments, **named)

    return either


def install() -> None:
    for name, patches in MUTATIONS.items():
        for owner, attribute, mistaken in patches:
            setattr(owner, attribute, _switched(name, getattr(owner, attribute), mistaken))
    if not in_force():  # it serves all mutations in turn, and none; see there
        long_timeouts_api.wait_long()
    if in_force() == COMMIT_NOT_AWAITED:
        database.SESSION["synchronous_commit"] = "off"


if __name__ == "__main__":
    install()
    api_process.main()
