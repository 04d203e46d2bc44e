"""Submissions of a form do not wait for each other; a change of the form waits for them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import UUID

import pytest

from studiogate.domain.access import Access, operator_access
from studiogate.flows.forms import submit as submission_flow
from studiogate.flows.forms.submit import SubmissionToStore
from studiogate.storage.db.pool import Connection, Database
from studiogate.storage.forms import submit as storage
from tests.support.partner_api import open_partner_api
from tests.support.people import Partner, partner_of

pytestmark = pytest.mark.anyio
BLOCKED = "select count(*) from pg_locks where not granted and $1 = any(pg_blocking_pids(pid))"


@pytest.fixture(scope="module")
async def partner(anyio_backend: object, new_database: Callable[[], str]) -> AsyncIterator[Partner]:
    async for api in open_partner_api(new_database(), rate_limit=0):
        yield await partner_of(api)


@pytest.fixture
async def database(partner: Partner) -> AsyncIterator[Database]:
    opened = Database(str(partner.api.app._runtime.settings.database_url), 3)
    yield opened
    await opened.close()


async def new_form(partner: Partner, **settings: Any) -> UUID:
    body = {"title": "Intake", "fields": [], "settings": settings, "status": "published"}
    return UUID((await partner.post("/forms", body)).json()["id"])


async def submit(connection: Connection, access: Access, form_id: UUID, email: str) -> None:
    made = await submission_flow.submit(connection, access, form_id, SubmissionToStore(email), mails=False)
    assert isinstance(made, str), made


async def test_they_do_not_wait_for_each_other(partner: Partner, database: Database) -> None:
    access, form_id = operator_access(partner.studio.studio_id), await new_form(partner)
    async with database.transaction() as first:
        await submit(first, access, form_id, "first@example.com")
        async with database.transaction() as second:
            await submit(second, access, form_id, "second@example.com")


async def archived_meanwhile(partner: Partner, database: Database) -> bool:
    """Return whether a form can be archived while a submission to it is uncommitted."""
    access, form_id = operator_access(partner.studio.studio_id), await new_form(partner)
    archive = "update forms set status = 'archived' where studio_id = $1 and id = $2"
    async with database.connection() as changing:
        async with database.transaction() as connection:
            await submit(connection, access, form_id, "early@example.com")
            process = await connection.fetchval("select pg_backend_pid()")
            change = asyncio.create_task(changing.execute(archive, access.studio_id, form_id))
            while not change.done() and not await connection.fetchval(BLOCKED, process):
                await asyncio.sleep(0.01)
            archived = change.done()
        await change
    return archived


async def test_a_change_of_the_form_waits(
    partner: Partner, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not await archived_meanwhile(partner, database)
    monkeypatch.setattr(storage, "LOCK_FORM", storage.FIND_FORM)
    assert await archived_meanwhile(partner, database), "it would not wait without the lock"
