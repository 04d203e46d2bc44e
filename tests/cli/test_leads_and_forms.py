"""`studiogate lead …`, `form …` and `submission files`, as staff use them."""

import json
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from tests.cli import test_staff
from tests.cli.test_members import new_studio
from tests.cli.test_staff import CommandLine
from tests.support.booking_studio import BookingStudio

url, command_line = test_staff.url, test_staff.command_line
GONE = "0192f0c1-a2b3-7c4d-8e5f-60718293a4b5"


async def a_lead(studio: BookingStudio) -> UUID:
    return await studio.add("leads", email=f"{uuid4().hex}@example.com", first_name="Jo")


def test_leads(command_line: CommandLine) -> None:
    _, lead = command_line.studio(a_lead)
    assert command_line.type("lead", "move", lead, "contacted").out == "The lead is contacted now.\n"
    assert command_line.type("lead", "move", lead, "qualified", "--json").json == {
        "id": str(lead),
        "status": "qualified",
    }
    assert "cannot become converted" in command_line.type("lead", "move", lead, "converted").err
    assert command_line.type("lead", "move", lead, "gone").status == 2
    assert command_line.type("lead", "note", lead, "Called.").out == "Added the note.\n"
    assert command_line.look("select staff_notes from leads where id = $1", lead) == "Called."
    assert command_line.type("lead", "convert", lead).err == "error: The last name is required.\n"
    said = command_line.type("lead", "convert", lead, "--last-name", "Reed")
    member = command_line.look("select id from members where name = 'Jo Reed'")
    assert said.out == f"The lead is member {member} now.\n"
    assert "There is no lead" in command_line.type("lead", "note", GONE, "x").err


def test_forms(command_line: CommandLine, tmp_path: Path) -> None:
    _, slug = new_studio(command_line)
    file = tmp_path / "form.json"
    file.write_text(json.dumps({"title": "Intake", "fields": [{"key": "a", "label": "A", "type": "text"}]}))
    form = command_line.type("form", "create", file, "--studio", slug, "--json").json
    assert (form["slug"], form["status"]) == ("intake", "draft")
    assert command_line.type("form", "publish", form["id"]).out == "The form is published now, version 2.\n"
    file.write_text('{"description": "Before the first class"}')
    assert command_line.type("form", "change", form["id"], file).out == "The form is published now, version 3.\n"
    assert command_line.type("form", "archive", form["id"], "--json").json["status"] == "archived"
    again = command_line.type("form", "publish", form["id"])
    assert again.err == "error: The form is archived and cannot become published.\n"
    assert "There is no form" in command_line.type("form", "publish", GONE).err


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"{", "not valid JSON"),
        (b"[]", "must hold a JSON object"),
        (b'{"title": "\\ud800"}', "not valid JSON"),
        (b'{"title": "T", "title": "T"}', "same member twice"),
        (b"\xff", "not UTF-8"),
        (b" " * 1_100_000, "larger than"),
        (b'{"fields": {}}', "The title is required"),
        (b"[" * 100_000, "not valid JSON"),
    ],
)
def test_a_wrong_file(command_line: CommandLine, tmp_path: Path, content: bytes, problem: str) -> None:
    _, slug = new_studio(command_line)
    file = tmp_path / "form.json"
    file.write_bytes(content)
    said = command_line.type("form", "create", file, "--studio", slug)
    assert (said.status, problem in said.err.replace("\n", " ")) == (1, True), said


async def with_files(studio: BookingStudio) -> UUID:
    form = await studio.new_form()
    submission = await studio.submit(form, await studio.new_member())
    for number, filename in enumerate(("../../a.txt", "a.txt")):
        await studio.add(
            "form_uploads",
            form_id=form,
            field_key="scan",
            filename=filename,
            content_type="text/plain",
            size=2,
            sha256=b"x" * 32,
            stored_name=f"{number:032}",
            submission_id=submission,
        )
    return submission


def test_files_of_a_submission(command_line: CommandLine, tmp_path: Path) -> None:
    studio_id, submission = command_line.studio(with_files)
    stored = tmp_path / "uploads" / str(studio_id) / "00"
    stored.mkdir(parents=True)
    for number in range(2):
        (stored / f"{number:032}").write_text(f"{number}!")
    target = tmp_path / "out"
    said = command_line.type("submission", "files", submission, "-o", target, "--data", tmp_path)
    assert (said.status, said.out.startswith("Copied 2 files")) == (0, True), said
    copied = {path.name: path.read_text() for path in target.iterdir()}
    assert copied == {"01-a.txt": "0!", "02-a.txt": "1!"}
    again = command_line.type("submission", "files", submission, "-o", target, "--data", tmp_path)
    assert (again.status, "cannot be written" in again.err) == (1, True)
    (stored / f"{0:032}").unlink()
    missing = command_line.type("submission", "files", submission, "-o", tmp_path / "two", "--data", tmp_path)
    assert (missing.status, "not on this machine" in missing.err) == (1, True)
    assert "There is no submission" in command_line.type("submission", "files", GONE, "-o", target).err
