"""The queue of mails as the worker sees it. What a mail says is decided by the flow of its word."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from uuid import UUID

from studiogate.domain.access import system_access
from studiogate.storage import mails
from studiogate.storage.db.pool import Database

LEASE_SECONDS = 120
# Delays between attempts: a minute after the first, then longer, two days in total.
RETRY_SECONDS = (60, 300, 900, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 24 * 3600)


@dataclass(frozen=True, slots=True)
class ClaimedMail:
    """A mail that only this worker may send until its lease ends. ``attempts`` counts the earlier ones; ``message``
    returns the mail, given sender and time."""

    studio_id: UUID
    id: UUID
    attempts: int
    message: Callable[[str, datetime], EmailMessage]


async def studios_with_due_mails(database: Database) -> list[UUID]:
    async with database.connection() as connection:
        return await mails.studios_with_due_mails(connection)


async def note_worker(database: Database, *, sends: bool) -> int:
    """Record what commands cannot know from their own settings: whether a worker runs, and has a server for mails."""
    async with database.transaction() as connection:
        await mails.note_worker(connection, sends=sends)
    return 0


async def settle_sent(database: Database, mail: ClaimedMail) -> None:
    async with database.transaction() as connection:
        await mails.mark_sent(connection, system_access(mail.studio_id), mail.id)


async def settle_failed(database: Database, mail: ClaimedMail, problem: str, *, for_good: bool) -> bool:
    """Record a failed attempt; return whether there will be another."""
    again = not for_good and mail.attempts < len(RETRY_SECONDS)
    wait = RETRY_SECONDS[mail.attempts] if again else None
    async with database.transaction() as connection:
        await mails.mark_failed(connection, system_access(mail.studio_id), mail.id, wait, problem)
    return again
