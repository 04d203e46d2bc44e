"""A backup and its restore: every row, file and secret, or nothing."""

import gzip
import io
import json
import tarfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from studiogate.domain.access import operator_access
from studiogate.domain.logos import Logo
from studiogate.flows import backup
from studiogate.flows.backup import Content, Installation, NotEmptyError, Target
from studiogate.storage import backup as rows
from studiogate.storage.backup_archive import DamagedBackupError, verify
from studiogate.storage.db import migrate
from studiogate.storage.studio import write_logo
from studiogate.storage.upload_folder import UploadFolder
from tests.support.seed import insert, seed_studio

pytestmark = pytest.mark.anyio
Connection = Any
LOGO = Logo(f"{1:016x}.png", "image/png", bytes(range(256)))
SECRETS = {"secrets.key": b"c2VjcmV0\n", "demo.key": b"sgk_test_x\n"}


def silent(*_: object) -> None:
    """Report no progress."""


async def every_row(connection: Connection) -> dict[str, list[str]]:
    found = {}
    for table in await rows.tables(connection):
        listed = await connection.fetch(f"select t::text as row from {table.name} t order by 1")
        found[table.name] = [each["row"] for each in listed]
    return found


@pytest.fixture
async def full(connection: Connection, database_url: str, tmp_path: Path) -> AsyncIterator[Installation]:
    """Yield two studios with all kinds of rows, values that COPY escapes, and an uploaded file in each place."""
    folder = UploadFolder(tmp_path / "data")
    for slug in ("north", "south"):
        studio = await seed_studio(connection, slug)
        await insert(
            connection, "members", studio_id=studio.studio_id, first_name="a\tb\\n\n\\.", last_name="\N{SNOWMAN}"
        )
        await write_logo(connection, operator_access(studio.studio_id), LOGO)
        form = studio.ids["form"][0]
        await add_upload(connection, folder, studio.studio_id, form, f"{1:032x}", kept=True)
        await add_upload(connection, folder, studio.studio_id, form, f"{2:032x}", kept=False)
    watching = await asyncpg.connect(database_url)
    yield Installation(connection, watching, folder, SECRETS, silent)
    await watching.close()


async def add_upload(
    connection: Connection, folder: UploadFolder, studio: UUID, form: UUID, name: str, *, kept: bool
) -> None:
    path = folder.kept(studio, name) if kept else folder.incoming(studio, name)
    folder.make_private(path.parent)
    path.write_bytes(name.encode())
    columns = {"filename": "f.txt", "content_type": "text/plain", "size": 32, "sha256": b"x" * 32}
    await insert(connection, "form_uploads", studio_id=studio, form_id=form, field_key="f", stored_name=name, **columns)


async def backed_up(full: Installation) -> tuple[Content, bytes]:
    file = io.BytesIO()
    content = await backup.back_up(full, file)
    return content, file.getvalue()


@pytest.fixture
async def empty(new_empty_database: Callable[[], str]) -> AsyncIterator[Connection]:
    connected = await asyncpg.connect(new_empty_database(), server_settings={"timezone": "UTC"})
    yield connected
    await connected.close()


async def restored(connection: Connection, folder: Path, archive: bytes) -> Content:
    """Restore a backup. The rows name the new place of their files, and then none, as they did before."""
    content = await backup.restore(connection, Target(UploadFolder(folder)), io.BytesIO(archive), silent)
    places = await connection.fetch("select place from form_uploads union select place from pictures")
    assert {row["place"] for row in places if row["place"]} <= {UploadFolder(folder).place}
    for table in ("form_uploads", "pictures"):
        await connection.execute(f"update {table} set place = null")
    return content


async def test_everything_comes_back(full: Installation, empty: Connection, tmp_path: Path) -> None:
    content, archive = await backed_up(full)
    assert (content.uploads, content.missing) == (4, {})
    back = await restored(empty, tmp_path / "new", archive)
    assert (back.tables, back.uploads, back.secrets) == (content.tables, 4, SECRETS)
    assert await every_row(empty) == await every_row(full.connection)
    assert await migrate.pending(empty) == []
    logos = await empty.fetch("select content from studio_logos")
    assert [row["content"] for row in logos] == [LOGO.content] * 2
    disabled = "select count(*) from pg_trigger where not tgisinternal and tgenabled <> 'O'"
    assert await empty.fetchval(disabled) == 0
    for upload in await rows.uploads(empty):
        path = UploadFolder(tmp_path / "new").kept(upload.studio_id, upload.stored_name)
        assert path.read_bytes() == upload.stored_name.encode()
        assert path.stat().st_mode & 0o777 == 0o600


async def test_pictures_come_back(full: Installation, empty: Connection, tmp_path: Path) -> None:
    name = f"{'0' * 32}.jpg"
    studio = await full.connection.fetchval("select studio_id from studios order by slug limit 1")
    await full.connection.execute("update instructors set picture = $2 where studio_id = $1", studio, name)
    full.folder.put(studio, name, io.BytesIO(b"picture"))
    content, archive = await backed_up(full)
    assert (content.uploads, content.missing) == (5, {})
    await restored(empty, tmp_path / "new", archive)
    assert UploadFolder(tmp_path / "new").kept(studio, name).read_bytes() == b"picture"
    full.folder.remove(studio, name)
    assert (await backed_up(full))[0].missing == {f"{studio}/{name}": None}


async def test_every_table_is_in_it(connection: Connection) -> None:
    found = {table.name for table in await rows.tables(connection)}
    statement = "select array_agg(tablename::text) from pg_tables where schemaname = 'public'"
    assert found == set(await connection.fetchval(statement)) - {migrate.FIRST_TABLE, migrate.SECOND_TABLE}


async def test_a_row_that_went_with_its_file_meanwhile_is_left_out(
    full: Installation, empty: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Housekeeping removes a row and then its file, after the snapshot was taken and before the file is read."""
    listed = rows.uploads

    async def removed_after_the_look(connection: Connection) -> Any:
        found = await listed(connection)
        await full.watching.execute("delete from form_uploads where id = $1", found[0].id)
        full.folder.remove(found[0].studio_id, found[0].stored_name)
        return found

    monkeypatch.setattr(rows, "uploads", removed_after_the_look)
    content, archive = await backed_up(full)
    monkeypatch.undo()
    assert (content.uploads, content.missing) == (3, {})
    await restored(empty, tmp_path / "new", archive)
    assert len(await rows.uploads(empty)) == 3


async def test_a_lost_file_is_named_and_its_row_kept(full: Installation, empty: Connection, tmp_path: Path) -> None:
    lost = (await rows.uploads(full.connection))[0]
    full.folder.remove(lost.studio_id, lost.stored_name)
    content, archive = await backed_up(full)
    assert content.missing == {f"{lost.studio_id}/{lost.stored_name}": None}
    await restored(empty, tmp_path / "new", archive)
    assert len(await rows.uploads(empty)) == 4


async def test_what_is_written_meanwhile_is_not_in_it(
    full: Installation, empty: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await every_row(full.connection)
    listed = rows.tables

    async def changed_after_the_look(connection: Connection) -> Any:
        found = await listed(connection)
        await full.watching.execute("update studios set name = name || ' changed'")
        return found

    monkeypatch.setattr(rows, "tables", changed_after_the_look)
    _, archive = await backed_up(full)
    monkeypatch.undo()
    await restored(empty, tmp_path / "new", archive)
    assert await every_row(empty) == before


async def test_a_database_that_is_not_empty_is_refused(full: Installation, tmp_path: Path) -> None:
    _, archive = await backed_up(full)
    with pytest.raises(NotEmptyError, match="is not empty"):
        await restored(full.connection, tmp_path / "new", archive)


async def test_a_folder_with_uploads_is_refused(full: Installation, empty: Connection) -> None:
    _, archive = await backed_up(full)
    with pytest.raises(NotEmptyError, match="uploads is not empty"):
        await restored(empty, full.folder.data, archive)


def rewritten(archive: bytes, change: Callable[[str, bytes], tuple[str, bytes] | None]) -> bytes:
    """Return the archive with its members changed, renamed or left out."""
    result = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(archive)) as old, tarfile.open(fileobj=result, mode="w:gz") as new:
        for info in old:
            stream = old.extractfile(info)
            assert stream is not None
            changed = change(info.name, stream.read())
            if changed is not None:
                member = tarfile.TarInfo(changed[0])
                member.size = len(changed[1])
                new.addfile(member, io.BytesIO(changed[1]))
    return result.getvalue()


def without_last_row(name: str, content: bytes) -> tuple[str, bytes]:
    return (name, b"".join(content.splitlines(keepends=True)[:-1])) if name == "tables/mails/0" else (name, content)


def of_the_future(name: str, content: bytes) -> tuple[str, bytes]:
    if name != "backup.json":
        return name, content
    header = json.loads(content)
    header["migrations"]["9999"] = "x"
    return name, json.dumps(header).encode()


def of_another_table(name: str, content: bytes) -> tuple[str, bytes]:
    if name != "backup.json":
        return name, content
    header = json.loads(content)
    header["tables"].append({"name": 'mails"; drop table mails; --', "columns": ["id"]})
    return name, json.dumps(header).encode()


def broken_file(archive: bytes) -> bytes:
    """Cut the archive within the first uploaded file, which has then been written in part."""
    plain = gzip.decompress(archive)
    with tarfile.open(fileobj=io.BytesIO(archive)) as file:
        first = next(info for info in file if info.name.startswith("uploads/"))
    return gzip.compress(plain[: first.offset_data + 16])


def garbled(name: str, content: bytes) -> tuple[str, bytes]:
    """Damage rows so that the database refuses them, long before the checksums are reached."""
    return (name, content.replace(b"\t", b" ", 1)) if name == "tables/studios/0" else (name, content)


def unreadable_header(name: str, content: bytes) -> tuple[str, bytes]:
    return (name, content.replace(b'"migrations"', b'"migrati0ns"')) if name == "backup.json" else (name, content)


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut short": lambda archive: archive[: len(archive) // 2],
    "without its end": lambda archive: rewritten(archive, lambda n, c: None if n == "checksums.json" else (n, c)),
    "a row less": lambda archive: rewritten(archive, without_last_row),
    "a file less": lambda archive: rewritten(archive, lambda n, c: None if n.startswith("uploads/") else (n, c)),
    "a file outside": lambda archive: rewritten(archive, lambda n, c: (n.replace("uploads/", "../"), c)),
    "of a newer release": lambda archive: rewritten(archive, of_the_future),
    "with a foreign table": lambda archive: rewritten(archive, of_another_table),
    "with garbled rows": lambda archive: rewritten(archive, garbled),
    "with an unreadable header": lambda archive: rewritten(archive, unreadable_header),
    "with an unknown table": lambda archive: rewritten(archive, lambda n, c: (n.replace("/mails/", "/mai1s/"), c)),
    "with a broken file": broken_file,
    "empty": lambda archive: rewritten(archive, lambda n, c: (n, b"{}") if n == "checksums.json" else None),
    "no archive": lambda _: b"nothing of the kind",
    "of somebody else": lambda archive: rewritten(archive, lambda n, c: (n, b"{}") if n == "backup.json" else (n, c)),
}


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_damaged_backup_loads_nothing(
    full: Installation, empty: Connection, tmp_path: Path, damage: str
) -> None:
    studio = await full.connection.fetchval("select studio_id from studios limit 1")
    form = await full.connection.fetchval("select id from forms where studio_id = $1 limit 1", studio)
    submission = {"studio_id": studio, "form_id": form, "form_version": 1, "submitter_email": "a@b.example"}
    submitted = await insert(full.connection, "form_submissions", **submission)
    mail = {"submission_id": submitted, "kind": "notification", "recipient": "a@b.example"}
    await insert(full.connection, "mails", studio_id=studio, **mail)
    _, archive = await backed_up(full)
    with pytest.raises(DamagedBackupError):
        await restored(empty, tmp_path / "new", DAMAGES[damage](archive))
    assert await rows.table_count(empty) == 0
    assert list(tmp_path.joinpath("new", "uploads").rglob("*")) == []
    await restored(empty, tmp_path / "new", archive)


async def test_a_byte_changed_within_a_name_is_a_change(full: Installation) -> None:
    """As the command reports it, whichever byte it is."""
    _, archive = await backed_up(full)
    with pytest.raises(DamagedBackupError, match=r"^it was changed after it was written: 'tab1es/"):
        verify(io.BytesIO(rewritten(archive, lambda n, c: (n.replace("tables/", "tab1es/"), c))))


async def test_a_backup_of_an_earlier_schema_is_migrated(
    full: Installation, empty: Connection, new_empty_database: Callable[[], str], tmp_path: Path
) -> None:
    """As with a backup made before an upgrade: it has the old schema, the restored database the current one."""
    old = await asyncpg.connect(new_empty_database())
    versions = [each.version for each in migrate.migrations()]
    await migrate.migrate(old, only=set(versions[:-1]))
    file = io.BytesIO()
    await backup.back_up(Installation(old, full.watching, full.folder, {}, silent), file)
    await old.close()
    await restored(empty, tmp_path / "new", file.getvalue())
    assert await migrate.pending(empty) == []


async def test_many_rows_in_parts(full: Installation, empty: Connection, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(backup, "PART_BYTES", 100)
    _, archive = await backed_up(full)
    with tarfile.open(fileobj=io.BytesIO(archive)) as file:
        assert any(name.startswith("tables/members/1") for name in file.getnames())
    await restored(empty, tmp_path / "new", archive)
    assert await every_row(empty) == await every_row(full.connection)


async def test_a_schema_that_is_half_migrated_is_not_backed_up(full: Installation) -> None:
    await full.connection.execute("insert into schema_migrations values ('9000.1', 'x')")
    with pytest.raises(backup.NothingToBackUpError, match="run `studiogate migrate` first"):
        await backed_up(full)
