"""studiogate doctor, the names of settings, and what `key` prints for scripts."""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import pytest

from studiogate import clock, settings
from studiogate.cli.context import counted
from studiogate.cli.doctor import print_findings, show_progress
from studiogate.flows import doctor as doctor_flow
from studiogate.flows.doctor import Finding
from studiogate.flows.schedule import series
from studiogate.flows.schedule.rows import Given
from studiogate.storage.db.migrate import Migration, Progress
from studiogate.storage.upload_folder import UploadFolder
from tests.cli import test_staff
from tests.cli.test_commands import run
from tests.cli.test_staff import CommandLine, CommandOutput
from tests.support.booking_studio import BookingStudio
from tests.support.databases import run as run_async

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


# Checks that fail

DAMAGED = """
    create function damaged() returns boolean language plpgsql stable as $$
    begin raise exception 'invalid page in block 0' using errcode = 'data_corrupted'; end $$;
    alter table mail_cursors rename to mail_cursors_kept;
    create view mail_cursors as select * from mail_cursors_kept where damaged()"""
LOST = """
    create function lost() returns boolean language sql stable as 'select pg_terminate_backend(pg_backend_pid())';
    alter table merged_people rename to merged_people_kept;
    create view merged_people as select * from merged_people_kept where lost()"""
SERIES = {"title": "Yoga", "capacity": 5, "weekdays": ["mon"], "local_start": "18:00", "minutes": 60}


async def a_series_and_an_upload(studio: BookingStudio) -> None:
    given = {**SERIES, "location_id": str(studio.location), "first_date": str(datetime.now(UTC).date())}
    await studio.staff(series.create, Given(given))
    form = await studio.new_form()
    columns = {"filename": "f.txt", "content_type": "text/plain", "size": 1, "sha256": b"x" * 32}
    await studio.add("form_uploads", form_id=form, field_key="f", stored_name=f"{1:032x}", **columns)


@pytest.fixture
def damaged(
    new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> CommandLine:
    """A database of its own, with a series and an upload."""
    made = CommandLine(new_database(), monkeypatch, capsys)
    made.studio(a_series_and_an_upload)
    return made


def execute(command_line: CommandLine, statements: str) -> None:
    for statement in statements.split(";\n"):
        command_line.look(statement)


def texts(said: CommandOutput, subject: str) -> list[tuple[str, str]]:
    return [(each["level"], each["text"]) for each in said.json if each["subject"] == subject]


def test_a_check_that_fails_is_a_fault_and_the_others_are_made(damaged: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "secrets.key").write_text("MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\n")
    settings_of = ("--data", str(tmp_path), "--json")
    assert damaged.type("secrets", "rotate", *settings_of).status == 0
    (tmp_path / "secrets.key").write_text("")
    sound = damaged.type("doctor", *settings_of)
    damaged.look("update locations set timezone = 'Mars/Base' returning id")
    damaged.look("drop table webhook_deliveries cascade")
    execute(damaged, DAMAGED)
    said = damaged.type("doctor", *settings_of)
    assert (said.status, said.err) == (1, "")
    assert {each["subject"] for each in said.json} == {each["subject"] for each in sound.json}
    restore = "restore a backup (`studiogate restore FILE`) into another data folder or database."
    assert texts(said, "mail cursors") == [
        (
            "fault",
            "cannot be checked: invalid page in block 0. The database is damaged: check the server's disk, then "
            + restore,
        )
    ]
    missing = 'cannot be checked: relation "webhook_deliveries" does not exist. The schema was changed by hand: '
    assert texts(said, "queue") == [("fault", missing + restore)]
    zone = "Install its rules (package tzdata), or correct the column timezone of its location in the database."
    assert texts(said, "series") == [("fault", f"cannot be checked: No time zone found with key Mars/Base. {zone}")]
    assert [level for level, _ in texts(said, "classes of series")] == ["fault"]
    no_key = f"{tmp_path / 'secrets.key'} does not hold a key: restore it, or set STUDIOGATE_SECRET_KEY."
    assert texts(said, "secret key") == [("fault", no_key)]
    assert [level for level, _ in texts(said, "seats")] == ["ok"]


def test_a_key_file_that_cannot_be_read_is_a_fault(damaged: CommandLine, tmp_path: Path) -> None:
    assert damaged.type("secrets", "rotate", "--data", str(tmp_path)).status == 0
    (tmp_path / "secrets.key").unlink()
    (tmp_path / "secrets.key").mkdir()
    said = damaged.type("doctor", "--data", str(tmp_path), "--json")
    reason = f"{tmp_path / 'secrets.key'} cannot be read or written: Is a directory."
    assert texts(said, "secret key") == [("fault", reason)]


def test_a_folder_of_uploads_that_cannot_be_entered_is_a_fault(damaged: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "uploads").mkdir(mode=0o000)

    async def check() -> list[Finding]:
        connection = await asyncpg.connect(damaged.url)
        try:
            with as_somebody():
                files = doctor_flow.examine_files(connection, UploadFolder(tmp_path))
                return await doctor_flow.checked(connection, "uploads", files)
        finally:
            await connection.close()

    (finding,) = run_async(check())
    assert (finding.level, finding.subject) == ("fault", "uploads")


@contextmanager
def as_somebody() -> Iterator[None]:
    """Be no longer root, who may enter every folder."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def test_a_lost_database_keeps_what_was_found(damaged: CommandLine) -> None:
    execute(damaged, LOST)
    said = damaged.type("doctor", "--json")
    assert (said.status, said.err) == (1, "")
    ((level, text),) = texts(said, "merged people")
    assert level == "fault"
    assert text.endswith(" The connection is lost, the other checks were not made: see that the server runs.")
    assert [level for level, _ in texts(said, "seats")] == ["ok"]
    assert texts(said, "server log") == []


def test_the_progress_of_a_migration_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    migration = Migration("0131", "payments", "select 1;\n-- migrate:step\nselect 2;")
    progress = Progress(migration, 5, 119, 1)
    show_progress(progress)
    progress.step, progress.rows, progress.began, progress.problem = 2, 1200, clock.monotonic() - 7, "lock timeout"
    show_progress(progress)
    first, second = capsys.readouterr().err.splitlines()
    assert first == "migration 0131_payments (5 of 119), step 1 of 2"
    assert (
        second == "migration 0131_payments (5 of 119), step 2 of 2: 1,200 rows changed, 7 s, tried again (lock timeout)"
    )
