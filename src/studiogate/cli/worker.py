"""studiogate worker. Apart from `up` and `serve`, which need none of what it imports."""

import asyncio
from collections.abc import Callable

from studiogate import settings as configuration
from studiogate import telemetry
from studiogate.cli.context import DataFolder, screen
from studiogate.cli.serve import check_database, database_for
from studiogate.cli.supervisor import Supervisor


def worker(data: DataFolder = None) -> None:
    """Housekeeping alone, for deployments that split it from the API."""
    settings = configuration.load(data_dir=data)
    telemetry.configure_logging(settings.log_format)
    telemetry.take_over_failures()

    def supervised(dsn: str, keep_alive: Callable[[], None]) -> Supervisor:
        return Supervisor(settings, dsn, keep_alive)

    with database_for(settings, supervised) as (dsn, supervisor), supervisor:
        asyncio.run(check_database(settings, dsn))
        supervisor.add_worker()
        screen.print("The worker runs. Ctrl-C stops it.")
        supervisor.run()
