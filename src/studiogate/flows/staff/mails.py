"""Mails with a one-time link for staff. The link is made when the mail is sent: the queue holds no secret."""

from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from html import escape
from uuid import UUID

from studiogate.domain.access import system_access
from studiogate.domain.staff.tokens import LINK_LIFE, Purpose, link_path, may_still_be_mailed
from studiogate.flows.mails import LEASE_SECONDS, Body, ClaimedMail, Envelope, Mailbox, write_mail
from studiogate.flows.staff.visits import issue_link
from studiogate.storage import staff
from studiogate.storage.accounts.links import NOT_NEEDED
from studiogate.storage.db.pool import Connection, Database, Record
from studiogate.storage.mails import mark_failed

PREFIX = "staff_"
SUBJECTS = {
    Purpose.INVITATION: "You are invited to work with {studio}",
    Purpose.RESET: "Set a new password",
    Purpose.SIGN_IN: "Your sign-in link",
}
OPENINGS = {
    Purpose.INVITATION: "{studio} has made an account for you. Open this link to choose your name and password:",
    Purpose.RESET: "Somebody, probably you, asked to set a new password for your account. Open this link:",
    Purpose.SIGN_IN: "Open this link to sign in:",
}
CLOSING = (
    "It works once, for {life}. If you did not expect this mail, ignore it: without the link, nothing changes. "
    "Do not forward it: whoever opens the link acts in your name."
)


@dataclass(frozen=True, slots=True)
class LinkMail:
    """What a mail says."""

    id: UUID
    recipient: str
    studio: str
    purpose: Purpose
    url: str

    def message(self, sender: str, now: datetime) -> EmailMessage:
        subject = SUBJECTS[self.purpose].format(studio=self.studio)
        parts = (OPENINGS[self.purpose].format(studio=self.studio), self.url, CLOSING.format(life=_life(self.purpose)))
        html = [f'<a href="{escape(each)}">{escape(each)}</a>' if each == self.url else escape(each) for each in parts]
        body = Body("\n\n".join(parts) + "\n", "".join(f"<p>{each}</p>\n" for each in html))
        envelope = Envelope(self.id, Mailbox(sender, self.studio), Mailbox(self.recipient), subject)
        return write_mail(envelope, body, now)


async def claim(database: Database, studio_id: UUID, at_most: int, origin: str) -> list[ClaimedMail]:
    """Claim mails that are due, and make their links. Those that nobody needs any more are dropped."""
    access, claimed = system_access(studio_id), []
    async with database.transaction() as connection:
        for row in await staff.claim_mails(connection, access, at_most, LEASE_SECONDS):
            purpose = Purpose(row["kind"].removeprefix(PREFIX))
            if _is_over(row, purpose):
                await mark_failed(connection, access, row["id"], None, NOT_NEEDED)
            else:
                mail = await _with_link(connection, row, purpose, origin)
                claimed.append(ClaimedMail(studio_id, mail.id, row["attempts"], mail.message))
    return claimed


def _is_over(row: Record, purpose: Purpose) -> bool:
    """Return whether nobody waits for the mail any more. Using a link drops the account's mails (``links.use_all``)."""
    accepted = purpose is Purpose.INVITATION and row["has_password"]
    return row["is_disabled"] or accepted or not may_still_be_mailed(purpose, row["created_at"], row["now"])


async def _with_link(connection: Connection, row: Record, purpose: Purpose, origin: str) -> LinkMail:
    link = await issue_link(connection, row["account_id"], purpose)
    return LinkMail(row["id"], row["recipient"], row["studio"], purpose, origin + link_path(link.token))


def _life(purpose: Purpose) -> str:
    hours = int(LINK_LIFE[purpose].total_seconds()) // 3600
    return "an hour" if hours == 1 else f"{hours // 24} days"
