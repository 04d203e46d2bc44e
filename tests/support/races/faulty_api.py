"""The API process for faults inside batches, with or without a mutation. The product does not use this file.

It waits long for everything, except that a statement that waits for a row ends by ``statement_timeout`` instead of by
``lock_timeout``, which is shorter as shipped.
"""

from studiogate.server import api_process
from studiogate.storage.db import pool
from tests.support import long_timeouts_api
from tests.support.races import mutants

STATEMENT_SECONDS = 2

if __name__ == "__main__":
    mutants.install()
    long_timeouts_api.wait_long()
    pool.SESSION["statement_timeout"] = f"{STATEMENT_SECONDS}s"
    api_process.main()
