"""Files that several machines share in a bucket, files that another machine has, and moving them."""

import asyncio
import io
import os
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import httpx2
import pytest
from structlog.testing import capture_logs

from studiogate.domain.access import operator_access
from studiogate.flows import backup, doctor, housekeeping
from studiogate.flows.backup import Installation, Target
from studiogate.flows.members import erase
from studiogate.flows.move_uploads import Move, Moved, move
from studiogate.runtime import Runtime
from studiogate.server.api_process import FrontEnds
from studiogate.storage.forms import uploads
from studiogate.storage.upload_bucket import UploadBucket
from studiogate.storage.upload_folder import UploadFolder
from studiogate.storage.upload_store import FilesUnavailableError, UploadStore
from tests.support.buckets import S3Server
from tests.support.deadlines import LONG
from tests.support.pictures import PDF
from tests.support.upload_service import UploadService, opened

pytestmark = pytest.mark.anyio


def silent(*_: object) -> None:
    pass


@pytest.fixture
async def shared(new_database: Callable[[], str], tmp_path: Path, bucket_url: str) -> AsyncIterator[UploadService]:
    async with opened(new_database(), tmp_path / "one", bucket_url) as made:
        yield made


@pytest.fixture
async def alone(new_database: Callable[[], str], tmp_path: Path) -> AsyncIterator[UploadService]:
    async with opened(new_database(), tmp_path / "one") as made:
        yield made


async def submitted(service: UploadService, number: int = 1) -> str:
    """Upload a file, name it in a submission, and return the path that reads it."""
    uploaded = (await service.by_api(f"upload-{number}-of-a-test")).json()["id"]
    async with service.runtime.database.connection() as connection:
        [row] = await connection.fetch("select studio_id, form_id from form_uploads where id = $1", uploaded)
        submission = await connection.fetchval(
            """insert into form_submissions (studio_id, id, form_id, form_version, submitter_email)
               values ($1, gen_random_uuid(), $2, 1, 'ada@example.org') returning id""",
            row["studio_id"],
            row["form_id"],
        )
        await connection.execute("update form_uploads set submission_id = $2 where id = $1", uploaded, submission)
    return f"/partner/v1/forms/{row['form_id']}/submissions/{submission}/files/{uploaded}"


async def read_on(service: UploadService, path: str, data: Path, url: str | None) -> httpx2.Response:
    """Read a file on another machine: another data folder, the same database."""
    given = service.runtime.settings.model_copy(update={"data_dir": data, "uploads_url": url})
    runtime = Runtime.open(given)
    try:
        transport = httpx2.ASGITransport(FrontEnds(runtime))
        async with httpx2.AsyncClient(transport=transport, base_url="http://api.test") as client:
            return await client.get(path, headers={"X-Service-Key": service.key})
    finally:
        await runtime.close()


async def places(service: UploadService) -> set[Any]:
    return {row["place"] for row in await service.rows()}


async def moved(service: UploadService, source: UploadStore, target: UploadStore, *, remove: bool = False) -> Moved:
    async with service.runtime.database.connection() as connection:
        return await move(connection, Move(source, target, remove, silent))


async def test_every_machine_reads_what_one_has_received(
    shared: UploadService, tmp_path: Path, bucket_url: str
) -> None:
    path = await submitted(shared)
    answer = await read_on(shared, path, tmp_path / "two", bucket_url)
    assert (answer.status_code, answer.content) == (200, PDF)
    assert shared.files() == [], "nothing stays on the machine"
    assert await places(shared) == {shared.store.place}
    assert (await shared.finding()).level == "ok"


@pytest.mark.parametrize(("moment", "kept"), [("before", 0), ("after", 1)])
async def test_a_commit_without_an_answer(
    shared: UploadService, moment: str, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared.proxy.cut_at = (moment, b"commit")
    assert (await shared.by_api("cut-at-the-commit")).status_code == 503
    shared.proxy.cut_at = None
    assert len(await shared.rows()) == kept
    await shared.assert_whole()
    studio = shared.runtime.uploads
    monkeypatch.setattr("studiogate.storage.upload_bucket.ABANDONED_SECONDS", -60.0)
    monkeypatch.setattr("studiogate.storage.upload_folder.ABANDONED_SECONDS", -60.0)
    [(studio_id, names)] = studio.abandoned().items()
    await housekeeping.settle_abandoned_files(shared.runtime.database, studio)
    assert (studio.abandoned(), len(studio.names(studio_id))) == ({}, kept)
    assert studio.has(studio_id, names[0]) == bool(kept)


async def test_a_bucket_that_is_away(new_database: Callable[[], str], tmp_path: Path, s3_server: S3Server) -> None:
    async with opened(new_database(), tmp_path, s3_server.url("x", port=1)) as service:
        with capture_logs() as lines:
            refused = await service.by_api("nobody-stores-this")
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "storage_unavailable")
        assert refused.headers["retry-after"]
        assert any("STUDIOGATE_UPLOADS_URL" in str(line.get("problem")) for line in lines)
        assert await service.rows() == []
        service.store = service.runtime.uploads
        async with service.runtime.database.connection() as connection:
            finding = await doctor.checked(connection, "uploads", doctor.examine_files(connection, service.store))
        assert [each.level for each in finding] == ["fault"]


async def test_a_place_that_hangs_holds_up_only_who_needs_it(
    alone: UploadService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What else is done in threads, such as compressing a large answer, goes on."""
    hangs = threading.Event()
    monkeypatch.setattr(UploadFolder, "seal", lambda *_: hangs.wait(LONG))
    uploads = [asyncio.create_task(alone.by_api(f"waits-for-the-place-{number}")) for number in range(40)]
    try:
        while len(alone.files()) < len(uploads):  # all are received, and to be stored
            await asyncio.sleep(0.01)
        async with asyncio.timeout(LONG / 2):
            await asyncio.to_thread(int)
    finally:
        hangs.set()
        answers = await asyncio.gather(*uploads)
    assert {each.status_code for each in answers} == {201}


async def test_a_file_of_another_machine_is_said_to_be_there(alone: UploadService, tmp_path: Path) -> None:
    path = await submitted(alone)
    other = UploadFolder(tmp_path / "two")
    other.put((await alone.rows())[0]["studio_id"], "0" * 32, io.BytesIO(b"x"))
    with capture_logs() as lines:
        answer = await read_on(alone, path, other.data, None)
    assert (answer.status_code, answer.json()["error"]["details"]) == (503, {"file": "elsewhere"})
    assert answer.headers["retry-after"]
    said = next(line for line in lines if line["event"] == "file cannot be read")
    assert (said["received_by"], said["here"]) == (alone.store.place, other.place)
    async with alone.runtime.database.connection() as connection:
        finding = await doctor.examine_files(connection, other)
    assert finding.level == "warning"
    assert str(alone.store.place) in finding.text
    row = (await alone.rows())[0]
    alone.store.remove(row["studio_id"], row["stored_name"])
    assert (await alone.finding()).level == "fault", "where it was received, it is missing"
    assert (await read_on(alone, path, tmp_path / "one", None)).json()["error"]["details"] == {"file": "unreadable"}


async def test_files_are_moved_while_the_service_runs(alone: UploadService, tmp_path: Path, bucket_url: str) -> None:
    path, bucket = await submitted(alone), UploadBucket(tmp_path / "one", bucket_url)
    for number in (2, 3):
        await submitted(alone, number)
    lost, damaged = (await alone.rows())[1:]
    alone.folder.remove(lost["studio_id"], lost["stored_name"])
    alone.folder.kept(damaged["studio_id"], damaged["stored_name"]).write_bytes(b"not what was received")
    done = await moved(alone, alone.folder, bucket)
    assert (done.copied, done.present, done.removed) == (1, 0, 0)
    assert done.missing == [f"{lost['studio_id']}/{lost['stored_name']}"]
    assert done.damaged == [f"{damaged['studio_id']}/{damaged['stored_name']}"]
    assert (await read_on(alone, path, tmp_path / "one", None)).status_code == 200, (
        "the service still reads the old place"
    )
    again = await moved(alone, alone.folder, bucket, remove=True)
    assert (again.copied, again.present, again.removed) == (0, 1, 1)
    answer = await read_on(alone, path, tmp_path / "two", bucket_url)
    assert (answer.status_code, answer.content) == (200, PDF)
    assert [row["place"] for row in await alone.rows()].count(bucket.place) == 1
    back = await moved(alone, bucket, alone.folder)
    assert back.copied == 1
    assert (await read_on(alone, path, tmp_path / "one", None)).content == PDF


async def test_an_interrupted_move_continues(
    alone: UploadService, tmp_path: Path, bucket_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths, kept = [await submitted(alone, number) for number in range(3)], list[str]()
    bucket, keep = UploadBucket(tmp_path / "one", bucket_url), UploadBucket.keep

    def end_at_the_second(store: UploadBucket, studio_id: UUID, name: str) -> None:
        kept.append(name)
        if len(kept) == 2:
            raise FilesUnavailableError("interrupted")
        keep(store, studio_id, name)

    monkeypatch.setattr(UploadBucket, "keep", end_at_the_second)
    with pytest.raises(FilesUnavailableError):
        await moved(alone, alone.folder, bucket, remove=True)
    for path in paths:
        assert (await read_on(alone, path, tmp_path / "one", None)).content == PDF, "nothing is removed yet"
    again = await moved(alone, alone.folder, bucket, remove=True)
    assert (again.copied, again.present, again.removed) == (2, 1, 3)
    for path in paths:
        assert (await read_on(alone, path, tmp_path / "two", bucket_url)).content == PDF


async def test_an_erasure_reaches_the_bucket_also_when_it_is_away(
    shared: UploadService, tmp_path: Path, s3_server: S3Server
) -> None:
    await submitted(shared)
    row = (await shared.rows())[0]
    access, name = operator_access(row["studio_id"]), row["stored_name"]
    away = UploadBucket(tmp_path, s3_server.url("x", port=1))
    async with shared.runtime.database.connection() as connection:
        removed = [await erase.remove_files(connection, access, store, [name]) for store in (away, shared.store)]
    assert removed == [0, 1]
    assert not shared.store.has(access.studio_id, name)


async def test_a_backup_has_the_files_of_a_bucket(
    shared: UploadService, new_empty_database: Callable[[], str], tmp_path: Path, s3_server: S3Server
) -> None:
    await submitted(shared)
    row, archive = (await shared.rows())[0], io.BytesIO()
    first, second = [await asyncpg.connect(shared.site.database_url) for _ in range(2)]
    content = await backup.back_up(Installation(first, second, shared.store, {}, silent), archive)
    assert (content.uploads, content.missing) == (1, {})
    survived, fresh = shared.store, UploadBucket(tmp_path, s3_server.url(os.urandom(8).hex()))
    for target in (survived, fresh):
        archive.seek(0)
        empty = await asyncpg.connect(new_empty_database())
        assert (await backup.restore(empty, Target(target), archive, silent)).uploads == 1
        assert (await doctor.examine_files(empty, target)).level == "ok"
        assert await empty.fetchval("select place from form_uploads") == target.place
        await empty.close()
        with target.open(row["studio_id"], row["stored_name"]).stream as file:
            assert await asyncio.to_thread(file.read) == PDF
    await first.close()
    await second.close()


async def test_a_place_is_noted_for_uploads_and_pictures(alone: UploadService) -> None:
    await submitted(alone)
    row = (await alone.rows())[0]
    access = operator_access(row["studio_id"])
    async with alone.runtime.database.connection() as connection:
        await uploads.note_place(connection, access, [row["stored_name"]], "elsewhere")
        known = await uploads.known_files(connection, access, [row["stored_name"]])
    assert known == {row["stored_name"]: "elsewhere"}
