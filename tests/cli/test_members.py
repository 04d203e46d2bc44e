"""`studiogate member …`, as staff use it."""

import io
import stat
import sys
import zipfile
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tests.cli import test_staff
from tests.cli.test_staff import CommandLine
from tests.support.booking_studio import BookingStudio

url, command_line = test_staff.url, test_staff.command_line


def slug_of(command_line: CommandLine, studio_id: UUID) -> str:
    return str(command_line.look("select slug from studios where studio_id = $1", studio_id))


def new_studio(command_line: CommandLine) -> tuple[UUID, str]:
    async def nothing(_: BookingStudio) -> None: ...

    studio_id, _ = command_line.studio(nothing)
    return studio_id, slug_of(command_line, studio_id)


def created(command_line: CommandLine, slug: str, *options: object) -> Any:
    said = command_line.type("member", "create", "--studio", slug, *options, "--json")
    assert said.status == 0, said.err
    return said.json


def test_create_change_suspend_and_note(command_line: CommandLine) -> None:
    studio_id, slug = new_studio(command_line)
    names = ("--first-name", "Jo", "--last-name", "Reed")
    said = command_line.type("member", "create", "--studio", slug, *names, "--email", "jo@example.com")
    member = command_line.look("select id from members where studio_id = $1", studio_id)
    assert (said.status, said.out) == (0, f"Created member {member}.\n")
    again = command_line.type("member", "create", "--studio", slug, *names, "--email", "jo@example.com")
    assert (again.status, "change that one, or merge the two" in again.err) == (1, True)

    said = command_line.type("member", "change", member, "--phone", "212 555 0100", "--clear", "email")
    assert (said.status, said.out) == (0, f"Changed phone, email of member {member}.\n")
    changed = command_line.type("member", "change", member, "--role", "user", "--json").json
    assert (changed["email"], changed["phone"], changed["role"]) == (None, "+12125550100", "user")
    assert "Nothing to change" in command_line.type("member", "change", member).err
    assert (
        "email is given and cleared"
        in command_line.type("member", "change", member, "--email", "a@b.example", "--clear", "email").err
    )
    wrong = command_line.type("member", "change", member, "--email", "x", "--clear", "first-name").err
    assert "The email must be an email address" in wrong
    assert "The first name must not be null" in wrong

    assert command_line.type("member", "suspend", member, "--reason", "unpaid").out == "The member is suspended now.\n"
    assert command_line.type("member", "suspend", member).err == "error: The member is suspended already.\n"
    assert command_line.type("member", "unsuspend", member, "--json").json == {"id": str(member), "suspended": False}
    assert command_line.type("member", "note", member, "Bad knee.").out == "Added the note.\n"
    assert command_line.look("select staff_notes from members where id = $1", member) == "Bad knee."
    actions = "select array_agg(action order by occurred_at) from audit_log where studio_id = $1"
    expected = ["create", "change", "change", "suspend", "unsuspend", "note"]
    assert command_line.look(actions, studio_id) == [f"member.{each}" for each in expected]


def test_the_end_of_a_suspension(command_line: CommandLine) -> None:
    _, slug = new_studio(command_line)
    member = created(command_line, slug, "--first-name", "Jo", "--last-name", "Stone")["id"]
    command_line.type("member", "suspend", member)
    assert command_line.type("member", "unsuspend", member).out == "The member is no longer suspended.\n"


def test_an_unknown_member(command_line: CommandLine) -> None:
    gone = "0192f0c1-a2b3-7c4d-8e5f-60718293a4b5"
    said = command_line.type("member", "suspend", gone)
    assert (said.status, "There is no member" in said.err) == (1, True)
    _, slug = new_studio(command_line)
    assert "There is no member" in command_line.type("member", "note", gone, "x", "--studio", slug).err


@pytest.mark.parametrize(
    "text",
    [
        "anneliese",
        "ANNEL",
        "van der",
        "berg",
        "anneliese van",
        "berg annel",
        "anneliese.berg@",
        "212 555 0137",
        "+1 (212) 555-0137",
        "0137",
        "liese",  # no beginning of a word: found by searching all
    ],
)
def test_find(command_line: CommandLine, text: str) -> None:
    _, slug = new_studio(command_line)
    contact = ("--email", "anneliese.berg@example.com", "--phone", "212 555 0137")
    names = ("--first-name", "Anneliese", "--last-name", "van der Berg")
    wanted = created(command_line, slug, *names, *contact)
    created(command_line, slug, "--first-name", "Peter", "--last-name", "Stone", "--phone", "212 555 0144")
    found = command_line.type("member", "find", text, "--studio", slug, "--json").json
    assert [row["id"] for row in found] == [wanted["id"]]
    (by_id,) = command_line.type("member", "find", wanted["id"].upper(), "--studio", slug, "--json").json
    assert by_id == found[0]


def test_find_nobody(command_line: CommandLine) -> None:
    _, slug = new_studio(command_line)
    created(command_line, slug, "--first-name", "Anneliese", "--last-name", "van der Berg")
    for text in ("%", "_", "\\", "zzz", "999999", "anneliese stone"):
        assert command_line.type("member", "find", text, "--studio", slug, "--json").json == []
    assert len(command_line.type("member", "find", "", "--studio", slug, "--json").json) == 1


async def two_members(studio: BookingStudio) -> tuple[UUID, UUID]:
    kept, other = await studio.new_member(), await studio.new_member()
    await studio.booked(await studio.new_class(), other)
    return kept, other


def test_merge(command_line: CommandLine) -> None:
    _, (kept, other) = command_line.studio(two_members)
    said = command_line.type("member", "merge", kept, other)
    expected = f"Merged: 1 booking, 1 membership, 0 purchases, 0 submissions belong to member {kept} now.\n"
    assert (said.status, said.out) == (0, expected)
    again = command_line.type("member", "merge", kept, other)
    assert (again.status, f"There is no member {other}" in again.err) == (1, True)
    turned = command_line.type("member", "merge", other, kept)
    assert (turned.status, f"There is no member {other}" in turned.err) == (1, True)
    assert "The duplicate must be another member." in command_line.type("member", "merge", kept, kept).err


async def in_one_class(studio: BookingStudio) -> tuple[UUID, UUID, UUID]:
    (kept, other), class_id = [await studio.new_member() for _ in range(2)], await studio.new_class()
    for member in (kept, other):
        await studio.booked(class_id, member)
    return kept, other, class_id


def test_merge_of_two_in_one_class(command_line: CommandLine) -> None:
    _, (kept, other, class_id) = command_line.studio(in_one_class)
    said = command_line.type("member", "merge", kept, other)
    assert said.err == f"error: Both members are in class {class_id}: cancel one of the two bookings first.\n"


def test_export_and_erase(command_line: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, (_, member) = command_line.studio(two_members)
    target = tmp_path / "person.zip"
    said = command_line.type("member", "export", member, "-o", target, "--data", tmp_path)
    assert (said.status, said.out.replace("\n", " ").startswith(f"Wrote {target}")) == (0, True)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    with zipfile.ZipFile(target) as archive:
        assert set(archive.namelist()) == {"index.html", "person.json"}
    again = command_line.type("member", "export", member, "-o", target, "--data", tmp_path)
    assert (again.status, "choose another file" in again.err) == (1, True)

    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    said = command_line.type("member", "erase", member, "--data", tmp_path)
    assert (said.status, "Nothing was erased" in said.err) == (1, True)
    assert command_line.look("select erased_at from members where id = $1", member) is None
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    said = command_line.type("member", "erase", member, "--data", tmp_path)
    assert said.status == 0, said.err
    assert "Erased, with 0 submissions, 0 files, 0 leads; 1 booking and 1 membership cancelled." in said.out
    assert command_line.look("select name from members where id = $1", member) == "Erased member"
    said = command_line.type("member", "erase", member, "--yes", "--data", tmp_path)
    assert said.err == "error: The member is erased already.\n"
    assert (
        command_line.type("member", "note", member, "x").err
        == "error: The member was erased: there is nothing to change.\n"
    )


def test_erase_in_json(command_line: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, (member, _) = command_line.studio(two_members)
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    asked = command_line.type("member", "erase", member, "--json", "--data", tmp_path)
    assert (asked.status, asked.json["error"]["message"]) == (1, "Nothing was erased."), "the question is not JSON"
    counts = {"bookings_cancelled": 0, "memberships_cancelled": 1, "submissions": 0, "leads": 0, "files": 0}
    said = command_line.type("member", "erase", member, "--yes", "--json", "--data", tmp_path)
    assert said.json == {"id": str(member), "member_id": str(member), **counts}
