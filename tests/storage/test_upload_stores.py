"""The places of uploaded files, a folder and a bucket of a real S3 service, keep the same promises."""

import io
import os
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from studiogate import clock, settings
from studiogate.runtime import upload_store
from studiogate.settings import Settings
from studiogate.storage.upload_bucket import UploadBucket
from studiogate.storage.upload_folder import UploadFolder
from studiogate.storage.upload_store import ABANDONED_SECONDS, FilesUnavailableError, IncomingFile, UploadStore
from tests.support.buckets import KEY, SECRET, S3Server

pytestmark = pytest.mark.anyio
STUDIO = UUID(int=7)


@pytest.fixture(params=["folder", "named folder", "bucket"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> UploadStore:
    url = None if request.param == "folder" else str(tmp_path / "elsewhere" / "files")
    if request.param == "bucket":
        url = str(request.getfixturevalue("bucket_url"))
    return upload_store(Settings(data_dir=tmp_path / "data", uploads_url=url))


def content(store: UploadStore, name: str, studio: UUID = STUDIO) -> bytes:
    opened = store.open(studio, name)
    with opened.stream as file:
        read = file.read()
    assert len(read) == opened.size
    return read


def test_a_file_is_found_before_and_after_it_is_moved(store: UploadStore) -> None:
    store.receive(STUDIO, "one", io.BytesIO(b"hello"))
    assert (content(store, "one"), store.has(STUDIO, "one"), store.names(STUDIO)) == (b"hello", True, set())
    store.keep(STUDIO, "one")
    assert (content(store, "one"), store.has(STUDIO, "one"), store.names(STUDIO)) == (b"hello", True, {"one"})
    assert store.names(uuid4()) == set()
    store.remove(STUDIO, "one")
    assert not store.has(STUDIO, "one")
    with pytest.raises(FileNotFoundError):
        store.open(STUDIO, "one")
    store.remove(STUDIO, "one")


def test_a_large_file_comes_back_byte_for_byte(store: UploadStore) -> None:
    large = os.urandom(11 * 1024 * 1024 + 17)  # several parts of a request
    store.put(STUDIO, "large", io.BytesIO(large))
    opened = store.open(STUDIO, "large")
    with opened.stream as file:
        assert file.read(100_001) + file.read() == large
    assert opened.size == len(large)


def test_a_removed_picture_that_is_stored_again_stays(store: UploadStore) -> None:
    store.put(STUDIO, "picture", io.BytesIO(b"same"))
    store.receive(STUDIO, "picture", io.BytesIO(b"same"))
    store.remove_kept(STUDIO, "picture")
    assert content(store, "picture") == b"same"
    store.keep(STUDIO, "picture")
    assert store.names(STUDIO) == {"picture"}


async def test_what_housekeeping_looks_for(store: UploadStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put(STUDIO, "kept", io.BytesIO(b"x"))
    store.receive(STUDIO, "waiting", io.BytesIO(b"x"))
    half = IncomingFile(store, STUDIO)
    half.write(b"half of it")
    half.stream.close()
    assert (list(store.files()), store.abandoned()) == ([], {})
    later = clock.timestamp() + ABANDONED_SECONDS + 60
    monkeypatch.setattr(clock, "timestamp", lambda: later)
    assert list(store.files()) == [(STUDIO, "kept")]
    assert {studio: set(names) for studio, names in store.abandoned().items()} == {STUDIO: {"waiting", half.name}}
    for name in ("waiting", half.name):
        store.remove(STUDIO, name)
    assert store.abandoned() == {}


def test_what_others_put_beside_the_files_is_left_alone(store: UploadStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put(STUDIO, "kept", io.BytesIO(b"x"))
    store.receive(STUDIO, "waiting", io.BytesIO(b"x"))
    foreign = ["robots.txt", "logs/today", "incoming/readme", "incoming/notes/one", f"{STUDIO}/loose"]
    for name in foreign:
        if isinstance(store, UploadBucket):
            store._library.put(store._bucket, name, b"x")
        else:
            assert isinstance(store, UploadFolder)
            (store.root / name).parent.mkdir(exist_ok=True)
            (store.root / name).write_bytes(b"x")
    later = clock.timestamp() + ABANDONED_SECONDS + 60
    monkeypatch.setattr(clock, "timestamp", lambda: later)
    assert list(store.files()) == [(STUDIO, "kept")]
    assert {studio: set(names) for studio, names in store.abandoned().items()} == {STUDIO: {"waiting"}}


async def test_a_file_without_a_row_is_removed(store: UploadStore) -> None:
    async with IncomingFile(store, STUDIO) as file:
        file.write(b"refused")
        file.finish()
    assert not store.has(STUDIO, file.name)
    async with IncomingFile(store, STUDIO) as file:
        file.write(b"stored")
        file.finish()
        await file.keep()
    assert content(store, file.name) == b"stored"
    assert not store.incoming(STUDIO, file.name).exists()


def test_a_folder_has_one_name(tmp_path: Path) -> None:
    here, there = UploadFolder(tmp_path / "here"), UploadFolder(tmp_path / "there")
    assert here.place is None
    for folder in (here, there, here):
        folder.put(STUDIO, "one", io.BytesIO(b"x"))
    assert here.place != there.place
    assert UploadFolder(tmp_path / "here").place == UploadFolder(tmp_path, tmp_path / "here" / "uploads").place


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"secret": "wrong"}, "privileges"),
        ({"bucket": "another"}, "no such bucket"),
        ({"port": 1}, "error sending request"),
    ],
)
def test_a_bucket_that_cannot_be_used_says_why(
    s3_server: S3Server, tmp_path: Path, wrong: dict[str, str], problem: str
) -> None:
    bucket = UploadBucket(tmp_path, s3_server.url("x", **wrong))  # type: ignore[arg-type]
    with pytest.raises(FilesUnavailableError):
        bucket.check()
    with pytest.raises(FilesUnavailableError, match=problem) as failed:
        bucket.open(STUDIO, "one")
    with pytest.raises(FilesUnavailableError):
        bucket.receive(STUDIO, "one", io.BytesIO(b"x"))
    assert SECRET not in str(failed.value)
    assert KEY not in str(failed.value)
    assert str(bucket) == f"s3://{wrong.get('bucket', 'files')}/x"


def test_the_key_can_be_in_the_environment(
    s3_server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    url = f"s3://files?endpoint=http://127.0.0.1:{s3_server.port}&region=us-east-1"
    UploadBucket(tmp_path, url).check()


def test_the_setting_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    for right in (
        "s3://files/a/b%20c/?region=x",
        "s3://k:a%2Fb+c@files.x?endpoint=https://host:1/s3&region=eu-1",
        "/files",
    ):
        assert settings.load(uploads_url=right).uploads_url == right
    wrongs = [
        "files",
        "ftp://files",
        "s3://",
        "s3://files?color=red",
        "s3://files?endpoint=host",
        "s3://Files",
        "s3://f:1",
    ]
    wrongs += [f"s3://key:{wrong}@files" for wrong in ("se/cret", "se#cret", "se?cret", "se@cret")]
    for wrong in (*wrongs, "s3://files/../others", "s3://key@files"):
        with pytest.raises(settings.SettingsError, match="STUDIOGATE_UPLOADS_URL has a wrong value: should be") as said:
            settings.load(uploads_url=wrong)
        assert "cret" not in str(said.value).replace("secret", "")
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(settings.SettingsError, match=r"install `studiogate\[objects\]`"):
        settings.load(uploads_url="s3://files")
