"""Sessions of staff: from a cookie to an access, choosing a studio, signing out, listing and ending."""

from dataclasses import dataclass, replace
from uuid import UUID

from studiogate.domain.access import Access, staff_access
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff.sign_in import Origin, Session
from studiogate.domain.staff.tokens import csrf_token, hash_of_own, is_csrf_token, token_hash
from studiogate.flows import changes
from studiogate.storage.accounts import accounts, sessions
from studiogate.storage.accounts.sessions import Sessions
from studiogate.storage.db.pool import Database


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A person with a session: ``access`` is what their role permits in the chosen studio."""

    session: Session
    access: Access
    token: str

    @property
    def csrf_token(self) -> str:
        """The token that every form of this session carries while it works in its studio."""
        return csrf_token(self.token, self.session.studio_id)

    def sent(self, presented: str) -> bool:
        """Return whether a form with this CSRF token was sent by this session's own pages."""
        return is_csrf_token(self.token, self.session.studio_id, presented)

    def refusal_without_password(self) -> Refusal | None:
        """Return the refusal of what a person may do to their own account only shortly after typing the password."""
        staff = self.access.staff
        return None if staff is not None and staff.password_is_recent else Refusal(Code.PASSWORD_REQUIRED)


async def resolve(database: Database, token: str, origin: Origin) -> SignedIn | Refusal:
    """Return who a session cookie belongs to, and note that the session was used."""
    hashed, address = token_hash(token), origin.bounded().address
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
    """Return whether the session is open and permits what it did: the same studio, role and locations. The session does
    not count as used."""
    then = signed_in.session
    async with database.connection() as connection:
        now = await sessions.find(connection, hash_of_own(signed_in.token))
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
    """End one of the person's own sessions."""
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
