"""The steps of an import: read, check, apply, announce. They run in one transaction; see ``load``."""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from studiogate.domain.access import Access
from studiogate.domain.fields.readers import Setting
from studiogate.domain.studio_file.faults import Fault, Faults, place_of
from studiogate.domain.studio_file.parser import BrokenFileError, read_elements, read_studio
from studiogate.domain.studio_file.sections import STUDIO
from studiogate.flows.bookings.staff import fill_free_seats
from studiogate.flows.people import members_appeared
from studiogate.flows.studio_file import announce, payments, record, series, submissions
from studiogate.flows.studio_file.files import FilesBeside, take_files
from studiogate.flows.studio_file.outcome import Counts, Outcome, Progress, refused
from studiogate.flows.studio_file.staged_rows import StagedRows
from studiogate.flows.studio_file.studio_row import StudioRow
from studiogate.storage.db.pool import Connection
from studiogate.storage.studio_file import (
    apply,
    booking_checks,
    changes,
    checks,
    own_row,
    payment_effects,
    recount,
    resources_before,
    schedule_effects,
    stage,
    warnings,
)
from studiogate.storage.studio_file import emails as imported_emails
from studiogate.storage.studio_file.diff import RowChange
from studiogate.storage.studio_file.table_types import Table
from studiogate.storage.studio_file.tables import TABLES

EMAILS = 500
# Somebody corrects the first ones, which often have the same reason. Reading on would only take time.
MAX_FAULTS = 10_000
TOO_MANY = "the rest of the file was not read, because it has too many faults"


@dataclass(frozen=True, slots=True)
class Options:
    """How to import. A dry run does everything and then rolls back; ``on_change`` is called with every changed row.
    ``overwrite`` changes rows although they have changed since the export; ``strict`` refuses what gives reason to
    warn; ``quiet`` sends members no mails about it. ``files`` are those beside the file."""

    dry_run: bool = False
    overwrite: bool = False
    strict: bool = False
    quiet: bool = False
    files: FilesBeside | None = None
    on_change: Callable[[RowChange], None] | None = None


class Import:
    """One import: the steps share the connection, the studio and the faults found so far."""

    def __init__(self, connection: Connection, file: BinaryIO, options: Options, progress: Progress) -> None:
        self._connection = connection
        self._file = file
        self._options = options
        self._progress = progress
        self._faults = Faults()
        self._warnings = Faults()
        self._size = file.seek(0, io.SEEK_END)

    async def run(self, access: Access) -> Outcome:
        studio = StudioRow(self._studio_in_the_file(), await own_row.read(self._connection, access), self._faults)
        if studio.identified and not studio.is_of(access):
            return refused(
                Faults(
                    [
                        Fault(
                            "studio.id",
                            "is of another studio. Whoever runs the service can load it with `studiogate import`",
                        )
                    ]
                ),
                self._warnings,
            )
        await stage.prepare(self._connection)
        await schedule_effects.prepare(self._connection)
        await payment_effects.prepare(self._connection)
        rows = StagedRows(studio.setting, self._faults)
        complete = await self._stage(rows)
        if complete and studio.is_of(access):
            await self._check(access, studio, rows.tables)
        if self._faults:
            return refused(self._faults, self._warnings)
        return await self._apply(access, studio, rows.tables)

    def _studio_in_the_file(self) -> object:
        """Read the studio first: other rows depend on its country and currency, and it may come last in the file."""
        self._file.seek(0)
        try:
            row = read_studio(self._file.read)
        except BrokenFileError:
            # Reported when the file is read as a whole.
            return None
        if row is None:
            self._faults.add(Fault(STUDIO.name, "is required, once"))
        return row

    async def _stage(self, rows: StagedRows) -> bool:
        """Stage all rows; return whether the file could be read to its end."""
        self._file.seek(0)
        try:
            for each in read_elements(self._file.read):
                if isinstance(each, Fault):
                    rows.fault(each)
                elif each.section != STUDIO.name:
                    rows.add(each)
                if rows.full:
                    await rows.flush(self._connection)
                    self._progress("reading", self._file.tell(), self._size)
                if self._faults.count > MAX_FAULTS:
                    rows.fault(Fault(each.place, TOO_MANY))
                    return False
        except BrokenFileError as broken:
            rows.fault(Fault(broken.place, broken.message))
            return False
        await rows.flush(self._connection)
        self._progress("reading", self._size, self._size)
        return True

    async def _check(self, access: Access, studio: StudioRow, tables: Sequence[Table]) -> None:
        await stage.analyze_rows(self._connection)
        self._progress("checking", 0, 1)
        await changes.lock_studio(self._connection, access)
        await studio.check(self._connection, access, overwrite=self._options.overwrite)
        if studio.exists:
            policy_changes = studio.changes_policy(access)
            await changes.find_changes(self._connection, access, tables, policy_changes=policy_changes)
            await self._leave_out_history(tables)
        else:
            await changes.find_new(self._connection, access, tables)
        await booking_checks.foresee(self._connection, access)
        await checks.check(self._connection, access, tables, self._faults, overwrite=self._options.overwrite)
        await self._check_rules(studio.setting, tables)
        await warnings.find(self._connection, access, self._warnings)
        if self._options.strict and not self._faults:
            self._faults, self._warnings = self._warnings, Faults()
        if not self._faults:
            copy = not self._options.dry_run
            await take_files(self._connection, access, self._options.files, self._faults, copy=copy)
        self._progress("checking", 1, 1)

    async def _leave_out_history(self, tables: Sequence[Table]) -> None:
        for section, rows in (await changes.leave_out_history(self._connection, tables)).items():
            message = f"{rows} rows were left out: only the import that creates a studio loads its history"
            self._warnings.add(Fault(section, message))

    async def _check_rules(self, setting: Setting, tables: Sequence[Table]) -> None:
        """Check the rules over several members for rows that the file gives in part only."""
        for table in tables:
            required = {member.name for member in table.section.fields if member.required}
            for rule in table.section.rules:
                async for row in stage.completed_rows(self._connection, table, rule):
                    if any(row[name] is None for name in required.intersection(rule.needs)):
                        continue
                    for loc, message in rule.check(dict(row), setting):
                        self._faults.add(Fault(place_of(row["place"], loc), message, row["n"]))

    async def _apply(self, access: Access, studio: StudioRow, tables: Sequence[Table]) -> Outcome:
        announced, own = studio.exists, studio.change(access)
        if self._options.on_change is not None:
            await record.show(self._connection, access, own, tables, self._options.on_change)
        if announced:
            await announce.prepare(self._connection, access)
            await record.record_rows(self._connection, access, own, tables)
        sections = {STUDIO.name: await studio.apply(self._connection, access)}
        sections |= {table.title: Counts() for table in TABLES}
        for done, table in enumerate(tables):
            self._progress("writing", done, len(tables))
            await apply.apply(self._connection, access, table)
            sections[table.title] = Counts(*await stage.counted(self._connection, table))
        effects = {"credits_adjusted": await recount.settle(self._connection, access)}
        await submissions.note(self._connection, access)
        effects["memberships_settled"] = await payments.settle(self._connection, access)
        await schedule_effects.settle(self._connection, access)
        effects |= await self._follow(access, announced=announced)
        await self._follow_series(access, effects, studio_existed=announced)
        if self._faults:
            return refused(self._faults, self._warnings)
        await record.record_import(self._connection, access, sections)
        self._progress("writing", len(tables), len(tables))
        return Outcome(
            sections,
            warnings=self._warnings.listed(),
            warning_count=self._warnings.count,
            effects={name: count for name, count in effects.items() if count},
        )

    async def _follow(self, access: Access, *, announced: bool) -> dict[str, int]:
        """Do what follows from the changes: announce them, convert leads, link submissions, fill free seats."""
        if announced:
            await announce.announce_rows(self._connection, access)
        converted = promoted = 0
        async for emails in imported_emails.changed_emails(self._connection, at_most=EMAILS):
            converted += await members_appeared(self._connection, access, emails, announce=announced)
        for class_id in await resources_before.classes_to_fill(self._connection, access):
            promoted += await fill_free_seats(self._connection, access, class_id)
        if announced:
            await announce.announce_classes(self._connection, access)
        return {"leads_converted": converted, "promoted": promoted}

    async def _follow_series(self, access: Access, effects: dict[str, int], *, studio_existed: bool) -> None:
        """Make the classes of series follow; count what became of them, and add faults and warnings."""
        followed = await series.follow(self._connection, access, studio_existed=studio_existed)
        for name, count in followed.effects.items():
            effects[name] = effects.get(name, 0) + count
        for fault in followed.faults:
            self._faults.add(fault)
        for warning in followed.warnings:
            (self._faults if self._options.strict else self._warnings).add(warning)
