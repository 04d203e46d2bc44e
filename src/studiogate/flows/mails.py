"""Write mails, and report to the queues what became of them."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP, SMTPUTF8
from email.utils import format_datetime, parseaddr
from typing import NamedTuple
from uuid import UUID

from studiogate.domain.access import system_access
from studiogate.storage import mails
from studiogate.storage.db.pool import Database

_UNFIT_IN_A_HEADER = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
MAX_SUBJECT = 150


class Mailbox(NamedTuple):
    email: str
    name: str = ""


class Envelope(NamedTuple):
    """The headers. ``mail_id`` is the same in every attempt, so duplicates can be recognized."""

    mail_id: UUID
    sender: Mailbox
    recipient: Mailbox
    subject: str
    reply_to: Mailbox | None = None


class Body(NamedTuple):
    text: str
    html: str


def write_mail(envelope: Envelope, body: Body, now: datetime) -> EmailMessage:
    """Return a mail that is ready to be sent."""
    sender = parseaddr(envelope.sender.email)[1] or envelope.sender.email
    addresses = sender + envelope.recipient.email + (envelope.reply_to.email if envelope.reply_to else "")
    mail = EmailMessage(policy=SMTP if addresses.isascii() else SMTPUTF8)
    mail["Subject"] = _line(envelope.subject)[:MAX_SUBJECT]
    mail["From"] = _address(Mailbox(sender, envelope.sender.name))
    mail["To"] = _address(envelope.recipient)
    if envelope.reply_to is not None:
        mail["Reply-To"] = _address(envelope.reply_to)
    mail["Date"] = format_datetime(now)
    mail["Message-ID"] = f"<{envelope.mail_id}@{sender.rpartition('@')[2]}>"
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(body.text)
    mail.add_alternative(body.html, subtype="html")
    return mail


def _address(mailbox: Mailbox) -> Address:
    local_part, _, domain = mailbox.email.rpartition("@")
    return Address(_line(mailbox.name), local_part, domain)


def _line(text: str) -> str:
    return _UNFIT_IN_A_HEADER.sub(" ", text).strip()


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
