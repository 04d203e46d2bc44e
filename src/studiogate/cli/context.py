"""What commands share: access to the database, one-line errors, and output."""

import asyncio
import errno
import getpass
import json
import sys
import tomllib
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, TypeVar
from uuid import UUID

import typer
import typer.exceptions
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table
from typer.core import TyperCommand

from studiogate import clock
from studiogate import settings as configuration
from studiogate.domain.access import OPERATOR, Access, operator_access
from studiogate.domain.ids import parse_id
from studiogate.domain.instants import instant_text
from studiogate.domain.names import visible_text
from studiogate.domain.refusals import Code, Refusal
from studiogate.server.postgres.embedded import running_postgres
from studiogate.server.postgres.programs import require_cluster
from studiogate.server.stop_signals import of_this_process
from studiogate.settings import Settings
from studiogate.storage.db import migrate, pool
from studiogate.storage.db.pool import Connection, DatabaseUnavailableError
from studiogate.storage.private_file import OutputError, writing

Result = TypeVar("Result")
TEXTS = tomllib.loads((Path(__file__).parent / "texts.toml").read_text(encoding="utf-8"))
EXAMPLE_ID = "0192f0c1-a2b3-7c4d-8e5f-60718293a4b5"
DataFolder = Annotated[Path | None, typer.Option("--data", help="The data folder (STUDIOGATE_DATA_DIR).")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
# The command that lists the rows of a kind, where it is not the kind's own.
LISTED_BY = {"member": "member find TEXT", "waitlist entry": "waitlist list"}
STANDARD_OUTPUT = "The output"
WIDEST_TABLE = 100_000
START_SECONDS = 300.0  # for so long a process that starts waits for a server
AGAIN_SECONDS = 1.0
SAY_AGAIN_SECONDS = 30.0
KINDS = ("argument", "option")
DURATION_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


class Screen(Console):
    """Leaves the wrapping of texts and tables to the terminal: nothing is cut off, and ids can be copied."""

    def print(self, *objects: object, **options: Any) -> None:
        for table in (each for each in objects if isinstance(each, Table)):
            table.width = Measurement.get(self, self.options.update(max_width=WIDEST_TABLE), table).maximum
        super().print(*objects, **{"soft_wrap": True, **options})


screen = Screen(highlight=False)
complaints = Console(stderr=True, highlight=False)


class CommandError(Exception):
    """What is wrong and the command that fixes it, for exit status 1. ``refusal``: what a flow answered, if one did."""

    def __init__(self, text: str, refusal: Refusal | None = None) -> None:
        super().__init__(text)
        self.refusal = refusal


class WrongUsageError(typer.BadParameter):
    """The command cannot run as it was typed."""

    def format_message(self) -> str:
        return self.message


class Command(TyperCommand):
    """A command that names everything that is missing at once, arguments before options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except typer.exceptions.TyperException as error:
            if not str(error).startswith("Missing"):
                raise
            values, _, _ = self.make_parser(ctx).parse_args(args=words)
            required = [each for each in self.get_params(ctx) if each.required]
            missing: list[Any] = [
                each for each in required if each.value_is_missing(each.consume_value(ctx, values)[0])
            ]
            if len(missing) < 2:
                raise
            named = {
                kind: [each.get_error_hint() for each in missing if each.param_type_name == kind] for kind in KINDS
            }
            groups = [f"{kind}{'s' if len(each) > 1 else ''} {', '.join(each)}" for kind, each in named.items() if each]
            raise WrongUsageError(f"Missing {' and '.join(groups)}.", ctx) from None


def lost_database(error: DatabaseUnavailableError) -> CommandError:
    lost = "The database was lost during the command. What it was doing may have been kept: check, then repeat it."
    return CommandError(f"{lost} ({error})")


def operator_of(studio_id: UUID) -> Access:
    """Return the access of the user who runs the command on this machine; the audit log has their name."""
    try:
        name = getpass.getuser()
    except (OSError, KeyError):  # a user id without a name, as in some containers
        name = OPERATOR
    return operator_access(studio_id, name)


def no_such(kind: str, row_id: UUID) -> CommandError:
    command = LISTED_BY.get(kind, f"{kind.replace(' ', '-')} list")
    text = f"There is no {kind} {row_id}: `studiogate {command} --studio SLUG` shows them."
    return CommandError(text, Refusal(Code.NOT_FOUND))


@contextmanager
def database_of(settings: Settings, *, create: bool = False) -> Iterator[str]:
    """Yield the address of the database: the configured server, else the embedded one, started for as long as needed.
    Only with ``create`` is one created in a data folder that has none, which is probably the wrong folder.

    SIGINT and SIGTERM raise StopRequestedError inside, between steps; the embedded server is then stopped as usual.
    """
    signals = of_this_process()
    with signals.held():
        if settings.database_url is not None:
            yield settings.database_url
            return
        if not create:
            require_cluster(settings.data_dir)
        with running_postgres(settings.data_dir, signals.check) as postgres:
            yield postgres.dsn()


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a command's work on the database, until it ends or a signal cancels it."""
    return of_this_process().run(work)


def on_database(
    data: Path | None, work: Callable[[Connection], Coroutine[Any, Any, Result]], *, migrated: bool = True
) -> Result:
    """Run one command's work on a connection; with ``migrated``, only on an existing database with an up-to-date
    schema. Without, wait for a server that takes no connections yet: only what starts a service does that."""
    with database_of(configuration.load(data_dir=data), create=not migrated) as dsn:
        return run(_connected(dsn, work, migrated))


async def _connected(dsn: str, work: Callable[[Connection], Coroutine[Any, Any, Result]], migrated: bool) -> Result:
    def say(problem: str) -> None:
        complaints.print(f"Waiting for the database: {escape(visible_text(problem))}", soft_wrap=True)

    connection = await (pool.connect(dsn) if migrated else connect_when_possible(dsn, say))
    try:
        if migrated and await migrate.pending(connection):
            raise CommandError("The database is not migrated: run `studiogate migrate`.")
        with pool.own_errors(connection):
            return await work(connection)
    except (pool.ReadOnlyDatabaseError, pool.DatabaseFullError, pool.PoolerError):
        raise
    except DatabaseUnavailableError as error:
        raise lost_database(error) from error
    finally:
        await connection.close()


async def connect_when_possible(dsn: str, say: Callable[[str], None]) -> Connection:
    """Connect as ``pool.connect`` does, for a process that starts: wait while there is no server, or one that is
    starting or has no connection left. ``say`` gets what it waits for, at once and every half minute. What does not
    pass by itself, such as a wrong password, is raised at once."""
    until, next_word = clock.monotonic() + START_SECONDS, 0.0
    while True:
        try:
            return await pool.connect(dsn)
        except pool.NotConnectedYetError as error:
            now = clock.monotonic()
            if now >= until:
                raise
            if now >= next_word:
                say(str(error))
                next_word = now + SAY_AGAIN_SECONDS
        await asyncio.sleep(AGAIN_SECONDS)


def write(text: str) -> None:
    """Write to standard output while the database is in use. A signal ends the wait for a stalled reader."""
    if sys.stdout is None:
        raise OutputError(STANDARD_OUTPUT, OSError(errno.EBADF, "it is closed"))
    with writing(STANDARD_OUTPUT):
        of_this_process().write(sys.stdout.fileno(), text.encode())


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 booking``, ``2 bookings``, ``1,200 entries``."""
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + ("es" if noun.endswith("s") else "s")
    return f"{number:,} {noun if number == 1 else plural}"


def print_json(value: object) -> None:
    """Print a value as JSON, with instants formatted as in the API."""
    typer.echo(json.dumps(value, indent=2, default=as_text, ensure_ascii=False))


def print_error(error: Exception, as_json: bool) -> None:
    """Print an error for people, and with ``as_json`` also as JSON, on standard output."""
    lines = (escape(visible_text(line)) for line in str(error).split("\n"))
    complaints.print("[red]error:[/] " + "\n".join(lines), soft_wrap=True)
    if as_json:
        refusal = error.refusal if isinstance(error, CommandError) else None
        print_json_error(refusal.code.value if refusal else "command_failed", str(error), refusal)


def print_json_error(code: str, message: str, refusal: Refusal | None = None) -> None:
    """Print an error as JSON, with what a flow answered, if one did."""
    faults = [{"loc": list(each.loc), "message": each.msg} for each in refusal.faults] if refusal else []
    details = refusal.details if refusal else {}
    print_json({"error": {"code": code, "message": message, "details": details, "faults": faults}})


def reported(message: str, faults: Sequence[Mapping[str, object]] = ()) -> dict[str, object]:
    """Print an error of a command that prints more than that; return the error as a part of its JSON."""
    complaints.print(f"[red]error:[/] {escape(visible_text(message))}", soft_wrap=True)
    return {"code": Code.VALIDATION_ERROR.value, "message": message, "details": {}, "faults": list(faults)}


def as_text(value: object) -> str:
    """Return a value that JSON has no type for as text, instants as in the API."""
    return instant_text(value) if isinstance(value, datetime) else str(value)


def duration(text: str) -> timedelta:
    """Parse a duration such as 30m, 24h or 7d."""
    amount, unit = text[:-1], DURATION_UNITS.get(text[-1:])
    if unit is None or not (amount.isascii() and amount.isdecimal()) or len(text) > 6:
        raise typer.BadParameter(f"{text!r} is not a duration: write 30m, 24h or 7d.")
    return timedelta(**{unit: int(amount)})


def parse_row_id(text: str) -> UUID:
    """Parse an id given on the command line."""
    parsed = parse_id(text)
    if parsed is None:
        raise typer.BadParameter(f"{text!r} is not an id: ids have 36 characters, such as {EXAMPLE_ID}.")
    return UUID(parsed)
