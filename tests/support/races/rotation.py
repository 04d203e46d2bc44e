"""Keys are rotated under load: inside the overlap both work on every process, after it the old one on none."""

import asyncio
import time
from collections.abc import Iterable
from datetime import timedelta

from bench.service import Service
from studiogate.storage.db import pool
from tests.support.keys import rotate
from tests.support.races.client import PREFIX, Client, Crowd
from tests.support.races.crashes import CLIENTS, Load
from tests.support.races.studio import RaceStudio

OVERLAP = timedelta(hours=1)  # is shortened when nobody uses the old key: a slow machine must not send it too late
# Longer than a process may keep what it knows of a key, so that each of them sees the time pass.
END_SOON = """
    update credential_secrets set expires_at = now() + interval '5 seconds'
    where credential_id = $1 and expires_at > now()"""
ENDED_SECONDS = 25.0  # far longer than that
ASKED = 20  # so many new connections meet every process


async def rotated_keys(race_studio: RaceStudio, service: Service, dsn: str, rotations: int) -> list[str]:
    """Rotate keys under load, and return all violations of the promises."""
    wrong: list[str] = []
    load = Load(race_studio, await race_studio.add_classes(6, 8), await race_studio.add_members(20))
    operator = await pool.connect(dsn)
    try:
        async with race_studio.crowd(CLIENTS) as crowd, load.by(crowd):
            for _ in range(rotations):
                await load.reach(load.answers + 20)
                wrong += await _rotate(race_studio, service, operator, crowd, load)
    finally:
        await operator.close()
    wrong += [f"{call.request.key}: {call.code}" for call in race_studio.history.calls if call.status == 401]
    await _repeat_some(race_studio)
    # Every request is repeated until it has an answer; a slow machine may refuse some as overloaded before.
    return wrong + await race_studio.violations(forgiven=("overloaded",))


async def _rotate(
    race_studio: RaceStudio, service: Service, operator: pool.Connection, crowd: Crowd, load: Load
) -> list[str]:
    """One partner's rotation: some of its machines take the new key at once, the others late."""
    old = race_studio.service_key
    credential_id = old.split("_")[2]
    issued = await rotate(operator, credential_id, OVERLAP)
    race_studio.service_key = issued.key
    _take(crowd.clients[::2], issued.key)
    wrong = await _unlike(service, {old: True, issued.key: True}, "in the overlap")
    _take(crowd.clients, issued.key)
    await load.reach(load.answers + 3 * CLIENTS)  # what was sent with the old key has its answer
    await operator.execute(END_SOON, credential_id)
    give_up_at, still_wrong = time.monotonic() + ENDED_SECONDS, ["nobody has looked"]
    while still_wrong and time.monotonic() < give_up_at:
        still_wrong = await _unlike(service, {old: False, issued.key: True}, "after the overlap")
    return wrong + still_wrong


def _take(clients: Iterable[Client], key: str) -> None:
    for client in clients:
        client.service_key = key


async def _unlike(service: Service, expected: dict[str, bool], when: str) -> list[str]:
    wrong = []
    for key, works in expected.items():
        asked = [await asyncio.to_thread(service.answers, f"{PREFIX}/studio", key) for _ in range(ASKED)]
        if asked != [works] * ASKED:
            wrong.append(f"{when} a key that should{'' if works else ' not'} work did so {sum(asked)} of {ASKED} times")
    return wrong


async def _repeat_some(race_studio: RaceStudio) -> None:
    """What was answered under an old key is answered the same under the new one; the checker compares the bytes."""
    requests = [calls[0].request for calls in race_studio.history.by_key().values()]
    async with race_studio.crowd(CLIENTS) as crowd:
        await crowd.work_off(race_studio.random.sample(requests, min(200, len(requests))))
