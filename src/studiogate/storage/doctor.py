"""What ``doctor`` reads: violations of invariants, and the state of the server. Operators only: all studios."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from studiogate.storage.db.pool import Connection

SHOWN = 50
LOG_SETTINGS = ["log_error_verbosity", "log_min_duration_statement", "log_parameter_max_length", "log_statement"]


@dataclass(frozen=True, slots=True)
class Invariant:
    """An invariant. ``query`` selects one text per violation; what ``facts`` returns is its parameter. Housekeeping
    fixes a warning within a minute."""

    name: str
    holds: str
    query: str
    level: Literal["fault", "warning"] = "fault"
    facts: Callable[[Connection], Awaitable[str]] | None = None


def statement(promise: Invariant) -> str:
    """Return the statement that finds the first violations. They are materialized: a limit around the query itself
    makes PostgreSQL choose a plan that yields a first row soon. There is none where all is well, and in the data of one
    large studio that plan compares every row with every other one."""
    return f"with found(v) as materialized ({promise.query}) select v from found limit {SHOWN}"


async def violations(connection: Connection, promise: Invariant) -> list[str]:
    facts = () if promise.facts is None else (await promise.facts(connection),)
    rows = await connection.fetch(statement(promise), *facts)
    return [row["v"] for row in rows]


async def server_version(connection: Connection) -> tuple[int, str]:
    (row,) = await connection.fetch(
        "select current_setting('server_version_num')::integer as number, current_setting('server_version') as text"
    )
    return row["number"], row["text"]


async def server_clock(connection: Connection) -> datetime:
    instant: datetime = await connection.fetchval("select clock_timestamp()")
    return instant


async def log_settings(connection: Connection) -> dict[str, str]:
    """Return the settings that decide whether the server's log contains values of rows."""
    rows = await connection.fetch("select name, setting from pg_settings where name = any($1)", LOG_SETTINGS)
    return {row["name"]: row["setting"] for row in rows}
