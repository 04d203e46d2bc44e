"""The staff of a studio: invite, change a role, disable, enable, end sessions."""

from dataclasses import replace
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.people import normalize_email
from studiogate.domain.refusals import Code, Fault, Refusal
from studiogate.domain.staff import MAX_STAFF, Channel, Grant, Permission, Role, grant_faults, refusal_without_owner
from studiogate.domain.staff.tokens import Purpose
from studiogate.flows import changes
from studiogate.flows.changes import audited
from studiogate.flows.staff.operators import RESET_LINK
from studiogate.flows.staff.sessions import IssuedLink, issue_link
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage import staff
from studiogate.storage.accounts import accounts, links, sessions
from studiogate.storage.accounts.sessions import Sessions
from studiogate.storage.audit import Subject
from studiogate.storage.db.pool import Connection

NO_EMAIL = Fault(("email",), "email", "Value is not a valid email address")
IS_STAFF = Fault(("email",), "exists", "This account belongs to the studio already: change its role instead")


class Invitation(NamedTuple):
    """Whom to invite, and as what. ``mail`` also mails a link; ``name`` stands until the person chooses one."""

    email: str
    grant: Grant
    mail: bool = False
    name: str = ""


class Invited(NamedTuple):
    """``link`` is None if the account has a password already, or if the inviter must not see the link: whoever opens it
    first chooses the account's password, which is the business of the invited person and of operators."""

    account_id: UUID
    email: str
    link: IssuedLink | None
    is_new: bool


@staff_flow(Permission.STAFF)
async def invite(connection: Connection, access: Access, invitation: Invitation) -> Invited | Refusal:
    """Give the account with this email a role in the studio; create the account if there is none. Inviting somebody
    again who has not accepted yet replaces the role and the link."""
    email, grant = normalize_email(invitation.email), invitation.grant
    faults = [] if email else [NO_EMAIL]
    faults += grant_faults(grant, await staff.known_rows(connection, access, grant))
    if faults or email is None:
        return Refusal(Code.VALIDATION_ERROR, faults=faults)
    slug = await staff.lock_studio(connection, access)
    account = await accounts.find_or_add(connection, email)
    role = await staff.find_role(connection, access, account.id)
    if role is not None and (account.password_hash is not None or role.disabled_at is not None):
        return Refusal(Code.VALIDATION_ERROR, faults=[IS_STAFF])
    if role is None and await staff.count_roles(connection, access) >= MAX_STAFF:
        return Refusal(Code.LIMIT_REACHED, {"limit": "staff", "maximum": MAX_STAFF})
    owners = [] if grant.role is Role.OWNER else await staff.owners(connection, access)
    if slug is not None and (refusal := refusal_without_owner(owners, account.id, slug)):
        return refusal
    async with audited(connection, access, "staff.invite", Subject("staff_role", account.id)):
        await staff.put_role(connection, access, account.id, grant)
    if account.name == "" and invitation.name:
        await accounts.set_name(connection, account.id, invitation.name)
    is_new, link = account.password_hash is None, None
    if is_new and account.disabled_at is None:
        await links.use_all(connection, account.id)
        if invitation.mail:
            await staff.queue_mail(connection, access, account.id, "staff_invitation", account.email)
        if await _may_see_link(connection, access, account.id, mail=invitation.mail):
            link = await issue_link(connection, account.id, Purpose.INVITATION)
    return Invited(account.id, email, link, is_new)


async def _may_see_link(connection: Connection, access: Access, account_id: UUID, *, mail: bool) -> bool:
    """Return whether the inviter gets the link: operators, and without a mail an owner of all the account's studios."""
    if access.staff is None or access.staff.channel is Channel.COMMAND:
        return access.staff is not None
    inviter = access.staff.account_id
    return inviter is not None and not mail and not await accounts.beyond(connection, inviter, [account_id])


@staff_flow(Permission.STAFF)
async def change_role(connection: Connection, access: Access, account_id: UUID, grant: Grant) -> Grant | Refusal:
    """Replace an account's role, locations and instructor. It takes effect with the account's next request."""
    if faults := grant_faults(grant, await staff.known_rows(connection, access, grant)):
        return Refusal(Code.VALIDATION_ERROR, faults=faults)
    slug = await staff.lock_studio(connection, access)
    if slug is None or await staff.find_role(connection, access, account_id) is None:
        return Refusal(Code.NOT_FOUND)
    owners = [] if grant.role is Role.OWNER else await staff.owners(connection, access)
    if refusal := refusal_without_owner(owners, account_id, slug):
        return refusal
    async with audited(connection, access, "staff.change_role", Subject("staff_role", account_id)):
        await staff.put_role(connection, access, account_id, grant)
    return grant


@staff_flow(Permission.STAFF)
async def disable(connection: Connection, access: Access, account_id: UUID) -> int | Refusal:
    """Take an account's access to this studio away; return how many of its sessions ended."""
    slug = await staff.lock_studio(connection, access)
    if slug is None or await staff.find_role(connection, access, account_id) is None:
        return Refusal(Code.NOT_FOUND)
    if refusal := refusal_without_owner(await staff.owners(connection, access), account_id, slug):
        return refusal
    await accounts.lock(connection, account_id)
    async with audited(connection, access, "staff.disable", Subject("staff_role", account_id)):
        await staff.set_disabled(connection, access, account_id, True)
    return await sessions.end(connection, Sessions(account_id, studio_id=access.studio_id))


@staff_flow(Permission.STAFF)
async def enable(connection: Connection, access: Access, account_id: UUID) -> bool | Refusal:
    """Give an account its access to this studio back."""
    await staff.lock_studio(connection, access)
    if await staff.find_role(connection, access, account_id) is None:
        return Refusal(Code.NOT_FOUND)
    async with audited(connection, access, "staff.enable", Subject("staff_role", account_id)):
        await staff.set_disabled(connection, access, account_id, False)
    return True


@staff_flow(Permission.STAFF)
async def make_reset_link(
    connection: Connection, access: Access, account_id: UUID, *, mail: bool
) -> IssuedLink | Refusal:
    """Create a one-time link that sets an account's password; ``mail`` queues a mail with another one.

    Who has the link acts in all studios of the account, so its maker must be an owner of each of them."""
    role = await staff.find_role(connection, access, account_id)
    account = await accounts.lock(connection, account_id) if role is not None else None
    if role is None or account is None:
        return Refusal(Code.NOT_FOUND)
    is_disabled = role.disabled_at is not None or account.disabled_at is not None
    if is_disabled or account.password_hash is None:
        return Refusal(Code.INVALID_TRANSITION, {"from": "disabled" if is_disabled else "invited", "to": "reset"})
    owner_id = access.staff.account_id if access.staff is not None else None
    if owner_id is not None and await accounts.beyond(connection, owner_id, [account_id]):
        return Refusal(Code.PERMISSION_DENIED, {"reason": "other_studios"})
    if mail:
        await staff.queue_mail(connection, access, account_id, RESET_LINK.mail, account.email)
    for studio in await accounts.studios(connection, account_id):
        there = replace(access, studio_id=studio.studio_id)
        await changes.record(connection, there, RESET_LINK.action, "staff_account", account_id)
    return await issue_link(connection, account_id, RESET_LINK.purpose)


@staff_flow(Permission.STAFF)
async def end_sessions(
    connection: Connection, access: Access, account_id: UUID, session_id: UUID | None = None
) -> int | Refusal:
    """End an account's sessions in this studio, or one of them; return how many."""
    if await staff.find_role(connection, access, account_id) is None:
        return Refusal(Code.NOT_FOUND)
    ended = await sessions.end(connection, Sessions(account_id, session_id, studio_id=access.studio_id))
    if session_id is not None and not ended:
        return Refusal(Code.NOT_FOUND)
    if ended:
        await changes.record(connection, access, "staff.end_session", "staff_account", account_id)
    return ended
