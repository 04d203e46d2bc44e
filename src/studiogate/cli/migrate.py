"""studiogate migrate."""

from functools import partial
from typing import Annotated

import typer

from studiogate.cli.context import AsJson, DataFolder, complaints, on_database, print_json, screen
from studiogate.storage.db import migrate
from studiogate.storage.db.migrate import Migration


def run_migrations(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be applied.")] = False,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Bring the database's schema up to date, also while the release before is running."""
    work = migrate.pending if dry_run else partial(migrate.migrate, report=show_progress)
    applied = on_database(data, work, migrated=False)
    if as_json:
        print_json({"dry_run": dry_run, "migrations": [f"{each.version}_{each.name}" for each in applied]})
        return
    for each in applied:
        screen.print(f"{'pending' if dry_run else 'applied'}  {each.version}_{each.name}")
    if not applied:
        screen.print("The schema is up to date.")


def show_progress(migration: Migration, step: int, waits_for: str | None) -> None:
    """Print, on standard error, which step is next, and why it is tried again."""
    steps = len(migration.steps)
    part = f", step {step} of {steps}" if steps > 1 else ""
    reason = f": tried again ({waits_for})" if waits_for else ""
    complaints.print(f"migration {migration.version}_{migration.name}{part}{reason}", soft_wrap=True)
