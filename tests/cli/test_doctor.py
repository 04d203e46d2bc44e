"""studiogate doctor, the names of settings, and what `key` prints for scripts."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from studiogate import settings
from studiogate.cli.context import counted
from studiogate.cli.doctor import print_findings
from studiogate.flows.doctor import Finding
from tests.cli import test_staff
from tests.cli.test_commands import run
from tests.cli.test_staff import CommandLine

command_line, url = test_staff.command_line, test_staff.url
UNSEEN = "insert into schema_migrations (version, checksum) values ('9999', 'x') returning version"


def test_the_doctor_prints_columns_and_a_summary(command_line: CommandLine) -> None:
    said = command_line.type("doctor")
    assert said.status == 0
    *lines, empty, summary = said.out.splitlines()
    levels = [line[:8].rstrip() for line in lines]
    assert set(levels) <= {"ok", "warning"}
    subjects = [re.split(r"  +", line[8:], maxsplit=1) for line in lines]
    width = max(len(subject) for subject, _ in subjects)
    assert [line[8 : 8 + width + 2] for line in lines] == [f"{subject:{width}}  " for subject, _ in subjects]
    assert empty == ""
    warnings = levels.count("warning")
    counts = f"0 faults, {counted(warnings, 'warning')}." if warnings else "all is well."
    assert summary == f"{len(lines)} checks: {counts}"


def test_a_fault_is_exit_status_1(command_line: CommandLine) -> None:
    command_line.look(UNSEEN)
    said = command_line.type("doctor")
    command_line.look("delete from schema_migrations where version = '9999' returning version")
    assert said.status == 1
    assert re.search(r"^fault +migrations +The database has migration 9999", said.out, re.MULTILINE)
    assert ": 1 fault, " in said.out.splitlines()[-1]


def test_a_check_with_several_faults_is_one_check(capsys: pytest.CaptureFixture[str]) -> None:
    faults = [Finding("fault", "owners", f"booking {number}") for number in range(3)]
    print_findings([Finding("ok", "clock", "right"), *faults])
    assert capsys.readouterr().out.splitlines()[-1] == "2 checks: 3 faults, 0 warnings."


def test_every_check_has_a_name_of_its_own(command_line: CommandLine) -> None:
    """They are counted by it."""
    subjects = [finding["subject"] for finding in command_line.type("doctor", "--json").json]
    assert len(set(subjects)) == len(subjects)


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [(1, "booking", "1 booking"), (0, "booking", "0 bookings"), (2, "entry", "2 entries"), (1200, "row", "1,200 rows")],
)
def test_one_is_not_many(number: int, noun: str, text: str) -> None:
    assert counted(number, noun) == text


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("DATABSE_URL", "DATABASE_URL"), ("WEBHOOK_ALLOW_CIDR", "WEBHOOK_ALLOW_CIDRS"), ("LOGFORMAT", "LOG_FORMAT")],
)
def test_an_unknown_setting_stops_the_start_and_names_the_nearest(name: str, nearest: str) -> None:
    refused = run("up", **{name: ""})
    assert refused.returncode == 1
    assert refused.stderr == (
        f"error: STUDIOGATE_{name} is not a setting; the nearest one is STUDIOGATE_{nearest}. Correct or unset it.\n"
    )


def test_every_setting_is_known_by_its_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in settings.Settings.model_fields:
        monkeypatch.setenv(f"STUDIOGATE_{name.upper()}", "")
    settings.load()


def test_a_rotation_says_when_the_old_key_ends(command_line: CommandLine) -> None:
    command_line.studio(lambda studio: studio.new_member())
    slug = command_line.look("select slug from studios")
    made = command_line.type(
        "key", "create", "--studio", slug, "--name", "n", "--all-scopes", "--expires", "90d", "--json"
    )
    assert set(made.json) == {"id", "key", "name", "scopes", "location_ids"}
    rotated = command_line.type("key", "rotate", made.json["id"], "--overlap", "30m", "--json").json
    assert set(rotated) == {"id", "key", "old_key_expires_at"}
    ends = datetime.fromisoformat(rotated["old_key_expires_at"])
    kept = "select max(expires_at) from credential_secrets where credential_id = $1"
    assert ends == command_line.look(kept, made.json["id"])
    assert timedelta(0) < ends - datetime.now(UTC) <= timedelta(minutes=30)
    listed = {each["id"]: each for each in command_line.type("key", "list", "--json").json}[made.json["id"]]
    assert timedelta(days=89) < datetime.fromisoformat(listed["expires_at"]) - datetime.now(UTC) <= timedelta(days=90)


def test_an_old_key_never_outlives_its_credential(command_line: CommandLine) -> None:
    command_line.studio(lambda studio: studio.new_member())
    slug = command_line.look("select slug from studios")
    options = ("--studio", slug, "--name", "n", "--all-scopes", "--expires", "30m", "--json")
    made = command_line.type("key", "create", *options).json
    rotated = command_line.type("key", "rotate", made["id"], "--overlap", "7d", "--json").json
    expires = command_line.look("select expires_at from credentials where id = $1", made["id"])
    assert datetime.fromisoformat(rotated["old_key_expires_at"]) == expires
