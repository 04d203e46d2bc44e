"""Let the worker claim mails with a signed link to a form; ``staff.send_link`` queues them."""

from datetime import datetime
from email.message import EmailMessage
from functools import partial
from uuid import UUID

from studiogate.domain.access import system_access
from studiogate.domain.forms.link_mails import Delivery, problem_of
from studiogate.domain.forms.signed_links import Link, link_path, make_link, open_link_secret
from studiogate.flows.forms import mail_texts
from studiogate.flows.forms.mails import Links
from studiogate.flows.mails import LEASE_SECONDS, ClaimedMail
from studiogate.storage.db.pool import Database
from studiogate.storage.forms import link_mails as storage
from studiogate.storage.forms.link_mails import DueLink
from studiogate.storage.mails import mark_failed


async def claim(database: Database, studio_id: UUID, at_most: int, links: Links) -> list[ClaimedMail]:
    """Claim mails that are due. Those whose link would not open the form any more are dropped."""
    access, claimed = system_access(studio_id), []
    async with database.transaction() as connection:
        for due in await storage.claim(connection, access, at_most, LEASE_SECONDS):
            problem = problem_of(Delivery(due.email, due.form_status, due.settings, due.expires_at, due.now))
            if problem is not None:
                await mark_failed(connection, access, due.id, None, problem)
            else:
                message = partial(_message, studio_id, due, links)
                claimed.append(ClaimedMail(studio_id, due.id, due.attempts, message))
    return claimed


def _message(studio_id: UUID, due: DueLink, links: Links, sender: str, now: datetime) -> EmailMessage:
    content = mail_texts.LinkContent(
        due.email or "",
        due.first_name,
        due.studio,
        due.form_title,
        _url(studio_id, due, links),
        due.expires_at,
        due.timezone,
    )
    return mail_texts.link_message(content, due.id, sender, now)


def _url(studio_id: UUID, due: DueLink, links: Links) -> str:
    secret = open_link_secret(links.sealer, studio_id, due.link_secret)
    token = make_link(secret, due.form_id, Link(due.member_id, due.expires_at))
    return links.origin + link_path(due.studio_slug, due.form_slug, token)
