"""Set up an empty service in the browser: the first studio and its owner.

The person who starts the service gets a link. It holds a time, sealed with the installation's key, so nothing is stored
for it. It works until that time, and only as long as there is no studio."""

import base64
import binascii
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from studiogate.domain.access import Access, operator_access
from studiogate.domain.encryption import Sealer, SealError
from studiogate.domain.names import MAX_NAME
from studiogate.domain.people import normalize_email
from studiogate.domain.refusals import Code, Fault, Refusal
from studiogate.domain.staff import Channel, Grant, Role
from studiogate.domain.staff.sign_in import password_faults
from studiogate.flows import studio as studio_flow
from studiogate.flows.schedule.rows import Given
from studiogate.flows.staff import passwords, roles
from studiogate.flows.staff.passwords import name_faults
from studiogate.flows.staff.roles import NO_EMAIL, Invitation
from studiogate.flows.staff.sessions import Started, Visit, start_session
from studiogate.flows.staff_flow import RefusedError
from studiogate.storage import studio as studios
from studiogate.storage.accounts import accounts
from studiogate.storage.console import lock_set_up
from studiogate.storage.db.failures import transaction_on
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import new_id

LIFE = timedelta(days=1)
PURPOSE = "console set-up"
EXPIRED = Refusal(Code.LINK_EXPIRED)
HAS_ACCOUNT = Fault(("owner", "email"), "exists", "This email has an account already: sign in, or use another one")


class Owner(NamedTuple):
    name: str
    email: str
    password: str


def set_up_path(sealer: Sealer, now: datetime) -> str:
    """Return the path of the page that sets up an empty service."""
    sealed = sealer.seal((now + LIFE).isoformat().encode(), PURPOSE)
    return f"/console/set-up/{base64.urlsafe_b64encode(sealed).decode().rstrip('=')}"


async def check(visit: Visit, token: str, now: datetime) -> Refusal | None:
    """Return why a link does not work (any more), or None."""
    try:
        sealed = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        until = datetime.fromisoformat(visit.sealer.open(sealed, PURPOSE).decode())
    except (binascii.Error, ValueError, SealError):
        return EXPIRED
    if now >= until:
        return EXPIRED
    async with visit.database.connection() as connection:
        return EXPIRED if await studios.any_studio(connection) else None


async def create_studio(visit: Visit, values: Mapping[str, object], owner: Owner) -> Started | Refusal:
    """Create the first studio and its owner, and sign the owner in: all of it or nothing."""
    email = normalize_email(owner.email)
    names = [str(values.get(each, ""))[:MAX_NAME] for each in ("name", "slug")]
    weak = await passwords.in_a_thread(lambda: password_faults(owner.password, email or "", names))
    wrong = [*name_faults(owner.name), *weak, *([] if email else [NO_EMAIL])]
    faults = [fault._replace(loc=("owner", *fault.loc)) for fault in wrong]
    access = operator_access(new_id(), email or "", Channel.CONSOLE)
    password_hash = None if faults else await passwords.hash_password(owner.password)
    try:
        async with visit.database.connection() as connection, transaction_on(connection):
            await lock_set_up(connection)
            if await studios.any_studio(connection):
                return EXPIRED
            created = await studio_flow.create(connection, access, Given(values))
            if isinstance(created, Refusal):  # all faults of the form are reported together
                faults += created.faults or [Fault((created.param or "",), created.code.value, created.message)]
            if faults or email is None or password_hash is None:
                raise RefusedError(Refusal(Code.VALIDATION_ERROR, faults=faults))
            return await _sign_in_owner(connection, visit, access, owner._replace(email=email, password=password_hash))
    except RefusedError as refused:
        return refused.refusal


async def _sign_in_owner(connection: Connection, visit: Visit, access: Access, owner: Owner) -> Started | Refusal:
    """Give the account with the owner's email, which must be new, its role and password; ``owner`` has the hash."""
    invited = await roles.invite(connection, access, Invitation(owner.email, Grant(Role.OWNER)))
    if isinstance(invited, Refusal):
        raise RefusedError(invited)
    if not invited.is_new:
        raise RefusedError(Refusal(Code.VALIDATION_ERROR, faults=[HAS_ACCOUNT]))
    await accounts.set_password(connection, invited.account_id, owner.password, owner.name.strip())
    account = await accounts.lock(connection, invited.account_id)
    if account is None:
        raise AssertionError("the account was created just now")
    return await start_session(connection, account, visit.origin, with_password=True)
