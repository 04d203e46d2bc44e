"""Sessions: rows that can be listed and ended. Only the hash of a session's token is stored."""

from typing import NamedTuple
from uuid import UUID

from studiogate.domain.staff import Role
from studiogate.domain.staff.sign_in import LIFE, MAX_SESSIONS, Origin, Session
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.db.statement import affected, new_id

ADD = """
    insert into staff_sessions
        (id, account_id, chosen_studio_id, token_hash, address, user_agent, device_hash, password_at, expires_at)
    values ($1, $2, $3, $4, $5, $6, $7, case when $8 then clock_timestamp() end, clock_timestamp() + $9::interval)"""
END_OLDEST = """
    update staff_sessions set ended_at = clock_timestamp() where id in (
        select id from staff_sessions where account_id = $1 and ended_at is null
        order by created_at desc, id desc offset $2)"""
FIND = """
    select s.id, s.account_id, a.email, s.chosen_studio_id as studio_id, s.expires_at, s.last_used_at, s.ended_at,
           s.password_at, a.disabled_at as account_disabled_at, r.role, r.disabled_at as role_disabled_at,
           r.location_ids, r.instructor_id, clock_timestamp() as now
    from staff_sessions s
    join staff_accounts a on a.id = s.account_id
    left join staff_roles r on r.studio_id = s.chosen_studio_id and r.account_id = s.account_id
    where s.token_hash = $1"""
IS_KNOWN_DEVICE = """
    select exists (select from staff_accounts a join staff_sessions s on s.account_id = a.id
                   where lower(a.email) = lower($1) and s.device_hash = $2)"""
LAST_STUDIO = """
    select chosen_studio_id from staff_sessions where account_id = $1 order by created_at desc, id desc limit 1"""
NOTE_USE = """
    update staff_sessions set last_used_at = clock_timestamp(), address = $2 where id = $1 and ended_at is null"""
CONFIRM = "update staff_sessions set password_at = clock_timestamp() where id = $1 and ended_at is null"
RENEW = "update staff_sessions set token_hash = $2 where id = $1 and ended_at is null"
CHOOSE_STUDIO = "update staff_sessions set chosen_studio_id = $2 where id = $1 and ended_at is null"
END = """
    update staff_sessions set ended_at = clock_timestamp()
    where account_id = $1 and ended_at is null and ($2::uuid is null or id = $2)
      and ($3::uuid is null or id <> $3) and ($4::uuid is null or chosen_studio_id = $4)"""
LIST = """
    select s.id, t.slug as studio, s.address, s.user_agent, s.created_at, s.last_used_at, s.expires_at
    from staff_sessions s join studios t on t.studio_id = s.chosen_studio_id
    where s.account_id = $1 and s.ended_at is null and s.expires_at > clock_timestamp()
      and ($2::uuid is null or s.chosen_studio_id = $2)
    order by s.last_used_at desc, s.id"""


class NewSession(NamedTuple):
    account_id: UUID
    studio_id: UUID
    token_hash: bytes
    origin: Origin
    with_password: bool


class Sessions(NamedTuple):
    """Sessions of an account: all of them, one of them, all but one, or those in one studio."""

    account_id: UUID
    only: UUID | None = None
    but: UUID | None = None
    studio_id: UUID | None = None


async def add(connection: Connection, session: NewSession) -> UUID:
    """Store a session, and end the account's oldest ones if there are too many; return its id."""
    session_id, origin = new_id(), session.origin.bounded()
    whose = (session.account_id, session.studio_id, session.token_hash)
    where = (origin.address, origin.user_agent, origin.device)
    await connection.execute(ADD, session_id, *whose, *where, session.with_password, LIFE)
    await connection.execute(END_OLDEST, session.account_id, MAX_SESSIONS)
    return session_id


async def find(connection: Connection, token_hash: bytes) -> Session | None:
    row = await connection.fetchrow(FIND, token_hash)
    if row is None:
        return None
    locations = None if row["location_ids"] is None else tuple(row["location_ids"])
    role = None if row["role"] is None else Role(row["role"])
    return Session(**{**row, "role": role, "location_ids": locations})


async def is_known_device(connection: Connection, email: str, device: bytes) -> bool:
    return bool(await connection.fetchval(IS_KNOWN_DEVICE, email, device))


async def last_studio(connection: Connection, account_id: UUID) -> UUID | None:
    studio_id: UUID | None = await connection.fetchval(LAST_STUDIO, account_id)
    return studio_id


async def note_use(connection: Connection, session_id: UUID, address: str) -> None:
    await connection.execute(NOTE_USE, session_id, address)


async def note_password(connection: Connection, session_id: UUID) -> None:
    await connection.execute(CONFIRM, session_id)


async def replace_token(connection: Connection, session_id: UUID, token_hash: bytes) -> None:
    """Let another cookie stand for the session: the one before opens nothing any more."""
    await connection.execute(RENEW, session_id, token_hash)


async def choose_studio(connection: Connection, session_id: UUID, studio_id: UUID) -> None:
    await connection.execute(CHOOSE_STUDIO, session_id, studio_id)


async def end(connection: Connection, which: Sessions) -> int:
    return affected(await connection.execute(END, which.account_id, which.only, which.but, which.studio_id))


async def list_sessions(connection: Connection, account_id: UUID, studio_id: UUID | None = None) -> list[Record]:
    """Return the sessions of an account that have not ended, in all studios or in one, the one used last first."""
    return list(await connection.fetch(LIST, account_id, studio_id))
