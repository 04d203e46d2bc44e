"""The commands `studiogate import` and `studiogate export`."""

import json
import os
from pathlib import Path

import pytest

from tests.support.commands import run_command
from tests.support.studio_files import changed, small_studio, uid, with_history


class CommandLine:
    def __init__(self, database_url: str, folder: Path) -> None:
        self.environment = {**os.environ, "STUDIOGATE_DATABASE_URL": database_url}
        self.folder = folder

    def run(self, *words: str, stdin: bytes = b"") -> tuple[int, str, str]:
        done = run_command(*words, environ=self.environment, folder=self.folder, stdin=stdin)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def file(self, document: object, name: str = "studio.json") -> str:
        (self.folder / name).write_text(json.dumps(document))
        return name


@pytest.fixture
def command_line(database_url: str, tmp_path: Path) -> CommandLine:
    return CommandLine(database_url, tmp_path)


def test_import_and_export_go_round(command_line: CommandLine) -> None:
    status, summary, _ = command_line.run("import", command_line.file(small_studio()))
    assert status == 0
    assert ["members", "4", "0", "0"] in [line.split() for line in summary.splitlines()]
    status, written, _ = command_line.run("export", "--studio", "north")
    assert status == 0
    status, answer, _ = command_line.run("import", "-", "--json", stdin=written.encode())
    counts = json.loads(answer)["sections"]
    assert (status, counts["bookings"]) == (0, {"created": 0, "updated": 0, "unchanged": 6})
    assert command_line.run("export", "--studio", "north", "-o", "out.json")[0] == 0
    assert (command_line.folder / "out.json").read_text() == written
    assert sorted(path.name for path in command_line.folder.iterdir()) == ["out.json", "studio.json"]


def test_a_dry_run_changes_nothing(command_line: CommandLine) -> None:
    status, summary, _ = command_line.run("import", "--dry-run", command_line.file(small_studio()))
    assert status == 0
    assert "nothing was changed" in summary
    assert command_line.run("export", "--studio", "north")[0] == 1


def test_a_dry_run_shows_every_change(command_line: CommandLine) -> None:
    command_line.run("import", command_line.file(small_studio()))
    member, new = uid("north", "member", 0), uid("new")
    document = {
        "studio": {"id": uid("north", "studio")},
        "members": [{"id": member, "first_name": "Néw"}, {"id": new, "first_name": "A", "last_name": "B"}],
    }
    status, shown, _ = command_line.run("import", "--dry-run", command_line.file(document))
    assert status == 0
    lines = shown.splitlines()
    assert lines[:2] == [f"members[0] change of {member}", '  first_name: "M0" → "Néw"']
    assert f"members[1] new row {new}" in lines
    assert '  last_name: "B"' in lines
    status, answer, _ = command_line.run("import", "--dry-run", "--json", command_line.file(document))
    report = json.loads(answer)
    assert (status, report["dry_run"], report["sections"]["members"]["updated"]) == (0, True, 1)
    assert report["changes"][0] == {
        "place": "members[0]",
        "id": member,
        "created": False,
        "fields": {"first_name": {"old": "M0", "new": "Néw"}},
    }
    assert len(report["changes"]) == 2


def test_stale_rows_and_overwriting_them(command_line: CommandLine) -> None:
    command_line.run("import", command_line.file(small_studio()))
    command_line.run("export", "--studio", "north", "-o", "old.json")
    changes = {"studio": {"id": uid("north", "studio"), "name": "New"}, "leads": [{"id": uid("north", "lead")}]}
    assert command_line.run("import", command_line.file(changes))[0] == 0
    status, _, complaint = command_line.run("import", "old.json")
    assert (status, complaint.splitlines()[0]) == (1, "studio: changed since this export")
    advice = "--overwrite also changes rows that have changed since the export."
    assert complaint.endswith(f" Fix the file and import it again. {advice}\n")
    assert command_line.run("import", "--overwrite", "old.json")[0] == 0


def test_warnings_and_strict(command_line: CommandLine) -> None:
    document = changed(small_studio(), "classes.1.capacity", 10)
    status, answer, _ = command_line.run("import", "--strict", "--json", command_line.file(document))
    assert (status, json.loads(answer)["faults"][0]["place"]) == (1, "classes[1].capacity")
    status, _, complaint = command_line.run("import", command_line.file(document))
    assert (status, complaint.splitlines()) == (
        0,
        ["warning: classes[1].capacity: the class has 10 places and its room 9"],
    )


def test_files_of_submissions_lie_beside(command_line: CommandLine) -> None:
    folder = command_line.folder / "studio.files"
    folder.mkdir()
    (folder / uid("north", "file")).write_bytes(b"hello")
    path = command_line.file(with_history(small_studio()))
    assert command_line.run("import", path, "--data", "data")[0] == 0
    assert command_line.run("export", "--studio", "north", "-o", "out.json", "--data", "data")[0] == 0
    assert (command_line.folder / "out.files" / uid("north", "file")).read_bytes() == b"hello"
    (command_line.folder / "data" / "uploads").rename(command_line.folder / "lost")
    _, _, complaint = command_line.run("export", "--studio", "north", "-o", "out.json", "--data", "data")
    assert f"the file of upload {uid('north', 'file')} is not in " in complaint.replace("\n", " ")


def test_files_are_moved_to_another_place(command_line: CommandLine) -> None:
    folder, elsewhere = command_line.folder / "studio.files", command_line.folder / "elsewhere"
    folder.mkdir()
    (folder / uid("north", "file")).write_bytes(b"hello")
    path, data = command_line.file(with_history(small_studio())), ("--data", "data")
    assert command_line.run("import", path, *data)[0] == 0
    status, _, complaint = command_line.run("uploads", "move", *data)
    assert (status, "set STUDIOGATE_UPLOADS_URL" in complaint.replace("\n", " ")) == (1, True)
    command_line.environment["STUDIOGATE_UPLOADS_URL"] = str(elsewhere)
    status, answer, _ = command_line.run("uploads", "move", "--remove", "--json", *data)
    moved = json.loads(answer)
    assert (status, moved["copied"], moved["removed"], moved["missing"], moved["damaged"]) == (0, 1, 1, [], [])
    assert command_line.run("export", "--studio", "north", "-o", "out.json", *data)[0] == 0
    assert (command_line.folder / "out.files" / uid("north", "file")).read_bytes() == b"hello"
    status, answer, _ = command_line.run("uploads", "move", *data)
    assert (status, "0 files copied" in answer) == (0, True)
    (stored,) = (each for each in elsewhere.rglob("*") if each.is_file())
    stored.unlink()
    status, _, complaint = command_line.run("uploads", "move", *data)
    assert (status, "in neither place" in complaint.replace("\n", " ")) == (1, True)


def test_files_of_submissions_can_be_read_by_nobody_else(command_line: CommandLine) -> None:
    folder, name = command_line.folder / "studio.files", uid("north", "file")
    folder.mkdir()
    (folder / name).write_bytes(b"hello")
    path = command_line.file(with_history(small_studio()))
    assert command_line.run("import", path, "--data", "data")[0] == 0
    (stored,) = (each for each in (command_line.folder / "data").rglob("*") if each.is_file())
    assert stored.stat().st_mode & 0o777 == 0o600
    out = command_line.folder / "out.files"
    for _ in range(2):
        assert command_line.run("export", "--studio", "north", "-o", "out.json", "--data", "data")[0] == 0
        assert [each.stat().st_mode & 0o777 for each in (out, out / name)] == [0o700, 0o600]
        (out / name).chmod(0o644)


def test_an_export_follows_a_link_and_replaces_no_pipe(command_line: CommandLine) -> None:
    assert command_line.run("import", command_line.file(small_studio()))[0] == 0
    target, link, pipe = (command_line.folder / name for name in ("target.json", "link.json", "pipe"))
    target.write_text("old")
    link.symlink_to(target)
    os.mkfifo(pipe)
    assert command_line.run("export", "--studio", "north", "-o", "link.json")[0] == 0
    assert (link.is_symlink(), json.loads(target.read_text())["studio"]["slug"]) == (True, "north")
    status, _, complaint = command_line.run("export", "--studio", "north", "-o", "pipe")
    assert (status, complaint) == (1, "error: pipe cannot be written: It exists and is no regular file.\n")
    assert pipe.is_fifo()


def test_the_schema_is_printed_without_a_database(command_line: CommandLine) -> None:
    status, answer, _ = command_line.run("import", "--schema")
    assert (status, json.loads(answer)["title"]) == (0, "Studio file")
    assert command_line.run("import")[0] == 2


def test_faults_are_listed_with_their_places(command_line: CommandLine) -> None:
    document = changed(small_studio(), "classes.1.room_id", "[red]nowhere")
    status, _, complaint = command_line.run("import", command_line.file(document))
    assert status == 1
    assert "classes[1].room_id: must be a uuid" in complaint
    assert "has 1 fault" in complaint
    status, answer, _ = command_line.run("import", "--json", command_line.file(document))
    assert status == 1
    assert json.loads(answer)["faults"][0]["place"] == "classes[1].room_id"


def test_many_faults_are_counted(command_line: CommandLine) -> None:
    document = {"studio": {**small_studio()["studio"], "policy": None}, "leads": [{}] * 700}
    status, _, complaint = command_line.run("import", command_line.file(document))
    assert status == 1
    assert "has 700 faults" in complaint
    assert len(complaint.splitlines()) < 60


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["import", "nowhere.json"], "nowhere.json cannot be read: No such file"),
        (["import", "."], "cannot be read"),
        (["export", "--studio", "nowhere"], "There is no studio 'nowhere'"),
        (["export", "--studio", "nowhere", "-o", "out.json"], "There is no studio 'nowhere'"),
        (["export", "--studio", "nowhere", "-o", "no/folder/out.json"], "cannot be written"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(command_line: CommandLine, words: list[str], said: str) -> None:
    status, answer, complaint = command_line.run(*words)
    assert (status, answer) == (1, "")
    assert said in complaint.replace("\n", " ")
    assert "Traceback" not in complaint
    assert list(command_line.folder.iterdir()) == []


def test_hostile_bytes_are_no_traceback(command_line: CommandLine) -> None:
    for data in (b"", b"\xff\xfe{", b"[]", b"{" * 100_000, b'{"studio": {"id": "\\u0000'):
        status, _, complaint = command_line.run("import", "-", stdin=data)
        assert status == 1
        assert "line 1: " in complaint
        assert "Traceback" not in complaint


def test_faults_are_an_error_in_json_as_well(command_line: CommandLine) -> None:
    path = command_line.file(changed(small_studio(), "classes.2.room_id", uid("none")))
    for more in ((), ("--dry-run",)):
        status, answer, complaint = command_line.run("import", path, "--json", *more)
        said = json.loads(answer)
        message = "studio.json has 1 fault. Nothing was loaded. Fix the file and import it again."
        fault = {"loc": ["classes[2].room_id"], "message": "is no room of this file or this studio"}
        assert said["error"] == {"code": "validation_error", "message": message, "details": {}, "faults": [fault]}
        assert (status, complaint, said["fault_count"]) == (1, f"error: {message}\n", 1)


def test_exports_take_json(command_line: CommandLine) -> None:
    command_line.run("import", command_line.file(small_studio()))
    plain = command_line.run("export", "--studio", "north")
    assert command_line.run("export", "--studio", "north", "--json") == plain
    status, said, _ = command_line.run("export", "--studio", "north", "--json", "-o", "out.json")
    assert (status, json.loads(said)) == (0, {"file": "out.json", "missing_uploads": []})
    plain = command_line.run("audit", "export", "--studio", "north")
    assert command_line.run("audit", "export", "--studio", "north", "--json") == plain
    status, said, _ = command_line.run("audit", "export", "--studio", "north", "--json", "-o", "log.json")
    assert (status, json.loads(said)) == (0, {"file": "log.json", "entries": 1})
    status, said, complaint = command_line.run("export", "--studio", "gone", "--json")
    assert (status, json.loads(said)["error"]["code"], complaint[:6]) == (1, "not_found", "error:")
