"""The accounts themselves: email, name, password, second factor."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from studiogate.domain import retention
from studiogate.domain.staff.sign_in import AccountState
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.db.statement import affected, new_id

COLUMNS = """
    a.id, a.email, a.name, a.password_hash, a.totp_secret, a.totp_confirmed_at, a.totp_last_step, a.disabled_at,
    (select count(*) from staff_roles r where r.account_id = a.id and r.disabled_at is null) as studios,
    clock_timestamp() as now"""
BY_EMAIL = f"select {COLUMNS} from staff_accounts a where lower(a.email) = lower($1)"
BY_ID = f"select {COLUMNS} from staff_accounts a where a.id = $1"
ADD = "insert into staff_accounts (id, email) values ($1, $2) on conflict (lower(email)) do nothing"
REPLACE_HASH = "update staff_accounts set password_hash = $2, name = coalesce($3, name) where id = $1"
SET_SECOND_FACTOR = """
    update staff_accounts set totp_secret = $2, totp_confirmed_at = null, totp_last_step = null where id = $1"""
CONFIRM_SECOND_FACTOR = "update staff_accounts set totp_confirmed_at = clock_timestamp() where id = $1"
DISABLE = "update staff_accounts set disabled_at = clock_timestamp() where id = $1 and disabled_at is null"
ENABLE = "update staff_accounts set disabled_at = null where id = $1"
# All studios of an account, in the order in which their rows are locked.
STUDIOS = """
    select r.studio_id, s.slug, r.role, r.disabled_at, s.name from staff_roles r
    join studios s on s.studio_id = r.studio_id where r.account_id = $1 order by r.studio_id"""
# Those of the accounts that belong to a studio of which $1 is no owner.
BEYOND = """
    select distinct r.account_id from staff_roles r where r.account_id = any($2::uuid[]) and not exists (
        select from staff_roles o where o.studio_id = r.studio_id and o.account_id = $1 and o.role = 'owner'
          and o.disabled_at is null)"""
LIST = """
    select a.id, a.email, a.name, s.slug as studio, r.role, r.location_ids, r.instructor_id,
           case when a.disabled_at is not null or r.disabled_at is not null then 'disabled'
                when a.password_hash is null then 'invited' else 'active' end as state,
           a.totp_confirmed_at is not null as second_factor,
           (select max(n.last_used_at) from staff_sessions n where n.account_id = a.id) as last_used_at
    from staff_accounts a
    join staff_roles r on r.account_id = a.id
    join studios s on s.studio_id = r.studio_id
    where $1::uuid is null or r.studio_id = $1
    order by s.slug, a.email limit 1000"""
# Secrets of all accounts: only `secrets rotate` reads them.
SECRETS = "select id, totp_secret from staff_accounts where totp_secret is not null order by id for no key update"

# What is over for so long that nobody asks for it any more.
FORGET = {
    table: f"delete from {table} where id in (select id from {table} where {over} limit $1)"
    for table, over in {
        "staff_sessions": f"expires_at < clock_timestamp() - interval '{retention.SESSION_DAYS} days'",
        "staff_links": f"expires_at < clock_timestamp() - interval '{retention.STAFF_LINK_DAYS} days'",
        "staff_sign_in_attempts": f"attempted_at < clock_timestamp() - interval '{retention.ATTEMPT_DAYS} days'",
    }.items()
}


@dataclass(frozen=True, slots=True)
class Account:
    id: UUID
    email: str
    name: str
    password_hash: str | None
    totp_secret: bytes | None
    totp_confirmed_at: datetime | None
    totp_last_step: int | None
    disabled_at: datetime | None
    studios: int
    now: datetime

    @property
    def state(self) -> AccountState:
        return AccountState(self.disabled_at, self.studios, self.totp_confirmed_at is not None)


class StudioRole(NamedTuple):
    studio_id: UUID
    slug: str
    role: str
    disabled_at: datetime | None
    name: str


class SealedSecret(NamedTuple):
    account_id: UUID
    secret: bytes


async def find(connection: Connection, email: str) -> Account | None:
    row = await connection.fetchrow(BY_EMAIL, email)
    return None if row is None else Account(*row)


async def read(connection: Connection, account_id: UUID) -> Account | None:
    row = await connection.fetchrow(BY_ID, account_id)
    return None if row is None else Account(*row)


async def lock(connection: Connection, account_id: UUID) -> Account | None:
    """Lock an account until the transaction ends; return it as it is then."""
    await connection.execute("select from staff_accounts where id = $1 for no key update", account_id)
    return await read(connection, account_id)


async def find_or_add(connection: Connection, email: str) -> Account:
    """Return the account with this email, locked; create it if there is none."""
    await connection.execute(ADD, new_id(), email)
    found = await find(connection, email)
    locked = None if found is None else await lock(connection, found.id)
    if locked is None:
        raise AssertionError("an account is never deleted")
    return locked


async def studios(connection: Connection, account_id: UUID) -> list[StudioRole]:
    return [StudioRole(*row) for row in await connection.fetch(STUDIOS, account_id)]


async def beyond(connection: Connection, owner_id: UUID, account_ids: Sequence[UUID]) -> set[UUID]:
    """Return the accounts that belong to a studio, too, in which ``owner_id`` is no owner."""
    return {row["account_id"] for row in await connection.fetch(BEYOND, owner_id, account_ids)}


async def set_password(connection: Connection, account_id: UUID, password_hash: str, name: str | None = None) -> None:
    """Store a new password; ``name`` replaces the account's name where it is given."""
    await connection.execute(REPLACE_HASH, account_id, password_hash, name)


async def set_name(connection: Connection, account_id: UUID, name: str) -> None:
    await connection.execute("update staff_accounts set name = $2 where id = $1", account_id, name)


async def set_second_factor(connection: Connection, account_id: UUID, sealed: bytes | None) -> None:
    """Store a second factor that is not confirmed yet; None removes it."""
    await connection.execute(SET_SECOND_FACTOR, account_id, sealed)


async def confirm_second_factor(connection: Connection, account_id: UUID) -> None:
    await connection.execute(CONFIRM_SECOND_FACTOR, account_id)


async def use_step(connection: Connection, account_id: UUID, step: int) -> None:
    """Record that the code of this step was used. The account must be locked."""
    await connection.execute("update staff_accounts set totp_last_step = $2 where id = $1", account_id, step)


async def set_disabled(connection: Connection, account_id: UUID, disabled: bool) -> None:
    await connection.execute(DISABLE if disabled else ENABLE, account_id)


async def list_accounts(connection: Connection, studio_id: UUID | None) -> list[Record]:
    """Return accounts with their roles, of one studio or of all. Operators only."""
    return list(await connection.fetch(LIST, studio_id))


async def sealed_secrets(connection: Connection) -> list[SealedSecret]:
    return [SealedSecret(*row) for row in await connection.fetch(SECRETS)]


async def write_secrets(connection: Connection, secrets: Sequence[SealedSecret]) -> None:
    await connection.executemany("update staff_accounts set totp_secret = $2 where id = $1", secrets)


async def forget(connection: Connection, table: str, at_most: int) -> int:
    """Delete old rows of a table of ``FORGET``; return how many."""
    return affected(await connection.execute(FORGET[table], at_most))
