"""Which memberships time changes, and what it makes forgettable. Studio by studio."""

from uuid import UUID

from studiogate.domain.access import Access
from studiogate.storage.database import Connection

# What ``domain.memberships.advance`` would change, as a condition on the row; a test holds the two together.
DUE = """
    ((status = 'active' and current_period_end <= clock_timestamp())
     or (status = 'past_due' and current_period_end <= clock_timestamp() and (cancel_at_period_end or not auto_renew))
     or (status = 'active' and pause_starts_at <= clock_timestamp()
         and (pause_ends_at is null or pause_ends_at > clock_timestamp()))
     or (status = 'paused' and pause_ends_at <= clock_timestamp())
     or (status in ('active', 'paused', 'past_due') and cancel_at <= clock_timestamp()))"""

# Housekeeping's own question over all studios: where is something due? The changes then name one studio each.
STUDIOS_WITH_DUE_MEMBERSHIPS = f"select distinct studio_id from memberships where {DUE}"

# Whoever moves credits of several members holds their rows and writes the memberships in an order of its own. Only
# who takes the members first, by id like everybody, meets them before there can be a circle.
LOCK_DUE_MEMBERS = f"""
    select m.id from members m
    where m.studio_id = $1 and m.id = any(array(
        select distinct member_id from memberships where studio_id = $1 and {DUE} order by member_id limit $2))
    order by m.id
    for no key update"""

STUDIOS_WITH_EXPIRED_KEYS = """
    select distinct studio_id from idempotency_keys where completed_at <= clock_timestamp() - interval '24 hours'"""

STUDIOS_WITH_FORGOTTEN_UPLOADS = """
    select distinct studio_id from form_uploads
    where submission_id is null and created_at <= clock_timestamp() - interval '24 hours'"""

STUDIOS_WITH_FILES = "select distinct studio_id from form_uploads"

STUDIOS_WITH_OLD_MAILS = """
    select distinct studio_id from mails
    where status <> 'queued' and created_at < clock_timestamp() - interval '7 days'"""


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
