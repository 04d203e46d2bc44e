"""Mutants of the API process, with one mistake each, which the races must detect. The product does not use this file.

The environment names a file, and the mutation that this file names is in force, so that one service serves all
mutations. Without a file the process is unchanged.
"""

import asyncio
import os
from collections.abc import Callable
from itertools import count
from typing import Any

import uvicorn

from studiogate.api.framework import auth as access
from studiogate.api.framework import errors
from studiogate.domain import keys
from studiogate.domain.bookings.waitlist import plan_promotions
from studiogate.flows import idempotency as idempotent
from studiogate.flows.bookings import batch, cancel, promote, shared
from studiogate.server import api_process
from studiogate.storage import idempotency
from studiogate.storage.bookings import cancel as cancel_booking
from studiogate.storage.bookings import create, facts, lock
from studiogate.storage.db import batches, load_shedding, shared_transactions
from studiogate.storage.db import pool as database
from studiogate.storage.db.statement import Statement
from tests.support import long_timeouts_api

VARIABLE = "TEST_MUTATION"
KEYS_LATER_SECONDS = 0.2  # long enough for nearly every kill to hit it
Function = Callable[..., Any]
release = database.Database.release
matching_secret, look_up = keys._matching, access.Authenticator._look_up
lock_to_book, record_bookings = lock.lock_to_book, create.record_bookings
lock_to_cancel, record_cancellations = lock.lock_to_cancel, cancel_booking.record_cancellations
execute_batch = batch.Execution.__call__
releases = count(1)
CLAIM_ALL = Statement(f"with claimed as ({idempotency.CLAIMED}) {idempotency.NOT_TO_EXECUTE}")


async def _nothing(*_: object, **__: object) -> None:
    pass


async def _claimed(connection: Any, access: Any, claims: Any) -> Any:
    rows = idempotency.claim_rows(claims)
    return idempotency.not_to_execute(await CLAIM_ALL.row(connection, studio=access.studio_id, claims=rows))


async def _holders(connection: Any, access: Any, claims: Any) -> Any:
    rows = await connection.fetch(
        "select member_id from bookings where studio_id = $1 and id = any($2)",
        access.studio_id,
        [each.row_id for each in claims],
    )
    return [row["member_id"] for row in rows]


async def _find_class_only(connection: Any, access: Any, class_id: Any, claims: Any) -> Any:
    found, holders = await _claimed(connection, access, claims), await _holders(connection, access, claims)
    return lock.LockedClass(await lock.find_class(connection, access, class_id), found, False, None, holders)


async def _lock_class_only(connection: Any, access: Any, class_id: Any, claims: Any) -> Any:
    found, holders = await _claimed(connection, access, claims), await _holders(connection, access, claims)
    return lock.LockedClass(await lock.lock_class(connection, access, class_id), found, True, None, holders)


async def _read_facts_and_then_lock(connection: Any, access: Any, class_id: Any, claims: Any) -> Any:
    found, members = await _claimed(connection, access, claims), [each.row_id for each in claims]
    situation = await lock.find_class(connection, access, class_id)
    if situation is None:
        return lock.LockedClass(None, found, False)
    people = await facts.look_at_people(connection, access, situation, members, depth=0)
    situation = await lock.lock_class(connection, access, class_id)
    await lock.lock_members(connection, access, class_id, members)
    return lock.LockedClass(situation, found, True, people)


async def _book_without_the_key(connection: Any, access: Any, class_id: Any, claims: Any) -> Any:
    return await lock_to_book(connection, access, class_id, [each._replace(key=None) for each in claims])


async def _cancel_without_the_key(connection: Any, access: Any, class_id: Any, claims: Any) -> Any:
    return await lock_to_cancel(connection, access, class_id, [each._replace(key=None) for each in claims])


async def _record_without_the_key(connection: Any, access: Any, classes: Any, new: Any) -> Any:
    bookings = [each._replace(once=None) for each in new.bookings]
    return await record_bookings(connection, access, classes, new._replace(bookings=bookings))


async def _record_cancellations_without_the_key(connection: Any, access: Any, cancellations: Any, _success: Any) -> Any:
    await record_cancellations(connection, access, [each._replace(once=None) for each in cancellations])


async def _remember_later(execution: Any, asked: Any, _short_waits_until: Any) -> Any:
    """Commit the effects first, and their keys in a separate transaction."""
    bare = [each._replace(context=each.context._replace(once=None)) for each in asked]
    async with execution.database.transaction() as connection:
        fates = await execution.together(connection, bare)
    await asyncio.sleep(KEYS_LATER_SECONDS)
    async with execution.database.transaction() as connection:
        for (context, _), fate in zip(asked, fates, strict=True):
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


async def _share_one_fate(execution: Any, asked: Any, *further: Any) -> Any:
    fates = await execute_batch(execution, asked, *further)
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


async def _execute_at_once(_transactions: Any, _row: Any, run: Any, _share: Any, request: Any) -> Any:
    return await batches.execute_alone(run, request)


def _no_headers(*_: object) -> list[Any]:
    return []


def _leave_at_once(*_: object, **__: object) -> None:
    os._exit(0)


async def _share_nothing(_execution: Any, asked: Any) -> Any:
    return [shared_transactions.TO_EXECUTE_ALONE] * len(asked)


# With a mistake in what executes one request, all are executed that way.
NOTHING_SHARED = (shared.SharedExecution, "__call__", _share_nothing)

MUTATIONS: dict[str, list[tuple[Any, str, Function]]] = {
    "class lock skipped": [
        NOTHING_SHARED,
        (lock, "lock_class", lock.find_class),
        (lock, "lock_to_book", _find_class_only),
        (lock, "lock_to_cancel", _find_class_only),
    ],
    "member lock skipped": [
        NOTHING_SHARED,
        (lock, "lock_members", _nothing),
        (lock, "lock_to_book", _lock_class_only),
        (lock, "lock_to_cancel", _lock_class_only),
    ],
    "facts read before the lock": [NOTHING_SHARED, (lock, "lock_to_book", _read_facts_and_then_lock)],
    "key not claimed": [
        NOTHING_SHARED,
        (idempotency, "claim", _nothing),
        (idempotency, "remember_all", _nothing),
        (lock, "lock_to_book", _book_without_the_key),
        (create, "record_bookings", _record_without_the_key),
        (lock, "lock_to_cancel", _cancel_without_the_key),
        (cancel_booking, "record_cancellations", _record_cancellations_without_the_key),
        (batch, "identity", lambda context: ("", str(id(context)))),
    ],
    "key remembered later": [NOTHING_SHARED, (batch.Execution, "_in_one_transaction", _remember_later)],
    "parameters not compared": [(batch, "replay", _replay_to_anybody), (batch, "_repeated", _repeat_to_anybody)],
    "parameters not compared in a batch": [(batch, "_repeated", _repeat_to_anybody)],
    "answer rendered anew": [(batch, "replay", _render_anew), (batch, "_repeated", _repeat_anew)],
    "fate shared": [NOTHING_SHARED, (batch.Execution, "__call__", _share_one_fate)],
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
        (batches.WaitingRequests, "_give_up", _never),
    ],
    "connections without bound": [
        (database.Database, "acquire", _never_wait),
        (shared_transactions.SharedTransactions, "submit", _execute_at_once),
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
