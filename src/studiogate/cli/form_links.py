"""studiogate form link: a signed link to a hosted form for one member, printed or sent by email."""

from pathlib import Path
from typing import Annotated, TypeVar
from uuid import UUID

import typer

from studiogate import settings as configuration
from studiogate.cli import lists
from studiogate.cli.actions import carried_out
from studiogate.cli.context import (
    AsJson,
    CommandError,
    DataFolder,
    duration,
    no_studio,
    no_such,
    on_database,
    operator_of,
    parse_row_id,
    print_json,
    screen,
)
from studiogate.cli.explanations import explain
from studiogate.cli.mails import NO_SERVER
from studiogate.cli.secret_key import OTHER_KEY
from studiogate.domain.access import Access
from studiogate.domain.encryption import Sealer, SealError
from studiogate.domain.forms.link_mails import LONGEST_LINK_LIFE
from studiogate.domain.forms.signed_links import Link, link_path, make_link, open_link_secret
from studiogate.domain.refusals import Code, Refusal
from studiogate.flows.forms import staff as flow
from studiogate.flows.forms.staff import QueuedLink, WantedLink
from studiogate.server.address_file import known_address
from studiogate.storage import studio as studios
from studiogate.storage.db.pool import Connection
from studiogate.storage.forms import hosted as storage
from studiogate.storage.forms.hosted import FormLinkFacts

app = typer.Typer(help="Hosted forms.", no_args_is_help=True)
Result = TypeVar("Result")


@app.callback()
def forms() -> None:
    """Hosted forms."""


@app.command("link")
def link(
    form_id: Annotated[UUID, typer.Argument(metavar="FORM_ID", parser=parse_row_id)],
    member: Annotated[UUID, typer.Option(parser=parse_row_id, help="The id of the member that the link is for.")],
    expires: Annotated[
        str, typer.Option(help=f"How long it opens the form, at most {LONGEST_LINK_LIFE.days}d: 30m, 24h, 7d.")
    ] = "7d",
    studio: Annotated[str | None, typer.Option(help="The studio's slug; needed only where ids repeat.")] = None,
    mail: Annotated[
        bool, typer.Option("--mail", help="Send it to the member by email instead of printing it.")
    ] = False,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Print a link that opens a form for one member, or mail it; what is sent with it is theirs."""
    wanted = WantedLink(form_id, member, duration(expires))
    if mail:
        _mail(wanted, studio, data, as_json=as_json)
        return
    facts = on_database(data, lambda connection: _link_facts(connection, studio, wanted))
    made = Link(member, facts.now + wanted.life)
    url = _address(facts, make_link(_secret(facts, data), form_id, made), data)
    if as_json:
        print_json({"url": url, "form_id": str(form_id), "member_id": str(member), "expires_at": made.expires_at})
        return
    typer.echo(url)
    screen.print(f"It opens until {made.expires_at:%Y-%m-%d %H:%M} UTC, for this member only.", style="dim")


def _mail(wanted: WantedLink, slug: str | None, data: Path | None, *, as_json: bool) -> None:
    if configuration.load(data_dir=data).smtp_url is None:
        raise CommandError(f"Nothing was queued. {NO_SERVER}")

    async def send(connection: Connection, access: Access) -> QueuedLink | Refusal:
        return _found(await flow.send_link(connection, access, wanted), wanted)

    async def work(connection: Connection) -> QueuedLink:
        access = await _access(connection, slug, wanted.form_id)
        return await carried_out(connection, access, "member", send)

    queued = on_database(data, work)
    if as_json:
        ids = {"form_id": str(wanted.form_id), "member_id": str(wanted.member_id)}
        print_json({"queued_for": queued.masked_email, **ids, "expires_at": queued.expires_at})
        return
    until = f"The link opens the form until {queued.expires_at:%Y-%m-%d %H:%M} UTC."
    screen.print(f"Queued a mail with the link for {queued.masked_email}. {until}", markup=False, soft_wrap=True)


def _address(facts: FormLinkFacts, token: str, data: Path | None) -> str:
    origin = known_address(configuration.load(data_dir=data))
    return origin + link_path(facts.studio_slug, facts.form_slug, token)


def _secret(facts: FormLinkFacts, data: Path | None) -> bytes:
    settings = configuration.load(data_dir=data)
    try:
        sealer = Sealer(lambda: configuration.known_secret_keys(settings))
        return open_link_secret(sealer, facts.studio_id, facts.link_secret)
    except SealError:
        raise CommandError(OTHER_KEY) from None


async def _link_facts(connection: Connection, slug: str | None, wanted: WantedLink) -> FormLinkFacts:
    access = await _access(connection, slug, wanted.form_id)
    facts = _found(await flow.link(connection, access, *wanted), wanted)
    if isinstance(facts, Refusal):
        raise CommandError(explain("form", facts), facts)
    return facts


def _found(outcome: Result | Refusal, wanted: WantedLink) -> Result | Refusal:
    """Return what the flow returned, unless there is no such form or member."""
    if not isinstance(outcome, Refusal) or outcome.code is not Code.NOT_FOUND:
        return outcome
    raise no_such("member", wanted.member_id) if "kind" in outcome.details else no_such("form", wanted.form_id)


async def _access(connection: Connection, slug: str | None, form_id: UUID) -> Access:
    owners = await _owners(connection, slug, form_id)
    if len(owners) > 1:
        raise CommandError(f"Several studios have a form {form_id}: say which with --studio SLUG.")
    if not owners:
        raise no_such("form", form_id)
    return operator_of(owners[0])


async def _owners(connection: Connection, slug: str | None, form_id: UUID) -> list[UUID]:
    if slug is None:
        return await storage.studios_of_form(connection, form_id)
    studio = await studios.find_studio(connection, slug)
    if studio is None:
        raise no_studio(slug)
    return [studio["studio_id"]]


app.command("list")(lists.list_forms)
