"""The outgoing queues over all studios, for the operator: lengths and ages for the metrics, and mails in trouble.

A mail that waits for its next attempt is not due, so the age of the mails is counted from when they were queued: a mail
server that is down would not be seen otherwise. A delivery that fails says something about its endpoint only.
"""

from datetime import datetime
from typing import NamedTuple

from studiogate.domain.mails import TOO_LATE
from studiogate.storage.db.pool import Connection

# Counting stops here: beyond it, what matters is that it is too much.
MAX_COUNTED = 100_000

# The problems of the mail server and of the way to it begin so (``worker.mail``); mails that were dropped have others.
LATE = f"""
    select count(*) as mails from mails
    where status = 'failed' and problem = '{TOO_LATE}' and due_at > now() - interval '1 day'"""
MAIL_TROUBLE = f"""
    select w.mails as waiting, w.oldest, f.mails as failed, coalesce(w.problem, f.problem) as problem, late.mails
    from (select count(*) as mails, min(created_at) as oldest, max(problem) as problem
          from mails where status = 'queued') w,
         (select count(*) as mails, max(problem) as problem from mails
          where status = 'failed' and problem like 'SMTP%' and due_at > now() - interval '1 day') f,
         ({LATE}) late"""


class MailTrouble(NamedTuple):
    """How many mails wait to be sent, since when the oldest does, how many have failed within a day, and why; and how
    many were dropped within a day because they came too late."""

    waiting: int
    oldest: datetime | None
    failed: int
    problem: str | None
    late: int


async def mail_trouble(connection: Connection) -> MailTrouble:
    (row,) = await connection.fetch(MAIL_TROUBLE)
    return MailTrouble(*row)


async def measure(connection: Connection) -> dict[str, tuple[int, float]]:
    """Return, by queue, its length and the age of its oldest entry: of a mail since it was queued, of a delivery since
    it is due. Worker only, all studios."""
    statement = """
    select (select count(*) from (select from mails where status = 'queued' limit $1) m) as mails,
           (select coalesce(extract(epoch from now() - min(created_at)), 0) from mails
            where status = 'queued') as mail_age,
           (select count(*) from (select from webhook_deliveries where status = 'pending' limit $1) d) as deliveries,
           (select coalesce(extract(epoch from now() - min(due_at)), 0) from webhook_deliveries
            where status = 'pending' and due_at <= now()) as delivery_age"""
    (row,) = await connection.fetch(statement, MAX_COUNTED)
    return {
        "mails": (row["mails"], float(row["mail_age"])),
        "deliveries": (row["deliveries"], float(row["delivery_age"])),
    }
