"""studiogate events, webhook and audit: the event log, the endpoints that it is delivered to, and the audit log."""

import asyncio
import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer

from studiogate import settings as configuration
from studiogate.cli.commands import Group, InStudio
from studiogate.cli.context import CommandError, as_text, complaints, counted, no_such, write
from studiogate.cli.field_options import Before, Limit, RowId, option_id
from studiogate.cli.files import written
from studiogate.cli.rows import print_table
from studiogate.domain.access import Access
from studiogate.domain.encryption import Sealer
from studiogate.domain.events import EVERYTHING, PATTERNS, EventType, types_of
from studiogate.domain.paging import Page, PageRequest
from studiogate.domain.refusals import Refusal
from studiogate.domain.webhooks.deliveries import new_secret
from studiogate.domain.webhooks.targets import TargetRules
from studiogate.flows import events as flow
from studiogate.flows import webhook_staff
from studiogate.flows.resolver import Resolver
from studiogate.server.stop_signals import StopRequestedError
from studiogate.storage import audit
from studiogate.storage import events as storage
from studiogate.storage import studio as studios
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.webhooks import deliveries, endpoints
from studiogate.worker.webhook_sender import Sender

LOOK_SECONDS = 0.3
AT_ONCE = 100
KIND = "webhook"
events = Group("Follow the event log, or put a sample event into a test studio's.")
webhooks = Group("Webhook endpoints. Partners create them with their keys: an endpoint receives what its key may see.")
Types = Annotated[
    list[str] | None, typer.Option("--type", help="A type or a family such as booking.*; repeat it for several.")
]
ForwardTo = Annotated[
    str | None, typer.Option("--forward-to", metavar="URL", help="POST each event, signed, to this (local) server.")
]


@events.command("tail")
def tail(call: InStudio, types: Types = None, forward_to: ForwardTo = None) -> None:
    """Follow the log from now on, until Ctrl-C. With --json, print whole events, one per line."""
    unknown = [each for each in types or () if each not in PATTERNS]
    if unknown:
        raise typer.BadParameter(f"{unknown[0]!r} is no event type: choose from {', '.join(PATTERNS)}.")
    wanted = [each.value for each in types_of(types or [EVERYTHING])]
    with contextlib.suppress(StopRequestedError):
        call.read(lambda connection, access: _tail(call, connection, access, wanted, forward_to))


async def _tail(
    call: InStudio, connection: Connection, access: Access, types: list[str], forward_to: str | None
) -> None:
    forwarder = None if forward_to is None else Forwarder(forward_to)
    last = await storage.head(connection, access)
    complaints.print(f"Following the events of {call.studio} after {last}. Ctrl-C stops it.")
    while True:
        found = await storage.follow(connection, access, last, types, AT_ONCE)
        for sequence, wire in found:
            last = sequence
            event = json.loads(wire)
            about, when = event["data"]["object"], event["created_at"][:23]
            line = f"{event['sequence']:>8}  {when}  {event['type']:<18} {about['object']} {about['id']}"
            write(f"{wire if call.as_json else line}\n")
            if forwarder is not None:
                typer.echo(await forwarder.forward(wire), err=True)
        if not found:
            await asyncio.sleep(LOOK_SECONDS)


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


@events.command("trigger")
def trigger(
    call: InStudio, type_: Annotated[str, typer.Argument(metavar="TYPE", help="Such as booking.created.")]
) -> None:
    """Put a sample event about the newest resource of its kind into a test studio's log, for all its endpoints."""
    if type_ not in set(EventType):
        raise typer.BadParameter(f"{type_!r} is no event type: choose from {', '.join(EventType)}.")

    async def work(connection: Connection, access: Access) -> str:
        found = await studios.find_studio(connection, str(call.studio))
        if found is None or not found["test"]:
            text = f"{call.studio} is not a test studio: its partners would take the sample for the truth."
            raise CommandError(text)
        row_id = await flow.trigger(connection, access, EventType(type_))
        if row_id is None:
            about = f"{call.studio} has nothing that {type_} could be about"
            raise CommandError(f"{about}: `studiogate import FILE` loads more.")
        return str(row_id)

    row_id = call.read(work)
    call.show({"type": type_, "id": row_id}, f"Wrote {type_} about {row_id} to the log.")


@webhooks.command("list")
def list_endpoints(call: InStudio, limit: Limit = 100) -> None:
    """List the endpoints of a studio, newest first, without their secrets."""
    page = call.read(lambda c, access: endpoints.list_endpoints(c, access, PageRequest(None, limit)))
    _print(call, page, ("id", "url", "event_types", "enabled", "disabled_reason"))


@webhooks.command("deliveries")
def list_deliveries(call: InStudio, endpoint_id: RowId, limit: Limit = 100) -> None:
    """List the deliveries to an endpoint, newest first, with the outcome of every attempt."""

    async def work(connection: Connection) -> Page | Refusal:
        access = await call.access_to(connection, KIND, endpoint_id)
        if not await endpoints.is_visible(connection, access, endpoint_id):
            raise no_such(KIND, endpoint_id)
        return await deliveries.list_deliveries(connection, access, PageRequest(None, limit), str(endpoint_id))

    page = call.on_database(work)
    _print(call, page, ("id", "event_type", "status", "next_attempt_at", "created_at"))


def _print(call: InStudio, page: Page | Refusal, columns: tuple[str, ...]) -> None:
    def cells(row: dict[str, Any]) -> list[object]:
        return [" ".join(row[name]) if isinstance(row[name], list) else row[name] for name in columns]

    print_table(call, [] if isinstance(page, Refusal) else json.loads(f"[{page.rows}]"), columns, cells)


def _switch_command(name: str, text: str) -> None:
    @webhooks.command(name, help=text)
    def switch(call: InStudio, endpoint_id: RowId) -> None:
        enabled = name == "enable"
        endpoint = call.act(KIND, endpoint_id, lambda c, a: webhook_staff.switch(c, a, endpoint_id, enabled=enabled))
        call.show(endpoint, f"The endpoint is {name}d.")


PENDING = "Deliveries that are pending wait until it is enabled; later events are not queued for it."
_switch_command("enable", "Enable an endpoint: what waits for it is delivered now.")
_switch_command("disable", f"Disable an endpoint. {PENDING}")


@webhooks.command("delete")
def delete(call: InStudio, endpoint_id: RowId) -> None:
    """Delete an endpoint. Nothing more is sent to it."""
    call.act(KIND, endpoint_id, lambda c, a: webhook_staff.delete(c, a, endpoint_id))
    call.show({"id": str(endpoint_id), "deleted": True}, "The endpoint is deleted.")


@webhooks.command("rotate-secret")
def rotate_secret(call: InStudio, endpoint_id: RowId) -> None:
    """Issue a new signing secret, shown once. The previous one also signs for 24 hours: give the new one to the
    partner."""
    sealer = Sealer(lambda: configuration.secret_keys(call.settings))
    endpoint = call.act(KIND, endpoint_id, lambda c, a: webhook_staff.rotate_secret(c, a, endpoint_id, sealer))
    call.show(endpoint, f"The new secret is shown only now: {endpoint['secret']}")


@webhooks.command("test")
def send_test(call: InStudio, endpoint_id: RowId) -> None:
    """Send an endpoint a message that is not an event. `webhook deliveries` shows what came of it."""
    delivery = call.act(KIND, endpoint_id, lambda c, a: webhook_staff.send_test(c, a, endpoint_id))
    call.show(delivery, f"Queued as delivery {delivery['id']}.")


# The audit log

ENTRIES_AT_ONCE = 1_000
audit_log = Group("The audit log: who changed what.")
SubjectId = Annotated[UUID | None, option_id("Only of this member, class, booking, …", "--of")]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="The file; default: standard output.")]


@audit_log.command("list")
def list_entries(call: InStudio, of: SubjectId = None, before: Before = None, limit: Limit = 100) -> None:
    """List the entries of the audit log, newest first: when, who, what, old and new values. Personal values are
    masked."""

    def shown(value: object) -> str:
        return "none" if value is None else value if isinstance(value, str) else json.dumps(value)

    def cells(entry: dict[str, Any]) -> list[object]:
        changes = (f"{name}: {shown(old)} → {shown(new)}" for name, (old, new) in entry["changes"].items())
        names = ("occurred_at", "actor_name", "channel", "action", "subject_id")
        return [*(entry[name] for name in names), ", ".join(changes)]

    rows = call.read(lambda c, access: audit.list_entries(c, access, of, before, limit))
    print_table(call, [_entry(row) for row in rows], ("when", "who", "by", "what", "id", "changes"), cells)


def _entry(row: Record) -> dict[str, Any]:
    return {**row, "changes": json.loads(row["changes"])}


@audit_log.command("export")
def export(call: InStudio, output: Output = None) -> None:
    """Write all entries of the audit log, newest first, one JSON object per line. Personal values are masked."""
    with written(output) as write:
        count = call.read(lambda connection, access: _write_all(connection, access, write))
    if output is not None:
        call.show({"file": str(output), "entries": count}, f"Wrote {counted(count, 'entry')} to {output}.")


async def _write_all(connection: Connection, access: Access, write_text: Callable[[str], object]) -> int:
    """Write all entries page by page; return how many."""
    before, count = None, 0
    while True:
        rows = await audit.list_entries(connection, access, None, before, ENTRIES_AT_ONCE)
        for row in rows:
            write_text(json.dumps(_entry(row), default=as_text, ensure_ascii=False) + "\n")
        count += len(rows)
        if len(rows) < ENTRIES_AT_ONCE:
            return count
        before = rows[-1]["id"]
