"""The CLI: every command, and the one place where an error becomes a message and an exit status."""

import errno
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version
from inspect import signature
from typing import Annotated

import typer
import typer.exceptions

from studiogate.cli import context
from studiogate.cli.context import CommandError, complaints, print_error
from studiogate.domain.names import visible_text
from studiogate.server.postgres.embedded import EmbeddedPostgresError
from studiogate.server.service_account import AccountError
from studiogate.server.stop_signals import StopRequestedError
from studiogate.settings import SettingsError
from studiogate.storage.db import pool
from studiogate.storage.db.migrate import MigrationError
from studiogate.storage.private_file import OutputError
from studiogate.storage.upload_store import FilesUnavailableError

# Every command: where its function or its group is, and how `studiogate --help` describes it, without importing it.
COMMANDS: dict[str, dict[str, tuple[str, str]]] = context.TEXTS["commands"]
PLACES = {name: place for panel in COMMANDS.values() for name, (place, _) in panel.items()}
COMPLETING = "_STUDIOGATE_COMPLETE"  # set by the completion of a shell, with what was typed so far in another variable

# Disks and devices that take no more.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Errors that the user can fix; anything else is a bug of ours and shows its traceback.
EXPECTED = (
    CommandError,
    SettingsError,
    EmbeddedPostgresError,
    AccountError,
    pool.DatabaseUnavailableError,
    pool.TransactionConflictError,
    MigrationError,
    FilesUnavailableError,
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"studiogate {version('studiogate')}")
        raise typer.Exit


def commands(arguments: Sequence[str] | None = None) -> typer.Typer:
    """Return an application with all commands. With ``arguments``, only the one that they name can be run: the modules
    of the others, which take half of the start-up time of `up`, are not imported."""
    app = typer.Typer(
        name="studiogate",
        help="Studiogate: the partner API of a fitness studio, and the console of its staff.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    app.callback()(_several_commands)
    wanted = None if arguments is None else next((each for each in arguments if not each.startswith("-")), "")
    for panel, entries in COMMANDS.items():
        for name, (place, text) in entries.items():
            if wanted in (None, name):
                _add(app, name, place, text, panel)
            elif wanted not in PLACES:
                app.command(name, help=text, rich_help_panel=panel)(_not_imported)
    return app


def _not_imported() -> None:
    raise AssertionError("a command that is run was imported")


def _typed() -> list[str]:
    """Return the words of the command line: those that were typed so far, if a shell asks how they could go on."""
    if COMPLETING not in os.environ:
        return sys.argv[1:]
    typed = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")
    words = typed.split()[1:]
    return words if len(words) > 1 or typed[-1:].isspace() else []


def _several_commands(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Studiogate: the partner API of a fitness studio, and the console of its staff."""


def _add(app: typer.Typer, name: str, place: str, text: str, panel: str) -> None:
    module, _, attribute = place.partition(":")
    command = getattr(import_module(f"studiogate.cli.{module}"), attribute)
    if not callable(command):
        app.add_typer(command.app, name=name, help=text, rich_help_panel=panel)
        return
    if "call" in signature(command).parameters:
        command = import_module("studiogate.cli.commands").declared(command)
    app.command(name, cls=context.Command, rich_help_panel=panel)(command)


def main(all_is_imported: Callable[[], None] = lambda: None) -> None:
    """Run the requested command; ``all_is_imported`` is called once that is imported."""
    app = commands(_typed())
    all_is_imported()
    try:
        for number, argument in enumerate(sys.argv[1:], 1):
            # Python turns bytes that are not text into characters that nothing can store or print.
            if any("\ud800" <= each <= "\udfff" for each in argument):
                raise CommandError(f"Argument {number} is not valid UTF-8: {visible_text(argument)}. Type it again.")
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
        import_module("typer.rich_utils").rich_format_error(error)
        if "--json" in sys.argv:
            context.print_json_error("wrong_usage", error.format_message())
        sys.exit(error.exit_code)
    except typer.Abort:
        complaints.print("Aborted. Nothing was done.")
        sys.exit(1)
    sys.exit(status or 0)


def _end_after(error: OSError) -> None:
    """Say which file cannot be used, or that an output takes no more. Any other error is a bug of ours."""
    if error.errno in FULL:
        _end_without_output(OutputError(error.filename or context.STANDARD_OUTPUT, error))
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
    if isinstance(error, pool.UnknownOutcomeError):
        return context.lost_database(error)
    if type(error) not in (pool.DatabaseUnavailableError, pool.NotConnectedYetError):
        return error
    reason = str(error).removesuffix(".")
    advice = "Check STUDIOGATE_DATABASE_URL, or run `studiogate doctor`."
    return CommandError(f"The database cannot be reached: {reason}. {advice}")
