"""The partner API in this process, on a real database."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import asyncpg
import httpx2
import pytest

from studiogate import settings
from studiogate.api.app import PartnerApp
from studiogate.runtime import Runtime
from tests.support.seed import Studio, issue_key, seed_studio

PREFIX = "/partner/v1"


@dataclass
class PartnerApi:
    """The application, an HTTP client for it, and a connection to its database."""

    app: PartnerApp
    client: httpx2.AsyncClient
    connection: "asyncpg.Connection[asyncpg.Record]"

    async def get(self, path: str, key: str | None, **options: object) -> httpx2.Response:
        headers = {**({"X-Service-Key": key} if key else {}), **options.pop("headers", {})}  # type: ignore[dict-item]
        return await self.client.get(PREFIX + path, headers=headers, **options)  # type: ignore[arg-type]


async def open_partner_api(database_url: str, **overrides: object) -> AsyncIterator[PartnerApi]:
    runtime = Runtime.open(settings.load(database_url=database_url, **overrides))
    app = PartnerApp(runtime)
    connection = await asyncpg.connect(database_url, server_settings={"timezone": "UTC"})
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://api.test") as client:
        yield PartnerApi(app, client, connection)
    await connection.close()
    await runtime.close()


@pytest.fixture
async def api(database_url: str) -> AsyncIterator[PartnerApi]:
    """The partner API on an empty database of its own."""
    async for opened in open_partner_api(database_url):
        yield opened


@pytest.fixture(scope="session")
async def shared_api(anyio_backend: object, lasting_database: Callable[[], str]) -> AsyncIterator[PartnerApi]:
    """The partner API on a shared database with three seeded studios (north, south, west), for read-only tests."""
    async for opened in open_partner_api(lasting_database(), rate_limit=0):
        yield opened


@pytest.fixture(scope="session")
async def studios(shared_api: PartnerApi) -> list[Studio]:
    return [await seed_studio(shared_api.connection, name) for name in ("north", "south", "west")]


@pytest.fixture(scope="session")
async def key(shared_api: PartnerApi, studios: list[Studio]) -> str:
    """A key of the first studio with every scope."""
    return await issue_key(shared_api.connection, studios[0])
