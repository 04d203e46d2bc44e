"""Write storage/db/schema.sql, the complete schema for readers and for the test that compares it (`make schema`)."""

import re
import subprocess
import tempfile
from pathlib import Path

from studiogate.server.postgres.embedded import running_postgres
from studiogate.server.postgres.programs import installation
from studiogate.server.stop_signals import of_this_process
from studiogate.storage.db import migrate
from studiogate.storage.db.pool import connect

TARGET = Path(migrate.__file__).with_name("schema.sql")
HEADER = "-- Made by `make schema` from the migrations. Not applied to anything: migrations are.\n\n"


async def _migrate(dsn: str) -> None:
    connection = await connect(dsn)
    try:
        await migrate.migrate(connection)
    finally:
        await connection.close()


def _readable(dump: str) -> str:
    """Return the dump without psql's commands, session settings and comments."""
    kept = [line for line in dump.splitlines() if not line.startswith(("--", "SET ", "\\", "SELECT pg_catalog"))]
    return HEADER + re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip() + "\n"


def main() -> None:
    signals = of_this_process()
    with (
        tempfile.TemporaryDirectory() as folder,
        signals.held(),
        running_postgres(Path(folder), signals.check) as postgres,
    ):
        signals.run(_migrate(postgres.dsn()))
        command = [str(installation() / "bin" / "pg_dump"), "--schema-only", "--no-owner", "--dbname", postgres.dsn()]
        dump = subprocess.run(command, check=True, capture_output=True, text=True)
        TARGET.write_text(_readable(dump.stdout))


if __name__ == "__main__":
    main()
