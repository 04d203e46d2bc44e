"""The API process for faults inside batches, with or without a mutation. The product does not use this file.

It waits long for everything, except that a statement that waits for a row ends by ``statement_timeout`` instead of by
``lock_timeout``, which is shorter as shipped. While such a statement delays a class, requests leave its queue before
their clients give up: otherwise each would be executed for a client that has gone, and nobody would see a refusal.
"""

from studiogate.flows.bookings import scheduler
from studiogate.server import api_process
from studiogate.storage.db import pool
from tests.support import long_timeouts_api
from tests.support.races import mutants
from tests.support.races.client import TIMEOUT_SECONDS

STATEMENT_SECONDS = 2

if __name__ == "__main__":
    mutants.install()
    long_timeouts_api.wait_long()
    scheduler.MAX_WAIT_SECONDS = TIMEOUT_SECONDS / 2
    pool.SESSION["statement_timeout"] = f"{STATEMENT_SECONDS}s"
    api_process.main()
