"""Find memberships that are due for a change and data that is due for deletion, studio by studio."""

from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.retention import IDEMPOTENCY_KEY_HOURS, MAIL_DAYS, WAITING_UPLOAD_HOURS
from studiogate.storage.db.pool import Connection
from studiogate.storage.status_lists import LIVE

# The rule ``domain.memberships.advance`` as a condition on the row; a test keeps the two in agreement.
DUE = f"""
    ((status = 'active' and current_period_end <= clock_timestamp())
     or (status = 'past_due' and current_period_end <= clock_timestamp() and (cancel_at_period_end or not auto_renew))
     or (status = 'active' and pause_starts_at <= clock_timestamp()
         and (pause_ends_at is null or pause_ends_at > pause_starts_at))
     or (status = 'paused' and pause_ends_at <= clock_timestamp())
     or (status in ({LIVE}) and cancel_at <= clock_timestamp()))"""

# Housekeeping only, all studios: finds the studios with due work. The changes then name one studio each.
STUDIOS_WITH_DUE_MEMBERSHIPS = f"select distinct studio_id from memberships where {DUE}"

# A transaction that moves credits of several members locks these members and writes their memberships in its own order.
# Locking the members first, ordered by id as everywhere, prevents a deadlock with it.
LOCK_DUE_MEMBERS = f"""
    select m.id from members m
    where m.studio_id = $1 and m.id = any(array(
        select distinct member_id from memberships where studio_id = $1 and {DUE} order by member_id limit $2))
    order by m.id
    for no key update"""

STUDIOS_WITH_EXPIRED_KEYS = f"""
    select distinct studio_id from idempotency_keys
    where completed_at <= clock_timestamp() - interval '{IDEMPOTENCY_KEY_HOURS} hours'"""

STUDIOS_WITH_FORGOTTEN_UPLOADS = f"""
    select distinct studio_id from form_uploads
    where submission_id is null and created_at <= clock_timestamp() - interval '{WAITING_UPLOAD_HOURS} hours'"""

STUDIOS_WITH_FILES = "select distinct studio_id from form_uploads"

STUDIOS_WITH_OLD_MAILS = f"""
    select distinct studio_id from mails
    where status <> 'queued' and created_at < clock_timestamp() - interval '{MAIL_DAYS} days'"""


async def studios_with_due_memberships(connection: Connection) -> list[UUID]:
    return [row["studio_id"] for row in await connection.fetch(STUDIOS_WITH_DUE_MEMBERSHIPS)]


async def studios_with_expired_keys(connection: Connection) -> list[UUID]:
    return [row["studio_id"] for row in await connection.fetch(STUDIOS_WITH_EXPIRED_KEYS)]


async def studios_with_forgotten_uploads(connection: Connection) -> list[UUID]:
    return [row["studio_id"] for row in await connection.fetch(STUDIOS_WITH_FORGOTTEN_UPLOADS)]


async def studios_with_files(connection: Connection) -> list[UUID]:
    return [row["studio_id"] for row in await connection.fetch(STUDIOS_WITH_FILES)]


async def studios_with_old_mails(connection: Connection) -> list[UUID]:
    return [row["studio_id"] for row in await connection.fetch(STUDIOS_WITH_OLD_MAILS)]


async def lock_due_members(connection: Connection, access: Access, limit: int) -> list[UUID]:
    return [row["id"] for row in await connection.fetch(LOCK_DUE_MEMBERS, access.studio_id, limit)]
