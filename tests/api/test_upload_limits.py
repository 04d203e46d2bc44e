"""Limits on uploads: 20 files per submission, a rate that counts files, quotas, and a nearly full disk (CONTRACT 6)."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from studiogate.api.resources.forms.uploads import UPLOADING
from studiogate.domain.forms import upload_limits
from studiogate.flows import housekeeping
from studiogate.storage.upload_folder import UploadFolder
from tests.api.test_forms_uploads import UploadStudio, new_form
from tests.support.asgi import assert_refused
from tests.support.partner_api import open_partner_api
from tests.support.people import locs, partner_of

pytestmark = pytest.mark.anyio

MIB = 1024 * 1024


async def open_upload_studio(database_url: str, folder: Path, **settings: Any) -> AsyncGenerator[UploadStudio, None]:
    async for api in open_partner_api(database_url, data_dir=folder, **({"rate_limit": 0} | settings)):
        partner = await partner_of(api)
        yield UploadStudio(partner, folder, await new_form(partner))


@pytest.fixture
async def upload_studio(
    anyio_backend: object, new_database: Callable[[], str], tmp_path: Path
) -> AsyncIterator[UploadStudio]:
    async for each in open_upload_studio(new_database(), tmp_path, upload_quota_form=1, upload_quota_studio=2):
        yield each


async def usage(upload_studio: UploadStudio, table: str) -> list[tuple[int, int]]:
    return [tuple(row) for row in await upload_studio.partner.api.connection.fetch(f"select files, bytes from {table}")]


async def test_twenty_files_are_a_submission_s_most(upload_studio: UploadStudio) -> None:
    ids = [(await upload_studio.upload(b"x")).json()["id"] for _ in range(21)]
    response = await upload_studio.submit({"any": ids, "q": ["not a line"]})
    assert sorted(locs(response)) == [["body", "data", "any"], ["body", "data", "q"]], "beside all other faults"
    assert {each["type"] for each in response.json()["detail"]} >= {"too_many_files"}
    assert (await upload_studio.submit({"any": ids[:20]})).status == 201


async def test_a_form_s_quota(upload_studio: UploadStudio) -> None:
    half = b"x" * (MIB // 2)
    for _ in range(2):
        assert (await upload_studio.upload(half)).status == 201
    error = assert_refused(await upload_studio.upload(b"x"), "limit_reached", param="file")
    assert error["details"] == {"limit": "form_upload_bytes", "maximum": MIB}
    assert len(upload_studio.files) == 2, "nothing of what was refused stays"
    assert (await upload_studio.upload(half, form=await new_form(upload_studio.partner))).status == 201, (
        "another form has its own"
    )


async def test_a_studio_s_quota(upload_studio: UploadStudio) -> None:
    half = b"x" * (MIB // 2)
    for _ in range(2):
        form = await new_form(upload_studio.partner)
        for _ in range(2):
            assert (await upload_studio.upload(half, form=form)).status == 201
    error = assert_refused(
        await upload_studio.upload(b"x", form=await new_form(upload_studio.partner)), "limit_reached"
    )
    assert error["details"] == {"limit": "studio_upload_bytes", "maximum": 2 * MIB}


async def test_files_without_bytes_worth_counting_are_counted(
    upload_studio: UploadStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload_limits, "MAX_FILES_PER_FORM", 2)
    for _ in range(2):
        assert (await upload_studio.upload(b"x")).status == 201
    error = assert_refused(await upload_studio.upload(b"x"), "limit_reached")
    assert error["details"] == {"limit": "form_upload_files", "maximum": 2}


async def test_of_many_at_once_no_more_fit_than_one_by_one(upload_studio: UploadStudio) -> None:
    third = b"x" * (MIB // 3)
    responses = await asyncio.gather(*(upload_studio.upload(third) for _ in range(8)))
    assert sorted(each.status for each in responses) == [201] * 3 + [409] * 5
    assert await usage(upload_studio, "form_upload_usage") == [(3, 3 * len(third))]
    assert await usage(upload_studio, "studio_upload_usage") == [(3, 3 * len(third))]
    assert len(upload_studio.files) == 3


async def test_what_is_removed_makes_room(upload_studio: UploadStudio) -> None:
    runtime = upload_studio.partner.api.app._runtime
    assert (await upload_studio.upload(b"x" * MIB)).status == 201
    assert_refused(await upload_studio.upload(b"x"), "limit_reached")
    await upload_studio.partner.api.connection.execute(
        "update form_uploads set created_at = now() - interval '25 hours'"
    )
    assert await housekeeping.forget_uploads(runtime.database, UploadFolder(upload_studio.data)) == 1
    assert (
        await usage(upload_studio, "form_upload_usage") == await usage(upload_studio, "studio_upload_usage") == [(0, 0)]
    )
    assert (await upload_studio.upload(b"x" * MIB)).status == 201


async def test_a_disk_that_is_nearly_full(new_database: Callable[[], str], tmp_path: Path) -> None:
    async with aclosing(open_upload_studio(new_database(), tmp_path, upload_min_free_disk=2**40)) as opened:
        upload_studio = await anext(opened)
        assert_refused(await upload_studio.upload(b"x"), "storage_unavailable")
        assert upload_studio.files == []
        assert (await upload_studio.submit({})).status == 201, "everything that needs no file still works"


async def test_a_file_that_cannot_be_written(upload_studio: UploadStudio) -> None:
    (upload_studio.data / "uploads").write_text("in the way of the folder")
    assert_refused(await upload_studio.upload(b"x"), "storage_unavailable")


async def test_the_rate_counts_files(new_database: Callable[[], str], tmp_path: Path) -> None:
    async with aclosing(open_upload_studio(new_database(), tmp_path, rate_limit=1_000_000)) as opened:
        upload_studio = await anext(opened)
        responses = [await upload_studio.upload(b"") for _ in range(UPLOADING.burst)]
        while responses[-1].status == 422 and len(responses) < 10 * UPLOADING.burst:
            responses.append(await upload_studio.upload(b""))  # on a slow machine some tokens are refilled meanwhile
        error = assert_refused(responses[-1], "rate_limited")
        assert error["retryable"] is True
        assert '"form-uploads"' in (responses[-1].header("ratelimit-policy") or "")
        assert (await upload_studio.submit({})).status == 201, "other requests have their own rate"
