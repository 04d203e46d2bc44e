"""A worker that queues a studio's mails and stops at a chosen step, to be killed there. The product does not use this.

It writes one line when it has reached the step, and then waits for its end.
"""

import asyncio
import sys
from typing import Any
from uuid import UUID

from studiogate import settings
from studiogate.flows.bookings import mails as flow
from studiogate.runtime import Runtime
from studiogate.storage.bookings import mails as storage

# In the order in which a worker takes them; ``queue_news`` is over after its commit.
STEPS = ("lock_cursor", "read_place", "read_news", "queue", "advance", "queue_news", "claim")


async def _stop() -> None:
    sys.stdout.write("reached\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


def stop_after(module: Any, name: str) -> None:
    step = getattr(module, name)

    async def step_and_stop(*given: Any) -> None:
        await step(*given)
        await _stop()

    setattr(module, name, step_and_stop)


async def main(database_url: str, studio_id: UUID, step: str) -> None:
    runtime = Runtime.open(settings.load(database_url=database_url))
    stop_after(flow if step == "queue_news" else storage, step)
    await flow.queue_news(runtime.database, studio_id)
    await flow.claim(runtime.database, studio_id, 10)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], UUID(sys.argv[2]), sys.argv[3]))
