"""Backups that are taken under load and restored."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from bench.service import Service
from studiogate.storage.db import pool
from tests.support.battery import Tally, sized
from tests.support.races import backups
from tests.support.races.client import History
from tests.support.races.deployments import Deployment
from tests.support.races.studio import RaceStudio

pytestmark = pytest.mark.anyio


class Restored(NamedTuple):
    """A backup in a database of its own, and what had been answered when it began."""

    dsn: str
    connection: pool.Connection
    before: History


async def back_up_and_restore(
    deployment: Deployment, race_studio: RaceStudio, file: Path, empty: str, answers: int
) -> Restored:
    before = await backups.backed_up(race_studio, deployment.dsn, file, answers)
    await backups.restore(file, empty)
    return Restored(empty, await pool.connect(empty), before)


@sized(150, 3000, "backup", "answers_before")
async def test_a_backup_holds_what_was_acknowledged(
    deployment: Deployment,
    race_studio: RaceStudio,
    tally: Tally,
    tmp_path: Path,
    new_empty_database: Callable[[], str],
    size: int,
) -> None:
    copy = await back_up_and_restore(deployment, race_studio, tmp_path / "backup", new_empty_database(), size)
    kept = await copy.connection.fetchval("select count(*) from bookings where studio_id = $1", race_studio.studio_id)
    tally.add(bookings_restored=kept, answers_meanwhile=len(race_studio.history.calls) - len(copy.before.calls))
    assert await backups.missing(race_studio, copy.connection, copy.before) == []
    await copy.connection.close()
    with Service(copy.dsn, workers=1) as service:
        assert await backups.repeated(race_studio, service.port, copy.before) == []


LOSSES = {
    # The first one: its answer came before the backup began.
    "a booking": "delete from bookings where id = (select id from bookings where studio_id = $1"
    " order by created_at, id limit 1)",
    "an answer": "delete from idempotency_keys where key = (select key from idempotency_keys where studio_id = $1"
    " order by completed_at limit 1)",
    # As if the tables had been copied one after the other, not as they were at one moment.
    "a seat": "update classes set booked_count = booked_count - 1 where id = (select id from classes"
    " where studio_id = $1 and booked_count > 0 limit 1)",
}


async def test_a_backup_that_lost_something_is_noticed(
    deployment: Deployment, race_studio: RaceStudio, tmp_path: Path, new_empty_database: Callable[[], str]
) -> None:
    copy = await back_up_and_restore(deployment, race_studio, tmp_path / "backup", new_empty_database(), 60)
    for what, loss in LOSSES.items():
        transaction = copy.connection.transaction()
        await transaction.start()
        await copy.connection.execute("set local session_replication_role = replica")
        await copy.connection.execute(loss, race_studio.studio_id)
        assert await backups.missing(race_studio, copy.connection, copy.before) != [], what
        await transaction.rollback()
    await copy.connection.close()
