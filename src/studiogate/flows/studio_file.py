"""Import and export studio files.

An import is one transaction: the file is read once from beginning to end into temporary tables, everything is checked
there, and only a file without faults is applied. Operators need to know:

- Rows are matched by id within the file's studio. Rows that the file does not name stay: nothing is deleted. The sets
  of a product or a price (``location_ids``, ``class_type_ids``) are replaced by those in the file; spots and prices are
  ordinary rows, and one that the file omits stays.
- An absent field gets its default, except for what the system maintains itself: ``created_at``, ``booking_source``, a
  membership's credits and ``state_version`` (a change increments it by one, and it never decreases).
- A class is cancelled only by ``studiogate class cancel``, so that its bookings, credits and events are settled; a new
  class may be imported as cancelled. A class that was cancelled here stays cancelled.
- A booking keeps its class and its member. Its status may follow what happened elsewhere (a seat taken, given up,
  attended), but it never leaves ``cancelled`` and never returns to the waitlist; a booking that took a credit is
  cancelled through the API, which settles the credit. An import neither takes nor returns credits.
- Two studios never share the id of a row.
"""

import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, BinaryIO
from uuid import UUID

from studiogate.domain.access import Access, operator_access
from studiogate.domain.money import is_currency
from studiogate.domain.studio_file.faults import Fault, Faults, place_of
from studiogate.domain.studio_file.parser import BrokenFileError, read_elements, read_studio
from studiogate.domain.studio_file.rows import RowReader
from studiogate.domain.studio_file.sections import STUDIO
from studiogate.domain.studio_file.values import Setting
from studiogate.flows.people import members_appeared
from studiogate.flows.staged_rows import StagedRows
from studiogate.storage import mails
from studiogate.storage import studio as studios
from studiogate.storage.db.pool import Connection
from studiogate.storage.studio_file import apply, booking_checks, changes, checks, export, recount, stage
from studiogate.storage.studio_file import emails as imported_emails
from studiogate.storage.studio_file.tables import TABLES

Progress = Callable[[str, int, int], None]
OF_THE_STUDIO = ("currency", "country", "timezone")
# Placeholder for a studio whose id cannot be read: its rows are checked one by one and never against others.
NO_STUDIO = "00000000-0000-0000-0000-000000000000"
MANY_ROWS = 100


@dataclass(frozen=True, slots=True)
class Counts:
    created: int = 0
    updated: int = 0
    unchanged: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an import did to each section, or why it did nothing. ``faults`` are the first of ``fault_count``."""

    sections: dict[str, Counts] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    fault_count: int = 0

    def wrote_much(self, section: str) -> bool:
        return self.sections[section].created + self.sections[section].updated >= MANY_ROWS


def _silent(_step: str, _done: int, _total: int) -> None:
    """Report no progress."""


async def import_document(connection: Connection, document: dict[str, Any]) -> Outcome:
    """Import a studio file that is already in memory."""
    return await import_studio_file(connection, io.BytesIO(json.dumps(document).encode()))


async def import_studio_file(
    connection: Connection, file: BinaryIO, *, dry_run: bool = False, progress: Progress = _silent
) -> Outcome:
    """Import ``file`` (seekable, at its beginning). A dry run does everything and then rolls back.

    ``progress`` is called with (step, done, total): bytes while reading, tables while writing.
    """
    transaction = connection.transaction()
    await transaction.start()
    await mails.silence(connection)
    try:
        with apply.conflicts():
            outcome = await _Import(connection, file, progress).run()
    except apply.ConflictError as conflict:
        message = f"somebody changed the studio during the import ({conflict}): run the import again"
        outcome = Outcome(faults=[Fault(STUDIO.name, message)], fault_count=1)
    except BaseException:
        if not connection.is_closed():
            await transaction.rollback()
        raise
    if outcome.faults or dry_run:
        await transaction.rollback()
    else:
        await transaction.commit()
        await apply.tell_the_planner(connection, [table for table in TABLES if outcome.wrote_much(table.title)])
    return outcome


class _Import:
    """One import: the steps share the connection, the studio and the faults found so far."""

    def __init__(self, connection: Connection, file: BinaryIO, progress: Progress) -> None:
        self._connection = connection
        self._file = file
        self._progress = progress
        self._faults = Faults()
        self._size = file.seek(0, io.SEEK_END)

    async def run(self) -> Outcome:
        values, setting = self._studio()
        access = operator_access(UUID(values.get("id", NO_STUDIO)))
        await stage.prepare(self._connection)
        complete = await self._stage(StagedRows(setting, self._faults), access)
        if complete and "id" in values:
            await self._check(access, values)
        if self._faults:
            return Outcome(faults=self._faults.listed(), fault_count=self._faults.count)
        return await self._apply(access, values)

    def _studio(self) -> tuple[dict[str, Any], Setting]:
        """Read the studio first: other rows depend on its country and currency, and it may come last in the file."""
        self._file.seek(0)
        try:
            row = read_studio(self._file.read)
        except BrokenFileError:
            # Reported when the file is read as a whole.
            return {}, Setting()
        if row is None:
            self._faults.add(Fault(STUDIO.name, "is required, once"))
            return {}, Setting()
        own = row.get("currency") if isinstance(row, dict) else None
        values, faults = RowReader(STUDIO, Setting(str(own)) if is_currency(own) else Setting()).read(row)
        for loc, message in faults:
            self._faults.add(Fault(place_of(STUDIO.name, loc), message))
        return values, Setting(**{name: values[name] for name in OF_THE_STUDIO if name in values})

    async def _stage(self, rows: StagedRows, access: Access) -> bool:
        """Stage all rows; return whether the file could be read to its end."""
        self._file.seek(0)
        try:
            for each in read_elements(self._file.read):
                if isinstance(each, Fault):
                    rows.fault(each)
                elif each.section != STUDIO.name:
                    rows.add(each)
                if rows.full:
                    await rows.flush(self._connection, access)
                    self._progress("reading", self._file.tell(), self._size)
        except BrokenFileError as broken:
            rows.fault(Fault(broken.place, broken.message))
            return False
        await rows.flush(self._connection, access)
        self._progress("reading", self._size, self._size)
        return True

    async def _check(self, access: Access, values: dict[str, Any]) -> None:
        await stage.finish(self._connection)
        self._progress("checking", 0, 1)
        await changes.lock_studio(self._connection, access)
        await changes.find_changes(self._connection, access)
        await imported_emails.lock_emails(self._connection, access)
        await booking_checks.foresee(self._connection, access)
        await checks.check(self._connection, access, self._faults)
        if "slug" in values and await apply.slug_taken(self._connection, access, values["slug"]):
            self._faults.add(Fault("studio.slug", "is the slug of another studio"))
        if not await checks.waiver_known(self._connection, access, values.get("policy", "{}")):
            self._faults.add(Fault("studio.policy.waiver_form_id", "is no form of this file or this studio"))
        self._progress("checking", 1, 1)

    async def _apply(self, access: Access, values: dict[str, Any]) -> Outcome:
        sections = {STUDIO.name: Counts(**{await apply.apply_studio(self._connection, access, values): 1})}
        for done, table in enumerate(TABLES):
            self._progress("writing", done, len(TABLES))
            await apply.apply(self._connection, access, table)
            sections[table.title] = Counts(*await stage.counted(self._connection, table))
        await recount.settle(self._connection, access)
        emails = await imported_emails.changed_emails(self._connection, access)
        await members_appeared(self._connection, access, emails, announce=sections[STUDIO.name].created == 0)
        self._progress("writing", len(TABLES), len(TABLES))
        return Outcome(sections)


async def export_studio(connection: Connection, slug: str, write: Callable[[str], object]) -> bool:
    """Write the studio as a studio file, in pieces, from one snapshot; return False if there is no such studio."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        studio = await studios.find_studio(connection, slug)
        if studio is None:
            return False
        access = operator_access(studio["studio_id"])
        write(f'{{\n"studio": {await export.studio(connection, access)}')
        for section in export.SECTIONS:
            write(f',\n"{section}": [')
            separator = "\n"
            async for row in export.rows(connection, access, section):
                write(separator + row)
                separator = ",\n"
            write("\n]")
        write("\n}\n")
    return True
