"""Export a studio as a studio file."""

from collections.abc import Callable

from studiogate.domain.access import operator_access
from studiogate.flows.studio_file.files import ExportedFiles
from studiogate.storage import studio as studios
from studiogate.storage.db.pool import Connection
from studiogate.storage.studio_file import export


async def export_studio(
    connection: Connection, slug: str, write: Callable[[str], object], files: ExportedFiles | None = None
) -> bool:
    """Write the studio as a studio file, in pieces, from one snapshot; return False if there is no such studio.

    ``files`` receives the files of its submissions.
    """
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        studio = await studios.find_studio(connection, slug)
        if studio is None:
            return False
        access = operator_access(studio["studio_id"])
        write(f'{{\n"studio": {await export.studio(connection, access)}')
        for section in export.ROWS:
            write(f',\n"{section}": [')
            separator = "\n"
            async for row in export.rows(connection, access, section):
                write(separator + row)
                separator = ",\n"
            write("\n]")
        write("\n}\n")
        if files is not None:
            async for upload_id, stored_name in export.files(connection, access):
                files.copy(access.studio_id, upload_id, stored_name)
    return True
