"""studiogate migrate and doctor: bring the database up to date, and check everything."""

import shutil
from dataclasses import asdict
from functools import partial
from typing import Annotated

import typer
from rich.text import Text

from studiogate import settings as configuration
from studiogate.cli.commands import Call
from studiogate.cli.context import complaints, counted, database_of, print_json, run, screen
from studiogate.cli.secrets import OTHER_KEY
from studiogate.domain.encryption import fingerprint
from studiogate.flows import doctor as doctor_flow
from studiogate.flows.doctor import Finding
from studiogate.runtime import upload_store
from studiogate.server.postgres.embedded import EmbeddedPostgresError
from studiogate.storage import secret_key
from studiogate.storage.db import migrate, pool
from studiogate.storage.db.migrate import Migration, Progress
from studiogate.storage.db.pool import Connection, DatabaseUnavailableError

COLOURS = {"ok": "green", "warning": "yellow", "fault": "red"}


def run_migrations(
    call: Call, dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be applied.")] = False
) -> None:
    """Bring the database's schema up to date, also while the release before is running."""
    work = migrate.pending if dry_run else partial(migrate.migrate, report=show_progress)
    applied: list[Migration] = call.on_database(work, migrated=False)
    names = [f"{each.version}_{each.name}" for each in applied]
    lines = [f"{'pending' if dry_run else 'applied'}  {name}" for name in names]
    call.show({"dry_run": dry_run, "migrations": names}, "\n".join(lines) or "The schema is up to date.")


def show_progress(progress: Progress) -> None:
    """Print, on standard error, which step is next or runs, how far it is, and why it is tried again."""
    migration, steps = progress.migration, len(progress.migration.steps)
    part = f", step {progress.step} of {steps}" if steps > 1 else ""
    facts = [f"{counted(progress.rows, 'row')} changed"] * bool(progress.rows)
    facts += [f"{progress.seconds} s"] * bool(progress.seconds)
    facts += [f"tried again ({progress.problem})"] * bool(progress.problem)
    name = f"migration {migration.version}_{migration.name} ({progress.number} of {progress.total})"
    complaints.print(f"{name}{part}{': ' * bool(facts)}{', '.join(facts)}", soft_wrap=True)


def doctor(call: Call) -> None:
    """Check database, migrations, clock, disk and every invariant; say what to do. A fault is exit status 1."""
    findings = examine(call.settings)
    if call.as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        print_findings(findings)
    if any(finding.level == "fault" for finding in findings):
        raise typer.Exit(1)


def print_findings(findings: list[Finding]) -> None:
    """Print one line per finding, in columns, then a line that counts them."""
    width = max(len(finding.subject) for finding in findings)
    for finding in findings:
        line = Text.assemble(
            (f"{finding.level:8}", COLOURS[finding.level]), f"{finding.subject:{width}}  {finding.text}"
        )
        screen.print(line, soft_wrap=True)
    faults, warnings = (sum(finding.level == level for finding in findings) for level in ("fault", "warning"))
    checks = counted(len({finding.subject for finding in findings}), "check")  # one check can find several faults
    found = f"{counted(faults, 'fault')}, {counted(warnings, 'warning')}." if faults or warnings else "all is well."
    screen.print(f"\n{checks}: {found}")


def examine(settings: configuration.Settings) -> list[Finding]:
    disk = _disk(settings)
    try:
        with database_of(settings) as dsn:
            return [*run(_examine(settings, dsn)), disk]
    except (DatabaseUnavailableError, EmbeddedPostgresError) as error:
        advice = "Check STUDIOGATE_DATABASE_URL and that the server runs." if settings.database_url else ""
        return [Finding("fault", "database", f"cannot be reached: {error} {advice}".strip()), disk]


async def _examine(settings: configuration.Settings, dsn: str) -> list[Finding]:
    connection: Connection = await pool.connect(dsn, standby=True)
    try:
        findings = await doctor_flow.examine(connection)
        if all(finding.level == "ok" for finding in findings if finding.subject == "migrations"):
            files = doctor_flow.examine_files(connection, upload_store(settings))
            findings += await doctor_flow.checked(connection, "uploads", files)
            findings += await doctor_flow.checked(connection, "secret key", _secret_key(connection, settings))
        return [*findings, *await doctor_flow.checked(connection, "server log", doctor_flow.examine_log(connection))]
    finally:
        await connection.close()


async def _secret_key(connection: Connection, settings: configuration.Settings) -> Finding:
    known = await secret_key.key_fingerprint(connection)
    if known is None:
        return Finding("ok", "secret key", "none is in use yet")
    try:
        keys = configuration.known_secret_keys(settings)
    except configuration.SettingsError as error:
        return Finding("fault", "secret key", str(error))
    if known in map(fingerprint, keys):
        return Finding("ok", "secret key", "the one that the database was set up with")
    return Finding("fault", "secret key", OTHER_KEY)


def _disk(settings: configuration.Settings) -> Finding:
    folder = settings.data_dir.absolute()
    try:
        while not folder.exists():
            folder = folder.parent
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return doctor_flow.failed("disk", error)
    text = f"{free / 1e9:.1f} GB free in {folder}"
    if free < 1e9:
        return Finding("fault" if free < 1e8 else "warning", "disk", text + ": make room or move the data folder.")
    return Finding("ok", "disk", text)
