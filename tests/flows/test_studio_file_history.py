"""An export has everything of a studio, and its import elsewhere makes the same studio, files included."""

import json
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from studiogate.demo import demo_files, demo_studio_file
from studiogate.flows import studio_file
from studiogate.flows.studio_file import FilesBeside
from studiogate.flows.studio_file.files import MISSING, ExportedFiles
from studiogate.storage.upload_folder import UploadFolder
from tests.support.demo_rows import with_files_beside
from tests.support.studio_files import (
    Document,
    assert_promises_hold,
    changed,
    exported,
    load,
    load_text,
    places,
    small_studio,
    submission,
    totals,
    uid,
    with_history,
)

pytestmark = pytest.mark.anyio

Connection = asyncpg.Connection


@pytest.fixture
async def elsewhere(new_database: Callable[[], str]) -> AsyncIterator[Connection]:
    opened = await asyncpg.connect(new_database(), server_settings={"timezone": "UTC"})
    yield opened
    await opened.close()


@pytest.fixture
def files(tmp_path: Path) -> FilesBeside:
    """Return the folder beside the studio file, with the file of the submission, and an empty upload folder."""
    folder = tmp_path / "studio.files"
    folder.mkdir()
    (folder / uid("north", "file")).write_bytes(b"hello")
    return FilesBeside(folder, UploadFolder(tmp_path / "data"))


async def load_with(connection: Connection, text: str, files: FilesBeside) -> None:
    outcome = await load_text(connection, text, files=files)
    assert outcome.faults == []
    await assert_promises_hold(connection)


async def test_everything_goes_round(
    connection: Connection, elsewhere: Connection, files: FilesBeside, tmp_path: Path
) -> None:
    await connection.execute("set timezone to 'UTC'")
    await load_with(connection, json.dumps(with_history(small_studio())), files)
    pieces: list[str] = []
    copied = ExportedFiles(tmp_path / "export.files", files.uploads)
    assert await studio_file.export_studio(connection, "north", pieces.append, copied)
    written = "".join(pieces)
    assert (tmp_path / "export.files" / uid("north", "file")).read_bytes() == b"hello"
    there = FilesBeside(tmp_path / "export.files", UploadFolder(tmp_path / "there"))
    await load_with(elsewhere, written, there)
    assert await exported(elsewhere) == written
    stored = await elsewhere.fetchval("select stored_name from form_uploads")
    studio_id = await elsewhere.fetchval("select studio_id from studios")
    assert there.uploads.open(studio_id, stored).stream.read() == b"hello"
    outcome = await load(elsewhere, json.loads(written))
    assert (outcome.faults, outcome.warnings, totals(outcome)[:2]) == ([], [], (0, 0))


async def test_an_export_has_every_row(connection: Connection, files: FilesBeside) -> None:
    await load_with(connection, json.dumps(with_history(small_studio())), files)
    written = json.loads(await exported(connection))
    given = with_history(small_studio())
    for section, rows in given.items():
        for row, stored in zip(rows, written[section], strict=True) if section not in ("studio", "waitlist") else ():
            assert set(row) <= set(stored), section
    assert len(written["waitlist"]) == 3, "the ended one of the file, and those of the waitlisted bookings"
    assert written["forms"][0]["version"] == 3
    assert [each["version"] for each in written["forms"][0]["versions"]] == [1, 3]
    receipt = json.dumps(written["cancellations"][0]["receipt"], ensure_ascii=False)
    assert receipt == '{"z": "ü", "a": {"b": 1.5}}', "in the order in which it was given"


@pytest.mark.parametrize("now", [datetime(2026, 3, 5, 15, 30, tzinfo=UTC)])
async def test_the_demo_studio_is_the_same_elsewhere(
    connection: Connection, elsewhere: Connection, tmp_path: Path, now: datetime
) -> None:
    await connection.execute("set timezone to 'UTC'")
    files, pieces, folder = with_files_beside(tmp_path), list[str](), tmp_path / "export.files"
    assert (await load(connection, demo_studio_file(now), files=files)).faults == []
    copied = ExportedFiles(folder, files.uploads)
    assert await studio_file.export_studio(connection, "demo", pieces.append, copied)
    written = "".join(pieces)
    assert {each.name: each.read_bytes() for each in folder.iterdir()} == demo_files()
    await load_with(elsewhere, written, FilesBeside(folder, UploadFolder(tmp_path / "there")))
    assert await exported(elsewhere, "demo") == written


async def test_an_older_file_changes_nothing(connection: Connection) -> None:
    await load(connection, small_studio())
    older = await exported(connection)
    await connection.execute("update classes set title = 'Moved', visible = false")
    await connection.execute("update leads set status = 'lost'")
    now = await exported(connection)
    outcome = await load_text(connection, older)
    assert {str(fault).split(": ")[1] for fault in outcome.faults} == {"changed since this export"}
    assert set(places(outcome)) >= {"classes[0]", "classes[1]", "classes[2]"}
    assert await exported(connection) == now


async def test_history_is_loaded_only_by_the_import_that_creates_the_studio(
    connection: Connection, files: FilesBeside
) -> None:
    await load(connection, small_studio())
    document = with_history(small_studio())
    outcome = await load(connection, document, files=files)
    assert outcome.faults == []
    left_out = {"waitlist", "ledger", "cancellations", "sales", "renewals"}
    assert {each.place for each in outcome.warnings} == left_out
    assert outcome.sections["submissions"].created == 1
    await assert_promises_hold(connection)
    assert {each.place for each in (await load(connection, document, strict=True)).faults} == left_out


HISTORY_FAULTS: list[tuple[str, Any, str]] = [
    ("ledger.0.membership_id", uid("x"), "ledger[0].membership_id"),
    ("ledger.1", ..., "bookings[0].credits_taken"),
    ("waitlist.0.booking_id", uid("x"), "waitlist[0].booking_id"),
    ("waitlist.0.booking_id", uid("north", "booking", 3), "waitlist[0].status"),
    ("waitlist.0", ..., "bookings[4].promoted_at"),
    ("cancellations.0.booking_id", uid("north", "booking", 4), "cancellations[0].booking_id"),
    ("cancellations.0.purchase_id", None, "purchases[1].booking_id"),
    ("renewals.0.id", uid("x"), "renewals[0].purchase_id"),
    ("submissions.0.form_id", uid("x"), "submissions[0].form_id"),
    ("submissions.0.form_version", 2, "submissions[0].form_version"),
    ("forms.0.versions.0.version", 4, "forms[0].versions[0].version"),
    ("submissions.0.files.0.size", 6, "submissions[0].files[0]"),
    ("submissions.0.files.0.sha256", "0" * 64, "submissions[0].files[0]"),
    ("submissions.0.files.0.id", uid("other"), "submissions[0].files[0]"),
]


@pytest.mark.parametrize(("path", "value", "place"), HISTORY_FAULTS)
async def test_history_must_fit(connection: Connection, files: FilesBeside, path: str, value: Any, place: str) -> None:
    outcome = await load(connection, changed(with_history(small_studio()), path, value), files=files)
    assert place in places(outcome)
    assert await connection.fetchval("select count(*) from studios") == 0
    assert [each for each in files.uploads.data.glob("uploads/**/*") if each.is_file()] == []


async def test_a_file_that_is_not_there_is_a_fault(connection: Connection) -> None:
    outcome = await load(connection, with_history(small_studio()))
    assert [(each.place, each.message) for each in outcome.faults] == [("submissions[0].files[0]", MISSING)]


async def test_members_that_appear_receive_their_submissions(connection: Connection) -> None:
    early: Document = {**submission(), "member_id": None, "files": [], "submitter_email": "new@example.com"}
    unproved = {**early, "id": uid("unproved"), "verified": False}
    studio = changed(small_studio(), "forms.0.versions", [{"version": 1, "fields": []}])
    lead = {"id": uid("l"), "email": "new@example.com"}
    studio = changed({**studio, "submissions": [early, unproved]}, "leads.1", lead)
    assert (await load(connection, studio)).faults == []
    person = {"id": uid("n"), "first_name": "N", "last_name": "N", "email": "new@example.com"}
    outcome = await load(connection, {"studio": {"id": uid("north", "studio")}, "members": [person]})
    assert outcome.effects == {"leads_converted": 1}
    rows = await connection.fetch("select verified, member_id::text from form_submissions order by verified")
    assert [tuple(row) for row in rows] == [(False, None), (True, uid("n"))]
    assert await connection.fetchval("select status from leads where id = $1", uid("l")) == "converted"


async def test_a_place_that_another_system_has_offered_is_refused(connection: Connection) -> None:
    document = small_studio()
    entry = {"id": uid("north", "offered"), "booking_id": uid("north", "booking", 3), "status": "offered"}
    outcome = await load(connection, {**document, "waitlist": [{**entry, "position": None}]})
    assert [(each.place, each.message) for each in outcome.faults] == [
        ("waitlist[0].status", "must be one of waiting, converted, expired, cancelled")
    ]
