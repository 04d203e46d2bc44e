"""How fast events are delivered: ten endpoints, a thousand events, one worker in this process, loopback.

python bench/events.py [EVENTS] [ENDPOINTS]
"""

import asyncio
import sys
import tempfile
import time
from pathlib import Path

import uvloop

sys.path.insert(0, str(Path(__file__).parent.parent))

from studiogate.domain.events import EventType
from studiogate.storage import database, migrate
from studiogate.storage.embedded import EmbeddedPostgres
from studiogate.storage.events import Change, emit
from tests.worker.conftest import open_house
from tests.worker.receiver import receiving


async def measure(dsn: str, count: int, endpoints: int) -> None:
    connection = await database.connect(dsn)
    await migrate.migrate(connection)
    async with open_house(dsn, connection) as house, receiving() as receiver:
        for number in range(endpoints):
            await house.endpoint(receiver.url(f"/{number}"))
        changes = [Change(house.studio.ids["booking"][0])] * count
        await emit(connection, house.access, EventType.BOOKING_UPDATED, *changes)
        started, spent = time.perf_counter(), time.process_time()
        async with house.delivering():
            await house.number()
            numbered = time.perf_counter() - started
            await receiver.wait_for(count * endpoints, 600)
            seconds = time.perf_counter() - started
        print(f"numbered {count} events, made {count * endpoints} deliveries in {numbered:.2f} s")
        print(f"delivered {count * endpoints} in {seconds:.1f} s: {count * endpoints / seconds:.0f} a second")
        print(f"connections opened: {receiver.connections}; processor time here: {time.process_time() - spent:.1f} s")
    await connection.close()


def main() -> None:
    count, endpoints = [int(each) for each in (*sys.argv[1:], *("1000", "10")[len(sys.argv) - 1 :])]
    with tempfile.TemporaryDirectory(prefix="studiogate-bench-") as folder:
        postgres = EmbeddedPostgres(Path(folder))
        postgres.start()
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(measure(postgres.dsn(), count, endpoints))
        finally:
            postgres.stop()


if __name__ == "__main__":
    main()
