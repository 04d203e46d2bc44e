"""The demo studio, loaded as `studiogate up` loads it, behind the partner API in this process."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from studiogate.cli import prepare
from studiogate.demo.studio import TIMEZONE
from tests.support.partner_api import PREFIX, PartnerApi, open_partner_api


@dataclass
class DemoService:
    """The API with a key of all scopes. ``folder`` is the data folder, ``days`` the day of loading in the studio,
    or two if it was loaded at midnight."""

    api: PartnerApi
    key: str
    folder: Path
    days: set[date]

    async def request(self, method: str, path: str, body: Any = None, once: str | None = None) -> tuple[int, Any]:
        """Send a request, with an idempotency key if one is given; return the status and the body."""
        headers = {"X-Service-Key": self.key, **({"Idempotency-Key": once} if once else {})}
        answer = await self.api.client.request(method, PREFIX + path, headers=headers, json=body)
        return answer.status_code, answer.json()

    async def rows(self, statement: str, *values: Any) -> list[Any]:
        return list(await self.api.connection.fetch(statement, *values))

    async def value(self, statement: str, *values: Any) -> Any:
        return await self.api.connection.fetchval(statement, *values)


@pytest.fixture(scope="module")
async def demo_service(
    anyio_backend: object, new_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[DemoService]:
    folder = tmp_path_factory.mktemp("demo")
    async for api in open_partner_api(new_database(), data_dir=folder, rate_limit=0):
        before = _day()
        key = await prepare.ensure(api.connection, folder)
        assert key is not None
        yield DemoService(api, key, folder, {before, _day()})


def _day() -> date:
    return datetime.now(UTC).astimezone(ZoneInfo(TIMEZONE)).date()
