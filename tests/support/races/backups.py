"""Take a backup during bookings and restore it: it contains everything acknowledged before, completely."""

import asyncio
import os
import sys
from pathlib import Path

from studiogate.storage.db import pool
from tests.support.races import checker
from tests.support.races.client import Call, History
from tests.support.races.crashes import ANSWERS_AFTER, CLIENTS, Load
from tests.support.races.studio import RaceStudio

REPEATED = 50


async def backed_up(race_studio: RaceStudio, dsn: str, file: Path, answers: int) -> History:
    """Take the backup under load after this many responses; return the history up to its start."""
    load = Load(race_studio, await race_studio.add_classes(20, 8), await race_studio.add_members(40))
    async with race_studio.crowd(CLIENTS) as crowd, load.by(crowd):
        await load.reach(answers)
        before = History([call for call in race_studio.history.calls if call.known])
        await run_command(dsn, file, "backup", "-o", str(file))
        await load.reach(load.answers + ANSWERS_AFTER)
    return before


async def restore(file: Path, target: str) -> None:
    """Restore the backup into an empty database, and check it with `doctor`."""
    await run_command(target, file, "restore", str(file))


async def run_command(dsn: str, file: Path, *words: str) -> None:
    """Run a command on the database, with a data folder beside the file."""
    settings = {"STUDIOGATE_DATABASE_URL": dsn, "STUDIOGATE_DATA_DIR": f"{file}.{words[0]}"}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "studiogate", *words),
        env={**os.environ, **settings},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()


async def missing(race_studio: RaceStudio, connection: pool.Connection, before: History) -> list[str]:
    """Return what is missing or wrong in the restored database, by the doctor, the checker and the history."""
    return await checker.violations(connection, race_studio.studio_id, race_studio.history, acknowledged=before)


async def repeated(race_studio: RaceStudio, port: int, before: History) -> list[str]:
    """Check that a service on the restored database replays earlier responses with the same bytes."""
    first = {call.request.key: call for call in before.calls if checker.is_kept(call)}
    chosen = race_studio.random.sample(list(first.values()), min(REPEATED, len(first)))
    race_studio.port = port
    async with race_studio.crowd(CLIENTS) as crowd:
        again: list[Call] = []
        await crowd.work_off([call.request for call in chosen], again.append)
    return [
        f"{call.request.key}: {call.outcome} after the restore"
        for call in again
        if not call.replayed or call.answer != first[call.request.key].answer
    ]
