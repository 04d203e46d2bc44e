"""GET /forms/{id}/submissions/{id}/files/{id}: a submission's file, whole and as an attachment (CONTRACT 6)."""

import shutil
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import uuid4

import pytest

from tests.api.test_forms_uploads import World, new_form
from tests.support.asgi import ask, assert_common, assert_refused
from tests.support.partner_api import open_partner_api
from tests.support.people import partner_of
from tests.support.pictures import PDF
from tests.support.seed import issue_key

pytestmark = pytest.mark.anyio


@pytest.fixture
async def world(
    anyio_backend: str, new_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[World]:
    folder = tmp_path_factory.mktemp("files")
    async for api in open_partner_api(new_database(), rate_limit=0, data_dir=folder):
        partner = await partner_of(api)
        yield World(partner, folder, await new_form(partner))


async def submitted(world: World, content: bytes, filename: str = "a.bin") -> tuple[str, str]:
    """Submit a file; return its path below the submission, and the upload's id."""
    upload = (await world.upload(content, filename=filename)).json()["id"]
    made = await world.submit({"any": [upload]})
    assert made.status == 201, made.body
    return f"/forms/{world.form}/submissions/{made.json()['id']}/files/{upload}", upload


async def get(world: World, path: str, method: str = "GET", **more: Any) -> Any:
    return await ask(world.partner.api.app, method, path, key=more.get("key", world.partner.key))


async def test_a_file_comes_back_as_an_attachment(world: World) -> None:
    content = b"<html><script>alert(1)</script>" + b"x" * 300_000
    path, _ = await submitted(world, content, 'Gr\u00fc\u00dfe "50%".html')
    response = await get(world, path)
    assert (response.status, response.body) == (200, content)
    assert response.header("content-length") == str(len(content))
    assert response.header("content-type") == "text/html"
    named = "attachment; filename=\"Gr__e 50_.html\"; filename*=UTF-8''Gr%C3%BC%C3%9Fe%2050%25.html"
    assert response.header("content-disposition") == named
    assert_common(response)
    head = await get(world, path, "HEAD")
    assert (head.status, head.body, head.header("content-length")) == (200, b"", str(len(content)))


async def test_every_other_file_is_unknown(world: World) -> None:
    path, upload = await submitted(world, PDF)
    other_path, other = await submitted(world, b"other")
    waiting = (await world.upload(PDF)).json()["id"]
    form = await new_form(world.partner)
    base = path.rpartition("/")[0]
    for wrong in (
        f"{base}/{uuid4()}",
        f"{base}/{other}",
        f"{base}/{waiting}",
        f"{other_path.rpartition('/')[0]}/{upload}",
        path.replace(world.form, form),
        path.replace(world.form, str(uuid4())),
    ):
        assert_refused(await get(world, wrong), "not_found")
    assert_refused(await get(world, f"{base}/nonsense"), "validation_error", param="upload_id")
    key = await issue_key(world.partner.api.connection, world.partner.studio, "form_submissions:write")
    assert_refused(await get(world, path, key=key), "insufficient_scope")


async def test_a_file_that_is_gone_is_no_internal_error(world: World) -> None:
    path, _ = await submitted(world, PDF)
    shutil.rmtree(world.data / "uploads")
    assert_refused(await get(world, path), "storage_unavailable")
