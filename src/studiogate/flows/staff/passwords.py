"""Hash and verify passwords; set one by an invitation, by a reset link, or when signed in."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import BoundedSemaphore
from typing import NamedTuple, TypeVar
from uuid import UUID

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from studiogate.domain.names import name_fault
from studiogate.domain.people import normalize_email
from studiogate.domain.refusals import Code, Fault, Refusal
from studiogate.domain.staff.sign_in import Attempt, password_faults, typed_password
from studiogate.domain.staff.tokens import Purpose, hash_of_own, new_token
from studiogate.flows.staff import sessions as staff_sessions
from studiogate.storage.accounts import accounts, attempts, links, sessions
from studiogate.storage.accounts.accounts import Account
from studiogate.storage.accounts.sessions import Sessions
from studiogate.storage.db.pool import Connection, OverloadedError

Result = TypeVar("Result")
# One hash takes some 50 ms of a core and 19 MiB of memory, so that a few threads make them, and few at once. Requests
# beyond a short queue are refused as overload.
THREADS = 2
AT_ONCE = 20  # running and waiting, per process: the last of them waits for about half a second
HASHER = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)  # the parameters that OWASP recommends
# The hash of some text, with the parameters above. It is verified where there is no account or no password, so that
# the time that a failed attempt takes does not tell which accounts exist.
NOBODY = "$argon2id$v=19$m=19456,t=2,p=1$deQs9Nc7FV9AnVdLxpWLBg$PNn5P/W7YhS0cFRcXa8w5TxeScd/HBSVvcfWm91tx9Q"
_threads = ThreadPoolExecutor(THREADS, "password")
_places = BoundedSemaphore(AT_ONCE)


async def hash_password(password: str) -> str:
    """Return what is stored of a password that has passed the policy."""
    typed = typed_password(password)
    if typed is None:
        raise ValueError("a password must pass the policy before it is hashed")
    return await in_a_thread(lambda: HASHER.hash(typed))


async def is_password(stored: str | None, password: str) -> bool:
    """Return whether the password is the stored one. It costs the same if nothing is stored."""
    typed = typed_password(password)
    matches = await in_a_thread(lambda: _matches(stored or NOBODY, typed or ""))
    return matches and stored is not None and typed is not None


async def rehashed(stored: str, password: str) -> str:
    """Return the hash to store for a correct password: a new one if the parameters have changed since."""
    return await hash_password(password) if HASHER.check_needs_rehash(stored) else stored


def _matches(stored: str, typed: str) -> bool:
    try:
        return HASHER.verify(stored, typed)
    except (VerificationError, InvalidHashError):
        return False


async def in_a_thread(work: Callable[[], Result]) -> Result:
    """Do what costs as much as hashing; at most AT_ONCE at the same time."""
    if not _places.acquire(blocking=False):
        raise OverloadedError("too many passwords are being checked")
    running = _threads.submit(work)
    # Not by the work itself: what is cancelled while it waits for a thread never runs.
    running.add_done_callback(lambda _done: _places.release())
    return await asyncio.wrap_future(running)


class Acceptance(NamedTuple):
    """What an invited person chooses."""

    name: str
    password: str


async def accept_invitation(
    visit: staff_sessions.Visit, token: str, given: Acceptance
) -> staff_sessions.Started | Refusal:
    """Set the name and the password of an invited account, and sign it in. The link is used up."""
    if isinstance(account := await account_of_link(visit, token, Purpose.INVITATION), Refusal):
        return account
    faults = [*name_faults(given.name), *await _password_faults(visit, account.id, account.email, given.password)]
    if faults:
        return Refusal(Code.VALIDATION_ERROR, faults=faults)
    password_hash = await hash_password(given.password)
    async with visit.database.transaction() as connection:
        if isinstance(locked := await _lock_with_link(connection, account, token, Purpose.INVITATION), Refusal):
            return locked
        await accounts.set_password(connection, account.id, password_hash, given.name.strip())
        await links.use_all(connection, account.id)
        await staff_sessions.record_everywhere(connection, locked, visit.origin, "staff.accept_invitation")
        return await staff_sessions.start_session(connection, locked, visit.origin, with_password=True)


async def request_reset(visit: staff_sessions.Visit, email: str) -> Refusal | None:
    """Queue a mail with a link to set a new password, if there is such an account. The outcome does not tell."""
    normalized = normalize_email(email) or email[:1]
    if isinstance(attempt := await staff_sessions.count_attempt(visit, Attempt.RESET, normalized), Refusal):
        return attempt
    async with visit.database.transaction() as connection:
        await links.queue_reset(connection, normalized, visit.origin.bounded().address)
    return None


async def reset_password(visit: staff_sessions.Visit, token: str, password: str) -> Refusal | None:
    """Set a new password by a reset link. All sessions and links of the account end; a second factor stays."""
    if isinstance(account := await account_of_link(visit, token, Purpose.RESET), Refusal):
        return account
    if faults := await _password_faults(visit, account.id, account.email, password):
        return Refusal(Code.VALIDATION_ERROR, faults=faults)
    password_hash = await hash_password(password)
    async with visit.database.transaction() as connection:
        if isinstance(locked := await _lock_with_link(connection, account, token, Purpose.RESET), Refusal):
            return locked
        await accounts.set_password(connection, account.id, password_hash)
        await links.use_all(connection, account.id)
        await sessions.end(connection, Sessions(account.id))
        await staff_sessions.record_everywhere(connection, locked, visit.origin, "staff.reset_password")
    return None


async def change_password(
    visit: staff_sessions.Visit, signed_in: staff_sessions.SignedIn, current: str | None, new: str
) -> str | Refusal:
    """Replace the password of a signed-in person, and end their other sessions; return the new token of their own.
    Who signed in by a link and has none yet chooses their first one."""
    session = signed_in.session
    if faults := await _password_faults(visit, session.account_id, session.email, new):
        return Refusal(Code.VALIDATION_ERROR, faults=faults)
    attempt = await staff_sessions.count_attempt(visit, Attempt.SESSION, str(session.id))
    if isinstance(attempt, Refusal):
        return attempt
    async with visit.database.connection() as connection:
        account = await accounts.read(connection, session.account_id)
    if account is None:
        return Refusal(Code.SIGN_IN_FAILED)
    stored = account.password_hash
    if not (current is None if stored is None else await is_password(stored, current or "")):
        return Refusal(Code.SIGN_IN_FAILED)
    password_hash = await hash_password(new)
    async with visit.database.transaction() as connection:
        locked = await accounts.lock(connection, account.id)
        if locked is None or locked.password_hash != account.password_hash:
            return Refusal(Code.SIGN_IN_FAILED)
        await accounts.set_password(connection, account.id, password_hash)
        await links.use_all(connection, account.id)
        await sessions.end(connection, Sessions(account.id, but=session.id))
        await sessions.note_password(connection, session.id)
        token = new_token()
        await sessions.replace_token(connection, session.id, hash_of_own(token))
        await attempts.remove(connection, attempt)
        await staff_sessions.record_everywhere(connection, locked, visit.origin, "staff.change_password")
    return token


async def _password_faults(visit: staff_sessions.Visit, account_id: UUID, email: str, password: str) -> list[Fault]:
    async with visit.database.connection() as connection:
        studios = await accounts.studios(connection, account_id)
    names = [name for each in studios for name in (each.name, each.slug)]
    return await in_a_thread(lambda: password_faults(password, email, names))


async def account_of_link(visit: staff_sessions.Visit, token: str, purpose: Purpose) -> Account | Refusal:
    """Return the account of a one-time link that can be used for a purpose."""
    async with visit.database.connection() as connection:
        link = await staff_sessions.open_link(connection, token, purpose)
        account = None if isinstance(link, Refusal) else await accounts.read(connection, link.account_id)
    return account or Refusal(Code.LINK_EXPIRED)


async def _lock_with_link(connection: Connection, account: Account, token: str, purpose: Purpose) -> Account | Refusal:
    """Lock the account, then look at the link again: of two who use it at the same time, one succeeds."""
    locked = await accounts.lock(connection, account.id)
    link = await staff_sessions.open_link(connection, token, purpose)
    if locked is None or locked.disabled_at is not None or isinstance(link, Refusal):
        return Refusal(Code.LINK_EXPIRED)
    return locked


def name_faults(name: str) -> list[Fault]:
    if not name.strip():
        return [Fault(("name",), "string_too_short", "String should have at least 1 character")]
    fault = name_fault(name)
    return [Fault(("name",), "name", f"Name should {fault}")] if fault else []
