"""Privileges on an embedded server that tests and benchmarks need beyond the service's role, which is no superuser."""

import asyncio
import os
import signal

import asyncpg

from studiogate.server.postgres.embedded import EmbeddedPostgres
from studiogate.server.postgres.programs import ACCESS, ACCESS_RULES
from studiogate.storage.db.service_role import NAME, ROLE

# To create a database per test, to insert rows that triggers and foreign keys forbid, to choose the victim of a
# deadlock, and to make a server log what it must not.
PARAMETERS = "session_replication_role, deadlock_timeout, log_error_verbosity, log_statement, log_parameter_max_length"
NEEDED = (f"alter role {ROLE} createdb", f"grant set on parameter {PARAMETERS} to {ROLE}")


def grant_to_tests(postgres: EmbeddedPostgres) -> None:
    """Allow superuser logins briefly, and grant the service's role the privileges that tests need."""
    _set_rules(postgres, "local all all trust")
    asyncio.run(_execute(postgres.dsn("postgres").replace(f"{ROLE}@", f"{NAME}@")))
    _set_rules(postgres, ACCESS)


def _set_rules(postgres: EmbeddedPostgres, rules: str) -> None:
    (postgres.cluster / ACCESS_RULES).write_text(rules + "\n")
    os.kill(int((postgres.cluster / "postmaster.pid").read_text().split("\n")[0]), signal.SIGHUP)


async def _execute(dsn: str) -> None:
    async with asyncio.timeout(30):
        while True:
            try:
                connection = await asyncpg.connect(dsn)
            except asyncpg.InvalidAuthorizationSpecificationError:  # The server has not reloaded its rules yet.
                await asyncio.sleep(0.01)
            else:
                break
    for statement in NEEDED:
        await connection.execute(statement)
    await connection.close()
