"""`studiogate lead …`, `form …` and `submission files`, as staff use them."""

import json
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from studiogate.cli.studios import NO_MAIL
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
        (b'{"title": "T", "title": "T"}', "same field twice"),
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
    assert (missing.status, " is not in " in missing.err) == (1, True)
    assert "There is no submission" in command_line.type("submission", "files", GONE, "-o", target).err


async def form_and_member(studio: BookingStudio) -> tuple[UUID, UUID]:
    return await studio.new_form(), await studio.new_member(email=f"ada-{uuid4().hex}@example.com")


MAILS = "select count(*) from mails where member_id = $1"


def test_a_link_by_email(command_line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    _, (form, member) = command_line.studio(form_and_member)
    words = ("form", "link", form, "--member", member, "--mail")
    monkeypatch.setenv("STUDIOGATE_SMTP_URL", "smtp://mail.example")
    for sends in (False, None):
        command_line.worker_reports(sends=sends)
        without = command_line.type(*words)
        assert (without.status, without.out) == (1, "")
        assert without.err == f"error: Nothing was queued. {NO_MAIL[sends]}\n", "whatever the shell's setting is"
    assert command_line.look(MAILS, member) == 0
    monkeypatch.delenv("STUDIOGATE_SMTP_URL")
    command_line.worker_reports(sends=True)
    said = command_line.type(*words)
    assert said.out.startswith("Queued a mail with the link for a***@example.com. The link opens the form until ")
    in_json = command_line.type(*words, "--expires", "2h", "--json").json
    assert (in_json["queued_for"], in_json["member_id"]) == ("a***@example.com", str(member))
    assert set(in_json) == {"queued_for", "form_id", "member_id", "expires_at"}, "nothing secret"
    kept = "select max(expires_at) - min(expires_at) > interval '6 days' from mails where member_id = $1"
    assert command_line.look(kept, member)
    assert command_line.type(*words).status == 0
    again = command_line.type(*words)
    assert "was mailed 3 links within the hour: wait, or print the link without --mail." in again.err
    assert command_line.look(MAILS, member) == 3


@pytest.mark.parametrize("options", [(), ("--mail",)], ids=["printed", "mailed"])
@pytest.mark.parametrize("expires", ["0m", "367d"])
def test_a_link_that_opens_the_form_for_too_long_or_not_at_all(
    command_line: CommandLine, options: tuple[str, ...], expires: str
) -> None:
    _, (form, member) = command_line.studio(form_and_member)
    command_line.worker_reports(sends=True)
    said = command_line.type("form", "link", form, "--member", member, "--expires", expires, "--json", *options)
    assert (said.status, said.json["error"]["code"]) == (1, "validation_error")
    assert said.err == "error: The expiry must be in the future, at most 366 days from now.\n"
    assert command_line.look(MAILS, member) == 0


@pytest.mark.parametrize("status", ["archived", "draft"])
def test_no_link_to_a_form_that_takes_no_submissions(command_line: CommandLine, status: str) -> None:
    _, (form, member) = command_line.studio(form_and_member)
    command_line.look("update forms set status = $2 where id = $1", form, status)
    said = command_line.type("form", "link", form, "--member", member, "--json")
    assert (said.status, said.json["error"]["details"]) == (1, {"reason": "not_published"})
    assert said.err == "error: The form is not published: `studiogate form publish` publishes it.\n"


def test_a_link_that_cannot_be_mailed(command_line: CommandLine) -> None:
    _, (form, member) = command_line.studio(form_and_member)
    command_line.worker_reports(sends=True)
    assert "There is no form" in command_line.type("form", "link", GONE, "--member", member, "--mail").err
    assert "There is no member" in command_line.type("form", "link", form, "--member", GONE, "--mail").err
    words = ("form", "link", form, "--member", member, "--mail")
    command_line.look("update forms set status = 'archived' where id = $1", form)
    assert "The form is not published: `studiogate form publish`" in command_line.type(*words).err
    command_line.look("update forms set status = 'published' where id = $1", form)
    command_line.look("update members set email = null where id = $1", member)
    missing = "error: The email is missing: enter one for the member, or hand the link over yourself.\n"
    assert command_line.type(*words).err == missing
    command_line.look("update members set erased_at = now() where id = $1", member)
    assert "was erased" in command_line.type(*words).err
    assert command_line.look(MAILS, member) == 0
