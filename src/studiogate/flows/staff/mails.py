"""Mails with a one-time link for staff. The link is made when the mail is sent: the queue holds no secret."""

import tomllib
from functools import partial
from html import escape
from pathlib import Path
from uuid import UUID

from studiogate.domain.access import system_access
from studiogate.domain.staff.tokens import LINK_LIFE, Purpose, link_path, may_still_be_mailed
from studiogate.flows.mails import LEASE_SECONDS, ClaimedMail, MailContent
from studiogate.flows.staff.sessions import issue_link
from studiogate.storage import staff
from studiogate.storage.accounts.links import NOT_NEEDED
from studiogate.storage.db.pool import Database, Record
from studiogate.storage.mails import mark_failed

PREFIX = "staff_"
_TEXTS = tomllib.loads((Path(__file__).parent / "mails.toml").read_text(encoding="utf-8"))


async def claim(database: Database, studio_id: UUID, at_most: int, origin: str) -> list[ClaimedMail]:
    """Claim mails that are due, and make their links. Those that nobody needs any more are dropped."""
    access, claimed = system_access(studio_id), []
    async with database.transaction() as connection:
        for row in await staff.claim_mails(connection, access, at_most, LEASE_SECONDS):
            purpose = Purpose(row["kind"].removeprefix(PREFIX))
            if _is_over(row, purpose):
                await mark_failed(connection, access, row["id"], None, NOT_NEEDED)
            else:
                link = await issue_link(connection, row["account_id"], purpose)
                content = partial(_content, row, purpose, origin + link_path(link.token))
                claimed.append(ClaimedMail(studio_id, row["id"], row["attempts"], content))
    return claimed


def _is_over(row: Record, purpose: Purpose) -> bool:
    """Return whether nobody waits for the mail any more. Using a link drops the account's mails (``links.use_all``)."""
    accepted = purpose is Purpose.INVITATION and row["has_password"]
    return row["is_disabled"] or accepted or not may_still_be_mailed(purpose, row["created_at"], row["now"])


def _content(row: Record, purpose: Purpose, url: str) -> MailContent:
    studio = row["studio"]
    hours = int(LINK_LIFE[purpose].total_seconds()) // 3600
    life = "an hour" if hours == 1 else f"{hours // 24} days"
    opening, closing = _TEXTS["openings"][purpose].format(studio=studio), _TEXTS["closing"]["text"].format(life=life)
    parts = (opening, url, closing)
    html = [f'<a href="{escape(each)}">{escape(each)}</a>' if each == url else escape(each) for each in parts]
    subject, text = _TEXTS["subjects"][purpose].format(studio=studio), "\n\n".join(parts) + "\n"
    return MailContent(studio, row["recipient"], subject, text, "".join(f"<p>{each}</p>\n" for each in html))
