"""Front ends that receive files, with a proxy between them and the database, which can cut a commit."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import httpx2

from studiogate import settings
from studiogate.flows import doctor
from studiogate.runtime import Runtime
from studiogate.server.api_process import FrontEnds
from studiogate.storage.upload_folder import UploadFolder
from tests.support.pictures import PDF
from tests.support.postgres_proxy import Proxy, proxy_of
from tests.support.seed import Studio, issue_key
from tests.support.site import Site, _load


class UploadService:
    """Both front ends in this process, with a proxy between them and the database."""

    def __init__(self, site: Site, proxy: Proxy, runtime: Runtime, client: httpx2.AsyncClient) -> None:
        self.site, self.proxy, self.runtime, self.client = site, proxy, runtime, client
        self.folder = UploadFolder(site.data)
        self.store = runtime.uploads
        self.key = ""

    async def by_api(self, idempotency_key: str) -> httpx2.Response:
        return await self.client.post(
            f"/partner/v1/forms/{self.site.form_id('everything')}/uploads",
            files={"file": ("note.pdf", PDF)},
            data={"field_key": "files"},
            headers={"X-Service-Key": self.key, "Idempotency-Key": idempotency_key},
        )

    async def by_page(self, token: str) -> httpx2.Response:
        return await self.client.post(
            self.site.url("everything", "/uploads"),
            params={"field": "files"},
            content=PDF,
            headers={"X-Form-Token": token, "X-File-Name": "note.pdf"},
        )

    async def rows(self) -> list[Any]:
        async with self.runtime.database.connection() as connection:
            return await connection.fetch("select * from form_uploads")

    def files(self) -> list[Path]:
        return [path for path in (self.site.data / "uploads").rglob("*") if path.is_file()]

    async def assert_whole(self) -> None:
        """Check that every row has its file."""
        for row in await self.rows():
            with self.store.open(row["studio_id"], row["stored_name"]).stream as file:
                assert file.read() == PDF

    async def finding(self) -> doctor.Finding:
        async with self.runtime.database.connection() as connection:
            return await doctor.examine_files(connection, self.store)


@asynccontextmanager
async def opened(database_url: str, folder: Path, uploads_url: str | None = None) -> AsyncIterator[UploadService]:
    site = Site(database_url, folder, origin="http://api.test")
    await _load(site)
    async with proxy_of(database_url) as proxy:
        given = settings.load(database_url=proxy.url, data_dir=folder, rate_limit=0, uploads_url=uploads_url)
        runtime = Runtime.open(given)
        transport = httpx2.ASGITransport(FrontEnds(runtime))
        async with httpx2.AsyncClient(transport=transport, base_url="http://api.test") as client:
            made = UploadService(site, proxy, runtime, client)
            connection = await asyncpg.connect(database_url)
            made.key = await issue_key(connection, Studio(UUID(site.studio["id"]), site.studio["slug"], ""))
            await connection.close()
            yield made
        proxy.cut_at = None
        await runtime.close()
