"""Logos: the command that stores one, its URL, and the pages that show it."""

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import httpx2
import pytest

from studiogate import clock
from studiogate.cli import prepare
from studiogate.domain.logos import read_logo
from studiogate.flows import studio_file
from tests.cli.test_staff import CommandLine, CommandOutput
from tests.support.databases import run
from tests.support.deadlines import LONG
from tests.support.pictures import jpeg, png
from tests.support.seed import seed_studio
from tests.support.site import Site, serving

FIRST, SECOND = png(4, 4), jpeg(8, 8)


@pytest.fixture(scope="module")
def own(new_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Yield a site with the demo studio's forms and another studio, without a public URL."""
    with serving(Site(new_database(), tmp_path_factory.mktemp("data")), rate_limit=0) as served:
        run(_another_studio(served.database_url))
        yield served


async def _another_studio(url: str) -> None:
    connection = await asyncpg.connect(url)
    await seed_studio(connection, "south")
    await connection.close()


class Logos:
    """Runs the logo command for the demo studio."""

    def __init__(self, site: Site, command_line: CommandLine, folder: Path) -> None:
        self.site, self.command_line, self.folder = site, command_line, folder

    def type(self, *words: object) -> CommandOutput:
        return self.command_line.type("studio", "logo", "--studio", "demo", "--data", self.site.data, *words)

    def file(self, content: bytes, name: str = "logo") -> Path:
        path = self.folder / name
        path.write_bytes(content)
        return path

    def store(self, content: bytes) -> str:
        said = self.type("--json", self.file(content))
        assert said.status == 0, said.err
        return str(said.json["logo_url"])

    def get(self, path: str, **options: Any) -> httpx2.Response:
        return httpx2.get(self.site.origin + path, timeout=LONG, **options)


@pytest.fixture
def logos(
    own: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Iterator[Logos]:
    (own.data / "address").write_text(own.origin + "\n")
    yield Logos(own, CommandLine(own.database_url, monkeypatch, capsys), tmp_path)
    own.sql("delete from studio_logos")


def path_of(content: bytes, slug: str = "demo") -> str:
    return f"/logo/{slug}/{read_logo(content)[0]}"


def test_a_stored_logo_is_served_for_good(logos: Logos) -> None:
    assert logos.store(FIRST) == logos.site.origin + path_of(FIRST)
    answer = logos.get(path_of(FIRST))
    assert (answer.status_code, answer.content) == (200, FIRST)
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
    head = httpx2.head(logos.site.origin + path_of(FIRST))
    assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", str(len(FIRST)))


def test_another_logo_has_another_address(logos: Logos) -> None:
    logos.store(FIRST)
    logos.store(SECOND)
    assert logos.get(path_of(FIRST)).status_code == 404
    assert logos.get(path_of(SECOND)).headers["content-type"] == "image/jpeg"


def test_no_other_address_has_it(logos: Logos) -> None:
    """Another studio's slug with this hash is answered like any unknown path."""
    logos.store(FIRST)
    path = path_of(FIRST)
    others = [path_of(FIRST, "south"), path_of(FIRST, "DEMO"), path.replace(".png", ".jpg"), path + "/", path + "%00"]
    for other in [*others, path_of(SECOND), "/logo/", "/logo/demo", "/logo/demo/", "/logo/demo/intro-offer"]:
        answer = logos.get(other)
        assert answer.status_code == 404, other
        assert answer.headers["cache-control"] == "no-store"
    assert httpx2.post(logos.site.origin + path, timeout=LONG).status_code == 404


def test_pages_show_it_from_this_origin(logos: Logos) -> None:
    shown = f'<img class="logo" src="{path_of(FIRST)}"'
    logos.site.sql("update studios set logo_url = 'https://www.example.com/logo.png' where slug = 'demo'")
    assert shown not in httpx2.get(logos.site.url("intro-offer"), timeout=LONG).text
    logos.store(FIRST)
    for tail in ("", "/done"):
        assert shown in httpx2.get(logos.site.url("intro-offer", tail), timeout=LONG).text
    logos.site.sql("update studios set logo_url = null")


def test_partners_get_its_absolute_address(logos: Logos) -> None:
    logos.site.sql("update studios set logo_url = 'https://www.example.com/logo.png' where slug = 'demo'")
    made = logos.command_line.type("key", "create", "--studio", "demo", "--name", "n", "--all-scopes", "--json")
    headers = {"X-Service-Key": made.json["key"]}

    def seen() -> Any:
        return logos.get("/partner/v1/studio", headers=headers).json()["logo_url"]

    assert seen() == "https://www.example.com/logo.png"
    address = logos.store(FIRST)
    assert seen() == address
    assert httpx2.get(address, timeout=LONG).content == FIRST
    assert logos.type("--remove").status == 0
    assert seen() == "https://www.example.com/logo.png"
    logos.site.sql("update studios set logo_url = null")


def test_a_removed_logo_is_gone(logos: Logos) -> None:
    logos.store(FIRST)
    said = logos.type("--remove")
    assert (said.status, said.out) == (0, "The logo is removed.\n")
    assert logos.get(path_of(FIRST)).status_code == 404
    again = logos.type("--remove")
    assert (again.status, "has no stored logo" in again.err) == (1, True)


def test_other_files_are_refused_with_the_reason(logos: Logos) -> None:
    logos.store(FIRST)
    reasons = {
        b"<svg xmlns='http://www.w3.org/2000/svg'/>": "is not a PNG, JPEG or WebP image",
        png(4097, 1): "has 4097 x 1 pixels",
        bytes(512 * 1024 + 1): "is larger than 512 KiB",
    }
    for content, reason in reasons.items():
        said = logos.type(logos.file(content, "logo.png"))
        assert said.status == 1
        assert f"logo.png {reason}" in said.err
        assert "Use a PNG, JPEG or WebP image of at most 512 KiB and 4096 pixels per side." in said.err
    assert logos.get(path_of(FIRST)).status_code == 200, "the logo before is still there"


def test_what_is_typed_wrong(logos: Logos) -> None:
    image = logos.file(FIRST)
    assert logos.type().status == 2
    assert logos.type(image, "--remove").status == 2
    assert logos.type(logos.folder / "none.png").status == 2
    assert logos.type(logos.folder).status == 2
    unknown = logos.command_line.type("studio", "logo", "--studio", "nobody", "--data", logos.site.data, image)
    assert (unknown.status, "no studio 'nobody'" in unknown.err) == (1, True)


def test_an_import_leaves_the_logo_and_the_file_its_address(logos: Logos) -> None:
    logos.store(FIRST)
    logos.site.sql("update studios set logo_url = '/logo/demo/0123456789abcdef.png' where slug = 'demo'")
    written = io.StringIO()
    run(_export_and_import(logos.site.database_url, written))
    assert json.loads(written.getvalue())["studio"]["logo_url"] == "/logo/demo/0123456789abcdef.png"
    assert logos.get(path_of(FIRST)).status_code == 200
    logos.site.sql("update studios set logo_url = null")


async def _export_and_import(url: str, written: io.StringIO) -> None:
    connection = await asyncpg.connect(url, server_settings={"timezone": "UTC"})
    await studio_file.export_studio(connection, "demo", written.write)
    outcome = await studio_file.import_document(connection, json.loads(written.getvalue()))
    await connection.close()
    assert not outcome.faults
    assert outcome.sections["studio"].unchanged == 1


def test_a_renamed_studio_keeps_its_logo(logos: Logos) -> None:
    logos.store(FIRST)
    logos.site.sql("update studios set slug = 'renamed' where slug = 'demo'")
    page = httpx2.get(f"{logos.site.origin}/f/renamed/intro-offer", timeout=LONG)
    answer = logos.get(path_of(FIRST, "renamed"))
    logos.site.sql("update studios set slug = 'demo' where slug = 'renamed'")
    assert path_of(FIRST, "renamed") in page.text
    assert answer.content == FIRST


def test_too_many_requests_are_refused(
    new_database: Callable[[], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The bucket does not refill: at a slow machine's pace, it would refill as fast as requests empty it.
    monkeypatch.setattr(clock, "monotonic", lambda: 1_000.0)
    with (
        serving(Site(new_database(), tmp_path), rate_limit=1) as site,
        httpx2.Client(base_url=site.origin, timeout=LONG) as client,
    ):
        answers = (client.get("/logo/demo/x") for _ in range(5_000))
        assert next(each for each in answers if each.status_code != 404).status_code == 429


def test_the_demo_studio_has_one(new_database: Callable[[], str], tmp_path: Path) -> None:
    async def work() -> Any:
        connection = await asyncpg.connect(new_database(), server_settings={"timezone": "UTC"})
        await prepare.ensure(connection, tmp_path)
        row = await connection.fetchrow("select name, content_type, content from studio_logos")
        await connection.close()
        return row

    row = run(work())
    assert read_logo(row["content"]) == tuple(row)
    assert len(row["content"]) < 8 * 1024
