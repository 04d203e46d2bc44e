"""The worker with a mistake in it: the job that numbers events ends by itself. The product does not use this file."""

from studiogate.cli import worker_process
from studiogate.runtime import Runtime


async def end(_runtime: Runtime) -> None:
    """End at once, where the real job goes on for ever."""


if __name__ == "__main__":
    worker_process.number_forever = end
    worker_process.main()
