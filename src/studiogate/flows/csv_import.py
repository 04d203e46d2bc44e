"""Import rows of a CSV file: they are translated into rows of a studio file, which are then imported like any others.

So an import from CSV keeps every rule of the studio file, and announces its changes alike. All of it is one
transaction: rows are read and matched, imported, and get their verdicts; a dry run, or a file with faults, is then
rolled back."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from studiogate import clock
from studiogate.domain.access import Access
from studiogate.domain.csv_import import records
from studiogate.domain.csv_import.cells import Directory, directory
from studiogate.domain.csv_import.kinds import Kind
from studiogate.domain.csv_import.mapping import ColumnMapping, Columns, choose_delimiter, find_columns
from studiogate.domain.csv_import.matching import HEADER, RowVerdict, csv_line
from studiogate.domain.csv_import.records import Record, UnreadableFileError
from studiogate.domain.csv_import.translate import Translator
from studiogate.domain.fields.readers import Setting
from studiogate.domain.refusals import Code, Fault, Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.studio_file.parser import Element
from studiogate.domain.studio_file.rows import Faults, row_of
from studiogate.flows.csv_rows import csv_field, decided_row, place_of, placed, shown, staged_row
from studiogate.flows.staff_flow import staff_flow
from studiogate.flows.studio_file.load import analyze, conflict_message, settle
from studiogate.flows.studio_file.rows import Outcome, Progress, StagedRows, silent
from studiogate.flows.studio_file.steps import Import, Options
from studiogate.storage import audit
from studiogate.storage import csv_import as storage
from studiogate.storage.audit import Entry, Subject
from studiogate.storage.db.pool import Connection
from studiogate.storage.schedule import rows as schedule_rows
from studiogate.storage.studio_file import changes
from studiogate.storage.studio_file.apply import ConflictError
from studiogate.storage.studio_file.diff import RowChange

NOT_CHECKED = "was not checked: the file has too many faults. Correct the others first."
MAX_ROWS = 1_000_000
# Somebody corrects the first ones, which often have the same reason. Reading on would only take time.
MAX_FAULTY_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A CSV file and what to do with it. ``write`` receives the verdicts as the text of a CSV file, in pieces.

    Without ``apply`` nothing is changed; with it, a file with faults is applied only if ``skip_faults`` leaves out its
    faulty rows; ``quiet`` sends members no mails about it. ``on_change`` is called with every row that changes."""

    file: BinaryIO
    name: str
    mapping: ColumnMapping
    write: Callable[[str], object]
    apply: bool = False
    skip_faults: bool = False
    quiet: bool = False
    progress: Progress = silent
    on_change: Callable[[RowChange], None] | None = None


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
        return self.counts[RowVerdict.FAULT]


@staff_flow(Permission.IMPORT)
async def import_csv(connection: Connection, access: Access, source: CsvFile) -> CsvOutcome | Refusal:
    async def run(importer: Access) -> tuple[CsvOutcome, bool]:
        outcome = await _Run(connection, importer, source).run()
        return outcome, outcome.applied

    try:
        return await settle(connection, access, run)
    except UnreadableFileError as unreadable:
        return _unreadable(str(unreadable))
    except ConflictError as conflict:
        return _unreadable(f"{conflict_message(conflict).capitalize()}.")


def _unreadable(message: str) -> Refusal:
    return Refusal(Code.VALIDATION_ERROR, faults=(Fault(("file",), "unreadable", message),))


@dataclass(slots=True)
class _Run:
    """One import, and the source of its rows: the steps share the connection, the access and the file."""

    connection: Connection
    access: Access
    source: CsvFile
    encoding: str = ""
    size: int = field(default=0)
    names: dict[str, str] = field(default_factory=dict)
    columns: Columns = field(init=False)

    @property
    def kind(self) -> Kind:
        return self.source.mapping.kind

    async def run(self) -> CsvOutcome:
        self.columns, rows = self._read()
        await storage.prepare(self.connection)
        found = await self._directory()
        await self._translate(rows, Translator(self.columns, self.source.mapping, found, clock.now()))
        outcome = await self._import()
        counts = {verdict.value: 0 for verdict in RowVerdict} | await storage.counts(self.connection)
        is_wanted = self.source.apply and (self.source.skip_faults or not counts[RowVerdict.FAULT])
        applied = is_wanted and bool(outcome.sections)
        self.source.write(csv_line(HEADER))
        async for verdicts in storage.verdicts(self.connection):
            self.source.write("".join(csv_line(shown(row, applied=applied)) for row in verdicts))
        if applied:
            await storage.keep_external_ids(self.connection, self.access, self.kind.name, self.source.mapping.source)
            await self._audit(counts)
            await analyze(self.connection, outcome)
        return CsvOutcome(counts, applied, records.NAMES[self.encoding], self.columns.missing, self.columns.ignored)

    # Reading.

    def _read(self) -> tuple[Columns, Iterator[Record]]:
        mapping, file = self.source.mapping, self.source.file
        self.size = file.seek(0, 2)
        file.seek(0)
        self.encoding = mapping.encoding or records.find_encoding(file.read)
        headers: dict[str, Record] = {}
        for mark in (mapping.delimiter,) if mapping.delimiter else records.DELIMITERS:
            header = next(self._records(mark), None)
            if header is None:
                raise UnreadableFileError("The file is empty. Its first line must name the columns.")
            headers[mark] = header
        rows = self._records(mapping.delimiter or choose_delimiter(headers, mapping))
        return find_columns(next(rows), mapping), rows

    def _records(self, delimiter: str) -> Iterator[Record]:
        self.source.file.seek(0)
        return iter(records.RecordReader(records.read_lines(self.source.file.read, self.encoding), delimiter))

    async def _directory(self) -> Directory:
        setting = await schedule_rows.setting(self.connection, self.access)
        named = await storage.named_rows(self.connection, self.access, self.source.mapping.source)
        self.names = {each.id: each.names[0] for each in named}
        return directory(setting or Setting(), named)

    async def _translate(self, rows: Iterator[Record], translator: Translator) -> None:
        batch: list[storage.Staged] = []
        faulty = 0
        for number, record in enumerate(rows):
            if number == MAX_ROWS:
                raise UnreadableFileError(f"The file has more than {MAX_ROWS:,} rows. Import it in parts.")
            batch.append(row := staged_row(number, translator.translate(record)))
            faulty += row.verdict == RowVerdict.FAULT
            if faulty > MAX_FAULTY_ROWS:
                where = f"Line {row.line}, {row.column}" if row.column else f"Line {row.line}"
                raise UnreadableFileError(
                    f"More than {MAX_FAULTY_ROWS:,} rows have faults, so the rest was not read. {where}: {row.reason}."
                )
            if len(batch) == storage.BATCH:
                await storage.stage(self.connection, batch)
                batch = []
                self.source.progress("reading", self.source.file.tell(), self.size)
        await storage.stage(self.connection, batch)
        await storage.finish_staging(self.connection)
        self.source.progress("reading", self.size, self.size)

    # Importing.

    async def _import(self) -> Outcome:
        """Import the rows that can be, and give every row its verdict."""
        options = Options(quiet=self.source.quiet, skip_faults=True, on_change=self.source.on_change and self._note)
        outcome = await Import(self.connection, self, options, self.source.progress).run(self.access)
        faults = [placed(fault) for fault in outcome.faults]
        marked = [(line, self.columns.name(name), message) for line, name, message in faults]
        await storage.mark_faults(self.connection, marked)
        if outcome.sections:
            await storage.judge(self.connection, self.kind.name)
        else:
            await storage.give_up(self.connection, NOT_CHECKED)
        return outcome

    def studio(self, _faults: Faults) -> object:
        return {"id": str(self.access.studio_id)}

    async def stage(self, rows: StagedRows) -> bool:
        await changes.lock_studio(self.connection, self.access)
        mapping = self.source.mapping
        async for facts in storage.facts(self.connection, self.access, self.kind.name, mapping.source):
            decisions = []
            for each in facts:
                decision, values = decided_row(each, mapping, self.columns)
                decisions.append(decision)
                if values is not None:
                    rows.add(Element(self.kind.section, place_of(decision.line), values))
            await storage.decide(self.connection, decisions)
            await rows.flush(self.connection)
            self.source.progress("checking", 0, 1)
        return True

    # Reporting.

    def _note(self, change: RowChange) -> None:
        """Pass on a changed row of the studio file as one of this file."""
        fields: dict[str, list[object]] = {}
        for name, values in change.fields.items():
            # The names of rows instead of their ids.
            named = [self.names.get(each, each) if isinstance(each, str) else each for each in values]
            fields[self.columns.name(csv_field(name))] = named
        if self.source.on_change is not None:
            self.source.on_change(change._replace(place=row_of(change.place).capitalize(), fields=fields))

    async def _audit(self, counts: dict[str, int]) -> None:
        """Write one entry for the whole run: what was imported from where, and the number of rows by verdict."""
        mapping = self.source.mapping
        given = {"kind": self.kind.name, "source": mapping.source, **{name: n for name, n in counts.items() if n}}
        changed = {name: [None, value] for name, value in given.items()}
        subject = Subject("studio", self.access.studio_id)
        await audit.add(self.connection, self.access, Entry("studio.import_csv", subject, changed, self.source.name))
