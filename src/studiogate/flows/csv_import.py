"""Import rows of a CSV file: they are translated into a studio file, which is then imported as any other.

So an import from CSV keeps every rule of the studio file, and announces its changes alike. All of it is one
transaction: rows are read and matched, imported, and get their verdicts; a dry run, or a file with faults, is then
rolled back.
"""

import json
import tempfile
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, Protocol

from studiogate import clock
from studiogate.domain.access import Access
from studiogate.domain.csv_import.columns import Columns, choose_delimiter, find_columns
from studiogate.domain.csv_import.directory import Directory, Named, directory
from studiogate.domain.csv_import.encoding import NAMES, UnreadableFileError, find_encoding, read_lines
from studiogate.domain.csv_import.mapping import ColumnMapping
from studiogate.domain.csv_import.records import DELIMITERS, Record, RecordReader
from studiogate.domain.csv_import.translate import Translator
from studiogate.domain.csv_import.verdicts import HEADER, Verdict, csv_line
from studiogate.domain.fields.readers import Setting
from studiogate.domain.refusals import Code, Fault, Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.csv_rows import csv_field, decided_row, placed, shown, staged_row
from studiogate.flows.staff_flow import staff_flow
from studiogate.flows.studio_file import Options, import_studio_file, importing
from studiogate.flows.studio_file.outcome import Progress, silent
from studiogate.storage import audit
from studiogate.storage import csv_import as storage
from studiogate.storage.audit import Entry, Subject
from studiogate.storage.db.pool import Connection
from studiogate.storage.studio_file import changes
from studiogate.storage.studio_file.diff import RowChange

ROUNDS = 5
NOT_CHECKED = "was not checked: the file has too many faults. Correct the others first."
MAX_ROWS = 1_000_000
# Somebody corrects the first ones, which often have the same reason. Reading on would only take time.
MAX_FAULTY_ROWS = 10_000


class Changes(Protocol):
    """Receives the rows that change, with the old and the new values."""

    def restart(self) -> None:
        """Forget what was noted: the rows are imported again, without those that have faults."""

    def note(self, change: RowChange) -> None: ...


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A CSV file and what to do with it. ``write`` receives the verdicts as the text of a CSV file, in pieces.

    Without ``apply`` nothing is changed; with it, a file with faults is applied only if ``skip_faults`` leaves out its
    faulty rows; ``quiet`` sends members no mails about it.
    """

    file: BinaryIO
    name: str
    mapping: ColumnMapping
    write: Callable[[str], object]
    apply: bool = False
    skip_faults: bool = False
    quiet: bool = False
    progress: Progress = silent
    changes: Changes | None = None


@dataclass(frozen=True, slots=True)
class CsvOutcome:
    """The number of rows by verdict, and whether they were applied. ``encoding``, ``missing`` and ``ignored`` say how
    the file was read: its encoding, columns of the mapping that it lacks, columns that the mapping does not use."""

    counts: dict[str, int]
    applied: bool
    encoding: str
    missing: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    @property
    def faults(self) -> int:
        return self.counts[Verdict.FAULT]


@staff_flow(Permission.IMPORT)
async def import_csv(connection: Connection, access: Access, source: CsvFile) -> CsvOutcome | Refusal:
    """Import a CSV file (seekable). Needs access to all locations: most rows belong to none."""
    refusal = access.refusal_without_all_locations(Permission.IMPORT)
    if refusal is not None:
        return refusal
    transaction = connection.transaction()
    await transaction.start()
    try:
        outcome = await _Run(connection, importing(access), source).run()
    except UnreadableFileError as unreadable:
        await transaction.rollback()
        return Refusal(Code.VALIDATION_ERROR, faults=(Fault(("file",), "unreadable", str(unreadable)),))
    except BaseException:
        if not connection.is_closed():
            await transaction.rollback()
        raise
    if outcome.applied:
        await transaction.commit()
    else:
        await transaction.rollback()
    return outcome


@dataclass(slots=True)
class _Run:
    """One import: the steps share the connection, the access and the file."""

    connection: Connection
    access: Access
    source: CsvFile
    encoding: str = ""
    size: int = field(default=0)
    names: dict[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return self.source.mapping.kind.name

    async def run(self) -> CsvOutcome:
        columns, records = self._read()
        await storage.prepare(self.connection)
        found = await self._directory()
        await self._stage(records, Translator(columns, self.source.mapping, found, clock.now()))
        await changes.lock_studio(self.connection, self.access)
        await self._decide(columns)
        await self._import(columns)
        counts = {verdict.value: 0 for verdict in Verdict} | await storage.counts(self.connection)
        applied = self.source.apply and (self.source.skip_faults or not counts[Verdict.FAULT])
        await self._report(applied)
        if applied:
            await storage.keep_external_ids(self.connection, self.access, self.kind, self.source.mapping.source)
            await self._audit(counts)
        return CsvOutcome(counts, applied, NAMES[self.encoding], columns.missing, columns.ignored)

    # Reading.

    def _read(self) -> tuple[Columns, Iterator[Record]]:
        """Return the columns of the file and an iterator over its rows."""
        mapping, file = self.source.mapping, self.source.file
        self.size = file.seek(0, 2)
        file.seek(0)
        self.encoding = mapping.encoding or find_encoding(file.read)
        headers: dict[str, Record] = {}
        for mark in (mapping.delimiter,) if mapping.delimiter else DELIMITERS:
            header = next(self._records(mark), None)
            if header is None:
                raise UnreadableFileError("The file is empty. Its first line must name the columns.")
            headers[mark] = header
        records = self._records(mapping.delimiter or choose_delimiter(headers, mapping))
        return find_columns(next(records), mapping), records

    def _records(self, delimiter: str) -> Iterator[Record]:
        self.source.file.seek(0)
        return iter(RecordReader(read_lines(self.source.file.read, self.encoding), delimiter))

    async def _directory(self) -> Directory:
        values = await storage.studio_values(self.connection, self.access)
        rows = await storage.named_rows(self.connection, self.access, self.source.mapping.source)
        self.names = {str(row["id"]): row["names"][0] for row in rows}
        named = (
            Named(
                row["kind"],
                str(row["id"]),
                tuple(row["names"]),
                str(row["location_id"]) if row["location_id"] else None,
                row["timezone"],
            )
            for row in rows
        )
        return directory(Setting(**dict(values)) if values else Setting(), named)

    async def _stage(self, records: Iterator[Record], translator: Translator) -> None:
        batch: list[storage.Staged] = []
        faulty = 0
        for number, record in enumerate(records):
            batch.append(staged_row(number, translator.translate(record)))
            faulty += batch[-1].verdict == Verdict.FAULT
            _refuse_too_many(number + 1, faulty, batch[-1])
            if len(batch) == storage.BATCH:
                await storage.stage(self.connection, batch)
                batch = []
                self.source.progress("reading", self.source.file.tell(), self.size)
        await storage.stage(self.connection, batch)
        await storage.finish_staging(self.connection)
        self.source.progress("reading", self.size, self.size)

    # Matching.

    async def _decide(self, columns: Columns) -> None:
        mapping = self.source.mapping
        async for rows in storage.facts(self.connection, self.access, self.kind, mapping.source):
            decided = [decided_row(row, mapping, columns) for row in rows]
            await storage.decide(self.connection, decided)
            self.source.progress("checking", 0, 1)

    # Importing.

    async def _import(self, columns: Columns) -> None:
        """Import the accepted rows. Those in which the import finds faults are marked and the others imported again,
        so that every row gets the verdict that it has without the faulty ones."""
        for _round in range(ROUNDS):
            await storage.number(self.connection)
            faults = await self._import_once(columns)
            if not faults:
                await storage.judge(self.connection, self.kind)
                return
            marked = [(position, columns.name(csv_field(name)), message) for position, name, message in faults]
            await storage.mark_faults(self.connection, marked)
        await storage.give_up(self.connection, NOT_CHECKED)

    async def _import_once(self, columns: Columns) -> list[tuple[int, str, str]]:
        """Import the accepted rows as a studio file; return its faults as (position, field, message)."""
        lines = array("l")
        with tempfile.TemporaryFile() as file:
            studio = json.dumps({"id": str(self.access.studio_id)})
            file.write(f'{{"studio": {studio}, "{self.source.mapping.kind.section}": ['.encode())
            separator = ""
            async for rows in storage.accepted(self.connection):
                file.write((separator + ",\n".join(row["row"] for row in rows)).encode())
                lines.extend(row["line"] for row in rows)
                separator = ",\n"
            file.write(b"]}")
            options = Options(quiet=self.source.quiet, on_change=self._noting(lines, columns))
            outcome = await import_studio_file(self.connection, self.access, file, options, self.source.progress)
        if isinstance(outcome, Refusal):
            raise AssertionError("the access was checked")
        return [placed(fault.place, fault.message) for fault in outcome.faults]

    # Reporting.

    def _noting(self, lines: Sequence[int], columns: Columns) -> Callable[[RowChange], None] | None:
        """Return what passes on the changed rows of a studio file as those of this file."""
        noted = self.source.changes
        if noted is None:
            return None
        noted.restart()

        def note(change: RowChange) -> None:
            position, _, _ = placed(change.place, "")
            fields = {columns.name(csv_field(name)): self._named(values) for name, values in change.fields.items()}
            noted.note(change._replace(place=f"Line {lines[position]}", fields=fields))

        return note

    def _named(self, values: list[object]) -> list[object]:
        """Return the old and the new value of a field, with the names of rows instead of their ids."""
        return [self.names.get(each, each) if isinstance(each, str) else each for each in values]

    async def _report(self, applied: bool) -> None:
        self.source.write(csv_line(HEADER))
        async for rows in storage.verdicts(self.connection):
            self.source.write("".join(csv_line(shown(row, applied=applied)) for row in rows))

    async def _audit(self, counts: dict[str, int]) -> None:
        """Write one entry for the whole run: what was imported from where, and the number of rows by verdict."""
        mapping = self.source.mapping
        given = {"kind": self.kind, "source": mapping.source, **{name: n for name, n in counts.items() if n}}
        changed = {name: [None, value] for name, value in given.items()}
        subject = Subject("studio", self.access.studio_id)
        await audit.add(self.connection, self.access, Entry("studio.import_csv", subject, changed, self.source.name))


def _refuse_too_many(rows: int, faulty: int, last: storage.Staged) -> None:
    """Stop reading a file that has more rows than are imported at once, or that cannot be meant this way."""
    if rows > MAX_ROWS:
        raise UnreadableFileError(f"The file has more than {MAX_ROWS:,} rows. Import it in parts.")
    if faulty > MAX_FAULTY_ROWS:
        where = f"Line {last.line}, {last.column}" if last.column else f"Line {last.line}"
        raise UnreadableFileError(
            f"More than {MAX_FAULTY_ROWS:,} rows have faults, so the rest was not read. {where}: {last.reason}."
        )
