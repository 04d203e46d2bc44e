"""The address of the console that `studiogate up` prints: a link that signs in, or that sets up an empty service."""

from uuid import UUID

from studiogate import clock, demo
from studiogate.cli.context import operator_of
from studiogate.demo.staff import OWNER
from studiogate.domain.encryption import Sealer
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Role
from studiogate.domain.staff.roles import Grant
from studiogate.domain.staff.tokens import link_path
from studiogate.flows.staff import operators, roles, set_up
from studiogate.flows.staff.operators import SIGN_IN_LINK
from studiogate.flows.staff.roles import Invitation
from studiogate.storage import secret_key
from studiogate.storage import studio as studios
from studiogate.storage.accounts import accounts
from studiogate.storage.db.pool import Connection

CONSOLE = "/console/"


async def console_path(connection: Connection, sealer: Sealer) -> str:
    """Return the path to print: a one-time link for the demo studio's owner, the set-up of an empty service, or the
    page to sign in."""
    if not await studios.any_studio(connection):
        sealer.use(await secret_key.share_fingerprint(connection))
        return set_up.set_up_path(sealer, clock.now())
    found = await studios.find_studio(connection, demo.SLUG)
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
