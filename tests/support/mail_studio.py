"""A studio with a worker that sends mails to a real SMTP server.

A test file imports the fixtures ``smtp_server`` and ``mail_studio``, and assigns ``studio_factory`` and ``studio`` of
``booking_studio``.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from email.message import EmailMessage
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate import settings
from studiogate.domain.access import system_access
from studiogate.domain.events import EventType
from studiogate.flows import events
from studiogate.flows.bookings import mails as member_mails
from studiogate.flows.changes import changing
from studiogate.runtime import Runtime
from studiogate.worker.mail import mail_once
from tests.support.booking_studio import BookingStudio
from tests.support.smtp_server import SmtpServer


@dataclass
class MailStudio:
    """A studio, a worker with an SMTP server, and the mails that arrived."""

    studio: BookingStudio
    runtime: Runtime
    smtp_server: SmtpServer

    async def member(self, **columns: Any) -> tuple[UUID, str]:
        address = f"{uuid4().hex}@example.com"
        return await self.studio.new_member(**{"email": address, **columns}), address

    async def work(self) -> None:
        """Number the events and send mails until there is nothing left to send."""
        await events.number_all(self.runtime.database)
        while await mail_once(self.runtime):
            pass

    async def queue(self) -> None:
        """Number the events and queue the mails of this studio, without sending them."""
        await events.number_all(self.runtime.database)
        while await member_mails.queue_news(self.runtime.database, self.studio.id):
            pass

    def arrived(self, address: str) -> list[EmailMessage]:
        return [mail for mail in self.smtp_server.taken if mail["To"] == address]

    async def kinds(self) -> list[str]:
        rows = await self.studio.rows("mails", "booking_id is not null order by created_at, id")
        return [row["kind"] for row in rows]

    async def change_class(self, class_id: UUID, **columns: Any) -> None:
        connection = self.studio.api.connection
        async with (
            connection.transaction(),
            changing(connection, system_access(self.studio.id), EventType.CLASS_UPDATED, class_id),
        ):
            await self.studio.change("classes", class_id, **columns)
            await self.studio.sql(
                "update bookings b set start_time = c.start_time, end_time = c.end_time, location_id = c.location_id"
                " from classes c where b.studio_id = $1 and b.class_id = $2 and c.studio_id = $1 and c.id = $2",
                class_id,
            )
            await self.studio.sql(
                "update waitlist_entries w set location_id = c.location_id"
                " from classes c where w.studio_id = $1 and w.class_id = $2 and c.studio_id = $1 and c.id = $2",
                class_id,
            )


@pytest.fixture
async def mail_studio(studio: BookingStudio, smtp_server: SmtpServer) -> AsyncIterator[MailStudio]:
    database_url = studio.api.app._runtime.settings.database_url
    url = smtp_server.url  # type: ignore[attr-defined]
    runtime = Runtime.open(settings.load(database_url=database_url, smtp_url=url, mail_from="desk@studio.example"))
    await studio.policy("studios", allow_overlapping=True)
    yield MailStudio(studio, runtime, smtp_server)
    await runtime.close()


def text_of(mail: EmailMessage) -> str:
    return str(mail.get_body(("plain",)).get_content())  # type: ignore[union-attr]


def html_of(mail: EmailMessage) -> str:
    return str(mail.get_body(("html",)).get_content())  # type: ignore[union-attr]
