"""studiogate worker. Separate from `up` and `serve`, which need none of its imports."""

from collections.abc import Callable

from studiogate import settings as configuration
from studiogate.cli.context import DataFolder
from studiogate.cli.prepare import check_database
from studiogate.cli.serve import admin_socket, database_for, say, stoppable
from studiogate.server.supervisor import Supervisor


def worker(data: DataFolder = None) -> None:
    """Housekeeping alone, for deployments that split it from the API."""
    settings = configuration.load(data_dir=data)

    def supervised(dsn: str, keep_alive: Callable[[], None]) -> Supervisor:
        return Supervisor(settings, dsn, keep_alive)

    with stoppable(settings) as signals:
        admin = admin_socket(settings)
        with database_for(settings, supervised, signals.check) as (dsn, supervisor), supervisor:
            signals.run(check_database(settings, dsn))
            supervisor.add_worker(admin)
            say(settings, "ready", "The worker runs. Ctrl-C stops it.")
            supervisor.run(signals=signals)
