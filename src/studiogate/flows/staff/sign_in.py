"""Sign in with a password or a one-time link; confirm the password again before a dangerous action."""

from typing import NamedTuple
from uuid import UUID

from studiogate.domain.people import normalize_email
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff.sign_in import Attempt
from studiogate.domain.staff.tokens import Purpose
from studiogate.flows import changes
from studiogate.flows.staff import passwords
from studiogate.flows.staff.second_factor import step_of_code
from studiogate.flows.staff.sessions import SignedIn, Started, Visit, count_attempt, open_link, start_session
from studiogate.storage.accounts import accounts, attempts, links, sessions
from studiogate.storage.accounts.accounts import Account
from studiogate.storage.db.pool import Connection

FAILED = Refusal(Code.SIGN_IN_FAILED)


class Credentials(NamedTuple):
    """What a person typed. ``code`` is that of the second factor, where the account has one."""

    email: str
    password: str
    code: str | None = None


async def sign_in(visit: Visit, given: Credentials) -> Started | Refusal:
    """Start a session. Every cause of a failure has the same refusal and costs the same work; only who knows the
    password learns that a second factor is needed."""
    email = normalize_email(given.email) or given.email[:1]
    device, is_known = visit.origin.device, False
    if device is not None:
        async with visit.database.connection() as connection:
            is_known = await sessions.is_known_device(connection, email, device)
    # A device on which the account has signed in before is not counted with strangers.
    kind, text = (Attempt.DEVICE, f"{device.hex()} {email}") if device and is_known else (Attempt.SIGN_IN, email)
    if isinstance(attempt := await count_attempt(visit, kind, text), Refusal):
        return attempt
    async with visit.database.connection() as connection:
        account = await accounts.find(connection, email)
    is_right = await passwords.is_password(account.password_hash if account else None, given.password)
    if account is None or account.password_hash is None or not is_right:
        return FAILED
    fresh = await passwords.rehashed(account.password_hash, given.password)
    async with visit.database.transaction() as connection:
        locked = await accounts.lock(connection, account.id)
        if locked is None or locked.password_hash != account.password_hash:
            return FAILED
        outcome = await _admit(visit, connection, locked, given.code, with_password=True)
        if isinstance(outcome, Started) and fresh != account.password_hash:
            await accounts.set_password(connection, account.id, fresh)
        await _settle(connection, attempt, outcome)
    return outcome


async def sign_in_by_link(visit: Visit, token: str, code: str | None = None) -> Started | Refusal:
    """Start a session with a one-time link instead of a password. A second factor is asked for all the same."""
    if isinstance(account := await passwords.account_of_link(visit, token, Purpose.SIGN_IN), Refusal):
        return account
    if isinstance(attempt := await count_attempt(visit, Attempt.LINK, token), Refusal):
        return attempt
    async with visit.database.transaction() as connection:
        locked = await accounts.lock(connection, account.id)
        if locked is None or isinstance(await open_link(connection, token, Purpose.SIGN_IN), Refusal):
            return Refusal(Code.LINK_EXPIRED)
        outcome = await _admit(visit, connection, locked, code, with_password=False)
        if isinstance(outcome, Started):
            await links.use_all(connection, account.id)
        await _settle(connection, attempt, outcome)
    return outcome


async def confirm_password(visit: Visit, signed_in: SignedIn, password: str) -> Refusal | None:
    """Check the password of a signed-in person, so that dangerous actions are possible for a while."""
    session = signed_in.session
    if isinstance(attempt := await count_attempt(visit, Attempt.SESSION, str(session.id)), Refusal):
        return attempt
    async with visit.database.connection() as connection:
        account = await accounts.read(connection, session.account_id)
    if not await passwords.is_password(account.password_hash if account else None, password):
        return FAILED
    async with visit.database.transaction() as connection:
        await sessions.note_password(connection, session.id)
        await attempts.remove(connection, attempt)
        await changes.record(
            connection, signed_in.access, "staff.confirm_password", "staff_account", session.account_id
        )
    return None


async def _admit(
    visit: Visit, connection: Connection, account: Account, code: str | None, *, with_password: bool
) -> Started | Refusal:
    """Check the second factor of a locked account, then start the session."""
    if not account.state.may_sign_in:
        return FAILED
    if account.state.has_second_factor:
        if code is None:
            return Refusal(Code.SECOND_FACTOR_REQUIRED)
        if (step := step_of_code(visit, account, code)) is None:
            return FAILED
        await accounts.use_step(connection, account.id, step)
    return await start_session(connection, account, visit.origin, with_password=with_password)


async def _settle(connection: Connection, attempt: UUID, outcome: Started | Refusal) -> None:
    """Keep the attempt only if it counts as a failure."""
    if outcome != FAILED:
        await attempts.remove(connection, attempt)
