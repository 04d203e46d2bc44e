"""studiogate worker. Apart from `up` and `serve`, which need none of what it imports."""

import asyncio

from studiogate import settings as configuration
from studiogate import telemetry
from studiogate.cli.context import DataFolder, screen
from studiogate.cli.serve import check_database, database_for
from studiogate.cli.worker_process import work


def worker(data: DataFolder = None) -> None:
    """Housekeeping alone, for deployments that split it from the API."""
    settings = configuration.load(data_dir=data)
    telemetry.configure_logging(settings.log_format)
    telemetry.take_over_failures()
    with database_for(settings, lambda *_: None) as (dsn, _):
        asyncio.run(check_database(settings, dsn))
        screen.print("The worker runs. Ctrl-C stops it.")
        asyncio.run(work(settings.model_copy(update={"database_url": dsn}), lifeline=None))
