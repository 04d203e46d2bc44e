"""studiogate events tail | trigger."""

import asyncio
import os
import re
import sys
from typing import Any

import pytest

from bench.webhook_receiver import receiving
from studiogate.domain.access import operator_access
from studiogate.flows import events
from studiogate.storage.db.pool import Database
from tests.support.seed import seed_studio

pytestmark = pytest.mark.anyio

TIMEOUT_SECONDS = 120  # seconds: a process starts slowly on a busy machine


async def studiogate(database_url: str, *arguments: str) -> asyncio.subprocess.Process:
    environment = {**os.environ, "STUDIOGATE_DATABASE_URL": database_url, "PYTHONUNBUFFERED": "1", "COLUMNS": "300"}
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "studiogate", *arguments, env=environment, stdout=pipe, stderr=pipe
    )


async def test_trigger_and_tail_with_forwarding(connection: Any, database_url: str) -> None:
    studio = await seed_studio(connection, test=True)
    async with receiving() as receiver:
        options = ["--studio", studio.slug, "--type", "booking.*", "--forward-to", receiver.url()]
        tail = await studiogate(database_url, "events", "tail", *options)
        assert tail.stdout is not None and tail.stderr is not None  # noqa: PT018
        following = (await asyncio.wait_for(tail.stderr.readline(), TIMEOUT_SECONDS)).decode()
        output = following + (await asyncio.wait_for(tail.stderr.readline(), TIMEOUT_SECONDS)).decode()
        for type_ in ("lead.created", "booking.created"):
            triggered = await studiogate(database_url, "events", "trigger", type_, "--studio", studio.slug)
            assert b"Wrote" in (await triggered.communicate())[0]
        database = Database(database_url, 2)
        await events.number_studio(database, operator_access(studio.studio_id))
        await database.close()
        line = (await asyncio.wait_for(tail.stdout.readline(), TIMEOUT_SECONDS)).decode()
        assert "booking.created" in line
        (received,) = await receiver.wait_for(1)
        secret = re.search(r"whsec_\S+", output)
        assert secret is not None
        assert received.signed_by(secret[0])
        tail.kill()
        await tail.wait()


async def test_no_samples_for_a_studio_with_real_partners(connection: Any, database_url: str) -> None:
    studio = await seed_studio(connection)
    refused = await studiogate(database_url, "events", "trigger", "lead.created", "--studio", studio.slug)
    _, said = await refused.communicate()
    assert (refused.returncode, b"not a test studio" in said) == (1, True)
    unknown = await studiogate(database_url, "events", "trigger", "lead.exploded", "--studio", studio.slug)
    await unknown.communicate()
    assert unknown.returncode == 2
