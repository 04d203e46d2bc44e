"""A mail is neither lost nor sent twice if the COMMIT that records its outcome gets no answer, nor given up because a
server hangs."""

import asyncio
import dataclasses
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
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

LEASE_ENDS = """
    update mails set due_at = case when problem is null then now() - interval '1 second' else 'infinity' end"""


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
    assert set(await form_mail_studio.states()) == {("sent", 1)}
    await form_mail_studio.make_due()
    assert await mail_once(form_mail_studio.runtime) == 0
    assert len(smtp_server.taken) == waiting


def let_time_pass(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let so many seconds pass whenever the worker looks at the clock."""
    now, moments = clock.monotonic(), iter(range(1_000))
    clocked = dataclasses.make_dataclass("Clocked", [])()
    clocked.monotonic = lambda: now + next(moments) * seconds
    clocked.now = clock.now
    monkeypatch.setattr(mail, "clock", clocked)


async def test_nothing_is_sent_after_its_lease(
    form_mail_studio: FormMailStudio, smtp_server: SmtpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each mail takes as long as the whole lease, so the others are left to the next worker that claims them."""
    await form_mail_studio.submit()
    let_time_pass(monkeypatch, mails.LEASE_SECONDS)
    await mail_once(form_mail_studio.runtime)
    assert smtp_server.taken == []
    assert {status for status, _ in await form_mail_studio.states()} == {"queued"}


@asynccontextmanager
async def silent_server() -> AsyncIterator[str]:
    """Yield the URL of a server that accepts connections and never says anything."""

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    async with server:
        yield f"smtp://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_a_mail_that_is_claimed_but_not_tried_loses_no_attempt(
    form_mail_studio: FormMailStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each lease is just enough for one attempt, so some mails are claimed more often than they may be tried."""
    everybody = [f"desk-{number}@studio.example" for number in range(mail.AT_ONCE)]
    assert len(everybody) > len(mails.RETRY_SECONDS) + 1
    wanted = {"notify_on_submit": True, "notification_emails": everybody}
    await form_mail_studio.connection.execute("update forms set settings = $1", json.dumps(wanted))
    await form_mail_studio.submit()
    monkeypatch.setattr(mail, "TIMEOUT_SECONDS", 0.05)
    async with silent_server() as url:
        hanging = form_mail_studio.runtime.settings.model_copy(update={"smtp_url": url})
        for _ in everybody:
            let_time_pass(monkeypatch, mails.LEASE_SECONDS / 2)
            assert await mail_once(dataclasses.replace(form_mail_studio.runtime, settings=hanging)) == 1
            await form_mail_studio.connection.execute(LEASE_ENDS)
    assert await form_mail_studio.states() == [("queued", 1)] * len(everybody)
