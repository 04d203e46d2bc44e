"""A worker that is killed with SIGKILL between any two steps loses no mail and queues none twice."""

import asyncio
import sys

import pytest

from studiogate.flows import events
from tests.support import booking_studio
from tests.support.mail_studio import MailStudio, mail_studio
from tests.support.smtp_server import smtp_server
from tests.support.stopped_mail_worker import STEPS

__all__ = ["mail_studio", "smtp_server"]
pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio


async def kill_after(mail_studio: MailStudio, step: str) -> None:
    """Let a process queue the studio's mails, and kill it after this step."""
    url = str(mail_studio.runtime.settings.database_url)
    worker = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.support.stopped_mail_worker", url, str(mail_studio.studio.id), step),
        stdout=asyncio.subprocess.PIPE,
    )
    assert worker.stdout is not None
    assert await worker.stdout.readline() == b"reached\n"
    worker.kill()
    await worker.wait()


@pytest.mark.parametrize("step", STEPS)
async def test_a_killed_worker_neither_loses_nor_repeats_a_mail(mail_studio: MailStudio, step: str) -> None:
    member, address = await mail_studio.member()
    class_id = await mail_studio.studio.new_class()
    booking = await mail_studio.studio.booked(class_id, member)
    await mail_studio.work()
    await mail_studio.studio.cancelled(booking["id"])
    await events.number_all(mail_studio.runtime.database)
    await kill_after(mail_studio, step)
    await mail_studio.studio.booked(class_id, member)
    # What the killed worker had claimed is free when the server has noticed that it is gone.
    while len(mail_studio.arrived(address)) < 3:
        await mail_studio.work()
    await mail_studio.work()
    assert await mail_studio.kinds() == ["booked", "booking_cancelled", "booked"]
    subjects = [mail["Subject"].partition(":")[0] for mail in mail_studio.arrived(address)]
    assert sorted(subjects) == ["You are booked", "You are booked", "Your booking is cancelled"]


async def test_no_mail_is_queued_twice_even_without_the_cursor(mail_studio: MailStudio) -> None:
    """The index stands behind the cursor: a cursor that was set back by hand cannot repeat mails."""
    member, _ = await mail_studio.member()
    await mail_studio.studio.booked(await mail_studio.studio.new_class(), member)
    await mail_studio.queue()
    await mail_studio.studio.sql("update mail_cursors set sequence = 0 where studio_id = $1")
    with pytest.raises(Exception, match="mails_once_per_event"):
        await mail_studio.queue()
    assert await mail_studio.kinds() == ["booked"]
    await mail_studio.studio.sql(
        "update mail_cursors k set sequence = h.sequence from event_heads h"
        " where k.studio_id = $1 and h.studio_id = k.studio_id"
    )
