"""studiogate import | export."""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, BinaryIO

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from studiogate.cli.context import (
    AsJson,
    CommandError,
    DataFolder,
    complaints,
    counted,
    no_studio,
    on_database,
    print_json,
    screen,
    write,
)
from studiogate.flows import studio_file
from studiogate.flows.studio_file import Outcome
from studiogate.server.stop_signals import of_this_process

SHOWN = 50

StudioFile = Annotated[Path, typer.Argument(metavar="FILE", help="The studio file; - reads standard input.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Check and count everything, change nothing.")]
StudioSlug = Annotated[str, typer.Option("--studio", metavar="SLUG", help="The studio's slug.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Default: standard output.")]


def import_file(path: StudioFile, dry_run: DryRun = False, as_json: AsJson = False, data: DataFolder = None) -> None:
    """Load a studio file: upsert by id, all of it or nothing."""
    with _opened(path) as file, _progress(shown=not as_json) as progress:
        outcome = on_database(
            data,
            lambda connection: studio_file.import_studio_file(connection, file, dry_run=dry_run, progress=progress),
        )
    if as_json:
        print_json(_as_json(outcome, dry_run))
    elif outcome.faults:
        _print_faults(outcome, path)
    else:
        _print_summary(outcome, dry_run)
    if outcome.faults:
        raise typer.Exit(1)


def export(studio: StudioSlug, output: Output = None, data: DataFolder = None) -> None:
    """Write a studio as a studio file: importing it again changes nothing."""
    with _written(output) as write:
        found = on_database(data, lambda connection: studio_file.export_studio(connection, studio, write))
        if not found:
            raise no_studio(studio)


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """Yield the file, or a copy of standard input: it is read twice if the studio does not come first."""
    if str(path) == "-":
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
            raise CommandError(f"{path} is no regular file: pipe it in, `studiogate import - < …`.")
        yield file


@contextmanager
def _progress(*, shown: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Show one progress bar per step on a terminal, nothing elsewhere."""
    columns = (TextColumn("{task.description:9}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=complaints, disable=not (shown and complaints.is_terminal)) as bars:
        tasks = {step: bars.add_task(step, total=None, start=False) for step in ("reading", "checking", "writing")}

        def report(step: str, done: int, total: int) -> None:
            of_this_process().check()  # reading a large file takes seconds and waits for nothing
            bars.start_task(tasks[step])
            bars.update(tasks[step], completed=done, total=total)

        yield report


@contextmanager
def _written(output: Path | None) -> Iterator[Callable[[str], object]]:
    """Yield a function that writes the output; a file appears under its name only when it is complete."""
    if output is None:
        yield write
        return
    try:
        with tempfile.NamedTemporaryFile(dir=output.parent, prefix=f".{output.name}.", delete=False) as part:
            unfinished = Path(part.name)
            try:
                yield lambda text: part.write(text.encode())
            except BaseException:
                unfinished.unlink()
                raise
        unfinished.replace(output)
    except OSError as error:
        raise CommandError(f"{output} cannot be written: {error.strerror}.") from None


def _as_json(outcome: Outcome, dry_run: bool) -> dict[str, object]:
    return {
        "dry_run": dry_run,
        "sections": {name: asdict(counts) for name, counts in outcome.sections.items()},
        "fault_count": outcome.fault_count,
        "faults": [{"place": fault.place, "message": fault.message} for fault in outcome.faults],
    }


def _print_faults(outcome: Outcome, path: Path) -> None:
    for fault in outcome.faults[:SHOWN]:
        complaints.print(f"{fault.place}: {fault.message}", markup=False, soft_wrap=True)
    if outcome.fault_count > SHOWN:
        complaints.print(f"… and {outcome.fault_count - SHOWN} more")
    number = counted(outcome.fault_count, "fault")
    complaints.print(
        f"[red]error:[/] {path} has {number}. Nothing was loaded: mend it and import it again.", soft_wrap=True
    )


def _print_summary(outcome: Outcome, dry_run: bool) -> None:
    table = Table("section", box=None)
    for column in ("created", "updated", "unchanged"):
        table.add_column(column, justify="right")
    for name, counts in outcome.sections.items():
        if counts.created or counts.updated or counts.unchanged:
            table.add_row(name, f"{counts.created:,}", f"{counts.updated:,}", f"{counts.unchanged:,}")
    screen.print(table)
    if dry_run:
        screen.print("Dry run: nothing was changed.")
