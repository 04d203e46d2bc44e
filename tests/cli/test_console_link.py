"""The address of the console that `studiogate up` prints."""

from uuid import uuid4

import asyncpg
import pytest
from structlog.testing import capture_logs

from studiogate import demo
from studiogate.cli.prepare import console_path
from studiogate.cli.serve import _announce
from studiogate.demo.studio import OWNER
from studiogate.domain.encryption import Sealer
from studiogate.domain.staff.sign_in import Origin
from studiogate.flows.staff import sessions, sign_in
from studiogate.flows.staff.sessions import Visit
from studiogate.settings import Settings
from studiogate.storage.db.pool import Database
from tests.support.staff_people import code_of, done

pytestmark = pytest.mark.anyio


def sealer() -> Sealer:
    return Sealer(lambda: [b"a key for tests, of 32 bytes 123"])


async def _add_studio(connection: "asyncpg.Connection[asyncpg.Record]", slug: str) -> None:
    statement = """insert into studios (studio_id, name, slug, timezone, currency, country)
                   values ($1, 'S', $2, 'Europe/Berlin', 'EUR', 'DE')"""
    await connection.execute(statement, uuid4(), slug)


async def test_an_empty_service_gets_its_set_up(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    assert (await console_path(connection, sealer())).startswith("/console/set-up/")


async def test_a_service_with_studios_of_its_own_gets_the_page_to_sign_in(
    connection: "asyncpg.Connection[asyncpg.Record]",
) -> None:
    await _add_studio(connection, "north-loop")
    assert await console_path(connection, sealer()) == "/console/"


async def test_the_demo_studio_gets_a_link_that_signs_its_owner_in_once(
    connection: "asyncpg.Connection[asyncpg.Record]", database_url: str
) -> None:
    await _add_studio(connection, demo.SLUG)
    first, second = [await console_path(connection, sealer()) for _ in range(2)]
    assert first != second
    database = Database(database_url, 2)
    try:
        visit = Visit(database, sealer(), Origin("192.0.2.1"))
        started = done(await sign_in.sign_in_by_link(visit, second.rpartition("/")[2]))
        signed_in = done(await sessions.resolve(database, started.token, Origin("192.0.2.1")))
        assert (signed_in.session.email, str(signed_in.session.role)) == (OWNER.email, "owner")
        assert code_of(await sign_in.sign_in_by_link(visit, second.rpartition("/")[2])) == "link_expired"
    finally:
        await database.close()
    assert await connection.fetchval("select name from staff_accounts") == OWNER.name


def test_a_json_log_has_neither_the_demo_key_nor_the_link() -> None:
    with capture_logs() as logged:
        _announce(Settings(log_format="json"), "http://x", "sgk_test_secret", "/console/link#secret")
    assert [each["event"] for each in logged] == ["ready"]
    assert "secret" not in str(logged)
