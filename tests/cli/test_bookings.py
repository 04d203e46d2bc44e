"""The commands `studiogate booking create|move` and `waitlist promote --override`, as staff use them."""

import json
from typing import Any
from uuid import UUID, uuid4

from tests.cli.test_staff import CommandLine, command_line, url
from tests.support.booking_studio import BookingStudio
from tests.support.staff import OF_STAFF

__all__ = ["command_line", "url"]
WHY = ("--override", "--reason", "Paid at the desk")


async def class_and_member(studio: BookingStudio) -> tuple[UUID, UUID]:
    return await studio.new_class(), await studio.new_member()


async def class_and_suspended_member(studio: BookingStudio) -> tuple[UUID, UUID]:
    return await studio.new_class(), await studio.new_member(membership=False, suspended=True)


def audit_entry(command_line: CommandLine, subject: str) -> Any:
    return json.loads(
        command_line.look("select row_to_json(a)::text from audit_log a where subject_id = $1", UUID(subject))
    )


def test_book_for_a_member(command_line: CommandLine) -> None:
    _, (class_id, member) = command_line.studio(class_and_member)
    said = command_line.type("booking", "create", "--class", class_id, "--member", member, "--json")
    assert said.status == 0, said.err
    booking = said.json
    assert (booking["status"], booking["booking_source"], booking["overridden_rules"]) == ("confirmed", "staff", [])
    assert audit_entry(command_line, booking["id"])["channel"] == "command"
    again = command_line.type("booking", "create", "--class", class_id, "--member", member)
    assert (again.status, "already has a place" in again.err) == (1, True)
    assert "--override" not in again.err, "this rule cannot be overridden"


def test_override_with_a_reason(command_line: CommandLine) -> None:
    _, (class_id, member) = command_line.studio(class_and_suspended_member)
    command = ("booking", "create", "--class", class_id, "--member", member)
    refused = command_line.type(*command)
    assert refused.status == 1
    assert "The member is suspended." in refused.err
    assert "All reasons: member_suspended, no_active_membership." in " ".join(refused.err.split())
    assert "add --override --reason TEXT" in " ".join(refused.err.split())
    nameless = command_line.type(*command, "--override")
    assert (nameless.status, "An override needs a reason." in nameless.err) == (1, True)
    said = command_line.type(*command, *WHY)
    assert said.status == 0, said.err
    assert "is confirmed; overridden: member_suspended, no_active_membership." in " ".join(said.out.split())


def test_no_override_is_advised_for_the_waitlist_of_a_class_that_has_started(command_line: CommandLine) -> None:
    async def begun(studio: BookingStudio) -> tuple[UUID, UUID]:
        class_id, _ = await studio.full_class()
        await studio.move(class_id, -1)
        return class_id, await studio.new_member()

    _, (class_id, member) = command_line.studio(begun)
    command = ("booking", "create", "--class", class_id, "--member", member, "--waitlist")
    for further in ((), WHY):
        refused = command_line.type(*command, *further)
        assert (refused.status, "already started" in refused.err) == (1, True), refused.err
        assert "add --override" not in " ".join(refused.err.split())


def test_join_the_waitlist(command_line: CommandLine) -> None:
    async def full(studio: BookingStudio) -> tuple[UUID, UUID]:
        class_id, _ = await studio.full_class()
        return class_id, await studio.new_member()

    _, (class_id, member) = command_line.studio(full)
    command = ("booking", "create", "--class", class_id, "--member", member)
    assert "This class is full." in command_line.type(*command).err
    said = command_line.type(*command, "--waitlist")
    assert "is waitlisted" in said.out


def test_move_a_booking(command_line: CommandLine) -> None:
    async def booked(studio: BookingStudio) -> tuple[str, UUID, UUID]:
        class_id, (held,) = await studio.full_class()
        await studio.waits(class_id, await studio.new_member())
        return held["id"], class_id, await studio.new_class()

    studio_id, (booking, old, new) = command_line.studio(booked)
    same = command_line.type("booking", "move", booking, "--to", old)
    assert (same.status, "already has a place" in same.err) == (1, True)
    said = command_line.type("booking", "move", booking, "--to", new, "--json")
    assert said.status == 0, said.err
    assert said.json["cancellation"]["cancellation_type"] == "moved"
    assert said.json["booking"]["class_id"] == str(new)
    gone = command_line.type("booking", "move", booking, "--to", new)
    assert (gone.status, "already cancelled" in gone.err) == (1, True)
    back = command_line.type("booking", "move", said.json["booking"]["id"], "--to", old, "--waitlist")
    assert (back.status, "is waitlisted" in back.out) == (0, True)
    entries = f"select count(*) from audit_log where studio_id = $1 and {OF_STAFF}"
    assert command_line.look(entries, studio_id) == 4


def test_what_is_unknown(command_line: CommandLine) -> None:
    _, (class_id, member) = command_line.studio(class_and_member)
    unknown = uuid4()
    said = command_line.type("booking", "create", "--class", unknown, "--member", member)
    assert f"There is no class {unknown}" in said.err
    said = command_line.type("booking", "create", "--class", class_id, "--member", unknown)
    assert f"There is no member {unknown}: `studiogate member find TEXT" in said.err
    assert f"There is no booking {unknown}" in command_line.type("booking", "move", unknown, "--to", class_id).err
    booking = command_line.type("booking", "create", "--class", class_id, "--member", member, "--json").json["id"]
    assert f"There is no class {unknown}" in command_line.type("booking", "move", booking, "--to", unknown).err
    assert command_line.type("booking", "create", "--class", "nonsense", "--member", member).status == 2


def test_promote_with_an_override(command_line: CommandLine) -> None:
    async def waiting(studio: BookingStudio) -> tuple[UUID, Any]:
        class_id, (held,) = await studio.full_class(policy={"waitlist_mode": "manual"})
        entry = await studio.entry(await studio.waits(class_id, await studio.new_member()))
        await studio.change("members", UUID(entry["member_id"]), suspended=True)
        await studio.cancelled(held["id"])
        return class_id, entry

    _, (_, entry) = command_line.studio(waiting)
    refused = command_line.type("waitlist", "promote", entry["id"])
    assert (refused.status, "The member is suspended." in refused.err) == (1, True)
    said = command_line.type("waitlist", "promote", entry["id"], *WHY, "--json")
    assert said.json["overridden_rules"] == ["member_suspended"]
    assert audit_entry(command_line, entry["id"])["reason"] == "Paid at the desk"
