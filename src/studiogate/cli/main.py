"""The keyboard: every command, and the one place where an error becomes a line and an exit status."""

import sys

import typer

from studiogate.cli import demo_studio, events, form_links, keys, serve, staff, studio_file, upkeep
from studiogate.cli.context import CommandError, complaints
from studiogate.flows.keys import KeyProblemError
from studiogate.settings import SettingsError
from studiogate.storage.database import DatabaseUnavailableError, TransactionConflictError
from studiogate.storage.embedded import EmbeddedPostgresError
from studiogate.storage.migrate import MigrationError

app = typer.Typer(
    name="studiogate",
    help="The partner interface of a fitness studio.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(serve.up)
app.command()(serve.serve)
app.command()(serve.worker)
app.command("migrate")(upkeep.run_migrations)
app.command()(upkeep.doctor)
app.command("import")(studio_file.import_file)
app.command("export")(studio_file.export)
app.command("demo")(demo_studio.load)
app.add_typer(keys.app, name="key")
app.add_typer(form_links.app, name="form")
app.add_typer(staff.classes, name="class")
app.add_typer(staff.bookings, name="booking")
app.add_typer(events.app, name="events")

# What a person at the keyboard can mend; anything else is a fault of ours and shows its traceback.
EXPECTED = (
    CommandError,
    SettingsError,
    EmbeddedPostgresError,
    DatabaseUnavailableError,
    TransactionConflictError,
    MigrationError,
    KeyProblemError,
)


def main() -> None:
    try:
        app()
    except EXPECTED as error:
        complaints.print(f"[red]error:[/] {error}", soft_wrap=True)
        sys.exit(1)
