"""Uploads whose COMMIT gets no answer: the row may or may not exist, and a row must never be without its file."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from studiogate.domain.access import operator_access
from studiogate.flows import doctor, housekeeping
from studiogate.storage.forms import uploads
from tests.hosted.test_submit import sending
from tests.support.page_reader import token_of
from tests.support.upload_service import UploadService, opened

pytestmark = pytest.mark.anyio

MOMENTS = [("before", 0), ("after", 1)]


@pytest.fixture
async def service(new_database: Callable[[], str], tmp_path: Path) -> AsyncIterator[UploadService]:
    async with opened(new_database(), tmp_path) as made:
        yield made


@pytest.mark.parametrize(("moment", "kept"), MOMENTS)
async def test_an_upload_by_the_api_keeps_its_file(service: UploadService, moment: str, kept: int) -> None:
    service.proxy.cut_at = (moment, b"commit")
    cut = await service.by_api("one-upload-one-key")
    assert (cut.status_code, cut.json()["error"]["code"]) == (503, "database_unavailable")
    assert cut.headers["retry-after"]
    assert service.proxy.cuts == 1
    service.proxy.cut_at = None
    assert len(await service.rows()) == kept
    assert len(service.files()) == 1, "it may have a row"
    again = await service.by_api("one-upload-one-key")
    assert again.status_code == 201
    assert ("idempotent-replayed" in again.headers) == bool(kept)
    assert [str(row["id"]) for row in await service.rows()] == [again.json()["id"]]
    await service.assert_whole()


@pytest.mark.parametrize(("moment", "kept"), MOMENTS)
async def test_an_upload_by_the_page_keeps_its_file(service: UploadService, moment: str, kept: int) -> None:
    token = await asyncio.to_thread(token_of, service.site, "everything")
    service.proxy.cut_at = (moment, b"commit")
    assert (await service.by_page(token)).status_code == 503
    assert service.proxy.cuts == 1
    service.proxy.cut_at = None
    assert len(await service.rows()) == kept
    assert len(service.files()) == 1
    await service.assert_whole()
    assert (await service.by_page(token)).status_code == 201
    assert len(await service.rows()) == kept + 1
    await service.assert_whole()


@pytest.mark.parametrize(("moment", "kept"), MOMENTS)
async def test_housekeeping_finds_out_what_became_of_it(service: UploadService, moment: str, kept: int) -> None:
    service.proxy.cut_at = (moment, b"commit")
    await service.by_api("settled-by-housekeeping")
    service.proxy.cut_at = None
    for path in service.files():
        os.utime(path, (0, 0))
    assert await housekeeping.settle_abandoned_files(service.runtime.database, service.folder) == 1
    assert len(service.files()) == kept
    assert all("incoming" not in path.parts for path in service.files())
    await service.assert_whole()


async def test_a_certain_failure_leaves_no_file(service: UploadService) -> None:
    service.proxy.cut_at = ("before", b"begin")
    assert (await service.by_api("cut-at-the-beginning")).status_code == 503
    service.proxy.cut_at = None
    assert service.files() == []
    assert await service.rows() == []


async def test_a_file_that_cannot_be_moved_is_kept_where_it_is(service: UploadService) -> None:
    """The disk is full after the commit: the row exists, so the file must stay."""
    (service.site.data / "uploads").mkdir(mode=0o700, exist_ok=True)
    (service.site.data / "uploads" / service.site.studio["id"]).write_text("in the way of a folder")
    assert (await service.by_api("no-place-to-move-to")).status_code == 201
    await service.assert_whole()


async def test_the_doctor_compares_rows_with_files(service: UploadService) -> None:
    for number in range(2):
        assert (await service.by_api(f"upload-number-{number}")).status_code == 201
    assert (await service.finding()).level == "ok"
    row = (await service.rows())[0]
    kept = service.folder.kept(row["studio_id"], row["stored_name"])
    aside = kept.rename(service.site.data / "aside")
    missing = await service.finding()
    assert missing.level == "fault"
    assert row["stored_name"] in missing.text
    aside.rename(kept)
    stray = kept.with_name("0" * 32)
    stray.write_bytes(b"nobody's")
    assert (await service.finding()).level == "ok", "it may have been put there this moment"
    os.utime(stray, (0, 0))
    orphan = await service.finding()
    assert orphan.level == "warning"
    assert stray.name in orphan.text
    assert stray.exists(), "only reported: after a restore it may be the only copy"


async def test_a_row_that_is_forgotten_in_the_meantime_is_no_missing_file(service: UploadService) -> None:
    assert (await service.by_api("soon-to-be-forgotten")).status_code == 201
    row = (await service.rows())[0]
    async with service.runtime.database.connection() as connection:
        page = await uploads.page_of_files(connection, operator_access(row["studio_id"]), "", 10)
        assert page == [row["stored_name"]]
        await connection.execute("delete from form_uploads")
        service.folder.remove(row["studio_id"], row["stored_name"])
        assert await doctor.missing_files(connection, operator_access(row["studio_id"]), service.folder, page) == []


@pytest.mark.parametrize(("moment", "kept"), MOMENTS)
async def test_a_visitor_sees_that_the_outcome_is_unknown(service: UploadService, moment: str, kept: int) -> None:
    data = await asyncio.to_thread(sending, service.site, "everything")
    service.proxy.cut_at = (moment, b"commit")
    cut = await service.client.post(service.site.url("everything"), data=data)
    assert cut.status_code == 503
    assert "We cannot tell whether that arrived" in cut.text
    assert cut.headers["retry-after"]
    service.proxy.cut_at = None
    assert len(await asyncio.to_thread(service.site.submissions, "everything")) == kept
