"""One-time links: stored as hashes, valid for a time, used once."""

from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.staff.tokens import Purpose
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.statement import new_id

# Why a mail with a link is not sent.
NOT_NEEDED = "no longer needed"
ADD = """
    insert into staff_links (id, account_id, purpose, token_hash, expires_at)
    values ($1, $2, $3, $4, clock_timestamp() + $5::interval) returning expires_at"""
FIND = """
    select id, account_id, purpose, expires_at, used_at, clock_timestamp() as now from staff_links
    where token_hash = $1"""
# In the studios of the account: mails belong to one.
DROP_MAILS = """
    update mails m set status = 'failed', problem = $2 from staff_roles r
    where r.account_id = $1 and m.studio_id = r.studio_id and m.account_id = $1 and m.status = 'queued'"""
USE = "update staff_links set used_at = clock_timestamp() where account_id = $1 and used_at is null"
# One statement whether or not there is such an account: how long it takes tells nobody. Whoever asks has not proved to
# be the account's person, so the audit log does not say that they are.
QUEUE_RESET = """
    with found as (
        select r.studio_id, a.id, a.email, row_number() over (order by r.studio_id) as number
        from staff_accounts a join staff_roles r on r.account_id = a.id
        where lower(a.email) = lower($1) and a.disabled_at is null and r.disabled_at is null
    ), queued as (
        insert into mails (studio_id, id, account_id, kind, recipient)
        select f.studio_id, $2, f.id, 'staff_password_reset', f.email from found f where f.number = 1
    )
    insert into audit_log (studio_id, id, channel, actor_name, address, action, subject_type, subject_id)
    select f.studio_id, gen_random_uuid(), 'console', 'visitor', $3, 'staff.request_reset', 'staff_account', f.id
    from found f"""


class StoredLink(NamedTuple):
    id: UUID
    account_id: UUID
    purpose: Purpose
    expires_at: datetime
    used_at: datetime | None
    now: datetime


async def add(
    connection: Connection, account_id: UUID, purpose: Purpose, token_hash: bytes, life: timedelta
) -> datetime:
    expires_at: datetime = await connection.fetchval(ADD, new_id(), account_id, purpose.value, token_hash, life)
    return expires_at


async def find(connection: Connection, token_hash: bytes) -> StoredLink | None:
    row = await connection.fetchrow(FIND, token_hash)
    return None if row is None else StoredLink(row[0], row[1], Purpose(row[2]), *row[3:])


async def use_all(connection: Connection, account_id: UUID) -> None:
    """Use up every link of an account, also those still to be mailed. The mails come first: a worker that has just
    claimed one has made its link when we get the row."""
    await connection.execute(DROP_MAILS, account_id, NOT_NEEDED)
    await connection.execute(USE, account_id)


async def queue_reset(connection: Connection, email: str, address: str | None) -> None:
    """Queue a mail with a link to set a new password, in one of the account's studios, if there is such an account, and
    record in all of them from where it was asked for."""
    await connection.execute(QUEUE_RESET, email, new_id(), address)
