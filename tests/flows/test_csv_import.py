"""Importing CSV files on a real database: matching, verdicts, one transaction, and files that are out to harm."""

import asyncio
import csv
import io
import json
import tempfile
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import asyncpg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studiogate.domain.access import staff_access
from studiogate.domain.csv_import import records
from studiogate.domain.csv_import.kinds import KINDS
from studiogate.domain.csv_import.matching import RowVerdict
from studiogate.domain.csv_import.records import DELIMITERS
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import PERMISSIONS, Channel, Role, Staff
from studiogate.domain.studio_file import parser
from studiogate.flows import csv_import
from studiogate.flows.members import create
from studiogate.flows.studio_file import follow, steps
from studiogate.flows.studio_file import rows as staged_rows
from studiogate.storage import audit
from studiogate.storage import csv_import as storage
from studiogate.storage.studio_file.diff import RowChange
from tests.support import csv_imports
from tests.support.csv_imports import ACCESS, STUDIO, attempt, imported, mapping_of
from tests.support.databases import run
from tests.support.studio_files import exported, uid

pytestmark = pytest.mark.anyio

Connection = asyncpg.Connection
MEMBERS = mapping_of("members")
HEADER = "external_id,first_name,last_name,email,phone"


small_template, small = csv_imports.small_template, csv_imports.small


async def members(connection: Connection) -> dict[str, dict[str, Any]]:
    rows = await connection.fetch("select * from members where studio_id = $1", STUDIO)
    return {row["first_name"]: dict(row) for row in rows}


def lines(*rows: str, header: str = HEADER) -> str:
    return "\n".join([header, *rows])


async def entries(connection: Connection) -> list[dict[str, Any]]:
    rows = await audit.list_entries(connection, ACCESS, None, None, 100)
    return [dict(row) for row in rows if row["action"] == "studio.import_csv"]


ADA = "7,Ada,Okafor,ada@example.com,(718) 555-0101"
BEA = "8,Bea,Stone,,"


async def test_rows_are_created_then_unchanged_then_updated(small: Connection) -> None:
    first = await imported(small, MEMBERS, lines(ADA, BEA))
    assert first.verdicts == ["created", "created"]
    stored = await members(small)
    assert (stored["Ada"]["email"], stored["Ada"]["phone"]) == ("ada@example.com", "+17185550101")
    assert [row["id"] for row in first.rows] == [str(stored["Ada"]["id"]), str(stored["Bea"]["id"])]

    again = await imported(small, MEMBERS, lines(ADA, BEA))
    assert again.verdicts == ["unchanged", "unchanged"]

    later = await imported(small, MEMBERS, lines(ADA.replace("Ada", "Adaeze"), BEA))
    assert later.verdicts == ["updated", "unchanged"]
    assert later.rows[0]["id"] == first.rows[0]["id"]
    assert (await members(small))["Adaeze"]["email"] == "ada@example.com"


async def test_an_empty_cell_keeps_and_a_mapping_may_let_it_clear(small: Connection) -> None:
    await imported(small, MEMBERS, lines(ADA))
    kept = await imported(small, MEMBERS, lines("7,Ada,Okafor,,"))
    assert kept.verdicts == ["unchanged"]
    cleared = await imported(small, replace(MEMBERS, clear=frozenset({"phone"})), lines("7,Ada,Okafor,,"))
    assert cleared.verdicts == ["updated"]
    stored = (await members(small))["Ada"]
    assert (stored["email"], stored["phone"]) == ("ada@example.com", None)


async def test_fields_without_a_column_stay(small: Connection) -> None:
    await imported(small, MEMBERS, lines(ADA))
    await small.execute("update members set suspended = true, role = 'user' where first_name = 'Ada'")
    changed = await imported(small, MEMBERS, lines(ADA.replace("Okafor", "Obi")))
    assert changed.verdicts == ["updated"]
    stored = (await members(small))["Ada"]
    assert (stored["last_name"], stored["suspended"], stored["role"]) == ("Obi", True, "user")


async def test_defaults_are_for_new_rows_only(small: Connection) -> None:
    mapping = replace(MEMBERS, defaults={"role": "user"})
    await imported(small, mapping, lines(ADA))
    assert (await members(small))["Ada"]["role"] == "user"
    await small.execute("update members set role = 'member' where first_name = 'Ada'")
    assert (await imported(small, mapping, lines(ADA))).verdicts == ["unchanged"]


async def test_a_dry_run_says_the_same_and_changes_nothing(small: Connection) -> None:
    before = await exported(small)
    dry = await imported(small, MEMBERS, lines(ADA, BEA), apply=False)
    assert dry.verdicts == ["created", "created"]
    assert [row["id"] for row in dry.rows] == ["", ""], "the rows do not exist"
    assert not dry.outcome.applied
    assert await exported(small) == before
    assert await small.fetchval("select count(*) from external_ids") == 0
    assert await entries(small) == []


async def test_a_fault_keeps_the_whole_file_out(small: Connection) -> None:
    before = await exported(small)
    refused = await imported(small, MEMBERS, lines(ADA, "9,Cy,Young,no email,"))
    assert refused.verdicts == ["created", "fault"]
    assert [row["id"] for row in refused.rows] == ["", ""]
    assert refused.reasons == ["email: must be an email address"]
    assert not refused.outcome.applied
    assert await exported(small) == before


async def test_faulty_rows_can_be_left_out(small: Connection) -> None:
    done = await imported(small, MEMBERS, lines(ADA, "9,Cy,Young,no email,12"), skip_faults=True)
    assert (done.verdicts, done.outcome.applied) == (["created", "fault"], True)
    assert done.reasons == ["email: must be an email address; phone: must be a phone number, international or of US"]
    assert "Cy" not in await members(small)
    assert await small.fetchval("select count(*) from external_ids") == 1


async def test_one_audit_entry_per_run(small: Connection) -> None:
    await imported(small, MEMBERS, lines(ADA, BEA))
    (entry,) = await entries(small)
    assert json.loads(entry["changes"]) == {
        "kind": [None, "members"],
        "source": [None, "generic"],
        "created": [None, 2],
    }
    assert (entry["channel"], entry["actor_name"], entry["reason"]) == ("import", "tester", "rows.csv")


# Matching.


async def test_rows_without_an_id_are_matched_by_email(small: Connection) -> None:
    header = "first_name,last_name,email"
    done = await imported(small, MEMBERS, lines("M1,Renamed,M1@North.example.com", header=header))
    assert done.verdicts == ["updated"]
    assert done.rows[0]["id"] == uid("north", "member", 1)
    again = await imported(small, MEMBERS, lines("M1,Renamed,m1@north.example.com", header=header))
    assert again.verdicts == ["unchanged"]


async def test_a_first_external_id_adopts_the_member_with_its_email(small: Connection) -> None:
    done = await imported(small, MEMBERS, lines("X1,M1,Ö,m1@north.example.com,"))
    assert (done.verdicts, done.rows[0]["id"]) == (["unchanged"], uid("north", "member", 1))
    dry = await imported(small, MEMBERS, lines("X1,M1,Ö,m1@north.example.com,"), apply=False)
    assert (dry.verdicts, dry.rows[0]["id"]) == (["unchanged"], uid("north", "member", 1))
    moved = await imported(small, MEMBERS, lines("X1,M1,Ö,new@example.com,"))
    assert (moved.verdicts, moved.rows[0]["id"]) == (["updated"], uid("north", "member", 1))


async def test_another_studio_with_the_same_emails_is_left_alone(small: Connection) -> None:
    before = await exported(small, "south")
    await imported(small, MEMBERS, lines("X1,M1,Changed,m1@south.example.com,"))
    assert await exported(small, "south") == before


async def test_sources_and_kinds_have_ids_of_their_own(small: Connection) -> None:
    await imported(small, MEMBERS, lines(ADA))
    other = await imported(small, replace(MEMBERS, source="elsewhere"), lines("7,Zed,Zee,zed@example.com,"))
    assert other.verdicts == ["created"]
    leads = await imported(small, mapping_of("leads"), "external_id,email\n7,lead@example.com\n")
    assert leads.verdicts == ["created"]


async def test_a_member_that_was_removed_is_not_created_again(small: Connection) -> None:
    await imported(small, MEMBERS, lines(ADA))
    await small.execute("delete from members where first_name = 'Ada'")
    again = await imported(small, MEMBERS, lines(ADA))
    assert again.verdicts == ["skipped"]
    assert "Ada" not in await members(small)


MOTHER, DAUGHTER = "1,Ann,Lee,lee@example.com,", "2,Bo,Lee,LEE@example.com,"


async def test_a_family_that_shares_an_email_is_reported(small: Connection) -> None:
    done = await imported(small, MEMBERS, lines(MOTHER, DAUGHTER, ADA), skip_faults=True)
    assert done.verdicts == ["fault", "fault", "created"]
    assert done.reasons == [
        "email: is shared with 1 other row: a member needs an email alone",
        "email: is shared with line 2: a member needs an email alone",
    ]


async def test_a_family_may_leave_the_email_to_its_first_member(small: Connection) -> None:
    mapping = replace(MEMBERS, shared_email="first")
    done = await imported(small, mapping, lines(MOTHER, DAUGHTER))
    assert done.verdicts == ["created", "created"]
    assert done.reasons == ["email: is shared with line 2, and left out"]
    stored = await members(small)
    assert (stored["Ann"]["email"], stored["Bo"]["email"]) == ("lee@example.com", None)
    again = await imported(small, mapping, lines(MOTHER, DAUGHTER))
    assert again.verdicts == ["unchanged", "unchanged"]


async def test_a_stored_member_is_not_merged_with_a_relative(small: Connection) -> None:
    header = "first_name,last_name,email"
    done = await imported(small, MEMBERS, lines("Child,Ö,m1@north.example.com", header=header))
    assert done.verdicts == ["fault"]
    assert done.reasons == [
        f"email: is shared with the member {uid('north', 'member', 1)} of the studio: a member needs an email alone"
    ]


async def test_two_ids_with_one_email_are_two_people_in_a_later_file_too(small: Connection) -> None:
    await imported(small, MEMBERS, lines(MOTHER))
    done = await imported(small, MEMBERS, lines("2,Ann,Lee,lee@example.com,"))
    assert done.verdicts == ["fault"]


async def test_an_external_id_twice(small: Connection) -> None:
    rows = lines(ADA, "7,Ann,Lee,ann@example.com,")
    done = await imported(small, MEMBERS, rows, skip_faults=True)
    assert done.verdicts == ["created", "fault"]
    assert done.reasons == ["external_id: is also in line 2"]
    done = await imported(small, replace(MEMBERS, repeated="skip"), rows)
    assert done.verdicts == ["unchanged", "skipped"]


async def test_what_a_new_member_needs(small: Connection) -> None:
    done = await imported(small, MEMBERS, lines("1,,,a@example.com,", ",Ann,Lee,,", "3,Ann,,,", "4,,Lee,,"))
    assert done.verdicts == ["fault", "fault", "created", "created"]
    assert done.reasons == [
        "first_name: is required for a new member",
        "email: is required for a row without an external id: it could not be found again",
    ]


async def test_a_member_converts_the_lead_with_the_email(small: Connection) -> None:
    await imported(small, mapping_of("leads"), "external_id,email\n7,ada@example.com\n")
    await imported(small, MEMBERS, lines(ADA))
    assert await small.fetchval("select status from leads where email = 'ada@example.com'") == "converted"


# Whole files.


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "The file is empty"),
        (b"\n\n", "The file is empty"),
        (b"\0" * 100, "no column for"),
        (b"first_name,email,email\na,b,c\n", "names 'email' twice"),
        (b"phone\n1\n", "no column for first_name"),
        (b'"first_name\n', "never closed"),
        (b"\xff\xfe\x00", "not UTF-16"),
        (b"first_name,last_name,email\nZo\xc3\xab,x,y\nZo\xeb,x,y\n", "UTF-8 up to line 3"),
    ],
)
async def test_files_that_cannot_be_read(small: Connection, data: bytes, message: str) -> None:
    before = await exported(small)
    outcome, written = await attempt(small, MEMBERS, data, apply=True)
    assert isinstance(outcome, Refusal)
    assert outcome.code is Code.VALIDATION_ERROR
    assert message in outcome.faults[0].msg
    assert (written, await exported(small)) == ("", before)


async def test_broken_rows_are_faults_of_their_own(small: Connection) -> None:
    rows = [ADA, "1,2", BEA + ",more", '9,"open', "10,N\0L,x,,", ",,,,", '11,Cy,"Yo\nung",,', "12,=1+1,x,,", BEA]
    done = await imported(small, MEMBERS, lines(*rows), skip_faults=True)
    assert [row["line"] for row in done.rows] == ["2", "3", "4", "5", "6", "7", "8", "10", "11"]
    assert done.verdicts == ["created", "fault", "fault", "fault", "fault", "skipped", "fault", "created", "created"]
    assert done.reasons == [
        ": has 2 cells, but the header has 5",
        ": has 6 cells, but the header has 5",
        ": has a quotation mark that is never closed",
        ": contains a NUL character: save the file again as UTF-8",
        ": the row is empty",
        "last_name: must be a line without control characters, text direction marks and invisible characters",
    ]


SCHEDULE = "external_id,title,location,start_time,end_time,capacity"
START = "L0,2031-07-01 10:00,2031-07-01 11:00"


async def booked_class(connection: Connection) -> None:
    """Import two classes and book the seat of the first."""
    rows = f"{SCHEDULE}\n1,One,{START},1\n2,Two,{START},1\n"
    made = await imported(connection, mapping_of("schedule"), rows)
    await connection.execute(
        """insert into bookings (studio_id, id, class_id, member_id, status, booking_source, location_id, start_time,
                                 end_time)
           select studio_id, gen_random_uuid(), id, $2, 'confirmed', 'desk', location_id, start_time, end_time
           from classes where id = $1""",
        made.rows[0]["id"],
        uid("north", "member", 0),
    )
    await connection.execute("update classes set booked_count = 1 where id = $1", made.rows[0]["id"])


async def test_faults_that_only_the_database_finds_are_distinguished(small: Connection) -> None:
    """A class cannot become smaller than its bookings; the other row of the file is not affected."""
    await booked_class(small)
    noted: list[RowChange] = []
    rows = f"{SCHEDULE}\n1,One,{START},0\n2,Two,{START},5\n3,Three,{START},1\n"
    done = await imported(small, mapping_of("schedule"), rows, skip_faults=True, on_change=noted.append)
    assert done.verdicts == ["fault", "updated", "created"]
    assert done.rows[0]["column"] == "capacity"
    assert [(each.place, each.created) for each in noted] == [("Line 3", False), ("Line 4", True)]
    assert noted[0].fields == {"capacity": [1, 5]}
    assert noted[1].fields["location"] == [None, "L0"]


async def test_a_row_that_needs_a_faulty_one_is_faulty_too(small: Connection) -> None:
    """A product cannot take a key that a faulty row of the file would have given up."""
    mapping = mapping_of("products")
    header = "external_id,key,name,product_type,amount,price_type\n"
    await imported(small, mapping, header + "1,a,A,package,,\n2,b,B,package,,\n3,c,C,package,,\n")
    rows = "1,d,A,package,5,recurring\n2,a,B,package,,\n3,c,New,package,,\n"
    done = await imported(small, mapping, header + rows, skip_faults=True)
    assert done.verdicts == ["fault", "fault", "updated"]
    assert done.rows[1]["column"] == "key"


async def test_too_many_faults_of_the_database_end_the_attempt(
    small: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "ROUNDS", 1)
    await booked_class(small)
    done = await imported(small, mapping_of("schedule"), f"{SCHEDULE}\n1,One,{START},0\n2,Two,{START},5\n")
    assert done.verdicts == ["fault", "skipped"]
    assert "was not checked" in done.rows[1]["reason"]


async def test_permissions(small: Connection) -> None:
    for role in Role:
        staff = Staff("desk@example.com", PERMISSIONS[role], Channel.CONSOLE)
        outcome, _ = await attempt(small, MEMBERS, lines(ADA).encode(), staff_access(STUDIO, staff, None))
        assert isinstance(outcome, Refusal) == (role not in {Role.OWNER, Role.MANAGER})
        limited = staff_access(STUDIO, staff, (STUDIO,))
        outcome, _ = await attempt(small, MEMBERS, lines(ADA).encode(), limited, apply=True)
        assert isinstance(outcome, Refusal)
        assert outcome.code is Code.PERMISSION_DENIED
    assert "Ada" not in await members(small)


# Statements.


async def _statements(connection: Connection, data: str, **options: Any) -> list[str]:
    """Import a file; return the statements that this took."""
    seen: list[str] = []
    with connection.query_logger(lambda record: seen.append(record.query)):
        await attempt(connection, MEMBERS, data.encode(), **options)
        await asyncio.sleep(0)  # the driver calls its loggers after the answer
    return seen


async def test_the_number_of_statements_does_not_depend_on_the_number_of_rows(small: Connection) -> None:
    def file(rows: int, name: str) -> str:
        return lines(*(f"{number},{name},Row,{name}{number}@example.com," for number in range(rows)))

    await attempt(small, MEMBERS, file(3, "Ann").encode())  # the driver looks up types once
    for name in ("Ann", "Bob"):  # created, then updated
        few = await _statements(small, file(3, name))
        many = await _statements(small, file(300, name))
        assert len(few) == len(many)
        await attempt(small, MEMBERS, file(300, name).encode(), apply=True)


async def _peak(connection: Connection, rows: int) -> int:
    """Import a file from disk; return the most memory that this took, in bytes."""
    text = lines(*(f"{number},Ann,Row,ann{number}@example.com,(718) 555-0100" for number in range(rows)))
    with tempfile.TemporaryFile() as file:
        file.write(text.encode())
        source = csv_import.CsvFile(file, "rows.csv", MEMBERS, len)
        del text
        tracemalloc.start()
        held = tracemalloc.get_traced_memory()[0]
        await csv_import.import_csv(connection, ACCESS, source)
        peak = tracemalloc.get_traced_memory()[1] - held
        tracemalloc.stop()
    return peak


async def test_the_rows_of_a_file_are_not_kept_in_memory(small: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (storage, staged_rows, follow, create):
        monkeypatch.setattr(module, "BATCH", 50)
    monkeypatch.setattr(steps, "EMAILS", 50)
    for reader in (records, parser):
        monkeypatch.setattr(reader, "CHUNK", 4_096)
    await _peak(small, 150)  # what is loaded once
    few, many = await _peak(small, 150), await _peak(small, 1_200)
    assert (many - few) / (1_200 - 150) < 1_000


# Properties.

CELL = st.one_of(
    st.sampled_from(["", "1", "2", "Ann", "lee@example.com", "LEE@example.com", "7185550100", '"', "=1", "\n", "é\0"]),
    st.text(st.characters(codec="utf-8"), max_size=5),
)


@pytest.fixture(scope="module")
def shared(databases: Callable[[str], str], small_template: str) -> str:
    return databases(small_template)


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(st.lists(CELL, min_size=1, max_size=6), max_size=12),
    delimiter=st.sampled_from(DELIMITERS),
    options=st.fixed_dictionaries({"apply": st.booleans(), "skip_faults": st.booleans()}),
)
def test_every_row_has_exactly_one_verdict(
    shared: str, rows: list[list[str]], delimiter: str, options: dict[str, bool]
) -> None:
    written = io.StringIO()
    writer = csv.writer(written, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerows([HEADER.split(","), *rows])
    run(_assert_verdicts(shared, written.getvalue(), len(rows), options))


async def _assert_verdicts(url: str, text: str, expected: int, options: dict[str, bool]) -> None:
    connection = await asyncpg.connect(url, server_settings={"timezone": "UTC"})
    try:
        found = await imported(connection, MEMBERS, text, **options)
    finally:
        await connection.close()
    assert len(found.rows) == expected
    assert {*found.verdicts} <= {*RowVerdict}
    numbers = [int(row["line"]) for row in found.rows]
    assert numbers == sorted(set(numbers))


FIELDS = {kind: sorted(KINDS[kind].fields) for kind in KINDS}
VALUES = st.one_of(
    CELL,
    st.sampled_from(["0", "-1", "9" * 30, "1e9", "2031-05-01 10:00", "31/12/2030", "L0", "pack-10", "active", "USD"]),
    st.sampled_from(["cancelled", "one_time", "recurring", "month", "yes", "NaN", "24:00", "9999-12-31", "\ud800"]),
)


@st.composite
def spoiled_files(draw: st.DrawFn) -> tuple[str, bytes]:
    """Any bytes, or rows of any values under the columns of a kind, in any encoding."""
    kind = draw(st.sampled_from(sorted(KINDS)))
    if draw(st.integers(0, 3)) == 0:
        return kind, draw(st.binary(max_size=60))
    header = draw(st.permutations(FIELDS[kind])) + draw(st.lists(st.text(max_size=3), max_size=2))
    rows = draw(st.lists(st.lists(VALUES, min_size=len(header), max_size=len(header)), max_size=6))
    written = io.StringIO()
    csv.writer(written, quoting=csv.QUOTE_ALL).writerows([header, *rows])
    codec = draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"]))
    return kind, written.getvalue().encode(codec, "replace")


@settings(max_examples=50, deadline=None)
@given(file=spoiled_files())
def test_whatever_is_wrong_with_a_file_has_a_line(shared: str, file: tuple[str, bytes]) -> None:
    async def attempted() -> tuple[csv_import.CsvOutcome | Refusal, str]:
        connection = await asyncpg.connect(shared, server_settings={"timezone": "UTC"})
        try:
            return await attempt(connection, mapping_of(file[0]), file[1])
        finally:
            await connection.close()

    outcome, verdicts = run(attempted())
    if isinstance(outcome, Refusal):
        assert outcome.faults[0].msg
        return
    rows = list(csv.DictReader(io.StringIO(verdicts, newline="")))
    assert len(rows) == sum(outcome.counts.values())
    assert all(row["line"].isdecimal() and (row["reason"] or row["verdict"] != RowVerdict.FAULT) for row in rows)
