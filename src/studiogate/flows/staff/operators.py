"""What only operators do: it concerns an account in all its studios."""

from collections.abc import Callable
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import refusal_without_owner
from studiogate.domain.staff.tokens import Purpose
from studiogate.flows import changes
from studiogate.flows.staff.sessions import IssuedLink, issue_link
from studiogate.storage import staff
from studiogate.storage.accounts import accounts, links, sessions
from studiogate.storage.accounts.accounts import Account
from studiogate.storage.accounts.sessions import Sessions
from studiogate.storage.db.failures import transaction_on
from studiogate.storage.db.pool import Connection

Operator = Callable[[UUID], Access]
"""Returns the operator's access to a studio."""


async def disable_account(connection: Connection, operator: Operator, account_id: UUID) -> int | Refusal:
    """Disable an account everywhere; end its links and sessions, return how many. No studio loses its last owner."""
    async with transaction_on(connection):
        for studio in await accounts.studios(connection, account_id):
            await staff.lock_studio(connection, operator(studio.studio_id))
        await accounts.lock(connection, account_id)
        for studio in await accounts.studios(connection, account_id):
            owners = await staff.owners(connection, operator(studio.studio_id))
            if refusal := refusal_without_owner(owners, account_id, studio.slug):
                return refusal
        await accounts.set_disabled(connection, account_id, True)
        await links.use_all(connection, account_id)
        ended = await sessions.end(connection, Sessions(account_id))
        await _record(connection, operator, account_id, "staff.disable_account")
    return ended


async def enable_account(connection: Connection, operator: Operator, account_id: UUID) -> None:
    """Let an account sign in again, with the password and the roles that it had."""
    async with transaction_on(connection):
        await accounts.lock(connection, account_id)
        await accounts.set_disabled(connection, account_id, False)
        await _record(connection, operator, account_id, "staff.enable_account")


async def end_sessions(connection: Connection, operator: Operator, account_id: UUID) -> int:
    async with transaction_on(connection):
        ended = await sessions.end(connection, Sessions(account_id))
        if ended:
            await _record(connection, operator, account_id, "staff.end_session")
    return ended


async def remove_second_factor(connection: Connection, operator: Operator, account_id: UUID) -> Refusal | None:
    """Remove the second factor of somebody who has lost it. Their sessions end."""
    async with transaction_on(connection):
        account = await accounts.lock(connection, account_id)
        if account is None or account.totp_secret is None:
            return Refusal(Code.NOT_FOUND)
        await accounts.set_second_factor(connection, account_id, None)
        await sessions.end(connection, Sessions(account_id))
        await _record(connection, operator, account_id, "staff.second_factor_off")
    return None


class LinkKind(NamedTuple):
    """A one-time link that somebody makes for an account: the action that the audit log names, and the mail's kind."""

    purpose: Purpose
    action: str
    mail: str


SIGN_IN_LINK = LinkKind(Purpose.SIGN_IN, "staff.make_sign_in_link", "staff_sign_in")
RESET_LINK = LinkKind(Purpose.RESET, "staff.make_reset_link", "staff_password_reset")


async def make_link(
    connection: Connection, operator: Operator, account: Account, kind: LinkKind, *, mail: bool
) -> IssuedLink | Refusal:
    """Create a one-time link that signs an account in, or sets a new password; ``mail`` also mails another one."""
    async with transaction_on(connection):
        locked = await accounts.lock(connection, account.id)
        known = await accounts.studios(connection, account.id)
        studios = [each for each in known if each.disabled_at is None]
        if locked is None or not locked.state.may_sign_in or not studios:
            only_in = [each.slug for each in known] if locked is not None and locked.disabled_at is None else []
            return Refusal(Code.INVALID_TRANSITION, {"from": "disabled", "to": "signed_in", "only_in": only_in})
        link = await issue_link(connection, account.id, kind.purpose)
        if mail:
            access = operator(studios[0].studio_id)
            await staff.queue_mail(connection, access, account.id, kind.mail, account.email)
        await _record(connection, operator, account.id, kind.action)
    return link


async def _record(connection: Connection, operator: Operator, account_id: UUID, action: str) -> None:
    for studio in await accounts.studios(connection, account_id):
        await changes.record(connection, operator(studio.studio_id), action, "staff_account", account_id)
