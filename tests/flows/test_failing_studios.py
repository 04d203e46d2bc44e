"""A studio whose work cannot be done does not stop that of the others; the step reports it after them."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import pytest

from studiogate import telemetry
from studiogate.domain.access import operator_access
from studiogate.domain.events import EventType
from studiogate.flows import deliveries, events, housekeeping
from studiogate.storage import housekeeping as storage
from studiogate.storage.db.pool import Database
from studiogate.storage.events import Change, emit
from studiogate.storage.upload_folder import UploadFolder
from studiogate.storage.webhooks import endpoints
from tests.support.failing_studios import failing_studio
from tests.support.seed import Studio, seed_studio

pytestmark = pytest.mark.anyio
NAME = "ab" * 16

MEMBERSHIP = """
    update memberships set status = 'active', current_period_end = now(), auto_renew = false
    where studio_id = $1 and id = (select min(id::text)::uuid from memberships where studio_id = $1)"""
CLASS = """
    update classes set status = 'scheduled', start_time = now() - interval '2 hours', end_time = now()
    where studio_id = $1 and id = (select min(id::text)::uuid from classes where studio_id = $1)"""
NOT_ANNOUNCED = "update classes set announced_status = 'scheduled' where studio_id = $1"
REQUEST = """
    insert into request_log (studio_id, id, credential_id, occurred_at, method, route, status, milliseconds, bytes,
                             request_id)
    values ($1, gen_random_uuid(), 'AAAAAAAA', now() - interval '8 days', 'GET', '/partner/v1/key', 200, 1, 1, 'r')"""
MAIL = """
    insert into mails (studio_id, id, submission_id, kind, recipient, status, created_at)
    select $1, gen_random_uuid(), id, 'notification', 'desk@studio.example', 'sent', now() - interval '9 days'
    from form_submissions where studio_id = $1 limit 1"""
UPLOAD = f"""
    insert into form_uploads (studio_id, id, form_id, field_key, filename, content_type, size, sha256, stored_name,
                              created_at)
    select $1, gen_random_uuid(), id, 'any', 'x.png', 'image/png', 1, sha256('x'), '{NAME}', now() - interval '2 days'
    from forms where studio_id = $1 limit 1 on conflict do nothing"""
ERASED = f"insert into removed_files (studio_id, stored_name) values ($1, '{NAME}') on conflict do nothing"
ENDPOINT = """
    update webhook_endpoints set enabled = true, disabled_at = null, failing_since = now() - interval '6 days'
    where studio_id = $1"""


async def execute(connection: Any, studio: Studio, *statements: str) -> None:
    for each in statements:
        await connection.execute(each, studio.studio_id)


def sql(*statements: str) -> Callable[[Any, Studio], Awaitable[None]]:
    return lambda connection, studio: execute(connection, studio, *statements)


async def new_event(connection: Any, studio: Studio) -> None:
    change = Change(studio.ids["booking"][0])
    await emit(connection, operator_access(studio.studio_id), EventType.BOOKING_UPDATED, change)


class Case(NamedTuple):
    table: str
    """Whose rows the step changes or deletes."""
    step: Callable[[Database], Awaitable[int]]
    make_due: Callable[[Any, Studio], Awaitable[None]]
    due: Callable[[Any], Awaitable[list[UUID]] | Awaitable[dict[UUID, list[UUID]]]]


def due(what: str) -> Callable[[Any], Awaitable[list[UUID]]]:
    return lambda connection: storage.studios_with(connection, what)


NO_FILES = UploadFolder(Path("nowhere"))
CASES = {
    "memberships": Case("memberships", housekeeping.advance_memberships, sql(MEMBERSHIP), due("due memberships")),
    "classes": Case(
        "classes",
        housekeeping.announce_class_statuses,
        sql(CLASS, NOT_ANNOUNCED),
        due("due classes"),
    ),
    "requests": Case("request_log", housekeeping.forget_old_requests, sql(REQUEST), due("old requests")),
    "mails": Case("mails", housekeeping.forget_mails, sql(MAIL), due("old mails")),
    "uploads": Case(
        "form_uploads",
        partial(housekeeping.forget_uploads, folder=NO_FILES),
        sql(UPLOAD),
        due("forgotten uploads"),
    ),
    "events": Case("events", events.number_all, new_event, due("unnumbered events")),
    "endpoints": Case("webhook_endpoints", deliveries.disable_failing, sql(ENDPOINT), endpoints.failing_too_long),
}


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = Database(database_url, 2)
    yield opened
    await opened.close()


@pytest.fixture
async def studios(connection: Any) -> list[Studio]:
    return [await seed_studio(connection, name) for name in ("north", "south")]


async def fails_for(studio: Studio, step: Awaitable[int]) -> None:
    with pytest.raises(ExceptionGroup) as raised:
        await step
    assert len(raised.value.exceptions) == 1
    assert f"studio {studio.studio_id}" in telemetry.problem_of(raised.value)


@pytest.mark.parametrize("name", CASES)
async def test_a_studio_that_fails_does_not_stop_the_other(
    connection: Any, database: Database, studios: list[Studio], name: str
) -> None:
    """Each of the two fails once, because nothing says which one comes first."""
    case = CASES[name]
    for broken in studios:
        for each in studios:
            await case.make_due(connection, each)
        assert set(await case.due(connection)) == {each.studio_id for each in studios}
        async with failing_studio(connection, case.table, broken.studio_id):
            await fails_for(broken, case.step(database))
        assert set(await case.due(connection)) == {broken.studio_id}


async def test_a_file_that_cannot_be_removed_does_not_stop_the_other_studio(
    connection: Any, database: Database, studios: list[Studio], tmp_path: Path
) -> None:
    """A folder is where the file should be: the system does not remove it as a file."""
    folder = UploadFolder(tmp_path)
    for broken in studios:
        for studio in studios:
            await execute(connection, studio, ERASED)
            path = folder.incoming(studio.studio_id, NAME)
            folder.make_private(path.parent)
            path.mkdir() if studio is broken else path.touch()
            os.utime(path, (0, 0))
        await fails_for(broken, housekeeping.remove_erased_files(database, folder))
        assert await storage.studios_with(connection, "removed files") == [broken.studio_id]
        (other,) = (each for each in studios if each is not broken)
        path = folder.incoming(other.studio_id, NAME)
        assert not path.exists()
        path.touch()
        os.utime(path, (0, 0))
        await fails_for(broken, housekeeping.settle_abandoned_files(database, folder))
        assert not path.exists()
        folder.incoming(broken.studio_id, NAME).rmdir()
