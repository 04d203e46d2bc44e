"""studiogate key create | list | change | rotate | revoke | requests."""

import re
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

import typer

from studiogate import clock
from studiogate.cli.commands import Action, Call, Group, InStudio, Result, carried_out, studio_access
from studiogate.cli.context import DURATION_UNITS, CommandError, duration, operator_of, print_json, screen
from studiogate.cli.field_options import IDS, Before, FieldOptions, Limit, options_of
from studiogate.cli.rows import print_rows, print_table
from studiogate.domain.access import SCOPE_GRANTS, Access, Scope, unknown_scopes
from studiogate.domain.fields import Values, optional, required
from studiogate.domain.fields import readers as v
from studiogate.domain.names import name_fault
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.request_log import KEPT_PER_STUDIO
from studiogate.domain.retention import REQUEST_DAYS
from studiogate.domain.staff_input import by_name
from studiogate.flows import keys as flow
from studiogate.storage import keys as storage
from studiogate.storage import request_log
from studiogate.storage.db.pool import Connection, Record

app = Group("Make, list, change, rotate and revoke partner keys; see their requests.")
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


def _instant(text: str) -> datetime:
    """Parse a duration from now, a date or a date-time, with or without an offset; no week dates, no forms without
    hyphens."""
    try:
        if text[-1:] in DURATION_UNITS:
            instant = clock.now() + duration(text)
        elif DATE_TIME.fullmatch(text):
            instant = datetime.fromisoformat(text)
        else:
            raise ValueError
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is neither an ISO 8601 date-time, such as 2027-01-31T00:00:00Z, nor a duration, such as 90d."
        ) from None
    instant = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
    if instant <= clock.now():
        raise typer.BadParameter(f"{text} has passed.")
    return instant


OPTIONS = options_of("key", location_ids=IDS, expires_at={"read": _instant})
FIELDS = by_name(
    required("name", v.text(), personal=False),
    optional("all_scopes", v.boolean, personal=False),
    optional("scopes", v.texts, personal=False),
    optional("location_ids", v.identifiers, personal=False),
    optional("expires_at", v.instant, personal=False),
    optional("rate_limit", v.whole(1), personal=False),
)


@app.command("create", given=FieldOptions(FIELDS, OPTIONS), epilog=SCOPES_HELP)
def create(call: InStudio, given: Values) -> None:
    """Make a key. It is shown once."""
    name = given["name"]
    fault = name_fault(name) if name.strip() else "not be empty"
    if fault is not None:
        raise typer.BadParameter(f"--name must {fault}.")
    scopes = _scopes(given.get("all_scopes", False), given.get("scopes"))
    locations = [UUID(each) for each in given.get("location_ids", ())] or None
    wanted = flow.KeyRequest(name, scopes, locations, given.get("expires_at"), given.get("rate_limit"))
    issued = call.act_in_studio("key", lambda connection, access: flow.issue(connection, access, wanted))
    if call.as_json:
        print_json({each: getattr(issued, each) for each in ("id", "key", "name", "scopes", "location_ids")})
        return
    screen.print(f"Key {issued.id} for {call.studio}. It is shown only now:\n")
    typer.echo(issued.key)


@app.command("list")
def list_keys(
    call: Call, studio: Annotated[str | None, typer.Option(metavar="SLUG", help="Only this studio's.")] = None
) -> None:
    """List keys (never the secrets)."""

    async def work(connection: Connection) -> list[Record]:
        studio_id = None if studio is None else (await studio_access(connection, studio)).studio_id
        return list(await storage.list_credentials(connection, studio_id))

    def cells(row: Record) -> tuple[str, ...]:
        scopes = "all" if len(row["scopes"]) == len(Scope) else " ".join(row["scopes"])
        locations = "all" if row["location_ids"] is None else str(len(row["location_ids"]))
        last_used = f"{row['last_used_at']:%Y-%m-%d %H:%M}" if row["last_used_at"] else "never"
        return row["id"], row["studio"], row["name"], scopes, locations, last_used, _state(row)

    columns = ("id", "studio", "name", "scopes", "locations", "last used", "state")
    print_table(call, call.on_database(work), columns, cells, "No keys yet: `studiogate key create` makes one.")


def _state(row: Record) -> str:
    if row["revoked_at"]:
        return "revoked"
    expires: Any = row["expires_at"]
    if expires and expires <= clock.now():
        return "expired"
    return "rotating" if row["live_secrets"] > 1 else "active"


@app.command("rotate")
def rotate(
    call: Call,
    credential_id: CredentialId,
    overlap: Annotated[str, typer.Option(help="How long the old key still works: 0m to 7d.")] = "24h",
) -> None:
    """Give a key a new secret; the old one works for the overlap."""
    lasting = duration(overlap)
    issued = _act(call, credential_id, lambda c, a: flow.rotate_key(c, a, credential_id, lasting))
    if call.as_json:
        print_json({"id": issued.id, "key": issued.key, "old_key_expires_at": issued.old_key_expires_at})
        return
    until = f"until {issued.old_key_expires_at:%Y-%m-%d %H:%M} UTC" if lasting else "no longer"
    screen.print(f"The new key {issued.id}; the old one works {until}. It is shown only now:\n")
    typer.echo(issued.key)


@app.command("change", given=FieldOptions(FIELDS, OPTIONS, is_change=True))
def change(call: Call, credential_id: CredentialId, given: Values) -> None:
    """Change what a key may do and how often. It takes effect within 5 seconds everywhere. --clear location_ids,
    expires_at or rate_limit lifts that limit."""
    if "all_scopes" in given or given.get("scopes"):
        given["scopes"] = _scopes(given.pop("all_scopes", False), given.get("scopes"))
    changed = _act(call, credential_id, lambda c, a: flow.change_key(c, a, credential_id, given))
    text = f"Key {credential_id}: {', '.join(changed)} changed." if changed else "The key is like this already."
    call.show({"id": credential_id, "changed": {field: new for field, (_, new) in changed.items()}}, text)


@app.command(
    "requests",
    help="List the last requests of a key, newest first: when, what, the answer. "
    f"Kept for {REQUEST_DAYS} days, {KEPT_PER_STUDIO:,} per studio.",
)
def requests(
    call: Call,
    credential_id: CredentialId,
    errors: Annotated[bool, typer.Option("--errors", help="Only requests that failed: status 400 and above.")] = False,
    before: Before = None,
    limit: Limit = 100,
) -> None:
    async def work(connection: Connection) -> list[Record]:
        access = await _access(connection, credential_id)
        wanted = request_log.LogFilter(credential_id, errors, before, limit)
        return await request_log.list_requests(connection, access, wanted)

    print_rows(call.on_database(work), call.as_json, limit)


@app.command("revoke")
def revoke(call: Call, credential_id: CredentialId) -> None:
    """End a key. It takes effect within 5 seconds everywhere."""
    _act(call, credential_id, lambda c, a: flow.revoke_key(c, a, credential_id))
    call.show({"id": credential_id, "revoked": True}, f"Key {credential_id} is revoked.")


def _act(call: Call, credential_id: str, action: Action[Result]) -> Result:
    """Run a flow on a key, in the studio that has it."""

    async def work(connection: Connection) -> Result:
        return await carried_out(connection, await _access(connection, credential_id), "key", action)

    done: Result = call.on_database(work)
    return done


async def _access(connection: Connection, credential_id: str) -> Access:
    """Return the operator's access to the studio that has the key."""
    studio_id = await storage.studio_of_credential(connection, credential_id)
    if studio_id is None:
        text = f"There is no key {credential_id!r}: `studiogate key list` shows them."
        if credential_id.startswith("sgk_"):  # not echoed: the output of commands is often stored
            text = "That is a whole key. Give its id, the 8 characters in its middle: `studiogate key list` shows them."
        raise CommandError(text, Refusal(Code.NOT_FOUND))
    return operator_of(studio_id)
