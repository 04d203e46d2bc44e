"""Run the import of a kept file, and write down beside it what the pages show: its progress, every change with the old
and the new values, and what is left out."""

import csv
import io
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import BinaryIO, NamedTuple

import structlog

from studiogate import clock
from studiogate.domain.access import Access
from studiogate.domain.csv_import.mapping import ColumnMapping
from studiogate.domain.csv_import.matching import HEADER, RowVerdict
from studiogate.domain.refusals import Refusal
from studiogate.domain.studio_file.rows import Fault
from studiogate.flows.csv_import import CsvFile, CsvOutcome, import_csv
from studiogate.flows.staff_flow import RepeatedFormError
from studiogate.flows.studio_file import Options, Outcome, import_studio_file
from studiogate.storage.db.own_loop import run_in_own_loop
from studiogate.storage.db.pool import Database, DatabaseUnavailableError, OverloadedError, TransactionConflictError
from studiogate.storage.import_files import CHANGES, OTHERS, ImportFile, State
from studiogate.storage.studio_file.diff import RowChange

MAX_VALUE = 2_000  # characters
EMPTY: tuple[object, ...] = (None, "", [], {})
SECONDS_BETWEEN_STATES = 0.5
BROKEN_DATABASE = (OverloadedError, DatabaseUnavailableError, TransactionConflictError)
TRY_AGAIN = "The database was out of reach or busy. Choose the file again: the preview shows what is still to be done."
REPEATED = "This import was confirmed twice from the same page. Choose the file again to see what is still to be done."
FAILED = "The import failed because of a fault of the service. Ask its operator: the cause is in the log."
log = structlog.get_logger()


class ImportToRun(NamedTuple):
    """What to import, and how to read it; ``mapping`` is None for a studio file."""

    name: str
    mapping: ColumnMapping | None
    apply: bool = False
    skip_faults: bool = False
    quiet: bool = False


class _ReplacedError(Exception):
    """The person has chosen another file: nobody will look at this one."""


@dataclass(slots=True)
class _Report:
    kept: ImportFile
    state: State
    changes: BinaryIO
    others: BinaryIO
    change_count: int = 0
    other_count: int = 0
    written_at: float = 0.0

    def progress(self, step: str, done: int, total: int) -> None:
        if not self.kept.path.exists():
            raise _ReplacedError
        if clock.monotonic() - self.written_at >= SECONDS_BETWEEN_STATES:
            self.written_at = clock.monotonic()
            self.kept.write_state({**self.state, "step": step, "percent": 100 * done // max(total, 1)})

    def note(self, change: RowChange) -> None:
        self.change_count += 1
        given = ((name, *values) for name, values in change.fields.items())
        fields = [[name, _text(old), _text(new)] for name, old, new in given if not change.created or new not in EMPTY]
        _write(self.changes, {"place": change.place, "created": change.created, "fields": fields})

    def verdicts(self, text: str) -> None:
        """Take the verdicts of some rows of a CSV file, as lines of CSV. Those that say nothing are left out."""
        for line, _id, verdict, _row, column, reason in csv.reader(io.StringIO(text, newline="")):
            if reason and line != HEADER[0]:
                self.left_out({"place": f"Line {line}", "verdict": verdict, "field": column, "message": reason})

    def faults(self, faults: Iterable[Fault], verdict: str) -> None:
        for each in faults:
            self.left_out({"place": each.place, "verdict": verdict, "field": "", "message": each.message})

    def left_out(self, row: dict[str, str]) -> None:
        self.other_count += 1
        _write(self.others, row)

    def finish(self, result: State) -> None:
        self.changes.flush()
        self.others.flush()
        counts = {"change_count": self.change_count, "other_count": self.other_count}
        self.kept.write_state({**self.state, **counts, "step": "done", **result})


def run_import(dsn: str, access: Access, kept: ImportFile, locked: BinaryIO, wanted: ImportToRun) -> None:
    """Import the file, or find out what that would change. Runs in a thread of its own, for minutes if need be."""
    with locked, kept.create(CHANGES) as changes, kept.create(OTHERS) as others:
        state = kept.state
        if state is None:
            return
        report = _Report(kept, state, changes, others)
        try:
            report.progress("reading", 0, 1)
            outcome = run_in_own_loop(dsn, lambda database: _imported(database, access, locked, wanted, report))
        except _ReplacedError:
            kept.remove()
        except RepeatedFormError:
            report.finish({"refused": REPEATED})
        except BROKEN_DATABASE as error:
            log.warning("import not run", problem=type(error).__name__)
            report.finish({"refused": TRY_AGAIN})
        except Exception:
            log.exception("import failed")
            report.finish({"refused": FAILED})
        else:
            result = _result(outcome, report)
            report.finish(result)
            if result.get("applied"):
                kept.path.unlink(missing_ok=True)


async def _imported(
    database: Database, access: Access, file: BinaryIO, wanted: ImportToRun, report: _Report
) -> Outcome | CsvOutcome | Refusal:
    async with database.connection() as connection:
        if wanted.mapping is None:
            options = Options(dry_run=not wanted.apply, quiet=wanted.quiet, on_change=report.note)
            return await import_studio_file(connection, access, file, options, report.progress)
        choices = (wanted.apply, wanted.skip_faults, wanted.quiet)
        source = CsvFile(file, wanted.name, wanted.mapping, report.verdicts, *choices, report.progress, report.note)
        return await import_csv(connection, access, source)


def _result(outcome: Outcome | CsvOutcome | Refusal, report: _Report) -> State:
    """Return what the page says at its top. What was not applied can be tried again."""
    if isinstance(outcome, Refusal):
        return {"refused": " ".join(fault.msg for fault in outcome.faults) or outcome.message}
    if isinstance(outcome, CsvOutcome):
        return {**asdict(outcome), "faults": outcome.faults, "apply": outcome.applied}
    report.faults(outcome.faults, RowVerdict.FAULT)
    report.faults(outcome.warnings, "warning")
    sections = outcome.sections.values()
    counts = {name: sum(getattr(each, name) for each in sections) for name in ("created", "updated", "unchanged")}
    applied = report.state["apply"] and not outcome.faults
    return {"counts": counts, "faults": outcome.fault_count, "applied": applied, "apply": applied}


def _write(file: BinaryIO, row: object) -> None:
    file.write(json.dumps(row).encode() + b"\n")


def _text(value: object) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_VALUE else text[:MAX_VALUE] + "\N{HORIZONTAL ELLIPSIS}"
