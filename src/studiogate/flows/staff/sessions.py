"""Sessions of staff, and what signing in needs: who asks from where, limits, one-time links, audit entries."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import Access, staff_access
from studiogate.domain.addresses import owner_of
from studiogate.domain.encryption import Sealer
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import Channel, Staff, sign_in, tokens
from studiogate.flows import changes
from studiogate.storage.accounts import accounts, attempts, links, sessions
from studiogate.storage.accounts.accounts import Account
from studiogate.storage.accounts.links import StoredLink
from studiogate.storage.accounts.sessions import NewSession, Sessions
from studiogate.storage.db.pool import Connection, Database


@dataclass(frozen=True, slots=True)
class Visit:
    """A request of somebody who may not be signed in. Passwords are hashed between transactions, so these flows take
    the database rather than a connection."""

    database: Database
    sealer: Sealer
    origin: sign_in.Origin


class Started(NamedTuple):
    """A new session; ``token`` is the value of its cookie and is not stored."""

    token: str
    session_id: UUID
    studio_id: UUID


class IssuedLink(NamedTuple):
    """A one-time link; ``token`` is not stored."""

    token: str
    expires_at: datetime


async def count_attempt(visit: Visit, kind: sign_in.Attempt, text: str) -> UUID | Refusal:
    """Count an attempt for ``text`` before anything is checked; return its id, or a refusal if there were too many."""
    key, address = sign_in.attempt_key(text), owner_of(visit.origin.bounded().address)
    async with visit.database.transaction() as connection:
        attempt_id = await attempts.add(connection, kind, key, address)
    async with visit.database.transaction() as connection:
        count = await attempts.count(connection, kind, key, address, sign_in.LIMITS[kind].window)
        if (refusal := sign_in.attempt_refusal(kind, count)) is None:
            return attempt_id
        await attempts.remove(connection, attempt_id)
    return refusal


async def issue_link(connection: Connection, account_id: UUID, purpose: tokens.Purpose) -> IssuedLink:
    """Create a one-time link. Must run inside a transaction."""
    token = tokens.new_token()
    expires_at = await links.add(connection, account_id, purpose, tokens.hash_of_own(token), tokens.LINK_LIFE[purpose])
    return IssuedLink(token, expires_at)


async def open_link(connection: Connection, token: str, *purposes: tokens.Purpose) -> StoredLink | Refusal:
    """Return a link that can be used for one of these purposes, without using it."""
    hashed = tokens.token_hash(token)
    link = None if hashed is None else await links.find(connection, hashed)
    if link is None or link.purpose not in purposes or not tokens.link_is_open(link.expires_at, link.used_at, link.now):
        return Refusal(Code.LINK_EXPIRED)
    return link


async def start_session(
    connection: Connection, account: Account, origin: sign_in.Origin, *, with_password: bool
) -> Started | Refusal:
    """Start a session of an account that has proved who it is. Must run inside a transaction that has locked it."""
    studios = [each.studio_id for each in await accounts.studios(connection, account.id) if each.disabled_at is None]
    if not account.state.may_sign_in or not studios:
        return Refusal(Code.SIGN_IN_FAILED)
    studio_id = sign_in.studio_to_start_in(studios, await sessions.last_studio(connection, account.id))
    token = tokens.new_token()
    session = NewSession(account.id, studio_id, tokens.hash_of_own(token), origin, with_password)
    session_id = await sessions.add(connection, session)
    access = access_of(account, studio_id, origin)
    await changes.record(connection, access, "staff.sign_in", "staff_account", account.id)
    return Started(token, session_id, studio_id)


def access_of(account: Account, studio_id: UUID, origin: sign_in.Origin) -> Access:
    """Return the access under which what an account does to itself is recorded. It permits nothing."""
    address = origin.bounded().address
    staff = Staff(account.email, frozenset(), Channel.CONSOLE, account.id, address=address)
    return staff_access(studio_id, staff, None)


async def record_everywhere(connection: Connection, account: Account, origin: sign_in.Origin, action: str) -> None:
    """Record what an account did to itself in the audit log of each of its studios."""
    for each in await accounts.studios(connection, account.id):
        access = access_of(account, each.studio_id, origin)
        await changes.record(connection, access, action, "staff_account", account.id)


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A person with a session: ``access`` is what their role permits in the chosen studio."""

    session: sign_in.Session
    access: Access
    token: str

    @property
    def csrf_token(self) -> str:
        """The token that every form of this session carries while it works in its studio."""
        return tokens.csrf_token(self.token, self.session.studio_id)

    def sent(self, presented: str) -> bool:
        """Return whether a form with this CSRF token was sent by this session's own pages."""
        return tokens.is_csrf_token(self.token, self.session.studio_id, presented)

    def refusal_without_password(self) -> Refusal | None:
        """Return the refusal of what a person may do to their own account only shortly after typing the password."""
        staff = self.access.staff
        return None if staff is not None and staff.password_is_recent else Refusal(Code.PASSWORD_REQUIRED)


async def resolve(database: Database, token: str, origin: sign_in.Origin) -> SignedIn | Refusal:
    """Return who a session cookie belongs to, and note that the session was used."""
    hashed, address = tokens.token_hash(token), origin.bounded().address
    if hashed is None:
        return Refusal(Code.SESSION_ENDED)
    async with database.connection() as connection:
        session = await sessions.find(connection, hashed)
    if session is None or not session.is_open:
        return Refusal(Code.SESSION_ENDED)
    if session.needs_note:
        async with database.transaction() as connection:
            await sessions.note_use(connection, session.id, address)
    access = staff_access(session.studio_id, session.staff(address), session.location_ids)
    return SignedIn(session, access, token)


async def still_permits(database: Database, signed_in: SignedIn) -> bool:
    """Return whether the session is open, with its studio, role and locations. It does not count as used."""
    then = signed_in.session
    async with database.connection() as connection:
        now = await sessions.find(connection, tokens.hash_of_own(signed_in.token))
    return now is not None and now.is_open and now.scope == then.scope


async def choose_studio(database: Database, signed_in: SignedIn, studio_id: UUID) -> Refusal | None:
    """Let the session work in another studio of the account; the log of that studio says so."""
    session = signed_in.session
    async with database.transaction() as connection:
        own = await accounts.studios(connection, session.account_id)
        if not any(each.studio_id == studio_id and each.disabled_at is None for each in own):
            return Refusal(Code.NOT_FOUND)
        await sessions.choose_studio(connection, session.id, studio_id)
        chosen = replace(signed_in.access, studio_id=studio_id)
        await changes.record(connection, chosen, "staff.choose_studio", "staff_account", session.account_id)
    return None


async def sign_out(database: Database, signed_in: SignedIn) -> None:
    await end_session(database, signed_in, signed_in.session.id)


async def end_session(database: Database, signed_in: SignedIn, session_id: UUID) -> Refusal | None:
    account_id = signed_in.session.account_id
    async with database.transaction() as connection:
        if not await sessions.end(connection, Sessions(account_id, only=session_id)):
            return Refusal(Code.NOT_FOUND)
        action = "staff.sign_out" if session_id == signed_in.session.id else "staff.end_session"
        await changes.record(connection, signed_in.access, action, "staff_account", account_id)
    return None


async def end_other_sessions(database: Database, signed_in: SignedIn) -> int:
    """End all of the person's own sessions but the present one; return how many."""
    session = signed_in.session
    async with database.transaction() as connection:
        ended = await sessions.end(connection, Sessions(session.account_id, but=session.id))
        if ended:
            await changes.record(connection, signed_in.access, "staff.end_session", "staff_account", session.account_id)
    return ended
