"""The checks that `doctor` makes on the database and on uploaded files."""

from collections.abc import AsyncIterator, Coroutine, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import groupby, islice
from typing import Literal, NamedTuple
from zoneinfo import ZoneInfoNotFoundError

from studiogate import clock
from studiogate.domain.access import Access, operator_access
from studiogate.storage import backup, event_numbering, housekeeping, invariants, queue_metrics, record_invariants
from studiogate.storage import doctor as storage
from studiogate.storage.db import failures, health, migrate
from studiogate.storage.db.pool import Connection
from studiogate.storage.forms import uploads
from studiogate.storage.upload_store import UploadStore
from studiogate.storage.webhooks import claims

OLDEST_POSTGRES = 150_000
CLOCK_SECONDS = 2.0
QUEUE_SECONDS = 60.0
# Longer than a recipient's server puts off mails of senders that it does not know.
MAIL_SECONDS = 1800.0
OLDEST_BACKUP = timedelta(days=8)  # one a week, with a day to notice that it failed
FILES_AT_ONCE = 500
FILES_SHOWN = 5
INVARIANTS = (
    *invariants.INVARIANTS,
    *record_invariants.SERIES,
    *record_invariants.STAFF,
    *record_invariants.PEOPLE,
    *record_invariants.AUDIT,
    *record_invariants.INVARIANTS,
)


@dataclass(frozen=True, slots=True)
class Finding:
    level: Literal["ok", "warning", "fault"]
    subject: str
    text: str


async def examine(connection: Connection) -> list[Finding]:
    findings = [
        *await checked(connection, "database", _server(connection)),
        *await checked(connection, "writes", _writable(connection)),
        *await checked(connection, "clock", _clock(connection)),
    ]
    schema = await checked(connection, "migrations", _schema(connection))
    findings += schema
    if all(finding.level == "ok" for finding in schema):
        findings += await checked(connection, "queue", _queue(connection))
        findings += await checked(connection, "mails", _mails(connection))
        findings += await checked(connection, "backup", _backup(connection))
        for invariant in INVARIANTS:
            findings += await checked(connection, invariant.name, _holds(connection, invariant))
    return findings


async def checked(
    connection: Connection, subject: str, check: Coroutine[None, None, Finding | list[Finding]]
) -> list[Finding]:
    """Return what a check finds. If it fails, that is its finding, so that the other checks still run."""
    if connection.is_closed():  # The check that lost it has said so.
        check.close()
        return []
    try:
        found = await check
    except Exception as error:
        return [failed(subject, error, lost=connection.is_closed())]
    return found if isinstance(found, list) else [found]


def failed(subject: str, error: Exception, *, lost: bool = False) -> Finding:
    """Return the finding of a check that failed: why, and what to do."""
    unquoted = error.args[0] if isinstance(error, ZoneInfoNotFoundError) else error
    reason = (str(unquoted) or type(error).__name__).removesuffix(".")
    return Finding("fault", subject, f"cannot be checked: {reason}. {_advice(error, lost)}")


def _advice(error: Exception, lost: bool) -> str:
    if lost:
        return "The connection is lost, the other checks were not made: see that the server runs."
    if isinstance(error, ZoneInfoNotFoundError):
        return "Install its rules (package tzdata), or correct the column timezone of its location in the database."
    if isinstance(error, OSError):
        return "Run `studiogate doctor` as the user that owns the data folder, or as root."
    return failures.advice_on_damage(error) or "Correct that, then run `studiogate doctor` again."


async def _server(connection: Connection) -> Finding:
    number, text = await storage.server_version(connection)
    if number < OLDEST_POSTGRES:
        return Finding("fault", "database", f"PostgreSQL {text}: use version 15 or newer.")
    return Finding("ok", "database", f"PostgreSQL {text}")


async def _writable(connection: Connection) -> Finding:
    if await health.is_standby(connection):
        text = "the server is a standby: point STUDIOGATE_DATABASE_URL to the primary, or name all hosts in it."
        return Finding("fault", "writes", text)
    if await health.is_read_only(connection):
        text = "the server is read-only: find out why, then set default_transaction_read_only = off on it."
        return Finding("fault", "writes", text)
    return Finding("ok", "writes", "the server takes writes")


async def _clock(connection: Connection) -> Finding:
    before = clock.now()
    theirs = await storage.server_clock(connection)
    apart = abs((theirs - before).total_seconds())
    if apart > CLOCK_SECONDS:
        return Finding("warning", "clock", f"{apart:.1f} s apart from the database's: synchronize both machines (NTP).")
    return Finding("ok", "clock", f"{apart:.2f} s apart from the database's")


async def examine_log(connection: Connection) -> Finding:
    """Check the server's log settings; separate from ``examine`` because it is not about the stored data."""
    found = await storage.log_settings(connection)
    advice = [] if found["log_error_verbosity"] == "terse" else ["log_error_verbosity = terse"]
    logs_statements = found["log_statement"] != "none" or found["log_min_duration_statement"] != "-1"
    if logs_statements and found["log_parameter_max_length"] != "0":
        advice.append("log_parameter_max_length = 0")
    if advice:
        text = f"PostgreSQL's own log can hold people's data: set {' and '.join(advice)} on the server."
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
    waiting = [await event_numbering.oldest_unnumbered(connection), await claims.oldest_due(connection)]
    oldest = min((since for since in waiting if since is not None), default=None)
    lag = 0.0 if oldest is None else (clock.now() - oldest).total_seconds()
    if lag > QUEUE_SECONDS:
        return Finding(
            "warning", "queue", f"events or webhooks have waited for {lag:.0f} s: is `studiogate worker` on?"
        )
    return Finding("ok", "queue", "events and webhooks are not waiting")


async def _mails(connection: Connection) -> Finding:
    found = await queue_metrics.mail_trouble(connection)
    lag = 0.0 if found.oldest is None else (clock.now() - found.oldest).total_seconds()
    problem = f" ({found.problem})" if found.problem else ""
    if lag > MAIL_SECONDS:
        text = f"{found.waiting} wait to be sent, the oldest for {lag:.0f} s{problem}"
        return Finding("warning", "mails", text + ": check STUDIOGATE_SMTP_URL, and that `studiogate worker` is on.")
    if found.failed:
        text = f"{found.failed} could not be sent within the last day{problem}: the worker's log has their ids."
        return Finding("warning", "mails", text)
    if found.late:
        text = f"{found.late} to members were dropped within the last day because they came too late"
        return Finding("warning", "mails", text + ": `studiogate mail list --studio SLUG` names them.")
    return Finding("ok", "mails", "none waits for long, has failed or came too late")


async def _backup(connection: Connection) -> Finding:
    """Return when the newest backup was taken of which is known that it can be restored."""
    if (taken_at := await backup.newest_proven(connection)) is None:
        return Finding("ok", "backup", "none has been proven yet: `studiogate backup --verify` restores it on trial")
    text = f"the newest that is proven to restore was taken on {taken_at:%Y-%m-%d at %H:%M} UTC"
    if clock.now() - taken_at > OLDEST_BACKUP:
        return Finding("warning", "backup", text + ": run `studiogate backup --verify`, best on a schedule.")
    return Finding("ok", "backup", text)


async def _holds(connection: Connection, invariant: storage.Invariant) -> list[Finding]:
    """Check an invariant that SQL can express; return one finding per violating row, or one that it holds."""
    found = await storage.violations(connection, invariant)
    broken = [Finding(invariant.level, invariant.name, violation) for violation in found]
    return broken or [Finding("ok", invariant.name, invariant.holds)]


async def examine_files(connection: Connection, folder: UploadStore) -> Finding:
    """Compare the rows of uploads with the files in this machine's folder, or in the bucket."""
    folder.check()
    missing = [file async for file in _missing_files(connection, folder)]
    if lost := [file.name for file in missing if file.place in (None, folder.place)]:
        text = f"{len(lost)} uploaded files are not in {folder} ({_first(lost)}): restore them from a backup"
        return Finding("fault", "uploads", text + ", or run doctor on the machine that received them.")
    if missing:
        places = ", ".join(sorted({str(file.place) for file in missing}))
        text = f"{len(missing)} uploaded files are not in {folder}, but in {places}: run doctor there"
        return Finding(
            "warning", "uploads", text + ", or `studiogate uploads move` to a place that all machines share."
        )
    orphans = [name async for name in _orphans(connection, folder)]
    if orphans:
        text = f"{len(orphans)} files in {folder} belong to no upload ({_first(orphans)})"
        return Finding("warning", "uploads", text + ": remove them unless the database is older than the folder.")
    return Finding("ok", "uploads", "every upload has its file, every file its upload")


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:FILES_SHOWN]) + (", …" if len(names) > FILES_SHOWN else "")


class MissingFile(NamedTuple):
    name: str
    place: str | None


async def _missing_files(connection: Connection, folder: UploadStore) -> AsyncIterator[MissingFile]:
    for studio_id in await housekeeping.studios_with(connection, "files"):
        access, after, there = operator_access(studio_id), "", folder.names(studio_id)
        while page := await uploads.page_of_files(connection, access, after, FILES_AT_ONCE):
            for file in await missing_files(connection, access, folder, [name for name in page if name not in there]):
                yield file
            after = page[-1]


async def missing_files(
    connection: Connection, access: Access, folder: UploadStore, page: Sequence[str]
) -> list[MissingFile]:
    """Return the missing files of these uploads, except those that housekeeping has removed with their rows."""
    missing = [name for name in page if not folder.has(access.studio_id, name)]
    known = await uploads.known_files(connection, access, missing) if missing else {}
    return [MissingFile(name, place) for name, place in sorted(known.items())]


async def _orphans(connection: Connection, folder: UploadStore) -> AsyncIterator[str]:
    for studio_id, files in groupby(folder.files(), key=lambda file: file[0]):
        names = (name for _, name in files)
        while batch := list(islice(names, FILES_AT_ONCE)):
            known = await uploads.known_files(connection, operator_access(studio_id), batch)
            for name in batch:
                if name not in known:
                    yield name
