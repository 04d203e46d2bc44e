"""What `doctor` looks at in the database."""

from dataclasses import dataclass
from typing import Literal

from studiogate import clock
from studiogate.storage import events, invariants, migrate
from studiogate.storage.database import Connection
from studiogate.storage.webhooks import claims

OLDEST_POSTGRES = 150_000
CLOCK_SECONDS = 2.0
QUEUE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Finding:
    level: Literal["ok", "warning", "fault"]
    subject: str
    text: str


async def examine(connection: Connection) -> list[Finding]:
    findings = [await _server(connection), await _clock(connection)]
    schema = await _schema(connection)
    findings.append(schema)
    if schema.level == "ok":
        findings.append(await _queue(connection))
        findings += await _promises(connection)
    return findings


async def _server(connection: Connection) -> Finding:
    number, text = await invariants.server_version(connection)
    if number < OLDEST_POSTGRES:
        return Finding("fault", "database", f"PostgreSQL {text}: use version 15 or newer.")
    return Finding("ok", "database", f"PostgreSQL {text}")


async def _clock(connection: Connection) -> Finding:
    before = clock.now()
    theirs = await invariants.server_clock(connection)
    apart = abs((theirs - before).total_seconds())
    if apart > CLOCK_SECONDS:
        return Finding("warning", "clock", f"{apart:.1f} s apart from the database's: synchronize both machines (NTP).")
    return Finding("ok", "clock", f"{apart:.2f} s apart from the database's")


async def examine_log(connection: Connection) -> Finding:
    """Apart from the rest: it is about the server and not about what is kept there."""
    found = await invariants.log_settings(connection)
    mend = [] if found["log_error_verbosity"] == "terse" else ["log_error_verbosity = terse"]
    tells_statements = found["log_statement"] != "none" or found["log_min_duration_statement"] != "-1"
    if tells_statements and found["log_parameter_max_length"] != "0":
        mend.append("log_parameter_max_length = 0")
    if mend:
        text = f"PostgreSQL's own log can hold people's data: set {' and '.join(mend)} on the server."
        return Finding("warning", "server log", text)
    return Finding("ok", "server log", "without the values of rows and parameters")


async def _schema(connection: Connection) -> Finding:
    try:
        pending = await migrate.pending(connection)
    except migrate.MigrationError as error:
        return Finding("fault", "migrations", str(error))
    if pending:
        return Finding("fault", "migrations", f"{len(pending)} pending: run `studiogate migrate`.")
    return Finding("ok", "migrations", "all applied")


async def _queue(connection: Connection) -> Finding:
    waiting = [await events.oldest_unnumbered(connection), await claims.oldest_due(connection)]
    oldest = min((since for since in waiting if since is not None), default=None)
    lag = 0.0 if oldest is None else (clock.now() - oldest).total_seconds()
    if lag > QUEUE_SECONDS:
        return Finding(
            "warning", "queue", f"events or webhooks have waited for {lag:.0f} s: is `studiogate worker` on?"
        )
    return Finding("ok", "queue", "events and webhooks are not waiting")


async def _promises(connection: Connection) -> list[Finding]:
    """Every invariant that SQL can see, with each violation by its row."""
    findings = []
    for promise in invariants.PROMISES:
        violations = await invariants.violations(connection, promise)
        findings += [Finding(promise.level, promise.name, violation) for violation in violations]
        if not violations:
            findings.append(Finding("ok", promise.name, promise.holds))
    return findings
