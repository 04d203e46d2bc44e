"""GET /forms/{id}/submissions/{id}/files/{id}: a submission's file, whole and as an attachment (CONTRACT 6)."""

import shutil
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import uuid4

import pytest

from tests.api.test_forms_uploads import UploadStudio, new_form
from tests.support.asgi import ask, assert_common, assert_refused
from tests.support.partner_api import open_partner_api
from tests.support.people import partner_of
from tests.support.pictures import PDF
from tests.support.seed import issue_key

pytestmark = pytest.mark.anyio


@pytest.fixture
async def upload_studio(
    anyio_backend: object, new_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[UploadStudio]:
    folder = tmp_path_factory.mktemp("files")
    async for api in open_partner_api(new_database(), rate_limit=0, data_dir=folder):
        partner = await partner_of(api)
        yield UploadStudio(partner, folder, await new_form(partner))


async def submitted(upload_studio: UploadStudio, content: bytes, filename: str = "a.bin") -> tuple[str, str]:
    """Submit a file; return its path below the submission, and the upload's id."""
    upload = (await upload_studio.upload(content, filename=filename)).json()["id"]
    made = await upload_studio.submit({"any": [upload]})
    assert made.status == 201, made.body
    return f"/forms/{upload_studio.form}/submissions/{made.json()['id']}/files/{upload}", upload


async def get(upload_studio: UploadStudio, path: str, method: str = "GET", **more: Any) -> Any:
    return await ask(upload_studio.partner.api.app, method, path, key=more.get("key", upload_studio.partner.key))


async def test_a_file_comes_back_as_an_attachment(upload_studio: UploadStudio) -> None:
    content = b"<html><script>alert(1)</script>" + b"x" * 300_000
    path, _ = await submitted(upload_studio, content, 'Gr\u00fc\u00dfe "50%".html')
    response = await get(upload_studio, path)
    assert (response.status, response.body) == (200, content)
    assert response.header("content-length") == str(len(content))
    assert response.header("content-type") == "text/html"
    named = "attachment; filename=\"Gr__e 50_.html\"; filename*=UTF-8''Gr%C3%BC%C3%9Fe%2050%25.html"
    assert response.header("content-disposition") == named
    assert_common(response)
    head = await get(upload_studio, path, "HEAD")
    assert (head.status, head.body, head.header("content-length")) == (200, b"", str(len(content)))


async def test_every_other_file_is_unknown(upload_studio: UploadStudio) -> None:
    path, upload = await submitted(upload_studio, PDF)
    other_path, other = await submitted(upload_studio, b"other")
    waiting = (await upload_studio.upload(PDF)).json()["id"]
    form = await new_form(upload_studio.partner)
    base = path.rpartition("/")[0]
    for wrong in (
        f"{base}/{uuid4()}",
        f"{base}/{other}",
        f"{base}/{waiting}",
        f"{other_path.rpartition('/')[0]}/{upload}",
        path.replace(upload_studio.form, form),
        path.replace(upload_studio.form, str(uuid4())),
    ):
        assert_refused(await get(upload_studio, wrong), "not_found")
    assert_refused(await get(upload_studio, f"{base}/nonsense"), "validation_error", param="upload_id")
    key = await issue_key(upload_studio.partner.api.connection, upload_studio.partner.studio, "form_submissions:write")
    assert_refused(await get(upload_studio, path, key=key), "insufficient_scope")


async def test_a_file_that_is_gone_is_no_internal_error(upload_studio: UploadStudio) -> None:
    path, _ = await submitted(upload_studio, PDF)
    shutil.rmtree(upload_studio.data / "uploads")
    assert_refused(await get(upload_studio, path), "storage_unavailable")
