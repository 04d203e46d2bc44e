"""Check at every start that a process has the installation's secret key."""

from studiogate import settings as configuration
from studiogate.cli.context import CommandError
from studiogate.domain.encryption import fingerprint
from studiogate.flows import secret_key as flow
from studiogate.settings import Settings
from studiogate.storage import secret_key
from studiogate.storage.db.pool import Connection

OTHER_KEY = (
    "This machine's secret key is not the one that the database was set up with: set STUDIOGATE_SECRET_KEY, or copy "
    "secrets.key into the data folder, from a machine that works. If no machine has it any more: "
    "`studiogate secrets rotate --lost`."
)


async def key_problem(connection: Connection, settings: Settings) -> str | None:
    """Return why this process must not use this database, or None. A key is created only if none is known yet."""
    known = await secret_key.key_fingerprint(connection)
    if known is None:
        known = await flow.agree(connection, configuration.secret_keys(settings)[0])
    keys = configuration.known_secret_keys(settings)
    return None if known in map(fingerprint, keys) else OTHER_KEY


async def check_key(connection: Connection, settings: Settings) -> None:
    problem = await key_problem(connection, settings)
    if problem is not None:
        raise CommandError(problem)
