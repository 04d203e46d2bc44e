"""Number committed events, and create their webhook deliveries."""

from datetime import datetime

from studiogate.domain.access import Access
from studiogate.storage.db.pool import Connection
from studiogate.storage.webhooks.deliveries import fan_out

CHANNEL = "studiogate_events"
NUMBERED_AT_ONCE = 500

# $1 studio, $2 limit. Notifies listeners once for the studio, if and only if this commits. Rows are updated by ctid: by
# id, a plan made while the log was small would read the whole log for each row once it has grown. Deliveries are
# created from the updated rows. A row that another transaction changes meanwhile would be skipped, and its number lost:
# a flow that changes stored events locks the head first.
NUMBER = f"""
    with found as (
        select v.row, row_number() over (order by v.created_at, v.id) as number
        from (select ctid as row, id, created_at from events where studio_id = $1 and sequence is null
              order by created_at, id limit $2) v
    ), head as (
        update event_heads set sequence = sequence + (select count(*) from found)
        where studio_id = $1 and exists (select from found)
        returning sequence - (select count(*) from found) as before
    ), numbered as (
        update events v set sequence = head.before + found.number from found, head
        where v.studio_id = $1 and v.ctid = found.row
        returning v.studio_id, v.id, v.type, v.scopes, v.place, v.created_at
    ), delivered as ({fan_out("numbered")})
    select count(*), (select pg_notify('{CHANNEL}', $1::text) from head) from numbered"""


async def lock_head(connection: Connection, access: Access) -> None:
    """Take the studio's lock for numbering events and queueing deliveries, until the transaction ends."""
    # Events must be read by a later statement than this one: a statement that waits for a lock sees stale other rows.
    statement = """
        insert into event_heads as h (studio_id) values ($1)
        on conflict (studio_id) do update set sequence = h.sequence"""
    await connection.execute(statement, access.studio_id)


async def any_unnumbered(connection: Connection, access: Access) -> bool:
    statement = "select exists (select from events where studio_id = $1 and sequence is null)"
    return bool(await connection.fetchval(statement, access.studio_id))


async def number(connection: Connection, access: Access, at_most: int = NUMBERED_AT_ONCE) -> int:
    """Number committed events in the studio's log and create their deliveries, in a transaction; return how many."""
    await lock_head(connection, access)
    return int(await connection.fetchval(NUMBER, access.studio_id, at_most))


async def oldest_unnumbered(connection: Connection) -> datetime | None:
    """Return the time of the oldest event that has no number yet. Operators only."""
    since: datetime | None = await connection.fetchval("select min(created_at) from events where sequence is null")
    return since
