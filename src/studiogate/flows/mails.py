"""Write mails, and report to the queues what became of them."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP, SMTPUTF8
from email.utils import format_datetime, parseaddr
from typing import NamedTuple
from uuid import UUID

from jinja2 import Environment

from studiogate.domain.access import system_access
from studiogate.storage import mails
from studiogate.storage.db.pool import Database

_UNFIT_IN_A_HEADER = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
MAX_SUBJECT = 150


class Mailbox(NamedTuple):
    email: str
    name: str = ""


class MailContent(NamedTuple):
    """What a mail says, in plain text and in HTML, and to whom."""

    studio: str
    recipient: str
    subject: str
    text: str
    html: str
    reply_to: Mailbox | None = None


def rendered(templates: Environment, name: str, values: Mapping[str, object]) -> tuple[str, str]:
    """Return the plain and the HTML part of a mail."""
    text, html = (templates.get_template(f"{name}.{part}").render(values) for part in ("txt", "html"))
    return text, html


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
    """A mail that only this worker may send until its lease ends. ``attempts`` counts the earlier ones; ``content`` is
    called when the mail is sent: one whose content cannot be made has failed, and the others are sent."""

    studio_id: UUID
    id: UUID
    attempts: int
    content: Callable[[], MailContent]

    def message(self, sender: str, now: datetime) -> EmailMessage:
        """Return the mail, ready to be sent. Its id is the same in every attempt, so duplicates can be recognized."""
        content = self.content()
        address = parseaddr(sender)[1] or sender
        addresses = address + content.recipient + (content.reply_to.email if content.reply_to else "")
        mail = EmailMessage(policy=SMTP if addresses.isascii() else SMTPUTF8)
        mail["Subject"] = _line(content.subject)[:MAX_SUBJECT]
        mail["From"] = _address(Mailbox(address, content.studio))
        mail["To"] = _address(Mailbox(content.recipient))
        if content.reply_to is not None:
            mail["Reply-To"] = _address(content.reply_to)
        mail["Date"] = format_datetime(now)
        mail["Message-ID"] = f"<{self.id}@{address.rpartition('@')[2]}>"
        mail["Auto-Submitted"] = "auto-generated"
        mail.set_content(content.text)
        mail.add_alternative(content.html, subtype="html")
        return mail


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
