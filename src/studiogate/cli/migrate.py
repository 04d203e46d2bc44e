"""studiogate migrate."""

from typing import Annotated

import typer

from studiogate.cli.context import AsJson, DataFolder, on_database, print_json, screen
from studiogate.storage.db import migrate


def run_migrations(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be applied.")] = False,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Bring the database's schema up to date."""
    work = migrate.pending if dry_run else migrate.migrate
    applied = on_database(data, work, migrated=False)
    if as_json:
        print_json({"dry_run": dry_run, "migrations": [f"{each.version}_{each.name}" for each in applied]})
        return
    for each in applied:
        screen.print(f"{'pending' if dry_run else 'applied'}  {each.version}_{each.name}")
    if not applied:
        screen.print("The schema is up to date.")
