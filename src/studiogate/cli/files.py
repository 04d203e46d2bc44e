"""Files that commands read and write, and the progress of reading them."""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from studiogate.cli.context import CommandError, complaints, write
from studiogate.server.stop_signals import of_this_process
from studiogate.storage.private_file import OutputError, PrivateFile, writing

# The steps of an import.
IMPORT = ("reading", "checking", "writing")


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that can be read more than once: a regular file, or a copy of standard input."""
    if str(path) == "-":
        if sys.stdin is None:
            raise CommandError("Standard input is closed: name a file instead of -, or pipe it in.")
        with tempfile.TemporaryFile() as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
            yield copy
        return
    try:
        file = path.open("rb")
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from None
    with file:
        if path.is_dir() or not file.seekable():
            raise CommandError(f"{path} is no regular file: pipe it in, with - as its name.")
        yield file


def read_start(path: Path, most: int) -> bytes:
    """Read at most so many bytes of a file: one more than are allowed shows that it is too large."""
    try:
        with path.open("rb") as file:
            return file.read(most)
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from error


@contextmanager
def progress_bars(steps: Iterable[str], *, shown: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Show one progress bar per step on a terminal, nothing elsewhere."""
    columns = (TextColumn("{task.description:9}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=complaints, disable=not (shown and complaints.is_terminal)) as bars:
        tasks = {step: bars.add_task(step, total=None, start=False) for step in steps}

        def report(step: str, done: int, total: int) -> None:
            of_this_process().check()  # reading a large file takes seconds and waits for nothing
            bars.start_task(tasks[step])
            bars.update(tasks[step], completed=done, total=total)

        yield report


@contextmanager
def written(output: Path | None) -> Iterator[Callable[[str], object]]:
    """Yield a function that writes the output; a file appears under its name only when it is complete."""
    if output is None:
        yield write
        return
    try:
        with PrivateFile(output) as file:

            def write_text(text: str) -> None:
                with writing(output):
                    file.write(text.encode())

            yield write_text
    except OutputError as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        if error.filename not in (None, str(output)):  # a file that the command reads
            raise
        raise CommandError(f"{output} cannot be written: {error.strerror}.") from None


@contextmanager
def new_file(path: Path, advice: str) -> Iterator[BinaryIO]:
    """Yield a file that did not exist, and that only this user can read."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}. {advice}") from None
    with os.fdopen(descriptor, "wb") as stream:
        yield stream
