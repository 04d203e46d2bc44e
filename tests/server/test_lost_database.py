"""Commands that lose their database print one line that says what is known, and never a traceback."""

import pytest

from studiogate.cli import main
from studiogate.cli.context import CommandError, _connected
from studiogate.storage.db import pool
from studiogate.storage.db.failures import transaction_on
from studiogate.storage.db.pool import Connection, ReadOnlyDatabaseError, UnknownOutcomeError
from tests.support.postgres_proxy import proxy_of

pytestmark = pytest.mark.anyio


async def write(connection: Connection) -> None:
    async with connection.transaction():
        await connection.execute("create table written (number integer)")


async def in_flow(connection: Connection) -> None:
    async with transaction_on(connection):
        await connection.execute("create table written_by_a_flow (number integer)")


@pytest.mark.parametrize(("moment", "kept"), [("before", False), ("after", True)])
async def test_a_lost_commit_is_not_called_a_failure(
    database_url: str, connection: Connection, moment: str, kept: bool
) -> None:
    async with proxy_of(database_url) as proxy:
        proxy.cut_at = (moment, b"COMMIT;")
        with pytest.raises(CommandError, match="may have been kept"):
            await _connected(proxy.url, write, migrated=False)
        assert proxy.cuts == 1
    assert (await connection.fetchval("select to_regclass('written')") is not None) == kept


async def test_a_command_with_connections_of_its_own_says_the_same(database_url: str) -> None:
    async with proxy_of(database_url) as proxy:
        proxy.cut_at = ("before", b"COMMIT;")
        connection = await pool.connect(proxy.url)
        with pytest.raises(UnknownOutcomeError) as lost:
            await in_flow(connection)
    assert "may have been kept: check, then repeat it." in str(main._explained(lost.value))


async def test_a_read_only_server_is_said(database_url: str, connection: Connection) -> None:
    name = await connection.fetchval("select current_database()")
    await connection.execute(f"alter database {name} set default_transaction_read_only = on")
    with pytest.raises(ReadOnlyDatabaseError, match="read-only"):
        await _connected(database_url, write, migrated=False)
