"""The CLI: every command, and the one place where an error becomes a message and an exit status."""

import errno
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Annotated

import typer
import typer.exceptions

from studiogate.cli.context import (
    STANDARD_OUTPUT,
    CommandError,
    complaints,
    lost_database,
    print_error,
    print_json_error,
)
from studiogate.domain.names import visible_text
from studiogate.server.postgres.embedded import EmbeddedPostgresError
from studiogate.server.service_account import AccountError
from studiogate.server.stop_signals import StopRequestedError
from studiogate.settings import SettingsError
from studiogate.storage.db.migrate import MigrationError
from studiogate.storage.db.pool import DatabaseUnavailableError, TransactionConflictError, UnknownOutcomeError
from studiogate.storage.private_file import OutputError

# The location of each command: a function, or an application with several commands.
COMMANDS = {
    "up": "serve:up",
    "serve": "serve:serve",
    "worker": "worker:worker",
    "migrate": "migrate:run_migrations",
    "doctor": "doctor:doctor",
    "backup": "backup:back_up",
    "restore": "backup:restore",
    "import": "studio_file:import_file",
    "import-csv": "import_csv:import_rows",
    "export": "studio_file:export",
    "demo": "demo:load",
    "key": "keys:app",
    "form": "forms:app",
    "submission": "submissions:app",
    "class": "classes:app",
    "series": "series:app",
    "closure": "closures:app",
    "booking": "bookings:bookings",
    "waitlist": "bookings:waitlist",
    "purchase": "purchases:purchases",
    "fee": "purchases:fees",
    "events": "events:app",
    "webhook": "webhooks:app",
    "studio": "studios:app",
    "location": "locations:app",
    "room": "rooms:app",
    "class-type": "class_types:app",
    "instructor": "instructors:app",
    "product": "catalog:products",
    "price": "catalog:prices",
    "member": "people_rights:app",
    "membership": "memberships:app",
    "lead": "leads:app",
    "secrets": "secrets:app",
    "audit": "audit:app",
    "mail": "mails:app",
    "staff": "staff_accounts:app",
    "console": "staff_accounts:console",
}

# Disks and devices that take no more.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Errors that the user can fix; anything else is a bug of ours and shows its traceback.
EXPECTED = (
    CommandError,
    SettingsError,
    EmbeddedPostgresError,
    AccountError,
    DatabaseUnavailableError,
    TransactionConflictError,
    MigrationError,
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"studiogate {version('studiogate')}")
        raise typer.Exit


def commands(arguments: Sequence[str] = ()) -> typer.Typer:
    """Return an application with the requested command, or with all of them. The modules of the others are not
    imported: that would take half of the start-up time of `up`."""
    app = typer.Typer(
        name="studiogate",
        help="The partner interface of a fitness studio.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback()(_several_commands)
    for name in arguments[:1] if arguments[:1] and arguments[0] in COMMANDS else COMMANDS:
        _add(app, name)
    return app


def _several_commands(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """The partner interface of a fitness studio."""


def _add(app: typer.Typer, name: str) -> None:
    module, _, attribute = COMMANDS[name].partition(":")
    command = getattr(import_module(f"studiogate.cli.{module}"), attribute)
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=name)
    else:
        app.command(name)(command)


def _check_arguments(arguments: Sequence[str]) -> None:
    """Refuse bytes that are not text: Python turns them into characters that nothing can store or print."""
    for number, argument in enumerate(arguments, 1):
        if any("\ud800" <= each <= "\udfff" for each in argument):
            raise CommandError(f"Argument {number} is not valid UTF-8: {visible_text(argument)}. Type it again.")


def main(all_is_imported: Callable[[], None] = lambda: None) -> None:
    """Run the requested command; ``all_is_imported`` is called once that is imported."""
    app = commands(sys.argv[1:])
    all_is_imported()
    try:
        _check_arguments(sys.argv[1:])
        status = app(standalone_mode=False)
    except StopRequestedError as stopped:
        complaints.print(
            f"Stopped by {stopped}. What the command was doing may have been done: check, then repeat it.",
            soft_wrap=True,
        )
        sys.exit(128 + stopped.number)  # as shells report a process killed by the signal
    except OutputError as error:
        _end_without_output(error)
        sys.exit(1)
    except OSError as error:
        _end_after(error)
        sys.exit(1)
    except EXPECTED as error:
        print_error(_explained(error), "--json" in sys.argv)
        sys.exit(1)
    except typer.exceptions.TyperException as error:
        _show_wrong_usage(error)
        sys.exit(error.exit_code)
    except typer.Abort:
        complaints.print("Aborted. Nothing was done.")
        sys.exit(1)
    sys.exit(status or 0)


def _end_after(error: OSError) -> None:
    """Say which file cannot be used, or that an output takes no more. Any other error is a bug of ours."""
    if error.errno in FULL:
        _end_without_output(OutputError(error.filename or STANDARD_OUTPUT, error))
    elif error.filename is not None:
        advice = " Run the command as the user that owns it, or as root." if isinstance(error, PermissionError) else ""
        print_error(CommandError(f"{error.filename} cannot be used: {error.strerror}.{advice}"), "--json" in sys.argv)
    else:
        raise error


def _end_without_output(error: OutputError) -> None:
    """Say that the output cannot be written, unless its reader has seen enough."""
    if sys.stdout is not None:
        # Python writes what is left when it ends, which would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if not error.has_no_reader:
        print_error(error, as_json=False)


def _explained(error: Exception) -> Exception:
    """Return the error that is printed. One of a connection says only what the server or the network answered."""
    if isinstance(error, UnknownOutcomeError):
        return lost_database(error)
    if type(error) is not DatabaseUnavailableError:
        return error
    reason = str(error).removesuffix(".")
    advice = "Check STUDIOGATE_DATABASE_URL, or run `studiogate doctor`."
    return CommandError(f"The database cannot be reached: {reason}. {advice}")


def _show_wrong_usage(error: typer.exceptions.TyperException) -> None:
    """Print how the command is used and what was wrong, with ``--json`` also as JSON like any other error."""
    import_module("typer.rich_utils").rich_format_error(error)
    if "--json" in sys.argv:
        print_json_error("wrong_usage", error.format_message())
