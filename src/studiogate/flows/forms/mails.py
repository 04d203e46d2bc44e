"""Queue the mails of a submission in its own transaction; let the worker claim and settle them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.message import EmailMessage
from typing import Any, NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from studiogate.domain.access import Access, operator_access
from studiogate.domain.forms.settings import FormSettings
from studiogate.domain.forms.signed_links import Verification, make_verification
from studiogate.domain.forms.submissions import CONFIRMATIONS_PER_HOUR
from studiogate.domain.webhooks.signing import Sealer, open_link_secret
from studiogate.flows.forms import mail_texts
from studiogate.storage import mails
from studiogate.storage.db.pool import Connection, Database
from studiogate.storage.mails import QueuedMail

LEASE_SECONDS = 120
VERIFICATION_LIFE = timedelta(days=7)
# Delays between attempts: a minute after the first, then longer, two days in total.
RETRY_SECONDS = (60, 300, 900, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 24 * 3600)


class Links(NamedTuple):
    """The origin of links in mails, and the sealer that opens the secrets that they are signed with."""

    origin: str
    sealer: Sealer


@dataclass(frozen=True, slots=True)
class ClaimedMail:
    """A mail that only this worker may send until its lease ends."""

    studio_id: UUID
    id: UUID
    attempts: int
    content: mail_texts.MailContent


async def queue(
    connection: Connection, access: Access, settings: FormSettings, submission_id: UUID, submitter: str
) -> None:
    """Queue the mails of a submission. Must run inside a transaction. Confirmations per address and hour are limited: a
    form must not be a way to flood somebody's mailbox."""
    wanted = wanted_mails(settings, submitter)
    if settings.send_confirmation_email:
        sent = await mails.lock_and_count_confirmations(connection, access, submitter)
        if sent >= CONFIRMATIONS_PER_HOUR:
            wanted = [mail for mail in wanted if mail.kind != "confirmation"]
    if wanted:
        await mails.queue(connection, access, submission_id, wanted)


def wanted_mails(settings: FormSettings, submitter: str) -> list[QueuedMail]:
    to_studio = settings.notification_emails if settings.notify_on_submit else ()
    wanted = [QueuedMail("notification", email) for email in to_studio]
    if settings.send_confirmation_email:
        wanted.append(QueuedMail("confirmation", submitter))
    return wanted


async def studios_with_due_mails(database: Database) -> list[UUID]:
    async with database.connection() as connection:
        return await mails.studios_with_due_mails(connection)


async def claim(database: Database, studio_id: UUID, at_most: int, links: Links) -> list[ClaimedMail]:
    """Claim mails that are due."""
    async with database.transaction() as connection:
        rows = await mails.claim(connection, operator_access(studio_id), at_most, LEASE_SECONDS)
    return [ClaimedMail(studio_id, row["id"], row["attempts"], _content(studio_id, row, links)) for row in rows]


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


def message(mail: ClaimedMail, sender: str, now: datetime) -> EmailMessage:
    return mail_texts.message(mail.content, mail.id, sender, now)


async def settle_sent(database: Database, mail: ClaimedMail) -> None:
    async with database.transaction() as connection:
        await mails.mark_sent(connection, operator_access(mail.studio_id), mail.id)


async def settle_failed(database: Database, mail: ClaimedMail, problem: str, *, for_good: bool) -> bool:
    """Record a failed attempt; return whether there will be another."""
    again = not for_good and mail.attempts <= len(RETRY_SECONDS)
    wait = RETRY_SECONDS[mail.attempts - 1] if again else None
    async with database.transaction() as connection:
        await mails.mark_failed(connection, operator_access(mail.studio_id), mail.id, wait, problem)
    return again
