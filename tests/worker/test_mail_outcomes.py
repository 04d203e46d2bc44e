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
from tests.support.postman import Postman, postman
from tests.worker.test_mail import Office, office

__all__ = ["office", "postman"]
pytestmark = pytest.mark.anyio


def cutting(postman: Postman, proxy: Proxy, moment: str) -> None:
    """Cut the connection at the next COMMIT after a mail was accepted."""
    take = postman.handle_DATA

    async def take_and_cut(*given: Any) -> str:
        proxy.cut_at = (moment, b"commit")
        return await take(*given)

    postman.handle_DATA = take_and_cut  # type: ignore[method-assign, assignment]  # a test's override


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_mail_is_sent_once(
    office: Office, postman: Postman, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    monkeypatch.setattr(mail, "NOTE_AGAIN_SECONDS", 0.01)
    await office.submit()
    waiting = len(await office.states())
    async with proxy_of(str(office.runtime.settings.database_url)) as proxy:
        proxy.once = True
        cutting(postman, proxy, moment)
        behind = office.runtime.settings.model_copy(update={"database_url": proxy.url})
        runtime = Runtime.open(behind)
        assert await mail_once(runtime) == waiting
        assert proxy.cuts == waiting
        await runtime.close()
    assert len(postman.taken) == waiting
    assert {status for status, _ in await office.states()} == {"sent"}
    await office.make_due()
    assert await mail_once(office.runtime) == 0
    assert len(postman.taken) == waiting


async def test_nothing_is_sent_after_its_lease(
    office: Office, postman: Postman, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each mail takes as long as the whole lease, so the others are left to the next worker that claims them."""
    await office.submit()
    now = clock.monotonic()
    moments = iter(range(1_000))
    clocked = dataclasses.make_dataclass("Clocked", [])()
    clocked.monotonic = lambda: now + next(moments) * mails.LEASE_SECONDS
    clocked.now = clock.now
    monkeypatch.setattr(mail, "clock", clocked)
    await mail_once(office.runtime)
    assert postman.taken == []
    assert {status for status, _ in await office.states()} == {"queued"}
