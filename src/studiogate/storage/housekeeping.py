"""What time does by itself to memberships, and what it makes forgettable. Studio by studio."""

from uuid import UUID

from studiogate.domain.access import Access
from studiogate.storage.database import Connection

DUE = """
    ((status = 'active' and current_period_end <= clock_timestamp())
     or (status = 'active' and pause_starts_at <= clock_timestamp()
         and (pause_ends_at is null or pause_ends_at > clock_timestamp()))
     or (status = 'paused' and pause_ends_at <= clock_timestamp())
     or (status = 'active' and cancel_at <= clock_timestamp()))"""

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

# A membership that was to end with its period is cancelled, any other has expired.
END_PERIODS = """
    update memberships set
        status = case when cancel_at_period_end then 'cancelled' else 'expired' end,
        cancelled_at = coalesce(cancelled_at, case when cancel_at_period_end then current_period_end end),
        ended_at = coalesce(ended_at, current_period_end), state_version = state_version + 1
    where studio_id = $1 and member_id = any($2) and status = 'active' and current_period_end <= clock_timestamp()"""

CANCEL_WHEN_DUE = """
    update memberships set status = 'cancelled', cancelled_at = coalesce(cancelled_at, cancel_at),
        ended_at = coalesce(ended_at, cancel_at), state_version = state_version + 1
    where studio_id = $1 and member_id = any($2) and status = 'active' and cancel_at <= clock_timestamp()"""

BEGIN_PAUSES = """
    update memberships set status = 'paused', paused_at = pause_starts_at, state_version = state_version + 1
    where studio_id = $1 and member_id = any($2) and status = 'active' and pause_starts_at <= clock_timestamp()
      and (pause_ends_at is null or pause_ends_at > clock_timestamp())"""

END_PAUSES = """
    update memberships set status = 'active', paused_at = null, pause_starts_at = null, pause_ends_at = null,
        pause_reason = null, state_version = state_version + 1
    where studio_id = $1 and member_id = any($2) and status = 'paused' and pause_ends_at <= clock_timestamp()"""

# The order matters: a pause that is over ends before its membership's period is looked at.
MEMBERSHIP_CHANGES = (END_PAUSES, BEGIN_PAUSES, CANCEL_WHEN_DUE, END_PERIODS)


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


async def advance_memberships(connection: Connection, access: Access, members: list[UUID]) -> int:
    """Pauses begin and end, periods end, for members whose rows are locked; returns how many memberships changed."""
    changed = 0
    for statement in MEMBERSHIP_CHANGES:
        status: str = await connection.execute(statement, access.studio_id, members)
        changed += int(status.rpartition(" ")[2])
    return changed
