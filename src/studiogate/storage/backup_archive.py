"""The backup file: a gzip-compressed tar whose last member holds the checksums of all others.

backup.json               format, time, migrations, tables with their columns, sequences, missing uploads
secrets/NAME              the secret keys from the data folder
uploads/STUDIO/NAME       the uploaded files
tables/NAME/NUMBER        the rows, in COPY's text format, in parts
checksums.json            the SHA-256 of every member above
"""

import gzip
import hashlib
import io
import json
import re
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, NamedTuple

HEADER, CHECKSUMS = "backup.json", "checksums.json"
PART_BYTES = 4 << 20
_NAME = re.compile(
    r"secrets/[a-z]+\.key|uploads/[0-9a-f-]+/[0-9a-f]{32}(\.jpg)?|tables/[a-z_0-9]+/[0-9]+|backup\.json|checksums\.json"
)


class DamagedBackupError(Exception):
    """The file is not a backup, is truncated, or was changed; the message says which."""


class Member(NamedTuple):
    name: str
    size: int
    stream: IO[bytes]


class ArchiveWriter:
    """Writes members one after the other; ``finish`` adds the checksums."""

    def __init__(self, file: IO[bytes]) -> None:
        self._tar = tarfile.open(fileobj=file, mode="w:gz", compresslevel=6)  # noqa: SIM115  closed by finish
        self._checksums: dict[str, str] = {}

    def add(self, name: str, content: bytes) -> None:
        self._add(name, len(content), io.BytesIO(content))
        self._checksums[name] = hashlib.sha256(content).hexdigest()

    def add_file(self, name: str, file: IO[bytes], size: int) -> None:
        hashing = _Hashing(file)
        self._add(name, size, hashing)
        self._checksums[name] = hashing.digest.hexdigest()

    def _add(self, name: str, size: int, content: Any) -> None:
        member = tarfile.TarInfo(name)
        member.size, member.mode = size, 0o600
        self._tar.addfile(member, content)

    def finish(self) -> None:
        content = json.dumps(self._checksums).encode()
        self._add(CHECKSUMS, len(content), io.BytesIO(content))
        self._tar.close()


class _Hashing:
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        content = self._file.read(size)
        self.digest.update(content)
        return content


class _Checked(_Hashing):
    """A member's stream for the caller; an error while reading means that the file is damaged."""

    def read(self, size: int = -1) -> bytes:
        with _explained():
            return super().read(size)


class ArchiveReader:
    """Reads the members in order. The checksums are compared at the end: ``verify`` does so before anything is used."""

    def __init__(self, file: IO[bytes]) -> None:
        self._found: dict[str, str] = {}
        try:
            # Not tarfile's own reader of gzip, which ignores the checksum of the whole stream.
            self._gzip = gzip.GzipFile(fileobj=file)
            self._tar = tarfile.open(fileobj=self._gzip, mode="r|")  # noqa: SIM115  the file is the caller's
        except zlib.error as error:  # of a small file, opening reads beyond the beginning
            raise DamagedBackupError(f"it was changed or cut short after it was written ({error})") from error
        except (tarfile.TarError, EOFError, OSError) as error:
            raise DamagedBackupError(
                f"it is not a backup of Studiogate, or its beginning is damaged ({error})"
            ) from error

    def members(self) -> Iterator[Member]:
        """Yield every member before the checksums. Each must be read to its end before the next one is requested."""
        with _explained():
            for info in self._tar:
                stream = self._tar.extractfile(info) if info.isreg() and _NAME.fullmatch(info.name) else None
                if stream is None:
                    # A changed byte can also read as another name.
                    raise DamagedBackupError(f"it was changed after it was written: {info.name!r} is no part of it")
                if info.name == CHECKSUMS:
                    if json.loads(stream.read()) != self._found:
                        raise DamagedBackupError("it was changed after it was written (its checksums do not fit)")
                    while self._gzip.read(PART_BYTES):
                        pass
                    return
                hashing = _Checked(stream)
                yield Member(info.name, info.size, hashing)  # type: ignore[arg-type]
                while hashing.read(PART_BYTES):
                    pass
                self._found[info.name] = hashing.digest.hexdigest()
            raise DamagedBackupError("it was changed or cut short after it was written")


def verify(file: IO[bytes]) -> None:
    """Read the whole file and compare its checksums; then it can be read from its beginning."""
    for _ in ArchiveReader(file).members():
        pass
    file.seek(0)


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, EOFError, zlib.error, OSError, ValueError) as error:
        detail = str(error) or type(error).__name__
        raise DamagedBackupError(f"it was changed or cut short after it was written ({detail})") from error
