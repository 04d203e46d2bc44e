"""Import a studio file, in one transaction, and settle what only a commit decides: the files beside it."""

import io
import json
from dataclasses import replace
from typing import Any, BinaryIO
from uuid import UUID

from studiogate.domain.access import Access, operator_access
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import Channel, Permission
from studiogate.domain.studio_file.faults import Fault
from studiogate.domain.studio_file.parser import BrokenFileError, read_studio
from studiogate.domain.studio_file.sections import STUDIO
from studiogate.flows.staff_flow import staff_flow
from studiogate.flows.studio_file.outcome import Outcome, Progress, silent
from studiogate.flows.studio_file.steps import Import, Options
from studiogate.flows.studio_file.studio_row import id_in
from studiogate.storage import mails
from studiogate.storage.db.pool import Connection, UnknownOutcomeError
from studiogate.storage.studio_file import apply
from studiogate.storage.studio_file.tables import TABLES


def studio_in(file: BinaryIO) -> UUID:
    """Return the id of the studio that a file is about, or that of no studio if it cannot be read: the import then
    lists what is wrong with the file."""
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

    ``progress`` is called with (step, done, total): bytes while reading, tables while writing.
    """
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
        files.keep()
    elif files is not None:
        files.discard()
    if isinstance(outcome, Outcome) and applied:
        await apply.analyze_tables(connection, [table for table in TABLES if outcome.wrote_much(table.title)])
    return outcome


@staff_flow(Permission.IMPORT)
async def import_rows(
    connection: Connection, access: Access, file: BinaryIO, options: Options, progress: Progress
) -> Outcome | Refusal:
    """Import the rows of a file. Needs access to all locations. A dry run and a file with faults leave nothing."""
    refusal = access.refusal_without_all_locations(Permission.IMPORT)
    if refusal is not None:
        return refusal
    transaction = connection.transaction()
    await transaction.start()
    if options.quiet:
        await mails.silence(connection)
    try:
        with apply.conflicts():
            outcome = await Import(connection, file, options, progress).run(importing(access))
    except apply.ConflictError as conflict:
        outcome = _conflicting(str(conflict))
    except BaseException:
        if not connection.is_closed():
            await transaction.rollback()
        raise
    if outcome.faults or options.dry_run:
        await transaction.rollback()
    else:
        await transaction.commit()
    return outcome


def importing(access: Access) -> Access:
    """Return the access with the channel under which the audit log shows an import."""
    return replace(access, staff=replace(access.staff, channel=Channel.IMPORT)) if access.staff else access


def _conflicting(what: str) -> Outcome:
    message = f"somebody changed the studio during the import ({what}): run the import again"
    return Outcome(faults=[Fault(STUDIO.name, message)], fault_count=1)
