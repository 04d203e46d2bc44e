"""studiogate import | export."""

import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, Annotated

import typer
from rich.table import Table

from studiogate.cli.commands import Call, InStudio
from studiogate.cli.context import CommandError, complaints, counted, operator_of, print_json, reported, screen
from studiogate.cli.files import IMPORT, opened, progress_bars, written
from studiogate.domain.refusals import Refusal
from studiogate.domain.studio_file.rows import STALE, Fault, studio_file_schema
from studiogate.flows import studio_file
from studiogate.flows.studio_file import FilesBeside, Options, Outcome
from studiogate.flows.studio_file.files import ExportedFiles, folder_beside
from studiogate.runtime import upload_store
from studiogate.storage.studio_file.diff import RowChange

SHOWN = 50
# The longest value that a dry run prints in full.
WIDTH = 60

StudioFile = Annotated[
    Path | None, typer.Argument(metavar="FILE", help="The studio file; - reads standard input.", show_default=False)
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show every change, field by field, and change nothing.")]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Also change rows that have changed since the file was exported.")
]
Strict = Annotated[bool, typer.Option("--strict", help="Refuse what is otherwise only a warning.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Send members no mails about what the file changes.")]
Schema = Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of studio files, and import nothing.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Files of submissions go beside it. Default: standard output."),
]


def import_file(
    call: Call,
    path: StudioFile = None,
    dry_run: DryRun = False,
    overwrite: Overwrite = False,
    strict: Strict = False,
    quiet: Quiet = False,
    schema: Schema = False,
) -> None:
    """Load a studio file as a patch: what it does not give stays; all of it or nothing."""
    if schema:
        typer.echo(json.dumps(studio_file_schema(), indent=2, ensure_ascii=False))
        return
    if path is None:
        raise typer.BadParameter("Name the studio file, or - for standard input.", param_hint="FILE")
    with tempfile.TemporaryFile("w+") as changes:

        def note(change: RowChange) -> None:
            fields = {name: {"old": values[0], "new": values[1]} for name, values in change.fields.items()}
            row = {"place": change.place, "id": str(change.id), "created": change.created, "fields": fields}
            changes.write(json.dumps(row, ensure_ascii=False) + "\n")

        files = FilesBeside(folder_beside(path), upload_store(call.settings)) if str(path) != "-" else None
        options = Options(dry_run, overwrite, strict, quiet, files)
        if dry_run:
            options = replace(options, on_change=note)
        outcome = _import(call, path, options)
        if call.as_json:
            _print_json(outcome, options, changes, path)
        else:
            _print_text(outcome, options, changes, path)
    if outcome.faults:
        raise typer.Exit(1)


def _import(call: Call, path: Path, options: Options) -> Outcome:
    with opened(path) as file, progress_bars(IMPORT, shown=not call.as_json) as progress:
        access = operator_of(studio_file.studio_in(file))
        outcome: Outcome | Refusal = call.on_database(
            lambda connection: studio_file.import_studio_file(connection, access, file, options, progress)
        )
    if isinstance(outcome, Refusal):
        raise CommandError(f"{outcome.message} Nothing was changed.", outcome)
    return outcome


def export(call: InStudio, output: Output = None) -> None:
    """Write a studio as a studio file, which is JSON, with everything in it: importing it again changes nothing."""
    uploads = upload_store(call.settings)
    files = None if output is None else ExportedFiles(folder_beside(output), uploads)
    with written(output) as write:
        call.read(lambda connection, _access: studio_file.export_studio(connection, str(call.studio), write, files))
    if call.as_json and files is not None:
        print_json({"file": str(output), "missing_uploads": files.missing})
    for upload_id in files.missing if files else ():
        complaints.print(
            f"warning: the file of upload {upload_id} is not in {uploads}; its row is in the export.", soft_wrap=True
        )


def _print_json(outcome: Outcome, options: Options, changes: IO[str], path: Path) -> None:
    """Print the outcome as JSON. The changes, of which there may be many, come last, one per line."""
    faults = [{"loc": [each.place], "message": each.message} for each in outcome.faults]
    head = {
        **({"error": reported(_refusal(outcome, path), faults)} if faults else {}),
        "dry_run": options.dry_run,
        "sections": {name: asdict(counts) for name, counts in outcome.sections.items()},
        "effects": outcome.effects,
        "warning_count": outcome.warning_count,
        "warnings": [{"place": each.place, "message": each.message} for each in outcome.warnings],
        "fault_count": outcome.fault_count,
        "faults": [{"place": each.place, "message": each.message} for each in outcome.faults],
    }
    if not options.dry_run:
        print_json(head)
        return
    typer.echo(json.dumps(head, indent=2, ensure_ascii=False).rstrip("\n}") + ',\n  "changes": [', nl=False)
    separator = "\n"
    for line in _noted(changes, outcome):
        typer.echo(separator + "    " + line, nl=False)
        separator = ",\n"
    typer.echo("\n  ]\n}")


def _noted(changes: IO[str], outcome: Outcome) -> Iterator[str]:
    """Yield the noted changes, unless a fault was found after them."""
    changes.seek(0)
    for line in changes if not outcome.faults else ():
        yield line.rstrip("\n")


def _print_text(outcome: Outcome, options: Options, changes: IO[str], path: Path) -> None:
    _complain("warning: ", outcome.warnings, outcome.warning_count, " warnings")
    if outcome.faults:
        _complain("", outcome.faults, outcome.fault_count)
        reported(_refusal(outcome, path))
        return
    for line in _noted(changes, outcome):
        change = json.loads(line)
        typer.echo(f"{change['place']} {'new row' if change['created'] else 'change of'} {change['id']}")
        for name, values in change["fields"].items():
            texts = (json.dumps(values[side], ensure_ascii=False) for side in ("old", "new"))
            old, new = (text if len(text) <= WIDTH else text[: WIDTH - 1] + "…" for text in texts)
            typer.echo(f"  {name}: {new}" if change["created"] else f"  {name}: {old} → {new}")
    _print_summary(outcome, options.dry_run)


def _complain(kind: str, findings: Sequence[Fault], count: int, noun: str = "") -> None:
    for finding in findings[:SHOWN]:
        complaints.print(f"{kind}{finding.place}: {finding.message}", markup=False, soft_wrap=True)
    if count > SHOWN:
        complaints.print(f"… and {count - SHOWN} more{noun}")


def _refusal(outcome: Outcome, path: Path) -> str:
    text = f"{path} has {counted(outcome.fault_count, 'fault')}. Nothing was loaded. Fix the file and import it again."
    stale = any(fault.message == STALE for fault in outcome.faults)
    return f"{text} --overwrite also changes rows that have changed since the export." if stale else text


def _print_summary(outcome: Outcome, dry_run: bool) -> None:
    table = Table("section", box=None)
    for column in ("created", "updated", "unchanged"):
        table.add_column(column, justify="right")
    for name, counts in outcome.sections.items():
        if counts.created or counts.updated or counts.unchanged:
            table.add_row(name, f"{counts.created:,}", f"{counts.updated:,}", f"{counts.unchanged:,}")
    screen.print(table)
    if outcome.effects:
        followed = ", ".join(f"{name.replace('_', ' ')}: {count:,}" for name, count in outcome.effects.items())
        screen.print(f"What followed: {followed}.")
    if dry_run:
        screen.print("Dry run: nothing was changed.")
