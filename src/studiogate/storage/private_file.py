"""What commands write: files that only their user can read, and why an output cannot be written."""

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO


class OutputError(Exception):
    """An output cannot be written. Not an OSError: while a database is in use, that is a failure of its connection."""

    def __init__(self, name: object, error: OSError) -> None:
        super().__init__(f"{name} cannot be written: {error.strerror}.")
        self.has_no_reader = error.errno == errno.EPIPE


@contextmanager
def writing(name: object) -> Iterator[None]:
    """Say which output it was that could not be written."""
    try:
        yield
    except OSError as error:
        raise OutputError(name, error) from error


class PrivateFile:
    """A file of mode 0600 that appears under its name only when it is complete. A symbolic link stays, and leads to it;
    a pipe, a device or a folder is not replaced."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._named():
            self._target = _regular_file(path)
            # Not the process id: in a container that is always the same, and one that was killed leaves its draft.
            self._draft = self._target.with_name(f".{path.name}.{secrets.token_hex(4)}")
            descriptor = os.open(self._draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self.stream = os.fdopen(descriptor, "wb")

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Name the file in errors, instead of the hidden one."""
        try:
            yield
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self._path)) from error

    def __enter__(self) -> IO[bytes]:
        return self.stream

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.stream.flush()
                os.fsync(self.stream.fileno())
                with self._named():
                    self._draft.replace(self._target)
        finally:
            with suppress(OSError):  # tries once more to write what the disk has no room for
                self.stream.close()
            with suppress(FileNotFoundError):
                self._draft.unlink()


def _regular_file(path: Path) -> Path:
    """Return the file that a path leads to, which need not exist."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return Path(os.path.realpath(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EEXIST, "It exists and is no regular file")
    return Path(os.path.realpath(path))
