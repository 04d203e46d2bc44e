"""Let the worker claim the mails of submissions and those with a signed link to a form.

``submit`` queues the former, ``staff.send_link`` the latter."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from email.message import EmailMessage
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from studiogate.domain.access import operator_access, system_access
from studiogate.domain.encryption import Sealer
from studiogate.domain.forms.signed_links import (
    Delivery,
    Link,
    Verification,
    link_path,
    make_link,
    make_verification,
    open_link_secret,
    problem_of,
)
from studiogate.flows.forms import mail_texts
from studiogate.flows.mails import LEASE_SECONDS, ClaimedMail
from studiogate.storage import mails
from studiogate.storage.db.pool import Database
from studiogate.storage.forms import link_mails as storage
from studiogate.storage.forms.link_mails import DueLink
from studiogate.storage.mails import mark_failed

VERIFICATION_LIFE = timedelta(days=7)


class Links(NamedTuple):
    """The origin of links in mails, and the sealer that opens the secrets that they are signed with."""

    origin: str
    sealer: Sealer


async def claim(database: Database, studio_id: UUID, at_most: int, links: Links) -> list[ClaimedMail]:
    """Claim mails about submissions that are due. What they say is made when they are sent: one that cannot be made has
    failed, and the others are sent."""
    async with database.transaction() as connection:
        rows = await mails.claim(connection, operator_access(studio_id), at_most, LEASE_SECONDS)
    return [_claimed(studio_id, row, links) for row in rows]


def _claimed(studio_id: UUID, row: Mapping[str, Any], links: Links) -> ClaimedMail:
    def message(sender: str, now: datetime) -> EmailMessage:
        return mail_texts.message(_content(studio_id, row, links), row["id"], sender, now)

    return ClaimedMail(studio_id, row["id"], row["attempts"], message)


def _content(studio_id: UUID, row: Mapping[str, Any], links: Links) -> mail_texts.MailContent:
    """Return the content of the mail. To an unverified address it repeats nothing that was typed: otherwise a form
    could be used to send any text to anybody."""
    to_stranger = row["kind"] == "confirmation" and not row["verified"]
    return mail_texts.MailContent(
        row["kind"],
        row["recipient"],
        row["studio"],
        row["title"],
        json.loads(row["settings"]).get("confirmation_message"),
        None if to_stranger else row["submitter_name"],
        row["submitter_email"],
        [] if to_stranger else mail_texts.answered(json.loads(row["fields"]), json.loads(row["data"])),
        row["created_at"],
        row["timezone"],
        _verify_url(studio_id, row, links) if to_stranger else None,
    )


def _verify_url(studio_id: UUID, row: Mapping[str, Any], links: Links) -> str:
    verification = Verification(row["submission_id"], row["created_at"] + VERIFICATION_LIFE)
    secret = open_link_secret(links.sealer, studio_id, row["link_secret"])
    token = make_verification(secret, row["form_id"], verification)
    return f"{links.origin}/f/{row['studio_slug']}/{row['form_slug']}/verify?{urlencode({'token': token})}"


async def claim_links(database: Database, studio_id: UUID, at_most: int, links: Links) -> list[ClaimedMail]:
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
