"""The command `studiogate mail …`, as an operator uses it."""

from uuid import UUID

import pytest

from studiogate.cli.studios import NO_MAIL
from studiogate.domain.mails import MailKind
from tests.cli.test_staff import CommandLine, command_line, url
from tests.support.booking_studio import BookingStudio

__all__ = ["command_line", "url"]


@pytest.fixture
def studio(command_line: CommandLine) -> tuple[UUID, str]:
    async def slug(studio: BookingStudio) -> str:
        return studio.studio.slug

    made: tuple[UUID, str] = command_line.studio(slug)
    return made


def test_all_kinds_are_on_until_they_are_switched_off(command_line: CommandLine, studio: tuple[UUID, str]) -> None:
    _, slug = studio
    said = command_line.type("mail", "list", "--studio", slug, "--json")
    assert {each["kind"]: each["on"] for each in said.json} == {kind.value: True for kind in MailKind}
    assert {each["too_late"]: each["dropped"] for each in said.json} == {0: []}, "nothing came too late"
    assert command_line.type("mail", "off", "promoted", "--studio", slug, "--json").json == {
        "kind": "promoted",
        "on": False,
    }
    off = [
        each["kind"] for each in command_line.type("mail", "list", "--studio", slug, "--json").json if not each["on"]
    ]
    assert off == ["promoted"]
    said = command_line.type("mail", "on", "promoted", "--studio", slug)
    assert said.status == 0
    assert "Mails of the kind promoted are on now." in said.out


def test_the_list_in_words(command_line: CommandLine, studio: tuple[UUID, str]) -> None:
    _, slug = studio
    assert "a class is cancelled" in command_line.type("mail", "list", "--studio", slug).out


@pytest.mark.parametrize("in_the_shell", [False, True])
@pytest.mark.parametrize("words", [("list",), ("on", "booked")], ids=["list", "on"])
def test_whether_mails_are_sent_is_what_the_worker_says(
    command_line: CommandLine,
    studio: tuple[UUID, str],
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    in_the_shell: bool,
) -> None:
    """The shell's own setting says nothing about the service."""
    if in_the_shell:
        monkeypatch.setenv("STUDIOGATE_SMTP_URL", "smtp://mail.example")
    said = []
    for sends in (None, False, True):
        command_line.worker_reports(sends=sends)
        said.append(command_line.type("mail", *words, "--studio", studio[1]).out)
    unknown, silent, sending = said
    assert unknown == sending + NO_MAIL[None] + "\n"
    assert silent == sending + NO_MAIL[False] + "\n"


def test_before_the_first_start_it_is_unknown(command_line: CommandLine, studio: tuple[UUID, str]) -> None:
    command_line.look("delete from deployment")
    assert NO_MAIL[None] in command_line.type("mail", "list", "--studio", studio[1]).out


def test_a_test_studio_sends_nothing_by_itself(command_line: CommandLine, studio: tuple[UUID, str]) -> None:
    studio_id, slug = studio
    command_line.look("update studios set test = true where studio_id = $1", studio_id)
    said = command_line.type("mail", "list", "--studio", slug, "--json")
    assert not any(each["on"] for each in said.json)


def test_the_change_is_in_the_audit_log(command_line: CommandLine, studio: tuple[UUID, str]) -> None:
    _, slug = studio
    command_line.type("mail", "off", "booked", "--studio", slug)
    (entry,) = command_line.type("audit", "list", "--studio", slug, "--json").json
    assert (entry["action"], entry["changes"]) == ("studio.switch_mails", {"mail_switches": [None, {"booked": False}]})


def test_what_does_not_exist(command_line: CommandLine, studio: tuple[UUID, str]) -> None:
    assert "There is no studio 'nowhere'" in command_line.type("mail", "off", "booked", "--studio", "nowhere").err
    assert "There is no studio 'nowhere'" in command_line.type("mail", "list", "--studio", "nowhere").err
    said = command_line.type("mail", "off", "birthday", "--studio", studio[1])
    assert said.status == 2
    assert "birthday" in said.err
