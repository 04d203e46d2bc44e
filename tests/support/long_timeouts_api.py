"""The API process with waits so long that they never end on a slow machine. The product does not use this file.

The shipped limits refuse a request after a few seconds of waiting for a lock, a statement or a connection. A machine
that is busy reaches them without any fault of the service, so races run without them: what is refused, and when, is no
part of what they verify. The tests of crashes, of overload and of the limits themselves run with the shipped ones.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from studiogate.server import api_process
from studiogate.storage.db import class_queue, load_shedding, pool

WAIT_SECONDS = 60.0
LIMITS = ((pool, "ACQUIRE_SECONDS"), (class_queue, "MAXIMUM_WAIT_SECONDS"), (load_shedding, "MAXIMUM_WAIT_SECONDS"))
SESSION_LIMITS = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")


def wait_long() -> None:
    for module, name in LIMITS:
        setattr(module, name, WAIT_SECONDS)
    for name in SESSION_LIMITS:
        pool.SESSION[name] = f"{WAIT_SECONDS:.0f}s"


@contextmanager
def long_waits() -> Iterator[None]:
    """Let what is opened in this process during the block wait as long."""
    limits, session = [getattr(*limit) for limit in LIMITS], dict(pool.SESSION)
    wait_long()
    try:
        yield
    finally:
        for (module, name), value in zip(LIMITS, limits, strict=True):
            setattr(module, name, value)
        pool.SESSION.update(session)


if __name__ == "__main__":
    wait_long()
    api_process.main()
