"""studiogate key create | list | change | rotate | revoke | requests."""

import re
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.table import Table

from studiogate import clock
from studiogate.cli.actions import Action, Clear, Result, act_in_studio, carried_out, changes
from studiogate.cli.context import (
    DURATION_UNITS,
    AsJson,
    CommandError,
    DataFolder,
    duration,
    no_studio,
    on_database,
    operator_of,
    parse_row_id,
    print_json,
    print_result,
    screen,
)
from studiogate.cli.lists import Limit, print_rows
from studiogate.domain.access import SCOPE_GRANTS, Access, Scope, unknown_scopes
from studiogate.domain.names import name_fault
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows import keys as flow
from studiogate.storage import keys as storage
from studiogate.storage import request_log
from studiogate.storage import studio as studios
from studiogate.storage.db.pool import Connection, Record

app = typer.Typer(help="Make, list, change, rotate and revoke partner keys; see their requests.", no_args_is_help=True)
SCOPES_HELP = "Scopes: " + "; ".join(f"{scope} ({grants})" for scope, grants in SCOPE_GRANTS.items()) + "."
DATE_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}[0-9:.+Z-]*)?", re.ASCII)
CredentialId = Annotated[str, typer.Argument(metavar="ID", help="The key's id, as `key list` shows it.")]


def _scopes(all_scopes: bool, scopes: list[str] | None) -> list[str]:
    if all_scopes == bool(scopes):
        raise typer.BadParameter("Give either --all-scopes or at least one --scope.")
    if all_scopes:
        return [scope.value for scope in Scope]
    if unknown := unknown_scopes(scopes or []):
        raise typer.BadParameter(f"Unknown scope {unknown[0]!r}. {SCOPES_HELP}")
    return scopes or []


def _written(text: str) -> datetime:
    """Parse a date or a date-time, with or without an offset; no week dates, and no forms without hyphens."""
    if not DATE_TIME.fullmatch(text):
        raise ValueError
    return datetime.fromisoformat(text)


def _instant(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        instant = clock.now() + duration(text) if text[-1:] in DURATION_UNITS else _written(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is neither an ISO 8601 date-time, such as 2027-01-31T00:00:00Z, nor a duration, such as 90d."
        ) from None
    instant = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
    if instant <= clock.now():
        raise typer.BadParameter(f"{text} has passed.")
    return instant


@app.command(epilog=SCOPES_HELP)
def create(
    studio: Annotated[str, typer.Option(help="The studio's slug.")],
    name: Annotated[str, typer.Option(help="Whose key this is.")],
    all_scopes: Annotated[bool, typer.Option("--all-scopes", help="Every scope.")] = False,
    scope: Annotated[list[str] | None, typer.Option(help="A scope; repeat for more.")] = None,
    location: Annotated[
        list[UUID] | None, typer.Option(parser=parse_row_id, help="Limit to this location; repeat for more.")
    ] = None,
    expires: Annotated[str | None, typer.Option(help="When the key ends: ISO 8601, or a duration such as 90d.")] = None,
    rate_limit: Annotated[int | None, typer.Option(min=1, help="Requests per second; default: the setting.")] = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Make a key. It is shown once."""
    fault = name_fault(name) if name.strip() else "not be empty"
    if fault is not None:
        raise typer.BadParameter(f"--name must {fault}.")
    wanted = flow.KeyRequest(name, _scopes(all_scopes, scope), location or None, _instant(expires), rate_limit)
    issued = act_in_studio(data, studio, "key", lambda connection, access: flow.issue(connection, access, wanted))
    if as_json:
        print_json({each: getattr(issued, each) for each in ("id", "key", "name", "scopes", "location_ids")})
        return
    screen.print(f"Key {issued.id} for {studio}. It is shown only now:\n")
    typer.echo(issued.key)


@app.command("list")
def list_keys(
    studio: Annotated[str | None, typer.Option(help="Only this studio's.")] = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """List keys (never the secrets)."""
    rows = on_database(data, lambda connection: _list(connection, studio))
    if as_json:
        print_json([dict(row) for row in rows])
        return
    table = Table("id", "studio", "name", "scopes", "locations", "last used", "state", box=None)
    for row in rows:
        table.add_row(*_cells(row))
    screen.print(table if rows else "No keys yet: `studiogate key create` makes one.")


async def _list(connection: Connection, slug: str | None) -> list[Record]:
    if slug is None:
        return list(await storage.list_credentials(connection, None))
    studio = await studios.find_studio(connection, slug)
    if studio is None:
        raise no_studio(slug)
    return list(await storage.list_credentials(connection, studio["studio_id"]))


def _cells(row: Record) -> tuple[str, ...]:
    everything = len(row["scopes"]) == len(Scope)
    scopes = "all" if everything else " ".join(row["scopes"])
    locations = "all" if row["location_ids"] is None else str(len(row["location_ids"]))
    last_used = f"{row['last_used_at']:%Y-%m-%d %H:%M}" if row["last_used_at"] else "never"
    return row["id"], row["studio"], row["name"], scopes, locations, last_used, _state(row)


def _state(row: Record) -> str:
    if row["revoked_at"]:
        return "revoked"
    expires: Any = row["expires_at"]
    if expires and expires <= clock.now():
        return "expired"
    return "rotating" if row["live_secrets"] > 1 else "active"


@app.command()
def rotate(
    credential_id: CredentialId,
    overlap: Annotated[str, typer.Option(help="How long the old key still works: 0m to 7d.")] = "24h",
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Give a key a new secret; the old one works for the overlap."""
    lasting = duration(overlap)
    issued = _act(data, credential_id, lambda c, a: flow.rotate_key(c, a, credential_id, lasting))
    if as_json:
        print_json({"id": issued.id, "key": issued.key, "old_key_expires_at": issued.old_key_expires_at})
        return
    until = f"until {issued.old_key_expires_at:%Y-%m-%d %H:%M} UTC" if lasting else "no longer"
    screen.print(f"The new key {issued.id}; the old one works {until}. It is shown only now:\n", soft_wrap=True)
    typer.echo(issued.key)


@app.command()
def change(
    credential_id: CredentialId,
    name: Annotated[str | None, typer.Option(help="Whose key this is.")] = None,
    all_scopes: Annotated[bool, typer.Option("--all-scopes", help="Every scope.")] = False,
    scope: Annotated[list[str] | None, typer.Option(help="All scopes that it keeps or gets; repeat.")] = None,
    location: Annotated[
        list[UUID] | None, typer.Option(parser=parse_row_id, help="Limit to this location; repeat for more.")
    ] = None,
    expires: Annotated[str | None, typer.Option(help="When the key ends: ISO 8601, or a duration such as 90d.")] = None,
    rate_limit: Annotated[int | None, typer.Option(min=1, help="Requests per second.")] = None,
    clear: Clear = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Change what a key may do and how often. It takes effect within 5 seconds everywhere. --clear location_ids,
    expires_at or rate_limit lifts that limit."""
    scopes = _scopes(all_scopes, scope) if all_scopes or scope else None
    limits = {"location_ids": location or None, "expires_at": _instant(expires), "rate_limit": rate_limit}
    wanted = changes(clear, name=name, scopes=scopes, **limits)
    changed = _act(data, credential_id, lambda c, a: flow.change_key(c, a, credential_id, wanted))
    if as_json:
        print_json({"id": credential_id, "changed": {field: new for field, (_, new) in changed.items()}})
        return
    screen.print(f"Key {credential_id}: {', '.join(changed)} changed." if changed else "The key is like this already.")


@app.command()
def requests(
    credential_id: CredentialId,
    errors: Annotated[bool, typer.Option("--errors", help="Only requests that failed: status 400 and above.")] = False,
    before: Annotated[
        UUID | None,
        typer.Option(metavar="ID", parser=parse_row_id, help="Only those older than this one: the next page."),
    ] = None,
    limit: Limit = 100,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """List the last requests of a key, newest first: when, what, the answer. Kept for 7 days, 10,000 per studio."""

    async def work(connection: Connection) -> list[Record]:
        access = await _access(connection, credential_id)
        wanted = request_log.Wanted(credential_id, errors, before, limit)
        return await request_log.list_requests(connection, access, wanted)

    print_rows(on_database(data, work), as_json, limit)


@app.command()
def revoke(credential_id: CredentialId, as_json: AsJson = False, data: DataFolder = None) -> None:
    """End a key. It takes effect within 5 seconds everywhere."""
    _act(data, credential_id, lambda c, a: flow.revoke_key(c, a, credential_id))
    print_result({"id": credential_id, "revoked": True}, f"Key {credential_id} is revoked.", as_json)


def _act(data: DataFolder, credential_id: str, action: Action[Result]) -> Result:
    """Run a flow on a key, in the studio that has it."""

    async def work(connection: Connection) -> Result:
        return await carried_out(connection, await _access(connection, credential_id), "key", action)

    return on_database(data, work)


async def _access(connection: Connection, credential_id: str) -> Access:
    """Return the operator's access to the studio that has the key."""
    studio_id = await storage.studio_of_credential(connection, credential_id)
    if studio_id is None:
        raise CommandError(_unknown(credential_id), Refusal(Code.NOT_FOUND))
    return operator_of(studio_id)


def _unknown(credential_id: str) -> str:
    if credential_id.startswith("sgk_"):  # not echoed: the output of commands is often stored
        return "That is a whole key. Give its id, the 8 characters in its middle: `studiogate key list` shows them."
    return f"There is no key {credential_id!r}: `studiogate key list` shows them."
