"""Write a mail: its headers are single lines, its text is a plain part and an HTML part."""

import re
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP, SMTPUTF8
from email.utils import format_datetime, parseaddr
from typing import NamedTuple
from uuid import UUID

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


def write(envelope: Envelope, body: Body, now: datetime) -> EmailMessage:
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
