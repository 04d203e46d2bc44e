"""The commands `studiogate import` and `studiogate export`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.studio_files import changed, small_studio, uid, with_history


class Keyboard:
    def __init__(self, database_url: str, folder: Path) -> None:
        self._environment = {**os.environ, "STUDIOGATE_DATABASE_URL": database_url}
        self.folder = folder

    def run(self, *words: str, stdin: bytes = b"") -> tuple[int, str, str]:
        command = [sys.executable, "-c", "from studiogate.cli.main import main; main()", *words]
        done = subprocess.run(command, env=self._environment, cwd=self.folder, input=stdin, capture_output=True)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def file(self, document: object, name: str = "studio.json") -> str:
        (self.folder / name).write_text(json.dumps(document))
        return name


@pytest.fixture
def keyboard(database_url: str, tmp_path: Path) -> Keyboard:
    return Keyboard(database_url, tmp_path)


def test_import_and_export_go_round(keyboard: Keyboard) -> None:
    status, summary, _ = keyboard.run("import", keyboard.file(small_studio()))
    assert status == 0
    assert ["members", "4", "0", "0"] in [line.split() for line in summary.splitlines()]
    status, written, _ = keyboard.run("export", "--studio", "north")
    assert status == 0
    status, answer, _ = keyboard.run("import", "-", "--json", stdin=written.encode())
    counts = json.loads(answer)["sections"]
    assert (status, counts["bookings"]) == (0, {"created": 0, "updated": 0, "unchanged": 6})
    assert keyboard.run("export", "--studio", "north", "-o", "out.json")[0] == 0
    assert (keyboard.folder / "out.json").read_text() == written
    assert sorted(path.name for path in keyboard.folder.iterdir()) == ["out.json", "studio.json"]


def test_a_dry_run_changes_nothing(keyboard: Keyboard) -> None:
    status, summary, _ = keyboard.run("import", "--dry-run", keyboard.file(small_studio()))
    assert status == 0
    assert "nothing was changed" in summary
    assert keyboard.run("export", "--studio", "north")[0] == 1


def test_a_dry_run_shows_every_change(keyboard: Keyboard) -> None:
    keyboard.run("import", keyboard.file(small_studio()))
    member, new = uid("north", "member", 0), uid("new")
    document = {
        "studio": {"id": uid("north", "studio")},
        "members": [{"id": member, "first_name": "Néw"}, {"id": new, "first_name": "A", "last_name": "B"}],
    }
    status, shown, _ = keyboard.run("import", "--dry-run", keyboard.file(document))
    assert status == 0
    lines = shown.splitlines()
    assert lines[:2] == [f"members[0] change of {member}", '  first_name: "M0" → "Néw"']
    assert f"members[1] new row {new}" in lines
    assert '  last_name: "B"' in lines
    status, answer, _ = keyboard.run("import", "--dry-run", "--json", keyboard.file(document))
    report = json.loads(answer)
    assert (status, report["dry_run"], report["sections"]["members"]["updated"]) == (0, True, 1)
    assert report["changes"][0] == {
        "place": "members[0]",
        "id": member,
        "created": False,
        "fields": {"first_name": {"old": "M0", "new": "Néw"}},
    }
    assert len(report["changes"]) == 2


def test_stale_rows_and_overwriting_them(keyboard: Keyboard) -> None:
    keyboard.run("import", keyboard.file(small_studio()))
    keyboard.run("export", "--studio", "north", "-o", "old.json")
    changes = {"studio": {"id": uid("north", "studio"), "name": "New"}, "leads": [{"id": uid("north", "lead")}]}
    assert keyboard.run("import", keyboard.file(changes))[0] == 0
    status, _, complaint = keyboard.run("import", "old.json")
    assert (status, complaint.splitlines()[0]) == (1, "studio: changed since this export")
    assert keyboard.run("import", "--overwrite", "old.json")[0] == 0


def test_warnings_and_strict(keyboard: Keyboard) -> None:
    document = changed(small_studio(), "classes.1.capacity", 10)
    status, answer, _ = keyboard.run("import", "--strict", "--json", keyboard.file(document))
    assert (status, json.loads(answer)["faults"][0]["place"]) == (1, "classes[1].capacity")
    status, _, complaint = keyboard.run("import", keyboard.file(document))
    assert (status, complaint.splitlines()) == (
        0,
        ["warning: classes[1].capacity: the class has 10 places and its room 9"],
    )


def test_files_of_submissions_lie_beside(keyboard: Keyboard) -> None:
    folder = keyboard.folder / "studio.files"
    folder.mkdir()
    (folder / uid("north", "file")).write_bytes(b"hello")
    path = keyboard.file(with_history(small_studio()))
    assert keyboard.run("import", path, "--data", "data")[0] == 0
    assert keyboard.run("export", "--studio", "north", "-o", "out.json", "--data", "data")[0] == 0
    assert (keyboard.folder / "out.files" / uid("north", "file")).read_bytes() == b"hello"
    (keyboard.folder / "data" / "uploads").rename(keyboard.folder / "lost")
    _, _, complaint = keyboard.run("export", "--studio", "north", "-o", "out.json", "--data", "data")
    assert f"the file of upload {uid('north', 'file')} is lost" in complaint.replace("\n", " ")


def test_the_schema_is_printed_without_a_database(keyboard: Keyboard) -> None:
    status, answer, _ = keyboard.run("import", "--schema")
    assert (status, json.loads(answer)["title"]) == (0, "Studio file")
    assert keyboard.run("import")[0] == 2


def test_faults_are_listed_with_their_places(keyboard: Keyboard) -> None:
    document = changed(small_studio(), "classes.1.room_id", "[red]nowhere")
    status, _, complaint = keyboard.run("import", keyboard.file(document))
    assert status == 1
    assert "classes[1].room_id: must be a uuid" in complaint
    assert "has 1 fault" in complaint
    status, answer, _ = keyboard.run("import", "--json", keyboard.file(document))
    assert status == 1
    assert json.loads(answer)["faults"][0]["place"] == "classes[1].room_id"


def test_many_faults_are_counted(keyboard: Keyboard) -> None:
    document = {"studio": {**small_studio()["studio"], "policy": None}, "leads": [{}] * 700}
    status, _, complaint = keyboard.run("import", keyboard.file(document))
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
def test_what_cannot_be_done_is_said_in_a_line(keyboard: Keyboard, words: list[str], said: str) -> None:
    status, answer, complaint = keyboard.run(*words)
    assert (status, answer) == (1, "")
    assert said in complaint.replace("\n", " ")
    assert "Traceback" not in complaint
    assert list(keyboard.folder.iterdir()) == []


def test_hostile_bytes_are_no_traceback(keyboard: Keyboard) -> None:
    for data in (b"", b"\xff\xfe{", b"[]", b"{" * 100_000, b'{"studio": {"id": "\\u0000'):
        status, _, complaint = keyboard.run("import", "-", stdin=data)
        assert status == 1
        assert "line 1: " in complaint
        assert "Traceback" not in complaint
