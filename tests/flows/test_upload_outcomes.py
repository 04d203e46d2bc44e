"""Uploads whose COMMIT gets no answer: the row may or may not exist, and a row must never be without its file."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import httpx2
import pytest

from studiogate import settings
from studiogate.domain.access import operator_access
from studiogate.flows import doctor, housekeeping
from studiogate.runtime import Runtime
from studiogate.server.front_ends import FrontEnds
from studiogate.storage.forms import uploads
from studiogate.storage.upload_folder import UploadFolder
from tests.hosted.test_submit import sending
from tests.support.page_reader import token_of
from tests.support.pictures import PDF
from tests.support.postgres_proxy import Proxy, proxy_of
from tests.support.seed import Studio, issue_key
from tests.support.site import Site, _load

pytestmark = pytest.mark.anyio

MOMENTS = [("before", 0), ("after", 1)]


class World:
    """Both front ends in this process, with a proxy between them and the database."""

    def __init__(self, site: Site, proxy: Proxy, runtime: Runtime, client: httpx2.AsyncClient) -> None:
        self.site, self.proxy, self.runtime, self.client = site, proxy, runtime, client
        self.folder = UploadFolder(site.data)
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
            assert self.folder.find(row["studio_id"], row["stored_name"]).read_bytes() == PDF

    async def finding(self) -> doctor.Finding:
        async with self.runtime.database.connection() as connection:
            return await doctor.examine_files(connection, self.folder)


@asynccontextmanager
async def opened(database_url: str, folder: Path) -> AsyncIterator[World]:
    site = Site(database_url, folder, origin="http://api.test")
    await _load(site)
    async with proxy_of(database_url) as proxy:
        runtime = Runtime.open(settings.load(database_url=proxy.url, data_dir=folder, rate_limit=0))
        transport = httpx2.ASGITransport(FrontEnds(runtime))
        async with httpx2.AsyncClient(transport=transport, base_url="http://api.test") as client:
            made = World(site, proxy, runtime, client)
            connection = await asyncpg.connect(database_url)
            made.key = await issue_key(connection, Studio(UUID(site.studio["id"]), site.studio["slug"], ""))
            await connection.close()
            yield made
        proxy.cut_at = None
        await runtime.close()


@pytest.fixture
async def world(new_database: Callable[[], str], tmp_path: Path) -> AsyncIterator[World]:
    async with opened(new_database(), tmp_path) as made:
        yield made


@pytest.mark.parametrize(("moment", "kept"), MOMENTS)
async def test_an_upload_by_the_api_keeps_its_file(world: World, moment: str, kept: int) -> None:
    world.proxy.cut_at = (moment, b"commit")
    cut = await world.by_api("one-upload-one-key")
    assert (cut.status_code, cut.json()["error"]["code"]) == (503, "database_unavailable")
    assert cut.headers["retry-after"]
    assert world.proxy.cuts == 1
    world.proxy.cut_at = None
    assert len(await world.rows()) == kept
    assert len(world.files()) == 1, "it may have a row"
    again = await world.by_api("one-upload-one-key")
    assert again.status_code == 201
    assert ("idempotent-replayed" in again.headers) == bool(kept)
    assert [str(row["id"]) for row in await world.rows()] == [again.json()["id"]]
    await world.assert_whole()


@pytest.mark.parametrize(("moment", "kept"), MOMENTS)
async def test_an_upload_by_the_page_keeps_its_file(world: World, moment: str, kept: int) -> None:
    token = await asyncio.to_thread(token_of, world.site, "everything")
    world.proxy.cut_at = (moment, b"commit")
    assert (await world.by_page(token)).status_code == 503
    assert world.proxy.cuts == 1
    world.proxy.cut_at = None
    assert len(await world.rows()) == kept
    assert len(world.files()) == 1
    await world.assert_whole()
    assert (await world.by_page(token)).status_code == 201
    assert len(await world.rows()) == kept + 1
    await world.assert_whole()


@pytest.mark.parametrize(("moment", "kept"), MOMENTS)
async def test_housekeeping_finds_out_what_became_of_it(world: World, moment: str, kept: int) -> None:
    world.proxy.cut_at = (moment, b"commit")
    await world.by_api("settled-by-housekeeping")
    world.proxy.cut_at = None
    for path in world.files():
        os.utime(path, (0, 0))
    assert await housekeeping.settle_abandoned_files(world.runtime.database, world.folder) == 1
    assert len(world.files()) == kept
    assert all("incoming" not in path.parts for path in world.files())
    await world.assert_whole()


async def test_a_certain_failure_leaves_no_file(world: World) -> None:
    world.proxy.cut_at = ("before", b"begin")
    assert (await world.by_api("cut-at-the-beginning")).status_code == 503
    world.proxy.cut_at = None
    assert world.files() == []
    assert await world.rows() == []


async def test_a_file_that_cannot_be_moved_is_kept_where_it_is(world: World) -> None:
    """The disk is full after the commit: the row exists, so the file must stay."""
    (world.site.data / "uploads").mkdir(mode=0o700, exist_ok=True)
    (world.site.data / "uploads" / world.site.studio["id"]).write_text("in the way of a folder")
    assert (await world.by_api("no-place-to-move-to")).status_code == 201
    await world.assert_whole()


async def test_the_doctor_compares_rows_with_files(world: World) -> None:
    for number in range(2):
        assert (await world.by_api(f"upload-number-{number}")).status_code == 201
    assert (await world.finding()).level == "ok"
    row = (await world.rows())[0]
    kept = world.folder.kept(row["studio_id"], row["stored_name"])
    aside = kept.rename(world.site.data / "aside")
    missing = await world.finding()
    assert missing.level == "fault"
    assert row["stored_name"] in missing.text
    aside.rename(kept)
    stray = kept.with_name("0" * 32)
    stray.write_bytes(b"nobody's")
    assert (await world.finding()).level == "ok", "it may have been put there this moment"
    os.utime(stray, (0, 0))
    orphan = await world.finding()
    assert orphan.level == "warning"
    assert stray.name in orphan.text
    assert stray.exists(), "only reported: after a restore it may be the only copy"


async def test_a_row_that_is_forgotten_in_the_meantime_is_no_missing_file(world: World) -> None:
    assert (await world.by_api("soon-to-be-forgotten")).status_code == 201
    row = (await world.rows())[0]
    async with world.runtime.database.connection() as connection:
        page = await uploads.page_of_files(connection, operator_access(row["studio_id"]), None, 10)
        assert page == [(row["id"], row["stored_name"])]
        await connection.execute("delete from form_uploads")
        world.folder.remove(row["studio_id"], row["stored_name"])
        assert await doctor.missing_files(connection, operator_access(row["studio_id"]), world.folder, page) == []


@pytest.mark.parametrize(("moment", "kept"), MOMENTS)
async def test_a_visitor_is_told_that_the_outcome_is_unknown(world: World, moment: str, kept: int) -> None:
    data = await asyncio.to_thread(sending, world.site, "everything")
    world.proxy.cut_at = (moment, b"commit")
    cut = await world.client.post(world.site.url("everything"), data=data)
    assert cut.status_code == 503
    assert "We cannot tell whether that arrived" in cut.text
    assert cut.headers["retry-after"]
    world.proxy.cut_at = None
    assert len(await asyncio.to_thread(world.site.submissions, "everything")) == kept
