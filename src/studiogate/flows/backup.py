"""Backup and restore of an installation: all rows, uploaded files and secrets, as they were at one moment.

The rows are read in one snapshot. A file is there before its row and longer than it, so every row has its file, except
where housekeeping has removed both since: such a row is left out. An unused picture stays for longer than a backup
takes. A restore is one transaction on an empty database."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import IO, Any
from uuid import UUID

from studiogate import clock
from studiogate.domain.access import operator_access
from studiogate.domain.instants import instant_text
from studiogate.storage import backup as rows
from studiogate.storage import backup_archive
from studiogate.storage.backup_archive import HEADER, PART_BYTES, ArchiveWriter, DamagedBackupError, Member
from studiogate.storage.db import migrate
from studiogate.storage.db.failures import transaction_on
from studiogate.storage.db.pool import Connection
from studiogate.storage.forms.uploads import note_place
from studiogate.storage.upload_store import UploadStore

FORMAT = 1
Progress = Callable[[str, int, int], None]


class NothingToBackUpError(Exception):
    """There is no installation, or none with a schema that a restore can create."""


class NotEmptyError(Exception):
    """The target of the restore is not empty; the text says what to do."""


@dataclass
class Content:
    """What a backup contains, or what was restored from one. ``missing`` has the places of uploads whose files are
    not here, ``stored`` the restored files of each studio."""

    created_at: str
    tables: int = 0
    uploads: int = 0
    missing: dict[str, str | None] = field(default_factory=dict)
    stored: dict[UUID, list[str]] = field(default_factory=dict, repr=False)
    secrets: dict[str, bytes] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Installation:
    """The parts of an installation. ``watching`` is a connection that sees what was committed after the snapshot."""

    connection: Connection
    watching: Connection
    folder: UploadStore
    secrets: dict[str, bytes]
    progress: Progress


@dataclass(frozen=True, slots=True)
class Target:
    """Where a backup is restored to, besides the database. ``secrets`` are the key files that are there already."""

    folder: UploadStore
    secrets: dict[str, bytes] = field(default_factory=dict, repr=False)


async def back_up(installation: Installation, file: IO[bytes]) -> Content:
    """Write everything, as it is now, while the service keeps running."""
    connection = installation.connection
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        tables = await rows.tables(connection)
        if not tables:
            raise NothingToBackUpError("The database is empty: there is nothing to back up.")
        recorded = await migrate.recorded_migrations(connection)
        migrations = {version: row.checksum for version, row in recorded.items()}
        if any("." in version for version in migrations):
            raise NothingToBackUpError("A migration is half done: run `studiogate migrate` first.")
        content = Content(instant_text(clock.now()), len(tables))
        archive = ArchiveWriter(file)
        header = {
            "format": FORMAT,
            "created_at": content.created_at,
            "migrations": migrations,
            "tables": [table._asdict() for table in tables],
            "sequences": await rows.sequences(connection),
        }
        archive.add(HEADER, json.dumps(header).encode())
        for name, secret in installation.secrets.items():
            archive.add(f"secrets/{name}", secret)
        gone = await _add_uploads(installation, archive, content)
        for number, table in enumerate(tables, 1):
            await _add_table(connection, archive, table, gone if table.name == rows.UPLOADS else [])
            installation.progress("rows", number, len(tables))
        archive.finish()
    return content


async def _add_uploads(installation: Installation, archive: ArchiveWriter, content: Content) -> list[UUID]:
    """Add the uploaded files; return the rows of the snapshot that have been removed since, with their files."""
    gone: list[UUID] = []
    found = await rows.uploads(installation.connection)
    for number, upload in enumerate(found, 1):
        if _add_upload(installation.folder, archive, upload):
            content.uploads += 1
        elif upload.id is None or await rows.upload_exists(installation.watching, upload):
            content.missing[f"{upload.studio_id}/{upload.stored_name}"] = upload.place
        else:
            gone.append(upload.id)
        installation.progress("files", number, len(found))
    return gone


def _add_upload(folder: UploadStore, archive: ArchiveWriter, upload: rows.Upload) -> bool:
    try:
        file = folder.open(upload.studio_id, upload.stored_name)
    except FileNotFoundError:
        return False
    with file.stream:
        archive.add_file(f"uploads/{upload.studio_id}/{upload.stored_name}", *file)
    return True


async def _add_table(connection: Connection, archive: ArchiveWriter, table: rows.Table, without: list[UUID]) -> None:
    part = bytearray()
    number = 0

    async def write(chunk: bytes) -> None:
        nonlocal number
        part.extend(chunk)
        if len(part) >= PART_BYTES:
            rows_end = part.rfind(b"\n") + 1  # A newline inside a value is escaped.
            archive.add(f"tables/{table.name}/{number}", bytes(part[:rows_end]))
            del part[:rows_end]
            number += 1

    await rows.copy_out(connection, table, without, write)
    archive.add(f"tables/{table.name}/{number}", bytes(part))


async def restore(connection: Connection, target: Target, file: IO[bytes], progress: Progress) -> Content:
    """Load a backup into an empty database and an empty folder, then bring the schema up to date. The secrets are
    returned for the caller to store, unless others are there: nothing else opens what those sealed."""
    backup_archive.verify(file)
    folder = target.folder
    if count := await rows.table_count(connection):
        raise NotEmptyError(
            f"The database is not empty ({count} tables). Restore into a new data folder (--data DIR), or into an "
            "empty database (STUDIOGATE_DATABASE_URL)."
        )
    if folder.has_files():
        raise NotEmptyError(f"{folder} is not empty: move it away, or name another --data folder.")
    written: list[tuple[UUID, str]] = []
    try:
        async with transaction_on(connection):
            content = await _load(connection, target, backup_archive.ArchiveReader(file).members(), written, progress)
    except BaseException:
        # Even if it may have been committed: without its secrets, which nobody gets now, it cannot be used.
        for studio_id, name in written:
            folder.remove(studio_id, name)
        folder.remove_empty_folders()
        raise
    await migrate.migrate(connection)
    async with transaction_on(connection):
        for studio, names in content.stored.items():
            await note_place(connection, operator_access(studio), names, folder.place)
    await rows.analyze(connection)
    return content


async def _load(
    connection: Connection,
    target: Target,
    members: Iterator[Member],
    written: list[tuple[UUID, str]],
    progress: Progress,
) -> Content:
    header = _header(next(members, None))
    await _migrate_to(connection, header["migrations"])
    tables = await _known_tables(connection, header["tables"])
    derived = await rows.remove_derived(connection)
    content = Content(header["created_at"])
    for member in members:
        kind, _, name = member.name.partition("/")
        if kind == "secrets":
            content.secrets[name] = member.stream.read()
            _refuse_other_secret(target, name, content.secrets[name])
        elif kind == "uploads":
            studio_id, _, stored_name = name.partition("/")
            if not target.folder.has(upload := UUID(studio_id), stored_name):  # a bucket may have survived
                written.append((upload, stored_name))
                target.folder.put(*written[-1], member.stream)
            content.stored.setdefault(upload, []).append(stored_name)
            content.uploads += 1
            progress("files", content.uploads, content.uploads)
        else:
            table = tables[name.partition("/")[0]]
            if member.name.endswith("/0"):
                content.tables += 1
                progress("rows", content.tables, len(tables))
            await rows.copy_in(connection, table, _chunks(member))
    for name, value in header["sequences"].items():
        await rows.set_sequence(connection, name, value)
    for number, definition in enumerate(derived, 1):
        await rows.create_derived(connection, definition)
        progress("indexes", number, len(derived))
    return content


def _refuse_other_secret(target: Target, name: str, secret: bytes) -> None:
    there = target.secrets.get(name)
    if there is not None and there.split() != secret.split():
        path = target.folder.data / name
        raise NotEmptyError(
            f"{path} is not the backup's, and what it seals could not be opened without it. Nothing was loaded: name "
            f"another --data folder, or move {path} away."
        )


async def _known_tables(connection: Connection, named: list[dict[str, Any]]) -> dict[str, rows.Table]:
    """Return the tables that the file names; their names become part of SQL statements, so they must exist here."""
    ours = {table.name: set(table.columns) for table in await rows.tables(connection)}
    for table in named:
        if not set(table["columns"]) <= ours.get(table["name"], set()):
            raise DamagedBackupError(f"it names a table or a column that does not exist: {table['name']}")
    return {table["name"]: rows.Table(table["name"], table["columns"]) for table in named}


def _header(member: Member | None) -> dict[str, Any]:
    header: object = json.loads(member.stream.read()) if member is not None and member.name == HEADER else None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise DamagedBackupError("it is not a backup of Studiogate, or one of a newer release")
    return header


async def _migrate_to(connection: Connection, applied: dict[str, str]) -> None:
    """Create the schema of the backup by its own migrations, each of which must be known here, unchanged."""
    known = {each.version: each.checksum for each in migrate.migrations()}
    for version, checksum in applied.items():
        if known.get(version) != checksum:
            raise DamagedBackupError(f"it was made by a release that this one does not know (migration {version})")
    await migrate.migrate(connection, only=set(applied))
    await rows.lift_timeouts(connection)


async def _chunks(member: Member) -> AsyncIterator[bytes]:
    while chunk := member.stream.read(1 << 20):
        yield chunk
