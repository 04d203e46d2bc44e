"""Import a studio file as a person of the studio: only into their own studio."""

from typing import BinaryIO

from studiogate.domain.access import Access
from studiogate.domain.refusals import Code, Fault, Refusal
from studiogate.domain.staff import Permission
from studiogate.domain.studio_file.parser import BrokenFileError, read_studio
from studiogate.flows.staff_flow import staff_flow
from studiogate.flows.studio_file.load import import_studio_file
from studiogate.flows.studio_file.outcome import Outcome
from studiogate.flows.studio_file.steps import Options
from studiogate.flows.studio_file.studio_row import id_in
from studiogate.storage.db.pool import Connection

OTHER_STUDIO = Fault(
    ("file",),
    "other_studio",
    "The file is of another studio, or names none. The service's operator can load it with `studiogate import FILE`.",
)


@staff_flow(Permission.IMPORT)
async def import_own_file(
    connection: Connection, access: Access, file: BinaryIO, options: Options
) -> Outcome | Refusal:
    """Import a studio file (seekable) of the access's own studio. Needs access to all locations: most rows belong to
    none."""
    refusal = access.refusal_without_all_locations(Permission.IMPORT)
    if refusal is not None:
        return refusal
    try:
        row = read_studio(file.read)
    except BrokenFileError as broken:
        fault = Fault(("file",), "unreadable", f"{broken.place}: {broken.message}")
        return Refusal(Code.VALIDATION_ERROR, faults=[fault])
    if row is None or id_in(row) != access.studio_id:
        return Refusal(Code.VALIDATION_ERROR, faults=[OTHER_STUDIO])
    file.seek(0)
    return await import_studio_file(connection, access, file, options)
