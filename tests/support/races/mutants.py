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
from studiogate.flows import idempotency as idempotent
from studiogate.flows.bookings import cancel, promote
from studiogate.server import api_process
from studiogate.storage import idempotency
from studiogate.storage.bookings import cancel as cancel_booking
from studiogate.storage.bookings import create, lock
from studiogate.storage.db import load_shedding
from studiogate.storage.db import pool as database
from tests.support import patient_api

VARIABLE = "TEST_MUTATION"
Function = Callable[..., Any]
plan_promotions, release = promote.plan_promotions, database.Database.release
matching_secret, look_up = keys._matching, access.Authenticator._look_up
lock_class_and_member, record_booking = lock.lock_class_and_member, create.record_booking
lock_booking, record_leaving = lock.lock_booking, cancel_booking.record_leaving
releases = count(1)


async def _nothing(*_: object, **__: object) -> None:
    pass


async def _find_class_and_leave_the_member(
    connection: Any, access: Any, class_id: Any, _member_id: Any, key: Any
) -> Any:
    first = await idempotency.claim(connection, access, key)
    situation = await lock.find_class(connection, access, class_id)
    return first or (None if situation is None else lock.Locked(situation, False))


async def _lock_class_and_no_member(connection: Any, access: Any, class_id: Any, _member_id: Any, key: Any) -> Any:
    first = await idempotency.claim(connection, access, key)
    situation = await lock.lock_class(connection, access, class_id)
    return first or (None if situation is None else lock.Locked(situation, True))


async def _find_booking_and_leave_the_member(connection: Any, access: Any, booking_id: Any, key: Any) -> Any:
    first = await idempotency.claim(connection, access, key)
    found = await lock.find_class_of_booking(connection, access, booking_id)
    return first or (None if found is None else lock.LockedBooking(*found, False))


async def _lock_booking_and_no_member(connection: Any, access: Any, booking_id: Any, key: Any) -> Any:
    first = await idempotency.claim(connection, access, key)
    found = await lock.lock_class_of_booking(connection, access, booking_id)
    return first or (None if found is None else lock.LockedBooking(*found, not found[0].class_.waitlist_count))


async def _lock_booking_without_the_key(connection: Any, access: Any, booking_id: Any, _key: Any) -> Any:
    return await lock_booking(connection, access, booking_id, None)


async def _lock_without_the_key(connection: Any, access: Any, class_id: Any, member_id: Any, _key: Any) -> Any:
    return await lock_class_and_member(connection, access, class_id, member_id, None)


async def _record_without_the_key(*arguments: Any) -> Any:
    *others, _once, _status = arguments
    return await record_booking(*others, None, None)


async def _record_leaving_without_the_key(*arguments: Any) -> Any:
    *others, _once, _status = arguments
    await record_leaving(*others, None, None)


async def _remember_later(database_: Any, access: Any, once_: Any, work: Any, render: Any, visible: Any) -> Any:
    """Commit the effect first, and its key in a separate transaction."""
    async with database_.transaction() as connection:
        reply = render(
            await (work.work(connection, None) if isinstance(work, idempotent.Claiming) else work(connection))
        )
    await asyncio.sleep(0.01)
    async with database_.transaction() as connection:
        first = await idempotency.claim(connection, access, once_.key)
        if first is None:
            await idempotency.remember(connection, access, once_, reply.status, reply.body)
    return idempotent.Executed(reply.status, reply.body, replayed=False)


async def _replay_to_anybody(
    _connection: Any, _once: Any, first: Any, _render: Any, _visible: Any
) -> idempotent.Executed:
    return idempotent.Executed(first.status, first.body, replayed=True)


async def _render_anew(_connection: Any, _once: Any, first: Any, _render: Any, _visible: Any) -> idempotent.Executed:
    """Replay as if the response had been stored as jsonb, which does not preserve its bytes."""
    return idempotent.Executed(first.status, first.body.replace(b",", b", "), replayed=True)


def _no_promotions(*_: object) -> list[Any]:
    return []


def _last_come_first_served(class_: Any, policy: Any, entries: Any, spots: Any, now: Any) -> Any:
    turned = sorted(entries, key=lambda entry: entry.position, reverse=True)
    renumbered = [entry._replace(position=place) for place, entry in enumerate(turned, start=1)]
    return plan_promotions(class_, policy, renumbered, spots, now)


def _never(*_: object) -> bool:
    return False


def _leak_some(pool: database.Database, connection: database.Connection) -> None:
    if next(releases) % 5:
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


def _no_headers(*_: object) -> list[Any]:
    return []


def _leave_at_once(*_: object, **__: object) -> None:
    os._exit(0)


MUTATIONS: dict[str, list[tuple[Any, str, Function]]] = {
    "class lock skipped": [
        (lock, "lock_class", lock.find_class),
        (lock, "lock_class_and_member", _find_class_and_leave_the_member),
        (lock, "lock_booking", _find_booking_and_leave_the_member),
    ],
    "member lock skipped": [
        (lock, "lock_members", _nothing),
        (lock, "lock_class_and_member", _lock_class_and_no_member),
        (lock, "lock_booking", _lock_booking_and_no_member),
    ],
    "key not claimed": [
        (idempotency, "claim", _nothing),
        (idempotency, "remember", _nothing),
        (lock, "lock_class_and_member", _lock_without_the_key),
        (create, "record_booking", _record_without_the_key),
        (lock, "lock_booking", _lock_booking_without_the_key),
        (cancel_booking, "record_leaving", _record_leaving_without_the_key),
    ],
    "key remembered later": [(idempotent, "_in_one_transaction", _remember_later)],
    "parameters not compared": [(idempotent, "_replay", _replay_to_anybody)],
    "answer rendered anew": [(idempotent, "_replay", _render_anew)],
    "promotion skipped": [
        (promote, "plan_promotions", _no_promotions),
        (cancel, "plan_promotions", _no_promotions),
    ],
    "promotion postponed": [(cancel, "plan_promotions", _no_promotions)],
    "waitlist turned round": [
        (promote, "plan_promotions", _last_come_first_served),
        (cancel, "plan_promotions", _last_come_first_served),
    ],
    "old secret ended at once": [(keys, "_matching", _newest_secret_only)],
    "new secret not looked up": [(access.Authenticator, "_look_up", _believe_the_cache)],
    "old secret never ended": [(keys, "_past", _never)],
    "connections leaked": [(database.Database, "release", _leak_some)],
    "lines without end": [
        (load_shedding.Pace, "is_in_vain", _never),
        (database.Database, "_wait_for_turn", _wait_without_end),
    ],
    "connections without bound": [(database.Database, "acquire", _never_wait)],
    "told no time": [(errors, "_headers_of", _no_headers)],
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
        patient_api.wait_long()
    if in_force() == COMMIT_NOT_AWAITED:
        database.SESSION["synchronous_commit"] = "off"


if __name__ == "__main__":
    install()
    api_process.main()
