"""A full disk of the database server is named: in answers, the log, the readiness, the metric and by commands."""

import json
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest
from structlog.testing import capture_logs
from typer.testing import CliRunner

from studiogate.cli.main import commands
from studiogate.storage.db import failures
from studiogate.telemetry import metrics
from tests.support.asgi import ask, assert_refused, post
from tests.support.clusters import own_cluster
from tests.support.databases import migrate_database
from tests.support.partner_api import PartnerApi, open_partner_api
from tests.support.seed import issue_key, seed_studio

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a file system that is small enough to be filled"),
]


class SmallDisk:
    """A file system that holds a database, and a file that takes what is left of it."""

    def __init__(self, folder: Path, url: str) -> None:
        self.url = url
        self._file = folder / "filler"

    def fill(self) -> None:
        with self._file.open("wb", buffering=0) as file:
            try:
                while file.write(b"x" * 4096):
                    pass
            except OSError:
                return

    def clear(self) -> None:
        self._file.unlink(missing_ok=True)


@pytest.fixture(scope="module")
async def disk(anyio_backend: object) -> AsyncIterator[SmallDisk]:
    with own_cluster() as cluster, mounted(cluster.folder / "disk") as folder:
        space = folder / "space"
        space.mkdir()
        os.chown(folder, cluster.folder.stat().st_uid, -1)
        os.chown(space, cluster.folder.stat().st_uid, -1)
        connection = await asyncpg.connect(cluster.url)
        await connection.execute(f"create tablespace small location '{space}'")
        await connection.execute("create database small template template0 tablespace small")
        await connection.close()
        url = cluster.url.replace("/postgres?", "/small?")
        await migrate_database(url)
        yield SmallDisk(folder, url)


@contextmanager
def mounted(folder: Path) -> Iterator[Path]:
    """Yield a small file system in memory."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96m,mode=0711", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture
async def api(disk: SmallDisk) -> AsyncIterator[PartnerApi]:
    async for opened in open_partner_api(disk.url, rate_limit=0):
        yield opened


@pytest.fixture
def full(disk: SmallDisk) -> Iterator[SmallDisk]:
    disk.fill()
    yield disk
    disk.clear()


async def test_a_full_disk_is_named(api: PartnerApi, disk: SmallDisk) -> None:
    key = await issue_key(api.connection, await seed_studio(api.connection, "north"))
    assert (await ask(api.app, "GET", "//readyz")).status == 200
    disk.fill()
    before = metrics.OVERLOADS.labels("disk_full")._value.get()
    with capture_logs() as lines:
        answer = await post(api.app, "/leads", key, lead())
        while answer.status == 201:  # there is room in pages that exist
            answer = await post(api.app, "/leads", key, lead())
    assert_refused(answer, "storage_unavailable")
    assert metrics.OVERLOADS.labels("disk_full")._value.get() == before + 1
    assert [each["event"] for each in lines if "disk" in each.get("problem", "")] == ["storage unavailable"]
    error = assert_refused(await ask(api.app, "GET", "//readyz"), "storage_unavailable")
    assert error["details"] == {"problem": "database disk full"}
    disk.clear()
    assert (await ask(api.app, "GET", "//readyz")).status == 200
    assert (await post(api.app, "/leads", key, lead())).status == 201


def lead() -> dict[str, str]:
    return {"email": f"{uuid4().hex}@example.com", "first_name": "x" * 200, "last_name": "y" * 200}


def test_an_import_says_that_the_disk_is_full(full: SmallDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUDIOGATE_DATABASE_URL", full.url)
    studio = {"slug": "large", "name": "Large", "timezone": "UTC", "currency": "EUR", "country": "DE"}
    members = [
        {"id": str(uuid4()), "first_name": "A", "last_name": "B", "email": f"{uuid4().hex}@example.com",
         "role": "member", "created_at": "2026-01-01T00:00:00Z"}
        for _ in range(5_000)
    ]  # fmt: skip
    file = tmp_path / "studio.json"
    file.write_text(json.dumps({"studio": studio, "members": members}))
    done = CliRunner().invoke(commands(), ["import", str(file)], catch_exceptions=True)
    assert isinstance(done.exception, failures.DatabaseFullError), done.output
    assert "The disk of the database server is full" in str(done.exception)


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (asyncpg.DiskFullError, failures.DatabaseFullError),
        (asyncpg.OutOfMemoryError, failures.OverloadedError),
        (asyncpg.TooManyConnectionsError, failures.DatabaseUnavailableError),
    ],
)
async def test_each_lack_of_resources_has_its_own_error(
    raised: type[asyncpg.PostgresError], expected: type[Exception], api: PartnerApi
) -> None:
    assert type(failures.as_ours(raised("said the server"), api.connection)) is expected
    assert not failures.may_have_committed(failures.DatabaseFullError("during COMMIT"))
