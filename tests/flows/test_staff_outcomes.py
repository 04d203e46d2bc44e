"""Imports whose COMMIT gets no answer: their rows may or may not exist, and a row must never be without its file."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from studiogate.flows import housekeeping
from studiogate.flows.studio_file import FilesBeside
from studiogate.storage.db import pool
from studiogate.storage.db.pool import Connection, Database, UnknownOutcomeError
from studiogate.storage.upload_folder import UploadFolder
from tests.support.postgres_proxy import Decide, Proxy, proxy_of
from tests.support.studio_files import load, small_studio, uid, with_history

pytestmark = pytest.mark.anyio
COMMIT = b"COMMIT;"
CONTENT = b"hello"


class CommitProxy(Proxy):
    """Hangs as soon as a COMMIT has passed: the server executes it, but its answer does not arrive."""

    def watch(self, client: asyncio.StreamWriter) -> Decide:
        decide = super().watch(client)

        def hang_at_commit(kind: bytes, body: bytes) -> str | None:
            if body == COMMIT + b"\0":
                self.hang()
            return decide(kind, body)

        return hang_at_commit


@pytest.fixture
async def proxy(database_url: str) -> AsyncIterator[Proxy]:
    async with proxy_of(database_url) as made:
        yield made


class Importer:
    """Imports a studio with one file, as the command does."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.uploads = folder / "studio.files", UploadFolder(folder / "data")
        self.folder.mkdir()
        (self.folder / uid("north", "file")).write_bytes(CONTENT)

    async def run(self, url: str) -> None:
        connection = await pool.connect(url)
        try:
            files = FilesBeside(self.folder, self.uploads)
            outcome = await load(connection, with_history(small_studio()), files=files)
            assert outcome.faults == []
        finally:
            await connection.close()

    def files(self) -> list[Path]:
        return [path for path in self.uploads.data.rglob("*") if path.is_file()]

    async def settle(self, url: str) -> None:
        """Let housekeeping see to the files that nobody has moved for a while."""
        for path in self.files():
            os.utime(path, (0, 0))
        database = Database(url, 1)
        await housekeeping.settle_abandoned_files(database, self.uploads)
        await database.close()

    async def assert_whole(self, connection: Connection) -> None:
        """Check that every row has its file, at its final path, and that there are no others."""
        rows = await connection.fetch("select studio_id, stored_name from form_uploads")
        assert self.files() == [self.uploads.kept(row["studio_id"], row["stored_name"]) for row in rows]
        assert all(path.read_bytes() == CONTENT for path in self.files())


@pytest.fixture
def importer(tmp_path: Path) -> Importer:
    return Importer(tmp_path)


@pytest.mark.parametrize(("moment", "kept"), [("before", 0), ("after", 1)])
async def test_an_import_keeps_its_files(
    proxy: Proxy, database_url: str, connection: Connection, importer: Importer, moment: str, kept: int
) -> None:
    proxy.cut_at = (moment, COMMIT)
    with pytest.raises(UnknownOutcomeError):
        await importer.run(proxy.url)
    assert proxy.cuts == 1
    assert await connection.fetchval("select count(*) from form_uploads") == kept
    assert len(importer.files()) == 1, "it may have a row"
    await importer.settle(database_url)
    assert len(importer.files()) == kept
    await importer.assert_whole(connection)


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_an_import_can_be_repeated(
    proxy: Proxy, database_url: str, connection: Connection, importer: Importer, moment: str
) -> None:
    proxy.cut_at = (moment, COMMIT)
    with pytest.raises(UnknownOutcomeError):
        await importer.run(proxy.url)
    await importer.run(database_url)
    await importer.settle(database_url)
    assert len(importer.files()) == 1
    await importer.assert_whole(connection)


async def test_an_import_that_is_cancelled_during_its_commit_keeps_its_files(
    database_url: str, connection: Connection, importer: Importer
) -> None:
    proxy = CommitProxy(database_url)
    await proxy.start()
    try:
        running = asyncio.create_task(importer.run(proxy.url))
        await asyncio.wait([running, asyncio.create_task(proxy.held.wait())], return_when=asyncio.FIRST_COMPLETED)
        assert proxy.held.is_set(), "the server has answered"
        running.cancel()
        proxy.resume()
        with pytest.raises(asyncio.CancelledError):
            await running
    finally:
        await proxy.close()
    assert await connection.fetchval("select count(*) from form_uploads") == 1
    await importer.settle(database_url)
    await importer.assert_whole(connection)


async def test_a_certain_failure_leaves_no_file(
    proxy: Proxy, connection: Connection, importer: Importer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection is lost after the file was copied, and before COMMIT."""
    take = FilesBeside.take

    def take_and_drop(*given: object, **options: bool) -> str | None:
        problem = take(*given, **options)  # type: ignore[arg-type]  # passed on as they are
        assert len(importer.files()) == 1
        proxy.drop()
        return problem

    monkeypatch.setattr(FilesBeside, "take", take_and_drop)
    with pytest.raises(Exception, match="connection"):
        await importer.run(proxy.url)
    assert importer.files() == []
    assert await connection.fetchval("select count(*) from form_uploads") == 0
