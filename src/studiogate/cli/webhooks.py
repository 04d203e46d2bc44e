"""studiogate webhook list | deliveries | enable | disable | delete | rotate-secret | test."""

import json
from typing import Any

import typer
from rich.table import Table

from studiogate import settings as configuration
from studiogate.cli.actions import RowId, act, studio_access
from studiogate.cli.context import AsJson, DataFolder, no_such, on_database, print_json, screen
from studiogate.cli.lists import Limit, Slug, cell
from studiogate.domain.encryption import Sealer
from studiogate.domain.paging import PageRequest
from studiogate.domain.refusals import Refusal
from studiogate.flows import webhook_staff as flow
from studiogate.storage.db.pool import Connection
from studiogate.storage.webhooks import deliveries as delivery_storage
from studiogate.storage.webhooks import endpoints

app = typer.Typer(
    help="Webhook endpoints. Partners create them with their keys: an endpoint receives what its key may see.",
    no_args_is_help=True,
)
KIND = "webhook"


@app.command("list")
def list_endpoints(studio: Slug, limit: Limit = 100, as_json: AsJson = False, data: DataFolder = None) -> None:
    """List the endpoints of a studio, newest first, without their secrets."""

    async def work(connection: Connection) -> list[dict[str, object]]:
        access = await studio_access(connection, studio)
        page = await endpoints.list_endpoints(connection, access, PageRequest(None, limit))
        return [] if isinstance(page, Refusal) else list(json.loads(f"[{page.rows}]"))

    _print(on_database(data, work), ("id", "url", "event_types", "enabled", "disabled_reason"), as_json)


@app.command("deliveries")
def list_deliveries(
    endpoint_id: RowId, studio: Slug, limit: Limit = 100, as_json: AsJson = False, data: DataFolder = None
) -> None:
    """List the deliveries to an endpoint, newest first, with the outcome of every attempt."""

    async def work(connection: Connection) -> list[dict[str, object]]:
        access = await studio_access(connection, studio)
        if not await endpoints.is_visible(connection, access, endpoint_id):
            raise no_such(KIND, endpoint_id)
        page = await delivery_storage.list_deliveries(connection, access, PageRequest(None, limit), str(endpoint_id))
        return [] if isinstance(page, Refusal) else list(json.loads(f"[{page.rows}]"))

    _print(on_database(data, work), ("id", "event_type", "status", "next_attempt_at", "created_at"), as_json)


def _print(rows: list[dict[str, Any]], columns: tuple[str, ...], as_json: bool) -> None:
    if as_json:
        print_json(rows)
        return
    table = Table(*columns, box=None)
    for row in rows:
        texts = (" ".join(row[name]) if isinstance(row[name], list) else row[name] for name in columns)
        table.add_row(*(cell(text) for text in texts))
    screen.print(table if rows else "Nothing found.")


@app.command("enable")
def enable(endpoint_id: RowId, studio: Slug, as_json: AsJson = False, data: DataFolder = None) -> None:
    """Enable an endpoint: what waits for it is delivered now."""
    endpoint = act(data, studio, KIND, endpoint_id, lambda c, a: flow.switch(c, a, endpoint_id, enabled=True))
    _print_one(endpoint, "The endpoint is enabled.", as_json)


@app.command("disable")
def disable(endpoint_id: RowId, studio: Slug, as_json: AsJson = False, data: DataFolder = None) -> None:
    """Disable an endpoint. Deliveries that are pending wait until it is enabled; later events are not queued for it."""
    endpoint = act(data, studio, KIND, endpoint_id, lambda c, a: flow.switch(c, a, endpoint_id, enabled=False))
    _print_one(endpoint, "The endpoint is disabled.", as_json)


@app.command("delete")
def delete(endpoint_id: RowId, studio: Slug, as_json: AsJson = False, data: DataFolder = None) -> None:
    """Delete an endpoint. Nothing more is sent to it."""
    act(data, studio, KIND, endpoint_id, lambda c, a: flow.delete(c, a, endpoint_id))
    _print_one({"id": str(endpoint_id), "deleted": True}, "The endpoint is deleted.", as_json)


@app.command("rotate-secret")
def rotate_secret(endpoint_id: RowId, studio: Slug, as_json: AsJson = False, data: DataFolder = None) -> None:
    """Issue a new signing secret, shown once. The previous one also signs for 24 hours: give the new one to the
    partner."""
    sealer = Sealer(lambda: configuration.secret_keys(configuration.load(data_dir=data)))
    endpoint = act(data, studio, KIND, endpoint_id, lambda c, a: flow.rotate_secret(c, a, endpoint_id, sealer))
    _print_one(endpoint, f"The new secret is shown only now: {endpoint['secret']}", as_json)


@app.command("test")
def send_test(endpoint_id: RowId, studio: Slug, as_json: AsJson = False, data: DataFolder = None) -> None:
    """Send an endpoint a message that is not an event. `webhook deliveries` shows what came of it."""
    delivery = act(data, studio, KIND, endpoint_id, lambda c, a: flow.send_test(c, a, endpoint_id))
    _print_one(delivery, f"Queued as delivery {delivery['id']}.", as_json)


def _print_one(result: dict[str, object], text: str, as_json: bool) -> None:
    if as_json:
        print_json(result)
        return
    screen.print(text, soft_wrap=True)
