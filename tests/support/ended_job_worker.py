"""A mutant of the worker: the job that numbers events ends on its own. The product does not use this file."""

from studiogate.runtime import Runtime
from studiogate.server import worker_process


async def end(_runtime: Runtime) -> None:
    """End at once; the real job runs forever."""


if __name__ == "__main__":
    worker_process.number_forever = end  # type: ignore[attr-defined, assignment]  # a name that it only imports
    worker_process.main()
