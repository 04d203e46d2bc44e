"""Lengths of the outgoing queues over all studios, for the operator's metrics."""

from studiogate.storage.db.pool import Connection

# Counting stops here: beyond it, what matters is that it is too much.
MOST_COUNTED = 100_000

MEASURE = """
    select (select count(*) from (select from mails where status = 'queued' limit $1) m) as mails,
           (select coalesce(extract(epoch from now() - min(due_at)), 0) from mails
            where status = 'queued' and due_at <= now()) as mail_age,
           (select count(*) from (select from webhook_deliveries where status = 'pending' limit $1) d) as deliveries,
           (select coalesce(extract(epoch from now() - min(due_at)), 0) from webhook_deliveries
            where status = 'pending' and due_at <= now()) as delivery_age"""


async def measure(connection: Connection) -> dict[str, tuple[int, float]]:
    """Return, by queue, its length and for how long its oldest entry has been due. Worker only, all studios."""
    row = await connection.fetchrow(MEASURE, MOST_COUNTED)
    if row is None:
        return {}
    return {
        "mails": (row["mails"], float(row["mail_age"])),
        "deliveries": (row["deliveries"], float(row["delivery_age"])),
    }
