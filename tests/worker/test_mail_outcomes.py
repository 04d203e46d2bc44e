"""A mail is neither lost nor sent twice if the COMMIT that records its outcome gets no answer."""

import dataclasses
from typing import Any

import pytest

from studiogate import clock
from studiogate.flows import mails
from studiogate.runtime import Runtime
from studiogate.worker import mail
from studiogate.worker.mail import mail_once
from tests.support.postgres_proxy import Proxy, proxy_of
from tests.support.smtp_server import SmtpServer, smtp_server
from tests.worker.test_mail import FormMailStudio, form_mail_studio

__all__ = ["form_mail_studio", "smtp_server"]
pytestmark = pytest.mark.anyio


def cutting(smtp_server: SmtpServer, proxy: Proxy, moment: str) -> None:
    """Cut the connection at the next COMMIT after a mail was accepted."""
    take = smtp_server.handle_DATA

    async def take_and_cut(*given: Any) -> str:
        proxy.cut_at = (moment, b"commit")
        return await take(*given)

    smtp_server.handle_DATA = take_and_cut  # type: ignore[method-assign, assignment]  # a test's override


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_mail_is_sent_once(
    form_mail_studio: FormMailStudio, smtp_server: SmtpServer, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    monkeypatch.setattr(mail, "NOTE_AGAIN_SECONDS", 0.01)
    await form_mail_studio.submit()
    waiting = len(await form_mail_studio.states())
    async with proxy_of(str(form_mail_studio.runtime.settings.database_url)) as proxy:
        proxy.once = True
        cutting(smtp_server, proxy, moment)
        behind = form_mail_studio.runtime.settings.model_copy(update={"database_url": proxy.url})
        runtime = Runtime.open(behind)
        assert await mail_once(runtime) == waiting
        assert proxy.cuts == waiting
        await runtime.close()
    assert len(smtp_server.taken) == waiting
    assert {status for status, _ in await form_mail_studio.states()} == {"sent"}
    await form_mail_studio.make_due()
    assert await mail_once(form_mail_studio.runtime) == 0
    assert len(smtp_server.taken) == waiting


async def test_nothing_is_sent_after_its_lease(
    form_mail_studio: FormMailStudio, smtp_server: SmtpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each mail takes as long as the whole lease, so the others are left to the next worker that claims them."""
    await form_mail_studio.submit()
    now = clock.monotonic()
    moments = iter(range(1_000))
    clocked = dataclasses.make_dataclass("Clocked", [])()
    clocked.monotonic = lambda: now + next(moments) * mails.LEASE_SECONDS
    clocked.now = clock.now
    monkeypatch.setattr(mail, "clock", clocked)
    await mail_once(form_mail_studio.runtime)
    assert smtp_server.taken == []
    assert {status for status, _ in await form_mail_studio.states()} == {"queued"}
