"""studiogate events tail | trigger: follow the event log, or add a sample event to it."""

import asyncio
import contextlib
import json
from typing import Annotated

import typer

from studiogate.cli.context import (
    AsJson,
    CommandError,
    DataFolder,
    complaints,
    no_studio,
    on_database,
    operator_of,
    print_json,
    screen,
    write,
)
from studiogate.domain.access import Access
from studiogate.domain.events import EVERYTHING, PATTERNS, EventType, types_of
from studiogate.domain.webhooks.signing import new_secret
from studiogate.domain.webhooks.targets import TargetRules
from studiogate.flows import events as flow
from studiogate.flows.resolver import Resolver
from studiogate.server.stop_signals import StopRequestedError
from studiogate.storage import events as storage
from studiogate.storage import studio as studios
from studiogate.storage.db.pool import Connection
from studiogate.worker.webhook_sender import Sender

LOOK_SECONDS = 0.3
AT_ONCE = 100
app = typer.Typer(help="Follow the event log, or put a sample event into a test studio's.", no_args_is_help=True)
Slug = Annotated[str, typer.Option("--studio", help="The studio's slug.")]
Types = Annotated[
    list[str] | None, typer.Option("--type", help="A type or a family such as booking.*; repeat it for several.")
]
ForwardTo = Annotated[
    str | None, typer.Option("--forward-to", metavar="URL", help="POST each event, signed, to this (local) server.")
]


async def _studio(connection: Connection, slug: str) -> tuple[Access, bool]:
    found = await studios.find_studio(connection, slug)
    if found is None:
        raise no_studio(slug)
    return operator_of(found["studio_id"]), found["test"]


def _wanted(types: list[str] | None) -> list[str]:
    unknown = [each for each in types or () if each not in PATTERNS]
    if unknown:
        raise typer.BadParameter(f"{unknown[0]!r} is no event type: choose from {', '.join(PATTERNS)}.")
    return [each.value for each in types_of(types or [EVERYTHING])]


@app.command()
def tail(
    studio: Slug,
    types: Types = None,
    forward_to: ForwardTo = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print whole events, one per line.")] = False,
    data: DataFolder = None,
) -> None:
    """Follow the log from now on, until Ctrl-C."""
    wanted = _wanted(types)
    with contextlib.suppress(StopRequestedError):
        on_database(data, lambda connection: _tail(connection, studio, wanted, forward_to, as_json))


async def _tail(connection: Connection, slug: str, types: list[str], forward_to: str | None, as_json: bool) -> None:
    access, _ = await _studio(connection, slug)
    forwarder = None if forward_to is None else Forwarder(forward_to)
    last = await storage.head(connection, access)
    complaints.print(f"Following the events of {slug} after {last}. Ctrl-C stops it.")
    while True:
        found = await storage.follow(connection, access, last, types, AT_ONCE)
        for sequence, wire in found:
            last = sequence
            write(f"{wire if as_json else _line(wire)}\n")
            if forwarder is not None:
                typer.echo(await forwarder.forward(wire), err=True)
        if not found:
            await asyncio.sleep(LOOK_SECONDS)


def _line(wire: str) -> str:
    event = json.loads(wire)
    about = event["data"]["object"]
    return f"{event['sequence']:>8}  {event['created_at'][:23]}  {event['type']:<18} {about['object']} {about['id']}"


class Forwarder:
    """Forwards events to a developer's own server. Any address is allowed, and the secret is printed once."""

    def __init__(self, url: str) -> None:
        resolver = Resolver(TargetRules(["0.0.0.0/0", "::/0"], allow_http=True))
        fault = resolver.rules.parse(url)
        if isinstance(fault, str):
            raise CommandError(f"--forward-to {fault}.")
        self._url = url
        self._sender = Sender(resolver)
        self._secret = new_secret()
        complaints.print(f"Forwarding to {url}, signed with {self._secret}", soft_wrap=True)

    async def forward(self, wire: str) -> str:
        attempted = await self._sender.send(self._url, [self._secret], json.loads(wire)["id"], wire)
        return f"          → {attempted.status or attempted.error} in {attempted.duration_ms} ms"


@app.command()
def trigger(
    type_: Annotated[str, typer.Argument(metavar="TYPE", help="Such as booking.created.")],
    studio: Slug,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Put a sample event about the newest resource of its kind into a test studio's log, for all its endpoints."""
    if type_ not in set(EventType):
        raise typer.BadParameter(f"{type_!r} is no event type: choose from {', '.join(EventType)}.")
    row_id = on_database(data, lambda connection: _trigger(connection, studio, EventType(type_)))
    if as_json:
        print_json({"type": type_, "id": row_id})
        return
    screen.print(f"Wrote {type_} about {row_id} to the log.")


async def _trigger(connection: Connection, slug: str, type_: EventType) -> str:
    access, test = await _studio(connection, slug)
    if not test:
        raise CommandError(f"{slug} is not a test studio: its partners would take the sample for the truth.")
    row_id = await flow.trigger(connection, access, type_)
    if row_id is None:
        raise CommandError(f"{slug} has nothing that {type_} could be about: `studiogate import FILE` loads more.")
    return str(row_id)
