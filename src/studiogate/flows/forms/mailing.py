"""Which mails a submission causes, queued in its own transaction."""

from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.forms.settings import FormSettings
from studiogate.storage import mails
from studiogate.storage.database import Connection
from studiogate.storage.mails import QueuedMail


async def queue(
    connection: Connection, access: Access, settings: FormSettings, submission_id: UUID, submitter: str
) -> None:
    wanted = wanted_mails(settings, submitter)
    if wanted:
        await mails.queue(connection, access, submission_id, wanted)


def wanted_mails(settings: FormSettings, submitter: str) -> list[QueuedMail]:
    to_studio = settings.notification_emails if settings.notify_on_submit else ()
    wanted = [QueuedMail("notification", email) for email in to_studio]
    if settings.send_confirmation_email:
        wanted.append(QueuedMail("confirmation", submitter))
    return wanted
