"""The API process with waits so long that they never end on a slow machine. The product does not use this file.

The shipped limits refuse a request after a few seconds of waiting for a lock, a statement or a connection. A machine
that is busy reaches them without any fault of the service, so races run without them: what is refused, and when, is no
part of what they verify. The tests of crashes, of overload and of the limits themselves run with the shipped ones.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from studiogate.flows.bookings import scheduler
from studiogate.server import api_process
from studiogate.storage.db import load_shedding, pool, servers

WAIT_SECONDS = 60.0
LIMITS = (
    (pool, "ACQUIRE_SECONDS"),
    (servers, "CONNECT_SECONDS"),
    (scheduler, "MAX_WAIT_SECONDS"),
    (load_shedding, "MAX_WAIT_SECONDS"),
)
SHIPPED = [getattr(*limit) for limit in LIMITS]
SESSION_LIMITS = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
SHIPPED_SESSION = {name: pool.SESSION[name] for name in SESSION_LIMITS}


def wait_long() -> None:
    for module, name in LIMITS:
        setattr(module, name, WAIT_SECONDS)
    for name in SESSION_LIMITS:
        pool.SESSION[name] = f"{WAIT_SECONDS:.0f}s"


@contextmanager
def shipped_limits() -> Iterator[None]:
    """Let what is opened in this process during the block wait as long as the product does."""
    for (module, name), value in zip(LIMITS, SHIPPED, strict=True):
        setattr(module, name, value)
    pool.SESSION.update(SHIPPED_SESSION)
    try:
        yield
    finally:
        wait_long()


def pytest_configure() -> None:
    """The tests themselves do the same: a busy machine may need longer than the shipped limits. The tests of these
    limits have a marker."""
    wait_long()


@pytest.fixture(autouse=True)
def limits(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.node.get_closest_marker("shipped_limits") is None:
        yield
    else:
        with shipped_limits():
            yield


if __name__ == "__main__":
    wait_long()
    api_process.main()
