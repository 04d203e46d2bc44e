"""The API process with waits so long that they never end on a slow machine. The product does not use this file.

The shipped limits refuse a request after a few seconds of waiting for a lock, a statement or a connection. A machine
that is busy with other tests reaches them without any fault of the service, so everyday races run without them. The
batteries, and the tests of the limits themselves, run with the shipped ones.
"""

from studiogate.server import api_process
from studiogate.storage.db import class_queue, load_shedding, pool

LONG = 60.0


def wait_long() -> None:
    pool.ACQUIRE_SECONDS = class_queue.PATIENCE_SECONDS = load_shedding.PATIENCE_SECONDS = LONG
    for name in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"):
        pool.SESSION[name] = f"{LONG:.0f}s"


if __name__ == "__main__":
    wait_long()
    api_process.main()
