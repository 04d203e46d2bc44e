"""Import a studio file, in one transaction, and settle what only a commit decides: the files beside it."""

import io
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, TypeVar
from uuid import UUID

from studiogate.domain.access import Access, operator_access
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Channel, Permission
from studiogate.domain.studio_file.parser import BrokenFileError, read_elements, read_studio
from studiogate.domain.studio_file.rows import STUDIO, Fault, Faults
from studiogate.flows.staff_flow import staff_flow
from studiogate.flows.studio_file.rows import Outcome, Progress, StagedRows, id_in, silent
from studiogate.flows.studio_file.steps import MAX_FAULTS, Import, Options
from studiogate.storage.db.pool import Connection, UnknownOutcomeError
from studiogate.storage.studio_file import apply
from studiogate.storage.studio_file.tables import TABLES

TOO_MANY = "the rest of the file was not read, because it has too many faults"
Result = TypeVar("Result")


def studio_in(file: BinaryIO) -> UUID:
    """Return the id of the studio that a file is about, or that of no studio if it cannot be read."""
    file.seek(0)
    try:
        return id_in(read_studio(file.read))
    except BrokenFileError:
        return id_in({})


async def import_document(connection: Connection, document: dict[str, Any]) -> Outcome:
    """Import a studio file that is already in memory, as the operator."""
    file = io.BytesIO(json.dumps(document).encode())
    outcome = await import_studio_file(connection, operator_access(studio_in(file)), file)
    if isinstance(outcome, Refusal):
        raise AssertionError("an operator may import")
    return outcome


async def import_studio_file(
    connection: Connection,
    access: Access,
    file: BinaryIO,
    options: Options | None = None,
    progress: Progress = silent,
) -> Outcome | Refusal:
    """Import ``file`` (seekable) into the studio of the access, which may be a new one; ``studio_in`` returns its id.

    ``progress`` is called with (step, done, total): bytes while reading, tables while writing."""
    options = options or Options()
    files = options.files
    try:
        outcome = await import_rows(connection, access, file, options, progress)
    except Exception as error:
        # After a cancellation, or a connection lost during COMMIT, the rows may exist: housekeeping settles the files.
        if files is not None and not isinstance(error, UnknownOutcomeError):
            files.discard()
        raise
    applied = isinstance(outcome, Outcome) and not outcome.faults and not options.dry_run
    if files is not None and applied:
        await files.keep(connection, access)
    elif files is not None:
        files.discard()
    if isinstance(outcome, Outcome) and applied:
        await analyze(connection, outcome)
    return outcome


async def analyze(connection: Connection, outcome: Outcome) -> None:
    """Bring the statistics of tables up to date to which an import has written much."""
    await apply.analyze_tables(connection, [table for table in TABLES if outcome.wrote_much(table.title)])


@staff_flow(Permission.IMPORT)
async def import_rows(
    connection: Connection, access: Access, file: BinaryIO, options: Options, progress: Progress
) -> Outcome | Refusal:
    """Import the rows of a file. A dry run and a file with faults leave nothing."""

    async def run(importer: Access) -> tuple[Outcome, bool]:
        try:
            outcome = await Import(connection, _File(connection, file, progress), options, progress).run(importer)
        except apply.ConflictError as conflict:
            outcome = Outcome(faults=[Fault(STUDIO.name, conflict_message(conflict))], fault_count=1)
        return outcome, not outcome.faults and not options.dry_run

    return await settle(connection, access, run)


async def settle(
    connection: Connection, access: Access, run: Callable[[Access], Awaitable[tuple[Result, bool]]]
) -> Result | Refusal:
    """Run an import in a savepoint and keep its changes if it says so. Needs access to all locations."""
    if refusal := access.refusal_without_all_locations(Permission.IMPORT):
        return refusal
    # The channel under which the audit log shows an import.
    staff = replace(access.staff, channel=Channel.IMPORT) if access.staff else None
    savepoint = connection.transaction()
    await savepoint.start()
    try:
        outcome, is_kept = await run(replace(access, staff=staff))
    except BaseException:
        if not connection.is_closed():
            await savepoint.rollback()
        raise
    await (savepoint.commit() if is_kept else savepoint.rollback())
    return outcome


def conflict_message(conflict: apply.ConflictError) -> str:
    return f"somebody changed the studio during the import ({conflict}): run the import again"


@dataclass(frozen=True, slots=True)
class _File:
    connection: Connection
    file: BinaryIO
    progress: Progress

    def studio(self, faults: Faults) -> object:
        """Read the studio's own row, which may come last in the file."""
        self.file.seek(0)
        try:
            row = read_studio(self.file.read)
        except BrokenFileError:
            # Reported when the file is read as a whole.
            return None
        if row is None:
            faults.add(Fault(STUDIO.name, "is required, once"))
        return row

    async def stage(self, rows: StagedRows) -> bool:
        size = self.file.seek(0, io.SEEK_END)
        self.file.seek(0)
        try:
            for each in read_elements(self.file.read):
                if isinstance(each, Fault):
                    rows.fault(each)
                elif each.section != STUDIO.name:
                    rows.add(each)
                if rows.full:
                    await rows.flush(self.connection)
                    self.progress("reading", self.file.tell(), size)
                if rows.faults.count > MAX_FAULTS:
                    rows.fault(Fault(each.place, TOO_MANY))
                    return False
        except BrokenFileError as broken:
            rows.fault(Fault(broken.place, broken.message))
            return False
        await rows.flush(self.connection)
        self.progress("reading", size, size)
        return True
