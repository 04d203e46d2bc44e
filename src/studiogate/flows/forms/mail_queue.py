"""Queue the mails of a submission in its own transaction. Apart from ``mails``, which loads the templates of texts: who
only queues does not need them."""

from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.forms.settings import FormSettings
from studiogate.domain.forms.submissions import CONFIRMATIONS_PER_HOUR
from studiogate.storage import mails
from studiogate.storage.db.pool import Connection
from studiogate.storage.mails import QueuedMail


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
