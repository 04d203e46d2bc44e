"""The secrets that sign links to hosted forms are stored encrypted, like webhook secrets."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from typer.testing import CliRunner

from studiogate import settings as configuration
from studiogate.cli import secrets as command
from studiogate.cli.commands import Call
from studiogate.cli.main import commands
from studiogate.cli.secrets import check_key
from studiogate.domain.encryption import Sealer, SealError
from studiogate.domain.forms.signed_links import open_link_secret
from studiogate.hosted.app import HostedApp
from studiogate.runtime import Runtime
from studiogate.settings import Settings
from studiogate.storage import secret_key
from studiogate.worker.housekeeping import sweep_once
from tests.support.seed import Studio, insert, seed_studio

pytestmark = pytest.mark.anyio

STORED = "select link_secret from studio_secrets where studio_id = $1"
SEALED_BYTES = 60


class Installation:
    """A process that serves hosted forms throughout the test, and its database."""

    def __init__(self, runtime: Runtime, connection: Any, client: httpx2.AsyncClient) -> None:
        self.runtime, self.connection, self._client = runtime, connection, client
        self.settings = runtime.settings

    async def studio(self) -> Studio:
        """Return a new studio with a form that can only be opened by a signed link."""
        studio = await seed_studio(self.connection)
        form = {"title": "Waiver", "slug": "sealed", "fields": [], "settings": {"require_auth": True}}
        studio.ids["form"] = [
            await insert(self.connection, "forms", studio_id=studio.studio_id, status="published", **form)
        ]
        return studio

    async def stored(self, studio: Studio) -> bytes:
        return bytes(await self.connection.fetchval(STORED, studio.studio_id))

    async def secret(self, studio: Studio) -> bytes:
        """Return the secret, decrypted with the current key only."""
        keys = configuration.known_secret_keys(self.settings)
        return open_link_secret(Sealer(lambda: keys[-1:]), studio.studio_id, await self.stored(studio))

    async def link(self, studio: Studio) -> str:
        arguments = ["form", "link", str(studio.ids["form"][0]), "--member", str(studio.ids["member"][0]), "--json"]
        made = await asyncio.to_thread(CliRunner().invoke, commands(), arguments)
        assert made.exit_code == 0, made.exception
        return str(json.loads(made.output)["url"])

    async def opens(self, link: str) -> bool:
        parts = urlsplit(link)
        return (await self._client.get(f"{parts.path}?{parts.query}")).status_code == 200

    async def rotate(self, **options: bool) -> None:
        call = Call(as_json=False, data=self.settings.data_dir)
        given = {"prepare": False, "lost": False, "links": False, **options}
        await asyncio.to_thread(lambda: command.rotate(call, **given))


@pytest.fixture
async def installation(
    connection: Any, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Installation]:
    monkeypatch.setenv("STUDIOGATE_DATABASE_URL", database_url)
    monkeypatch.setenv("STUDIOGATE_DATA_DIR", str(tmp_path))
    runtime = Runtime.open(Settings(rate_limit=0))
    transport = httpx2.ASGITransport(HostedApp(runtime))
    async with httpx2.AsyncClient(transport=transport, base_url="http://studio") as client:
        yield Installation(runtime, connection, client)
    await runtime.close()


async def test_a_new_installation_seals_them(installation: Installation) -> None:
    await check_key(installation.connection, installation.settings)
    studio = await installation.studio()
    plain, link = await installation.stored(studio), await installation.link(studio)
    assert (await sweep_once(installation.runtime))["link secrets sealed"] == 1
    stored = await installation.stored(studio)
    assert (len(stored), plain in stored) == (SEALED_BYTES, False)
    assert await installation.secret(studio) == plain
    assert await installation.opens(link), "made before it was sealed"
    assert await installation.opens(await installation.link(studio))
    assert (await sweep_once(installation.runtime))["link secrets sealed"] == 0
    assert await installation.stored(studio) == stored


async def test_one_that_had_studios_before_seals_them_at_the_first_rotation(installation: Installation) -> None:
    """Until then, processes of an earlier release may run beside it, and they can read only unencrypted secrets."""
    studio = await installation.studio()
    await check_key(installation.connection, installation.settings)
    plain, link = await installation.stored(studio), await installation.link(studio)
    assert (await sweep_once(installation.runtime))["link secrets sealed"] == 0
    assert await installation.stored(studio) == plain
    await installation.rotate()
    assert len(await installation.stored(studio)) == SEALED_BYTES
    assert await installation.secret(studio) == plain
    assert await installation.opens(link)
    newcomer = await seed_studio(installation.connection, "south")
    assert (await sweep_once(installation.runtime))["link secrets sealed"] == 1
    assert len(await installation.stored(newcomer)) == SEALED_BYTES


async def test_a_rotation_seals_them_under_the_new_key(installation: Installation) -> None:
    studio = await installation.studio()
    await installation.rotate()
    before, stored, link = (
        await installation.secret(studio),
        await installation.stored(studio),
        await installation.link(studio),
    )
    old = configuration.known_secret_keys(installation.settings)
    await installation.rotate()
    assert await installation.secret(studio) == before
    with pytest.raises(SealError):
        open_link_secret(Sealer(lambda: old), studio.studio_id, await installation.stored(studio))
    assert await installation.stored(studio) != stored
    assert await installation.opens(link)


async def test_links_end_where_they_are_renewed_or_cannot_be_opened(installation: Installation) -> None:
    studio = await installation.studio()
    await installation.rotate()
    link = await installation.link(studio)
    await installation.rotate(links=True)
    assert not await installation.opens(link)
    link = await installation.link(studio)
    assert await installation.opens(link)
    (installation.settings.data_dir / "secrets.key").unlink()
    await installation.rotate(lost=True)
    assert not await installation.opens(link)
    assert await installation.opens(await installation.link(studio))


async def test_a_secret_opens_no_other_studio_s_links(installation: Installation) -> None:
    studio, other = await installation.studio(), await seed_studio(installation.connection, "south")
    await installation.rotate()
    await secret_key.write_link_secrets(
        installation.connection, [secret_key.LinkSecret(other.studio_id, await installation.stored(studio))]
    )
    with pytest.raises(SealError):
        await installation.secret(other)
