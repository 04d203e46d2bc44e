"""What is done to the database before a service uses it, and the address of the console that `up` prints.

`up` and `serve` import this file once the first API process is on its way: its imports take half a second, and that
process runs its own at the same time.
"""

from uuid import UUID

import structlog

from studiogate import clock
from studiogate import settings as configuration
from studiogate.cli import demo
from studiogate.cli.context import START_SECONDS, CommandError, connect_when_possible, operator_of
from studiogate.cli.secrets import check_key
from studiogate.demo import SLUG
from studiogate.demo.staff import OWNER
from studiogate.domain.encryption import Sealer
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Grant, Role
from studiogate.domain.staff.tokens import link_path
from studiogate.flows.staff import operators, roles, set_up
from studiogate.flows.staff.operators import SIGN_IN_LINK
from studiogate.flows.staff.roles import Invitation
from studiogate.settings import Settings
from studiogate.storage import secret_key
from studiogate.storage import studio as studios
from studiogate.storage.accounts import accounts
from studiogate.storage.db import migrate
from studiogate.storage.db.migrate import Migration
from studiogate.storage.db.pool import Connection

CONSOLE = "/console/"
log = structlog.get_logger()


def _log_waits(migration: Migration, step: int, problem: str | None) -> None:
    if problem:
        log.warning("migration is tried again", migration=migration.version, step=step, problem=problem)


def _log_wait(problem: str) -> None:
    log.warning("waiting for the database", problem=problem, at_most_seconds=START_SECONDS)


async def prepare_database(settings: Settings, dsn: str, no_demo: bool) -> tuple[str | None, str]:
    """Migrate the database, and load the demo studio unless it is not wanted; return a key of it and the path of the
    console, with a link that signs in."""
    connection = await connect_when_possible(dsn, _log_wait)
    try:
        await migrate.migrate(connection, report=_log_waits)
        await check_key(connection, settings)
        key = None if no_demo else await demo.ensure(connection, settings.data_dir)
        return key, await console_path(connection, Sealer(lambda: configuration.secret_keys(settings)))
    finally:
        await connection.close()


async def check_database(settings: Settings, dsn: str) -> None:
    """Refuse to start on a database that is not migrated, or whose secrets this process cannot decrypt."""
    connection = await connect_when_possible(dsn, _log_wait)
    try:
        if await migrate.pending(connection):
            raise CommandError("The database is not migrated: run `studiogate migrate`.")
        await check_key(connection, settings)
    finally:
        await connection.close()


async def console_path(connection: Connection, sealer: Sealer) -> str:
    """Return the path to print: a one-time link for the demo studio's owner, the set-up of an empty service, or the
    page to sign in."""
    if not await studios.any_studio(connection):
        sealer.use(await secret_key.share_fingerprint(connection))
        return set_up.set_up_path(sealer, clock.now())
    found = await studios.find_studio(connection, SLUG)
    return CONSOLE if found is None else await _demo_link(connection, found["studio_id"])


async def _demo_link(connection: Connection, studio_id: UUID) -> str:
    account = await accounts.find(connection, OWNER.email)
    if account is None:
        invitation = Invitation(OWNER.email, Grant(Role.OWNER), name=OWNER.name)
        await roles.invite(connection, operator_of(studio_id), invitation)
        account = await accounts.find(connection, OWNER.email)
    if account is None:
        return CONSOLE
    link = await operators.make_link(connection, operator_of, account, SIGN_IN_LINK, mail=False)
    return CONSOLE if isinstance(link, Refusal) else link_path(link.token)
