"""studiogate staff and console: accounts for the console, their roles, sessions and sign-in links."""

from typing import Annotated, TypeVar
from uuid import UUID

import typer

from studiogate.cli.commands import Call, Group, InStudio, studio_access
from studiogate.cli.context import CommandError, counted, operator_of, parse_row_id, print_json, screen
from studiogate.cli.rows import print_table
from studiogate.domain.access import Access
from studiogate.domain.people import normalize_email
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import Grant, Role
from studiogate.domain.staff.tokens import link_path
from studiogate.flows.staff import operators, roles
from studiogate.flows.staff.operators import RESET_LINK, SIGN_IN_LINK, LinkKind
from studiogate.flows.staff.roles import Invitation, Invited
from studiogate.flows.staff.sessions import IssuedLink
from studiogate.storage.accounts import accounts, sessions
from studiogate.storage.accounts.accounts import Account
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.mails import worker_sends
from studiogate.web.public_address import known_address

app = Group("Accounts of staff, and their roles.")
console = Group("The console of the studio's staff.")
Email = Annotated[str, typer.Argument(metavar="EMAIL", help="The account's email.")]
RoleOption = Annotated[Role, typer.Option("--role", help="What the account may do in the studio.")]
Locations = Annotated[
    list[UUID] | None,
    typer.Option("--location", metavar="ID", parser=parse_row_id, help="Limit to this location; repeat for more."),
]
Instructor = Annotated[
    UUID | None,
    typer.Option("--instructor", metavar="ID", parser=parse_row_id, help="For the role instructor: whose classes."),
]
Result = TypeVar("Result")
OneStudio = Annotated[str | None, typer.Option("--studio", metavar="SLUG", help="Only in this studio.")]


@app.command("invite")
def invite(
    call: InStudio, email: Email, role: RoleOption, location: Locations = None, instructor: Instructor = None
) -> None:
    """Give somebody a role in a studio, and print the link with which they choose a password."""

    async def work(connection: Connection, access: Access) -> tuple[Invited, bool]:
        mail = bool(await worker_sends(connection))
        wanted = Invitation(email, _grant(role, location, instructor), mail)
        return _done(await roles.invite(connection, access, wanted), email), mail

    done, mail = call.read(work)
    shown = _link(call, done.link, mail=mail and done.is_new)
    if call.as_json:
        print_json({"id": done.account_id, "email": done.email, "studio": call.studio, "role": role.value, **shown})
        return
    screen.print(f"{done.email} is {role.value} of {call.studio} now.", markup=False)
    if done.link is not None:
        _print_link(shown)
    elif done.is_new:
        enable = f"`studiogate staff enable {done.email}` changes that."
        screen.print(f"The account is disabled: {enable}", markup=False)
    else:
        screen.print("They have an account already, and find the studio in it.")


@app.command("list")
def list_staff(call: Call, studio: OneStudio = None) -> None:
    """List accounts with their roles."""

    async def work(connection: Connection) -> list[Record]:
        studio_id = None if studio is None else (await studio_access(connection, studio)).studio_id
        return await accounts.list_accounts(connection, studio_id)

    def cells(row: Record) -> tuple[object, ...]:
        locations = "all" if row["location_ids"] is None else len(row["location_ids"])
        account = (row["studio"], row["email"], row["name"], row["role"], locations, row["state"])
        return (*account, bool(row["second_factor"]), row["last_used_at"])

    columns = ("studio", "email", "name", "role", "locations", "state", "second factor", "last used")
    print_table(
        call, call.on_database(work), columns, cells, "No staff yet: `studiogate staff invite` makes an account."
    )


@app.command("role")
def change_role(
    call: InStudio, email: Email, role: RoleOption, location: Locations = None, instructor: Instructor = None
) -> None:
    """Replace the role of an account in a studio. Without --location it is not limited."""
    wanted = _grant(role, location, instructor)

    async def work(connection: Connection, access: Access) -> Grant:
        account = await _account(connection, email)
        return _done(await roles.change_role(connection, access, account.id, wanted), email)

    call.read(work)
    value = {"email": email, "studio": call.studio, "role": role.value}
    call.show(value, f"{email} is {role.value} of {call.studio} now.")


@app.command("disable")
def disable(call: Call, email: Email, studio: OneStudio = None) -> None:
    """Disable an account, in one studio or everywhere. Its sessions end."""

    async def work(connection: Connection) -> int:
        account = await _account(connection, email)
        if studio is None:
            return _done(await operators.disable_account(connection, operator_of, account.id), email)
        return _done(await roles.disable(connection, await studio_access(connection, studio), account.id), email)

    ended: int = call.on_database(work)
    value = {"email": email, "studio": studio, "state": "disabled", "sessions_ended": ended}
    call.show(value, f"{email} is disabled; {counted(ended, 'session')} ended.")


@app.command("enable")
def enable(call: Call, email: Email, studio: OneStudio = None) -> None:
    """Let a disabled account sign in again, in one studio or everywhere."""

    async def work(connection: Connection) -> list[str]:
        account = await _account(connection, email)
        if studio is None:
            await operators.enable_account(connection, operator_of, account.id)
            known = await accounts.studios(connection, account.id)
            return [_disabled_in(email, each.slug) for each in known if each.disabled_at is not None]
        _done(await roles.enable(connection, await studio_access(connection, studio), account.id), email)
        return [_disabled_in(email, None)] if account.disabled_at is not None else []

    still: list[str] = call.on_database(work)
    value = {"email": email, "studio": studio, "state": "enabled", "warnings": still}
    where = f" in {studio}" if studio is not None and still else ""
    call.show(value, "\n".join((f"{email} is enabled{where}.", *still)))


def _disabled_in(email: str, slug: str | None) -> str:
    """Say where an account is disabled, and the command that changes it; without a slug, everywhere."""
    where, option = ("everywhere", "") if slug is None else (f"in {slug}", f" --studio {slug}")
    return f"{email} is disabled {where}: `studiogate staff enable {email}{option}` changes that."


SESSION_COLUMNS = ("id", "studio", "address", "user_agent", "created_at", "last_used_at")


@app.command("sessions")
def list_sessions(
    call: Call, email: Email, end: Annotated[bool, typer.Option("--end", help="End all of them.")] = False
) -> None:
    """List an account's sessions, or end them."""

    async def work(connection: Connection) -> tuple[list[Record], int]:
        account = await _account(connection, email)
        if end:
            return [], await operators.end_sessions(connection, operator_of, account.id)
        return await sessions.list_sessions(connection, account.id), 0

    rows, ended = call.on_database(work)
    if end:
        call.show({"email": email, "sessions_ended": ended}, f"{counted(ended, 'session')} ended.")
    else:
        columns = ("id", "studio", "address", "browser", "since", "last used")
        print_table(call, rows, columns, lambda row: [row[name] for name in SESSION_COLUMNS], "No sessions.")


@app.command("second-factor")
def second_factor(
    call: Call,
    email: Email,
    remove: Annotated[bool, typer.Option("--remove", help="Remove it, for somebody who has lost their phone.")] = False,
) -> None:
    """Say whether an account has a second factor, or remove it."""

    async def work(connection: Connection) -> bool:
        account = await _account(connection, email)
        if not remove:
            return account.totp_confirmed_at is not None
        refusal = await operators.remove_second_factor(connection, operator_of, account.id)
        if refusal is not None:
            raise CommandError(f"{email} has no second factor.")
        return False

    has_one = call.on_database(work)
    call.show({"email": email, "second_factor": has_one}, f"{email} has {'a' if has_one else 'no'} second factor.")


@app.command("reset")
def reset(call: Call, email: Email) -> None:
    """Print a link that sets a new password once. The sessions end then; a second factor stays."""
    _print_account_link(call, email, RESET_LINK)


@console.command("link")
def sign_in_link(call: Call, email: Email) -> None:
    """Print a link that signs an account in once, without its password."""
    _print_account_link(call, email, SIGN_IN_LINK)


def _print_account_link(call: Call, email: str, kind: LinkKind) -> None:
    async def work(connection: Connection) -> tuple[IssuedLink, bool]:
        account, mail = await _account(connection, email), bool(await worker_sends(connection))
        return _done(await operators.make_link(connection, operator_of, account, kind, mail=mail), email), mail

    link, mail = call.on_database(work)
    shown = _link(call, link, mail=mail)
    if call.as_json:
        print_json({"email": email, **shown})
    else:
        _print_link(shown)


def _grant(role: Role, locations: list[UUID] | None, instructor_id: UUID | None) -> Grant:
    return Grant(role, tuple(dict.fromkeys(locations)) if locations else None, instructor_id)


async def _account(connection: Connection, email: str) -> Account:
    account = await accounts.find(connection, normalize_email(email) or "")
    if account is None:
        raise CommandError(f"There is no account {email!r}: `studiogate staff list` shows them.")
    return account


def _done(outcome: Result | Refusal, email: str) -> Result:
    """Return a flow's result; a refusal becomes the command's error."""
    if not isinstance(outcome, Refusal):
        return outcome
    text = outcome.message
    if outcome.faults:
        text = "; ".join(f"{fault.loc[0]}: {fault.msg}" for fault in outcome.faults) + "."
    elif outcome.code is Code.NOT_FOUND:
        text = f"{email} has no role in this studio: `studiogate staff invite` gives one."
    elif outcome.code is Code.INVALID_TRANSITION:
        text = "\n".join(_disabled_in(email, slug) for slug in outcome.details.get("only_in") or (None,))
    elif outcome.code is Code.LAST_OWNER:
        slug = outcome.details["studio"]
        text = f"{email} is the last owner of {slug}: `studiogate staff invite` or `staff role` makes another one."
    raise CommandError(text, outcome)


def _link(call: Call, link: IssuedLink | None, *, mail: bool) -> dict[str, object]:
    if link is None:
        return {"url": None, "expires_at": None, "mailed": False}
    origin = known_address(call.settings)
    return {"url": origin + link_path(link.token), "expires_at": link.expires_at, "mailed": mail}


def _print_link(shown: dict[str, object]) -> None:
    typer.echo(shown["url"])
    mailed = " A mail with a link of its own is on its way." if shown["mailed"] else ""
    screen.print(f"It works once, until {shown['expires_at']:%Y-%m-%d %H:%M} UTC.{mailed}", style="dim", soft_wrap=True)
