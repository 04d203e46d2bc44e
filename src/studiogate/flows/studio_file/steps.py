"""The steps of an import: stage, check, apply, announce. They run in one transaction; see ``load``."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from studiogate.domain.access import Access
from studiogate.domain.events import EventType
from studiogate.domain.fields.readers import Setting
from studiogate.domain.studio_file.rows import KEPT, STUDIO, Fault, Faults, place_of, row_of
from studiogate.flows.bookings.staff import fill_free_seats
from studiogate.flows.members.create import members_appeared
from studiogate.flows.studio_file import follow
from studiogate.flows.studio_file import rows as outcome
from studiogate.flows.studio_file.files import FilesBeside, take_files
from studiogate.flows.studio_file.rows import Counts, Outcome, Progress, StagedRows, StudioRow, refused
from studiogate.storage import class_availability, mails
from studiogate.storage.db.pool import Connection
from studiogate.storage.studio_file import apply, booking_checks, changes, checks, diff, effects, stage
from studiogate.storage.studio_file import emails as imported_emails
from studiogate.storage.studio_file.diff import RowChange
from studiogate.storage.studio_file.table_types import Table
from studiogate.storage.studio_file.tables import TABLES

EMAILS = 500
# Each time that rows are left out, others may turn out to be faulty without them.
ROUNDS = 5
# Somebody corrects the first ones, which often have the same reason. Reading on would only take time.
MAX_FAULTS = 10_000
OF_ANOTHER_STUDIO = "is of another studio. Whoever runs the service can load it with `studiogate import`"


@dataclass(frozen=True, slots=True)
class Options:
    """How to import. A dry run does everything and then rolls back; ``on_change`` is called with every changed row.
    ``overwrite`` changes rows although they have changed since the export; ``strict`` refuses what gives reason to
    warn; ``quiet`` sends members no mails about it. ``files`` are those beside the file. ``skip_faults`` leaves out the
    rows with faults and imports the others, as if the file did not have those."""

    dry_run: bool = False
    overwrite: bool = False
    strict: bool = False
    quiet: bool = False
    files: FilesBeside | None = None
    on_change: Callable[[RowChange], None] | None = None
    skip_faults: bool = False


class Source(Protocol):
    """What is imported: a studio file, or a CSV file that is translated into rows of one."""

    def studio(self, faults: Faults) -> object:
        """Return the studio's own row. Other rows depend on its country and currency, so it is read first."""

    async def stage(self, rows: StagedRows) -> bool:
        """Stage all rows; return whether the file could be read to its end."""


class Import:
    """One import: the steps share the connection, the studio and the faults found so far."""

    def __init__(self, connection: Connection, source: Source, options: Options, progress: Progress) -> None:
        self._connection = connection
        self._source = source
        self._options = options
        self._progress = progress
        self._faults = Faults(most=MAX_FAULTS if options.skip_faults else KEPT)
        self._warnings = Faults()

    async def run(self, access: Access) -> Outcome:
        """Import the rows. Raises ConflictError if somebody changes the studio meanwhile."""
        with apply.conflicts():
            return await self._run(access)

    async def _run(self, access: Access) -> Outcome:
        if self._options.quiet:
            await mails.silence(self._connection)
        stored = await apply.read_studio(self._connection, access)
        studio = StudioRow(self._source.studio(self._faults), stored, self._faults)
        if studio.identified and not studio.is_of(access):
            return refused(Faults([Fault("studio.id", OF_ANOTHER_STUDIO)]), self._warnings)
        await stage.prepare(self._connection)
        await effects.prepare(self._connection)
        rows = StagedRows(studio.setting, self._faults)
        is_checked = await self._source.stage(rows) and studio.is_of(access)
        if is_checked:
            is_checked = await self._check(access, studio, rows.tables)
        if not is_checked or (self._faults and not self._options.skip_faults):
            return refused(self._faults, self._warnings)
        return await self._apply(access, studio, rows.tables)

    async def _check(self, access: Access, studio: StudioRow, tables: Sequence[Table]) -> bool:
        """Find the changes and their faults; return whether all rows could be checked."""
        await stage.analyze_rows(self._connection)
        self._progress("checking", 0, 1)
        await changes.lock_studio(self._connection, access)
        await studio.check(self._connection, access, overwrite=self._options.overwrite)
        if studio.exists:
            policy_changes = studio.changes_policy(access)
            await changes.find_changes(self._connection, access, tables, policy_changes=policy_changes)
            for section, rows in (await changes.leave_out_history(self._connection, tables)).items():
                message = f"{rows} rows were left out: only the import that creates a studio loads its history"
                self._warnings.add(Fault(section, message))
        else:
            await changes.find_new(self._connection, access, tables)
        is_checked = await self._check_rows(access, studio.setting, tables)
        await checks.find_warnings(self._connection, access, self._warnings)
        if self._options.strict and not self._faults:
            self._faults, self._warnings = self._warnings, Faults()
        if not self._faults:
            copy = not self._options.dry_run
            await take_files(self._connection, access, self._options.files, self._faults, copy=copy)
        self._progress("checking", 1, 1)
        return is_checked

    async def _check_rows(self, access: Access, setting: Setting, tables: Sequence[Table]) -> bool:
        """Check the rows against each other and against the stored ones. To skip faults, leave out the rows that have
        some and check the others again, until they have none; return False if that has no end."""
        for _round in range(ROUNDS if self._options.skip_faults else 1):
            if self._options.skip_faults and self._faults:
                faulty = {row_of(fault.place) for fault in self._faults.listed()}
                await stage.leave_out(self._connection, tables, faulty)
            known = self._faults.count
            await booking_checks.foresee(self._connection, access)
            await checks.check(self._connection, access, tables, self._faults, overwrite=self._options.overwrite)
            await self._check_rules(setting, tables)
            if self._faults.count == known:
                return True
        return not self._options.skip_faults

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
            if own is not None:
                self._options.on_change(own)
            for table in tables:
                async for change in diff.row_changes(self._connection, access, table):
                    self._options.on_change(change)
        if announced:
            await follow.prepare(self._connection, access)
            await outcome.record_rows(self._connection, access, own, tables)
        sections = {STUDIO.name: await studio.apply(self._connection, access)}
        sections |= {table.title: Counts() for table in TABLES}
        for done, table in enumerate(tables):
            self._progress("writing", done, len(tables))
            await apply.apply(self._connection, access, table)
            sections[table.title] = Counts(*await stage.counted(self._connection, table))
        followed = {"credits_adjusted": await effects.recount(self._connection, access)}
        await follow.note_submissions(self._connection, access)
        followed["memberships_settled"] = await follow.settle_payments(self._connection, access)
        await effects.settle(self._connection, access)
        followed |= await self._follow(access, announced=announced)
        known = self._faults.count
        of_series = await follow.follow_series(self._connection, access, studio_existed=announced)
        for name, count in of_series.effects.items():
            followed[name] = followed.get(name, 0) + count
        for fault in of_series.faults:
            self._faults.add(fault)
        for warning in of_series.warnings:
            (self._faults if self._options.strict else self._warnings).add(warning)
        if self._faults.count > known:
            return refused(self._faults, self._warnings)
        await outcome.record_import(self._connection, access, sections)
        self._progress("writing", len(tables), len(tables))
        counts = {name: count for name, count in followed.items() if count}
        return replace(refused(self._faults, self._warnings), sections=sections, effects=counts)

    async def _follow(self, access: Access, *, announced: bool) -> dict[str, int]:
        """Do what follows from the changes: announce them, convert leads, link submissions, fill free seats."""
        if announced:
            await follow.announce_rows(self._connection, access)
        converted = promoted = 0
        async for emails in imported_emails.changed_emails(self._connection, at_most=EMAILS):
            converted += await members_appeared(self._connection, access, emails, announce=announced)
        for class_id in await diff.classes_to_fill(self._connection, access):
            promoted += await fill_free_seats(self._connection, access, class_id)
        if announced:
            # Now that their seats are filled, so that the events have the counts that result.
            await follow.announce_changed(self._connection, access, EventType.CLASS_UPDATED)
        else:
            await class_availability.keep(self._connection, access)
        return {"leads_converted": converted, "promoted": promoted}
