"""studiogate import-csv: members, memberships, the schedule, products and leads from CSV files of other systems."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from studiogate.cli.commands import InStudio
from studiogate.cli.context import CommandError, counted, print_json, reported, screen
from studiogate.cli.files import IMPORT, opened, progress_bars, written
from studiogate.cli.studio_file import Quiet
from studiogate.domain.csv_import.kinds import KINDS, Kind
from studiogate.domain.csv_import.mapping import WrongMappingError
from studiogate.domain.refusals import Refusal
from studiogate.flows.csv_import import CsvFile, CsvOutcome, import_csv
from studiogate.flows.csv_rows import GENERIC, load_mapping


def _parsed_kind(name: str) -> Kind:
    if name not in KINDS:
        raise typer.BadParameter(f"{name!r} cannot be imported: {', '.join(KINDS)} can.")
    return KINDS[name]


KindName = Annotated[
    Kind, typer.Argument(metavar="KIND", parser=_parsed_kind, help="members, memberships, schedule, products or leads.")
]
CsvPath = Annotated[Path, typer.Argument(metavar="FILE", help="The CSV file.")]
Map = Annotated[
    str, typer.Option("--map", metavar="NAME|FILE", help="A preset (mindbody, glofox, generic) or a mapping file.")
]
Dates = Annotated[
    list[str] | None,
    typer.Option("--dates", metavar="FORMAT", help="How the file writes dates: DD/MM/YYYY, M/D/YYYY, … Repeatable."),
]
Apply = Annotated[bool, typer.Option("--apply", help="Change the studio. Without it this is a dry run.")]
SkipFaults = Annotated[bool, typer.Option("--skip-faults", help="With --apply: leave out the rows with faults.")]
Verdicts = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Default: FILE.verdicts.csv beside the input.")
]


def import_rows(
    call: InStudio,
    kind: KindName,
    path: CsvPath,
    mapping: Map = GENERIC,
    dates: Dates = None,
    apply: Apply = False,
    skip_faults: SkipFaults = False,
    quiet: Quiet = False,
    output: Verdicts = None,
) -> None:
    """Import rows of a CSV file. A dry run unless --apply is given; every row gets a verdict, in FILE.verdicts.csv."""
    if output is None and str(path) == "-":
        raise CommandError("Standard input has no place for its verdicts: give a file with -o.")
    verdicts = output or path.with_name(f"{path.name}.verdicts.csv")
    if path.absolute() == verdicts.absolute():
        raise CommandError("The verdicts would replace the input: give another file with -o.")
    try:
        chosen = load_mapping(mapping, kind, dates or [])
    except WrongMappingError as wrong:
        faults = f"; {mapping}: ".join(wrong.faults)
        raise CommandError(f"The mapping {mapping} cannot be used. {mapping}: {faults}.") from None
    with opened(path) as file, progress_bars(IMPORT, shown=not call.as_json) as progress, written(verdicts) as write:
        source = CsvFile(file, path.name, chosen, write, apply, skip_faults, quiet, progress)
        outcome = call.read(lambda connection, access: import_csv(connection, access, source))
        if isinstance(outcome, Refusal):
            said = " ".join(fault.msg for fault in outcome.faults) or outcome.message
            raise CommandError(f"{said} Nothing was changed.")
    _print(call, outcome, verdicts, apply)


def _print(call: InStudio, outcome: CsvOutcome, verdicts: Path, apply: bool) -> None:
    if not call.as_json:
        _print_text(outcome, verdicts, apply)
    error = {}
    if outcome.faults and not outcome.applied:
        text = f"{counted(outcome.faults, 'row')} cannot be imported. Nothing was changed. "
        error = {"error": reported(f"{text}Correct them, or leave them out with --apply --skip-faults.")}
    if call.as_json:
        columns = {"missing_columns": list(outcome.missing), "ignored_columns": list(outcome.ignored)}
        counts = {"applied": outcome.applied, "counts": outcome.counts, "encoding": outcome.encoding}
        print_json({**error, "verdicts": str(verdicts), **counts, **columns})
    if error:
        raise typer.Exit(1)


def _print_text(outcome: CsvOutcome, verdicts: Path, apply: bool) -> None:
    table = Table("verdict", box=None)
    table.add_column("rows", justify="right")
    for verdict, rows in outcome.counts.items():
        table.add_row(verdict, f"{rows:,}")
    screen.print(table)
    screen.print(f"The file was read as {outcome.encoding}. The verdict of every row is in {verdicts}.", soft_wrap=True)
    for columns, said in ((outcome.missing, "not in the file"), (outcome.ignored, "not imported")):
        if columns:
            screen.print(f"Columns that are {said}: {', '.join(columns)}.", markup=False, soft_wrap=True)
    if outcome.applied:
        screen.print("Applied.")
    elif not outcome.faults and not apply:
        screen.print("Dry run: nothing was changed. --apply imports the rows.")
