"""How a command is declared: a function, the options that all commands share, and options from tables of fields.

A command's first parameter is a ``Call``: it stands for ``--json`` and ``--data``, and an ``InStudio`` for ``--studio``
as well. A parameter ``given`` stands for one option per field of a table (see ``cli/field_options.py``).
"""

import inspect
from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar
from uuid import UUID

import typer

from studiogate import settings as configuration
from studiogate.cli import context, field_options
from studiogate.cli.context import CommandError, no_such, on_database, operator_of
from studiogate.cli.explanations import explain
from studiogate.domain.access import Access
from studiogate.domain.fields import Values
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows import retry
from studiogate.settings import Settings
from studiogate.storage import operator_lists
from studiogate.storage import studio as studios
from studiogate.storage.db.pool import Connection

Result = TypeVar("Result")
Function = TypeVar("Function", bound=Callable[..., None])
Action: TypeAlias = Callable[[Connection, Access], Awaitable[Result | Refusal]]
# How many studios are named when several exist.
NAMED_STUDIOS = 10


class Options(Protocol):
    """What the parameter ``given`` of a command stands for: options, and the value that they make together."""

    def parameters(self) -> list[inspect.Parameter]: ...
    def taken_from(self, values: Values) -> Values: ...


class Call:
    """One call of a command: the values of the shared options, and what every command does with them."""

    shared: tuple[tuple[str, object, object], ...] = (
        ("as_json", context.AsJson, False),
        ("data", context.DataFolder, None),
    )

    def __init__(self, as_json: bool, data: Path | None) -> None:
        self.as_json, self.data = as_json, data

    @property
    def settings(self) -> Settings:
        return configuration.load(data_dir=self.data)

    def on_database(
        self, work: Callable[[Connection], Coroutine[object, object, Result]], *, migrated: bool = True
    ) -> Result:
        return on_database(self.data, work, migrated=migrated)

    def show(self, value: object, text: str) -> None:
        """Print what the command did: as JSON, or in a sentence."""
        if self.as_json:
            context.print_json(value)
        else:
            context.screen.print(text, markup=False)


class InStudio(Call):
    """A call in one studio: the one that ``--studio`` names, else the one that has the row, else the only one."""

    shared = (("studio", field_options.StudioOption, None), *Call.shared)

    def __init__(self, as_json: bool, data: Path | None, studio: str | None) -> None:
        super().__init__(as_json, data)
        self.studio = studio

    async def access(self, connection: Connection) -> Access:
        """Return the operator's access to the studio; afterwards ``studio`` is its slug."""
        if self.studio is None:
            slugs = [row["slug"] for row in await operator_lists.studios(connection, None, NAMED_STUDIOS + 1)]
            if not slugs:
                raise CommandError("There is no studio yet: `studiogate studio create` creates one.")
            if len(slugs) > 1:
                named = ", ".join([*slugs[:NAMED_STUDIOS], *("…" for _ in slugs[NAMED_STUDIOS:])])
                raise context.WrongUsageError(f"There are several studios: say which with --studio SLUG ({named}).")
            self.studio = str(slugs[0])
        return await studio_access(connection, self.studio)

    def read(self, work: Callable[[Connection, Access], Awaitable[Result]]) -> Result:
        """Run something in the studio that changes nothing."""

        async def reading(connection: Connection) -> Result:
            return await work(connection, await self.access(connection))

        return on_database(self.data, reading)

    def act_in_studio(self, kind: str, action: Action[Result]) -> Result:
        """Run a flow in the studio, such as one that creates a row of the kind."""
        return self.read(lambda connection, access: carried_out(connection, access, kind, action))

    def act(self, kind: str, row_id: UUID, action: Action[Result]) -> Result:
        """Run a flow on one row, in the studio that has it."""
        return on_database(self.data, lambda connection: self.act_on(connection, kind, row_id, action))

    async def act_on(self, connection: Connection, kind: str, row_id: UUID, action: Action[Result]) -> Result:
        """Do so on a connection, for commands that run several flows."""

        async def found(connection: Connection, access: Access) -> Result | Refusal:
            outcome = await action(connection, access)
            if isinstance(outcome, Refusal) and outcome.code is Code.NOT_FOUND and outcome.param is None:
                raise no_such(kind, row_id)
            return outcome

        return await carried_out(connection, await self.access_to(connection, kind, row_id), kind, found)

    async def access_to(self, connection: Connection, kind: str, row_id: UUID) -> Access:
        """Return the access to the studio that has a row. Ids are unique per studio, so several can have it."""
        if self.studio is not None:
            return await studio_access(connection, self.studio)
        owners = await operator_lists.studios_of(connection, kind, row_id)
        if len(owners) > 1:
            raise CommandError(f"Several studios have a {kind} {row_id}: say which with --studio SLUG.")
        if not owners:
            raise no_such(kind, row_id)
        return operator_of(owners[0])


async def studio_access(connection: Connection, slug: str) -> Access:
    """Return the access of whoever runs the command to the studio with this slug."""
    studio = await studios.find_studio(connection, slug)
    if studio is None:
        text = (
            f"There is no studio {slug!r}: `studiogate studio list` shows them, `studiogate studio create` creates one."
        )
        raise CommandError(text, Refusal(Code.NOT_FOUND, param="studio"))
    return operator_of(studio["studio_id"])


async def carried_out(connection: Connection, access: Access, kind: str, action: Action[Result]) -> Result:
    """Run a flow and return its result; repeat it after a conflict. A refusal ends the command."""
    outcome = await retry.repeated_on(connection, lambda: action(connection, access))
    if isinstance(outcome, Refusal):
        raise CommandError(explain(kind, outcome), outcome)
    return outcome


class Group:
    """A command with several commands, such as ``studiogate class``."""

    def __init__(self, help: str) -> None:  # noqa: A002
        self.app = typer.Typer(help=help, no_args_is_help=True)
        # Without a callback, a single command would be taken for the whole application.
        self.app.callback()(lambda: None)

    def command(
        self,
        name: str,
        *,
        given: Options | None = None,
        help: str | None = None,  # noqa: A002
        epilog: str | None = None,
    ) -> Callable[[Function], Function]:
        def declare(function: Function) -> Function:
            self.app.command(name, cls=context.Command, help=help, epilog=epilog)(declared(function, given))
            return function

        return declare


def declared(function: Callable[..., None], given: Options | None = None) -> Callable[..., None]:
    """Return the function with one parameter per option, in place of its ``Call`` and of ``given``."""
    parameters = list(inspect.signature(function, eval_str=True).parameters.values())
    call = parameters[0].annotation if parameters else None
    if not (isinstance(call, type) and issubclass(call, Call)):
        return function

    @wraps(function)
    def run(**values: Any) -> None:
        this = call(**{name: values.pop(name) for name, _, _ in call.shared})
        if given is not None:
            values["given"] = given.taken_from(values)
        function(this, **values)

    shared = [field_options.parameter(*each) for each in call.shared]
    own = [each.replace(kind=each.KEYWORD_ONLY) for each in parameters[1:]]
    fields = given.parameters() if given is not None else []
    own = [inner for each in own for inner in (fields if each.name == "given" else [each])]
    run.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in (*own, *shared)}
    return run
