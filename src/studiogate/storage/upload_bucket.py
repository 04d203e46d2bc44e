"""Uploaded files in an S3-compatible bucket, under the same paths as in a folder, so that every machine has them.

A file is received on the disk of this machine, because its content is examined, and stored as ``incoming`` before its
row. A request is repeated for some seconds; then the bucket counts as unreachable.
"""

import contextlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import parse_qsl, unquote, urlsplit
from uuid import UUID

from studiogate import clock
from studiogate.storage.upload_folder import UploadFolder
from studiogate.storage.upload_store import (
    ABANDONED_SECONDS,
    INCOMING,
    FilesUnavailableError,
    OpenedFile,
    UploadStore,
)

if TYPE_CHECKING:
    from obstore.store import S3Store

PIECE = 4 * 1024 * 1024  # bytes per request while a file is read
PARTS_AT_ONCE = 3  # of 5 MiB each, while a large file is stored
RETRIES: dict[str, object] = {"max_retries": 3, "retry_timeout": timedelta(seconds=10)}


class BucketError(FilesUnavailableError):
    """The bucket cannot be reached, or refuses what was asked. This is no OSError: while a database is in use, that
    is a failure of its connection."""

    reason = "bucket_unavailable"


@contextmanager
def _explained() -> Iterator[None]:
    """Raise FileNotFoundError if there is no such file, and BucketError for anything else, without the library's
    details."""
    try:
        yield
    except Exception as error:
        text = str(error).split("\n", 1)[0].split(" <?xml", 1)[0][:300]
        if "NoSuchBucket" in str(error):
            text = "there is no such bucket"
        elif isinstance(error, FileNotFoundError):
            raise FileNotFoundError(2, "no such file in the bucket") from None
        elif not isinstance(error, import_module("obstore.exceptions").BaseError):
            raise
        raise BucketError(f"{text}. Check STUDIOGATE_UPLOADS_URL, its key and its rights.") from None


@lru_cache
def _client(url: str) -> "S3Store":
    """Return the client for a URL, which keeps its connections. Without a key in the URL, the environment or the
    machine's role gives it (AWS_ACCESS_KEY_ID and the like)."""
    parts = urlsplit(url)
    given: dict[str, str] = dict(parse_qsl(parts.query))
    if parts.username is not None:
        given |= {"access_key_id": unquote(parts.username), "secret_access_key": unquote(parts.password or "")}
    options = {"allow_http": given.get("endpoint", "").startswith("http:"), "connect_timeout": "3s", "timeout": "30s"}
    store: Any = import_module("obstore.store").S3Store
    client: S3Store = store(
        parts.hostname, prefix=parts.path.strip("/") or None, client_options=options, retry_config=RETRIES, **given
    )
    return client


class UploadBucket(UploadStore):
    def __init__(self, data: Path, url: str) -> None:
        self.data, self._url = data, urlsplit(url)
        self._spool = UploadFolder(data)
        self._bucket = _client(url)
        self._library: Any = import_module("obstore")  # an optional dependency, which the setting has checked

    def __str__(self) -> str:
        return self.place

    @property
    def place(self) -> str:
        return f"s3://{self._url.hostname}{self._url.path.rstrip('/')}"

    def check(self) -> None:
        with _explained():
            next(self._library.list(self._bucket, INCOMING, chunk_size=1), None)

    def has_room(self, free_mebibytes: int) -> bool:
        return self._spool.has_room(free_mebibytes)

    def incoming(self, studio_id: UUID, name: str) -> Path:
        return self._spool.incoming(studio_id, name)

    def make_private(self, folder: Path) -> None:
        self._spool.make_private(folder)

    def open(self, studio_id: UUID, name: str) -> OpenedFile:
        for path in (_kept(studio_id, name), _incoming(studio_id, name), _kept(studio_id, name)):
            with contextlib.suppress(FileNotFoundError), _explained():
                file = self._library.open_reader(self._bucket, path, buffer_size=PIECE)
                return OpenedFile(io.BufferedReader(_Reader(file)), file.size)
        self.check()  # the answer to a request for a file does not say that there is no bucket
        raise FileNotFoundError(2, "no such file in the bucket")

    def has(self, studio_id: UUID, name: str) -> bool:
        try:
            self.open(studio_id, name).stream.close()
        except FileNotFoundError:
            return False
        return True

    def names(self, studio_id: UUID) -> set[str]:
        return {path.rsplit("/", 1)[1] for path, _ in self._list(str(studio_id))}

    def files(self) -> Iterator[tuple[UUID, str]]:
        before = clock.timestamp() - ABANDONED_SECONDS
        for path, modified in self._list(None):
            with contextlib.suppress(ValueError):  # not one of ours
                studio_id, _, name = path.split("/")
                if modified < before and studio_id != INCOMING:
                    yield UUID(studio_id), name

    def abandoned(self) -> dict[UUID, list[str]]:
        before = clock.timestamp() - ABANDONED_SECONDS
        found = self._spool.abandoned()
        for path, modified in self._list(INCOMING):
            with contextlib.suppress(ValueError):  # not one of ours
                _, studio_id, name = path.split("/")
                if modified < before:
                    found.setdefault(UUID(studio_id), []).append(name)
        return found

    def _list(self, under: str | None) -> Iterator[tuple[str, float]]:
        """Yield the paths of all files with the time of their last change, in order."""
        with _explained():
            for page in self._library.list(self._bucket, under):
                for each in page:
                    yield each["path"], each["last_modified"].timestamp()

    def seal(self, studio_id: UUID, name: str, content: BinaryIO) -> None:
        content.seek(0)
        with _explained():
            self._library.put(self._bucket, _incoming(studio_id, name), content, max_concurrency=PARTS_AT_ONCE)

    def keep(self, studio_id: UUID, name: str) -> None:
        with contextlib.suppress(FileNotFoundError), _explained():  # an earlier attempt has moved it
            self._library.rename(self._bucket, _incoming(studio_id, name), _kept(studio_id, name))
        self._spool.remove_incoming(studio_id, name)

    def remove_incoming(self, studio_id: UUID, name: str) -> None:
        self._spool.remove_incoming(studio_id, name)
        self._remove(_incoming(studio_id, name))

    def remove_kept(self, studio_id: UUID, name: str) -> None:
        self._remove(_kept(studio_id, name))

    def _remove(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError), _explained():
            self._library.delete(self._bucket, path)


class _Reader(io.RawIOBase):
    """Reads a file piece by piece: a slow reader keeps no connection open."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with _explained():
            piece = bytes(self._file.read(len(buffer)))
        buffer[: len(piece)] = piece
        return len(piece)


def _incoming(studio_id: UUID, name: str) -> str:
    return f"{INCOMING}/{studio_id}/{name}"


def _kept(studio_id: UUID, name: str) -> str:
    return f"{studio_id}/{name[:2]}/{name}"
