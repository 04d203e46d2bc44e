"""The commands `studiogate staff …` and `studiogate console link`, as an operator uses them."""

import getpass
import re
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.domain.encryption import Sealer
from studiogate.domain.staff.sign_in import Origin
from studiogate.flows.staff import passwords, sign_in
from studiogate.flows.staff.passwords import Acceptance
from studiogate.flows.staff.sign_in import Credentials
from studiogate.flows.staff.visits import Started, Visit
from studiogate.storage.db.pool import Database
from tests.cli.test_staff import CommandLine
from tests.support.booking_studio import BookingStudio
from tests.support.databases import run
from tests.support.staff_people import PASSWORD, done

Made = tuple[UUID, Any]


@pytest.fixture(scope="module")
def url(new_database: Callable[[], str]) -> str:
    return new_database()


@pytest.fixture
def command_line(url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    monkeypatch.setenv("STUDIOGATE_PUBLIC_URL", "https://studio.example")
    return CommandLine(url, monkeypatch, capsys)


async def slug_and_ids(studio: BookingStudio) -> tuple[str, UUID, UUID]:
    return studio.studio.canary, studio.location, await studio.add("instructors", name="I")


@pytest.fixture
def slug(command_line: CommandLine) -> str:
    return str(command_line.studio(slug_and_ids)[1][0])


def email() -> str:
    return f"{uuid4().hex}@example.com"


def token_of(address: str) -> str:
    return re.fullmatch(r"https://studio\.example/console/link/([\w-]{43})", address)[1]  # type: ignore[index]


def visiting(url: str, work: Callable[[Visit], Any]) -> Any:
    """Run a flow as a person in a browser."""

    async def visit() -> Any:
        database = Database(url, 2)
        try:
            return done(await work(Visit(database, Sealer(lambda: [bytes(32)]), Origin("192.0.2.1", "Firefox"))))
        finally:
            await database.close()

    return run(visit())


def accept(url: str, address: str) -> Started:
    token = token_of(address)
    started = visiting(url, lambda visit: passwords.accept_invitation(visit, token, Acceptance("Jo", PASSWORD)))
    assert isinstance(started, Started)
    return started


def test_an_invitation_is_printed_and_works(command_line: CommandLine, url: str, slug: str) -> None:
    person = email()
    said = command_line.type("staff", "invite", person.upper(), "--studio", slug, "--role", "owner")
    assert (said.status, said.err) == (0, "")
    assert said.out.startswith(f"{person} is owner of {slug} now.\nhttps://studio.example/console/link/")
    assert "It works once, until 20" in said.out
    accept(url, said.out.splitlines()[1])
    (row,) = command_line.type("staff", "list", "--studio", slug, "--json").json
    assert (row["email"], row["role"], row["state"], row["name"]) == (person, "owner", "active", "Jo")
    listed = command_line.type("staff", "list", "--studio", slug)
    assert person[:8] in listed.out
    assert "active" in listed.out
    query = "select actor_name from audit_log where action = 'staff.invite' and subject_id = $1"
    assert command_line.look(query, UUID(row["id"])) == getpass.getuser()


def test_an_invitation_as_json(command_line: CommandLine, slug: str) -> None:
    person = email()
    shown = command_line.type("staff", "invite", person, "--studio", slug, "--role", "developer", "--json").json
    assert sorted(shown) == ["email", "expires_at", "id", "mailed", "role", "studio", "url"]
    assert (shown["email"], shown["role"], shown["mailed"]) == (person, "developer", False)
    token_of(shown["url"])


def test_if_the_service_sends_mails_the_link_is_mailed_too(command_line: CommandLine, slug: str) -> None:
    command_line.worker_reports(sends=True)
    person = email()
    said = command_line.type("staff", "invite", person, "--studio", slug, "--role", "owner")
    assert "A mail with a link of its own is on its way." in said.out
    assert command_line.type("console", "link", person, "--json").json["mailed"] is True
    query = "select array_agg(kind order by created_at) from mails where recipient = $1"
    assert command_line.type("staff", "reset", person, "--json").json["mailed"] is True
    assert command_line.look(query, person) == ["staff_invitation", "staff_sign_in", "staff_password_reset"]


@pytest.mark.parametrize("sends", [False, None])
def test_no_mail_is_promised_that_the_service_does_not_send(
    command_line: CommandLine, slug: str, monkeypatch: pytest.MonkeyPatch, sends: bool | None
) -> None:
    """The shell's own setting says nothing about the service."""
    monkeypatch.setenv("STUDIOGATE_SMTP_URL", "smtp://mail.example")
    command_line.worker_reports(sends=sends)
    person = email()
    said = command_line.type("staff", "invite", person, "--studio", slug, "--role", "owner", "--json")
    assert said.json["mailed"] is False
    for words in (("console", "link"), ("staff", "reset")):
        assert command_line.type(*words, person, "--json").json["mailed"] is False
    assert command_line.look("select count(*) from mails where recipient = $1", person) == 0


def test_a_reset_link_sets_a_new_password(command_line: CommandLine, url: str, slug: str) -> None:
    person = email()
    said = command_line.type("staff", "invite", person, "--studio", slug, "--role", "owner")
    accept(url, said.out.splitlines()[1])
    said = command_line.type("staff", "reset", person)
    assert (said.status, said.err) == (0, "")
    assert "It works once, until 20" in said.out
    token = token_of(said.out.splitlines()[0])
    assert visiting(url, lambda visit: passwords.reset_password(visit, token, "another long password")) is None
    started = visiting(url, lambda visit: sign_in.sign_in(visit, Credentials(person, "another long password")))
    assert isinstance(started, Started)
    unknown = command_line.type("staff", "reset", "nobody@example.com")
    assert (unknown.status, "There is no account" in unknown.err) == (1, True)


def test_locations_and_instructors(command_line: CommandLine) -> None:
    _, (slug, location, instructor) = command_line.studio(slug_and_ids)
    person, given = email(), ["--location", location, "--location", location, "--instructor", instructor]
    said = command_line.type("staff", "invite", person, "--studio", slug, "--role", "instructor", *given)
    assert said.status == 0, said.err
    (row,) = command_line.type("staff", "list", "--studio", slug, "--json").json
    assert (row["location_ids"], row["instructor_id"]) == ([str(location)], str(instructor))
    said = command_line.type("staff", "role", person, "--studio", slug, "--role", "manager")
    assert said.out == f"{person} is manager of {slug} now.\n"
    (row,) = command_line.type("staff", "list", "--studio", slug, "--json").json
    assert (row["role"], row["location_ids"], row["instructor_id"]) == ("manager", None, None)


def test_disable_and_enable(command_line: CommandLine, url: str, slug: str) -> None:
    owner, person = email(), email()
    for each, role in ((owner, "owner"), (person, "manager")):
        accept(url, command_line.type("staff", "invite", each, "--studio", slug, "--role", role, "--json").json["url"])
    assert command_line.type("staff", "disable", person).out == f"{person} is disabled; 1 session ended.\n"
    refused = command_line.type("console", "link", person)
    assert (refused.status, refused.out) == (1, "")
    assert f"`studiogate staff enable {person}` changes that" in refused.err
    assert command_line.type("staff", "enable", person).out == f"{person} is enabled.\n"
    only_here = command_line.type("staff", "disable", person, "--studio", slug, "--json").json
    assert only_here == {"email": person, "studio": slug, "state": "disabled", "sessions_ended": 0}
    states = {row["email"]: row["state"] for row in command_line.type("staff", "list", "--studio", slug, "--json").json}
    assert states == {owner: "active", person: "disabled"}
    advice = f"{person} is disabled in {slug}: `studiogate staff enable {person} --studio {slug}` changes that."
    assert command_line.type("staff", "enable", person).out == f"{person} is enabled.\n{advice}\n"
    assert command_line.type("staff", "enable", person, "--json").json["warnings"] == [advice]
    assert command_line.type("console", "link", person).err == f"error: {advice}\n"
    assert command_line.type("staff", "disable", person).status == 0
    everywhere = f"{person} is disabled everywhere: `studiogate staff enable {person}` changes that."
    assert command_line.type("console", "link", person).err == f"error: {everywhere}\n"
    said = command_line.type("staff", "enable", person, "--studio", slug)
    assert (said.status, said.out) == (0, f"{person} is enabled in {slug}.\n{everywhere}\n")
    assert command_line.type("staff", "enable", person).out == f"{person} is enabled.\n"
    assert command_line.type("console", "link", person).status == 0
    for last in (["staff", "disable", owner], ["staff", "role", owner, "--studio", slug, "--role", "manager"]):
        said = command_line.type(*last)
        assert said.status == 1
        assert f"{owner} is the last owner of {slug}" in said.err


def test_sessions_are_listed_and_ended(command_line: CommandLine, url: str, slug: str) -> None:
    person = email()
    accept(url, command_line.type("staff", "invite", person, "--studio", slug, "--role", "owner", "--json").json["url"])
    (session,) = command_line.type("staff", "sessions", person, "--json").json
    assert (session["address"], session["user_agent"], session["studio"]) == ("192.0.2.1", "Firefox", slug)
    assert "Firefox" in command_line.type("staff", "sessions", person).out
    assert command_line.type("staff", "sessions", person, "--end").out == "1 session ended.\n"
    assert command_line.type("staff", "sessions", person).out == "No sessions.\n"


def test_a_sign_in_link_works_once(command_line: CommandLine, url: str, slug: str) -> None:
    person = email()
    command_line.type("staff", "invite", person, "--studio", slug, "--role", "owner")
    said = command_line.type("console", "link", person)
    assert said.status == 0, said.err
    token = token_of(said.out.splitlines()[0])
    visiting(url, lambda visit: sign_in.sign_in_by_link(visit, token))
    with pytest.raises(AssertionError, match="link_expired"):
        visiting(url, lambda visit: sign_in.sign_in_by_link(visit, token))


def test_the_second_factor_of_somebody_who_lost_their_phone(command_line: CommandLine, slug: str) -> None:
    person = email()
    command_line.type("staff", "invite", person, "--studio", slug, "--role", "owner")
    assert command_line.type("staff", "second-factor", person).out == f"{person} has no second factor.\n"
    assert command_line.type("staff", "second-factor", person, "--remove").status == 1
    command_line.look(
        "update staff_accounts set totp_secret = '\\x00', totp_confirmed_at = now() where email = $1 returning 1",
        person,
    )
    assert command_line.type("staff", "second-factor", person, "--json").json["second_factor"] is True
    removed = command_line.type("staff", "second-factor", person, "--remove")
    assert (removed.status, removed.out) == (0, f"{person} has no second factor.\n")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["staff", "disable", "no@example.com"], "There is no account 'no@example.com'"),
        (["staff", "enable", "x" * 300], "There is no account"),
        (["console", "link", "no@example.com"], "`studiogate staff list` shows them"),
        (
            ["staff", "invite", "a@example.com", "--studio", "nowhere", "--role", "owner"],
            "no studio 'nowhere'",
        ),
        (["staff", "invite", "nobody", "--studio", "SLUG", "--role", "owner"], "email: Value is not a valid email"),
        (["staff", "invite", "a@example.com", "--studio", "SLUG", "--role", "instructor"], "needs the instructor"),
    ],
)
def test_an_error_says_what_is_wrong(command_line: CommandLine, slug: str, words: list[str], says: str) -> None:
    said = command_line.type(*(slug if word == "SLUG" else word for word in words))
    assert (said.status, said.out) == (1, "")
    assert says in said.err


def test_an_account_without_a_role_here(command_line: CommandLine, slug: str) -> None:
    person, other = email(), str(command_line.studio(slug_and_ids)[1][0])
    command_line.type("staff", "invite", person, "--studio", slug, "--role", "owner")
    said = command_line.type("staff", "role", person, "--studio", other, "--role", "owner")
    assert said.status == 1
    assert "has no role in this studio: `studiogate staff invite` gives one" in said.err


@pytest.mark.parametrize(
    "words",
    [
        ["staff", "invite", "a@example.com", "--studio", "x", "--role", "king"],
        ["staff", "invite", "a@example.com", "--role", "owner"],
        ["staff", "invite", "a@example.com", "--studio", "x", "--role", "owner", "--location", "here"],
    ],
)
def test_wrong_usage(command_line: CommandLine, words: list[str]) -> None:
    assert command_line.type(*words).status == 2


def test_a_person_with_an_account_gets_no_link(command_line: CommandLine, url: str, slug: str) -> None:
    person, other = email(), str(command_line.studio(slug_and_ids)[1][0])
    accept(url, command_line.type("staff", "invite", person, "--studio", slug, "--role", "owner", "--json").json["url"])
    said = command_line.type("staff", "invite", person, "--studio", other, "--role", "manager")
    assert "They have an account already, and find the studio in it." in said.out
    again = command_line.type("staff", "invite", person, "--studio", other, "--role", "manager")
    assert again.status == 1
    assert "belongs to the studio already" in again.err
