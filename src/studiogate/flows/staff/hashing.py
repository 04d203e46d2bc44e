"""Hash and verify passwords with argon2id, in a few threads of their own.

One hash takes some 50 ms of a core and 19 MiB of memory, so the event loop must not wait for it and not many may run at
once. Requests beyond a short queue are refused as overload.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import BoundedSemaphore
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from studiogate.domain.staff.passwords import typed_password
from studiogate.storage.db.pool import OverloadedError

Result = TypeVar("Result")
THREADS = 2
AT_ONCE = 20  # running and waiting, per process: the last of them waits for about half a second
HASHER = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)  # the parameters that OWASP recommends
# The hash of some text, with the parameters above. It is verified where there is no account or no password, so that
# the time that a failed attempt takes does not tell which accounts exist.
NOBODY = "$argon2id$v=19$m=19456,t=2,p=1$deQs9Nc7FV9AnVdLxpWLBg$PNn5P/W7YhS0cFRcXa8w5TxeScd/HBSVvcfWm91tx9Q"
_threads = ThreadPoolExecutor(THREADS, "password")
_places = BoundedSemaphore(AT_ONCE)


async def hash_password(password: str) -> str:
    """Return what is stored of a password that has passed the policy."""
    typed = typed_password(password)
    if typed is None:
        raise ValueError("a password must pass the policy before it is hashed")
    return await in_a_thread(lambda: HASHER.hash(typed))


async def is_password(stored: str | None, password: str) -> bool:
    """Return whether the password is the stored one. It costs the same if nothing is stored."""
    typed = typed_password(password)
    matches = await in_a_thread(lambda: _matches(stored or NOBODY, typed or ""))
    return matches and stored is not None and typed is not None


async def rehashed(stored: str, password: str) -> str:
    """Return the hash to store for a correct password: a new one if the parameters have changed since."""
    return await hash_password(password) if HASHER.check_needs_rehash(stored) else stored


def _matches(stored: str, typed: str) -> bool:
    try:
        return HASHER.verify(stored, typed)
    except (VerificationError, InvalidHashError):
        return False


async def in_a_thread(work: Callable[[], Result]) -> Result:
    """Do what costs as much as hashing; at most AT_ONCE at the same time."""
    if not _places.acquire(blocking=False):
        raise OverloadedError("too many passwords are being checked")
    running = _threads.submit(work)
    # Not by the work itself: what is cancelled while it waits for a thread never runs.
    running.add_done_callback(lambda _done: _places.release())
    return await asyncio.wrap_future(running)
