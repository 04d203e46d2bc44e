"""What the flows of signing in share: who asks from where, limits, one-time links, new sessions, audit entries."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access, staff_access
from studiogate.domain.addresses import owner_of
from studiogate.domain.encryption import Sealer
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import Channel, Staff
from studiogate.domain.staff.sign_in import LIMITS, Attempt, Origin, attempt_key, attempt_refusal, studio_to_start_in
from studiogate.domain.staff.tokens import LINK_LIFE, Purpose, hash_of_own, link_is_open, new_token, token_hash
from studiogate.flows import changes
from studiogate.storage.accounts import accounts, attempts, links, sessions
from studiogate.storage.accounts.accounts import Account
from studiogate.storage.accounts.links import StoredLink
from studiogate.storage.accounts.sessions import NewSession
from studiogate.storage.db.pool import Connection, Database


@dataclass(frozen=True, slots=True)
class Visit:
    """A request of somebody who may not be signed in. Passwords are hashed between transactions, so these flows take
    the database rather than a connection."""

    database: Database
    sealer: Sealer
    origin: Origin


class Started(NamedTuple):
    """A new session; ``token`` is the value of its cookie and is not stored."""

    token: str
    session_id: UUID
    studio_id: UUID


class IssuedLink(NamedTuple):
    """A one-time link; ``token`` is not stored."""

    token: str
    expires_at: datetime


async def count_attempt(visit: Visit, kind: Attempt, text: str) -> UUID | Refusal:
    """Count an attempt before anything is checked; return its id, or the refusal if there were too many. ``text`` is
    what the kind counts for."""
    key, address = attempt_key(text), owner_of(visit.origin.bounded().address)
    async with visit.database.transaction() as connection:
        attempt_id = await attempts.add(connection, kind, key, address)
    async with visit.database.transaction() as connection:
        refusal = attempt_refusal(kind, await attempts.count(connection, kind, key, address, LIMITS[kind].window))
        if refusal is None:
            return attempt_id
        await attempts.remove(connection, attempt_id)
    return refusal


async def issue_link(connection: Connection, account_id: UUID, purpose: Purpose) -> IssuedLink:
    """Create a one-time link. Must run inside a transaction."""
    token = new_token()
    expires_at = await links.add(connection, account_id, purpose, hash_of_own(token), LINK_LIFE[purpose])
    return IssuedLink(token, expires_at)


async def open_link(connection: Connection, token: str, *purposes: Purpose) -> StoredLink | Refusal:
    """Return a link that can be used for one of these purposes, without using it."""
    hashed = token_hash(token)
    link = None if hashed is None else await links.find(connection, hashed)
    if link is None or link.purpose not in purposes or not link_is_open(link.expires_at, link.used_at, link.now):
        return Refusal(Code.LINK_EXPIRED)
    return link


async def start_session(
    connection: Connection, account: Account, origin: Origin, *, with_password: bool
) -> Started | Refusal:
    """Start a session of an account that has proved who it is. Must run inside a transaction that has locked it."""
    studios = [each.studio_id for each in await accounts.studios(connection, account.id) if each.disabled_at is None]
    if not account.state.may_sign_in or not studios:
        return Refusal(Code.SIGN_IN_FAILED)
    studio_id = studio_to_start_in(studios, await sessions.last_studio(connection, account.id))
    token = new_token()
    session = NewSession(account.id, studio_id, hash_of_own(token), origin, with_password)
    session_id = await sessions.add(connection, session)
    access = access_of(account, studio_id, origin)
    await changes.record(connection, access, "staff.sign_in", "staff_account", account.id)
    return Started(token, session_id, studio_id)


def access_of(account: Account, studio_id: UUID, origin: Origin) -> Access:
    """Return the access under which what an account does to itself is recorded. It permits nothing."""
    address = origin.bounded().address
    staff = Staff(account.email, frozenset(), Channel.CONSOLE, account.id, address=address)
    return staff_access(studio_id, staff, None)


async def record_everywhere(connection: Connection, account: Account, origin: Origin, action: str) -> None:
    """Record what an account did to itself in the audit log of each of its studios."""
    for each in await accounts.studios(connection, account.id):
        access = access_of(account, each.studio_id, origin)
        await changes.record(connection, access, action, "staff_account", account.id)
