"""Each preset with files as the other systems write them, and each kind of the generic one."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from studiogate.domain.refusals import Refusal
from tests.support import csv_imports
from tests.support.csv_imports import STUDIO, attempt, imported, mapping_of, sample
from tests.support.studio_files import uid

pytestmark = pytest.mark.anyio
small_template, small = csv_imports.small_template, csv_imports.small

Connection = asyncpg.Connection


async def stored(connection: Connection, table: str, row_id: str) -> dict[str, Any]:
    row = await connection.fetchrow(f"select * from {table} where studio_id = $1 and id = $2", STUDIO, UUID(row_id))
    assert row is not None
    return dict(row)


async def assert_repeatable(connection: Connection, *arguments: Any) -> None:
    again = await imported(connection, *arguments)
    assert {*again.verdicts} <= {"unchanged", "skipped"}


async def test_mindbody_clients(small: Connection) -> None:
    mapping, data = mapping_of("members", "mindbody", "M/D/YYYY"), sample("mindbody_clients")
    done = await imported(small, mapping, data)
    assert done.verdicts == ["created", "created", "created", "skipped", "skipped"]
    assert done.reasons == [": IsProspect is 'True'", ": Deleted is 'True'"]
    ada, joerg, linh = [await stored(small, "members", row["id"]) for row in done.rows[:3]]
    assert (ada["email"], ada["phone"]) == ("ada.okafor@example.com", "+17185550101")
    assert ada["created_at"] == datetime(2021, 3, 14, 13, 5, tzinfo=UTC)
    assert (joerg["first_name"], joerg["phone"]) == ("Jörg", "+17185550102")
    assert (linh["email"], linh["phone"], linh["suspended"]) == (None, "+442079460018", True)
    await assert_repeatable(small, mapping, data)


async def test_mindbody_dates_are_not_guessed(small: Connection) -> None:
    done = await imported(small, mapping_of("members", "mindbody"), sample("mindbody_clients"))
    assert done.verdicts == ["fault", "fault", "fault", "skipped", "skipped"]
    assert done.rows[0]["column"] == "ProfileCreationDate"
    assert "state its format in the mapping" in done.rows[0]["reason"]


async def test_mindbody_contracts(small: Connection) -> None:
    await imported(small, mapping_of("members", "mindbody", "M/D/YYYY"), sample("mindbody_clients"))
    mapping, data = mapping_of("memberships", "mindbody", "M/D/YYYY"), sample("mindbody_contracts")
    done = await imported(small, mapping, data)
    assert done.verdicts == ["created", "skipped", "created", "skipped"]
    first = await stored(small, "memberships", done.rows[0]["id"])
    assert (first["status"], first["auto_renew"], str(first["product_id"])) == ("active", True, uid("north", "product"))
    assert first["started_at"] == datetime(2026, 1, 1, 5, tzinfo=UTC)
    assert first["current_period_end"] == datetime(2027, 1, 1, 5, tzinfo=UTC)
    assert first["credits_remaining"] == 10
    await assert_repeatable(small, mapping, data)


CANCELLATION = ("status", "cancelled_at", "ended_at", "cancel_at", "auto_renew")


def contract(termination: str) -> str:
    header = (
        "MBSystemID,ClientContractID,ContractName,Contract Start Date,Contract End Date,Autorenewing,TerminationDate"
    )
    return f"{header}\n100000123,1,Ten,1/1/2026,12/31/2046,True,{termination}\n"


@pytest.mark.parametrize(
    ("termination", "expected"),
    [
        (
            "3/1/2026",
            ("cancelled", datetime(2026, 3, 1, 5, tzinfo=UTC), datetime(2026, 3, 1, 5, tzinfo=UTC), None, True),
        ),
        ("3/1/2046", ("active", None, None, datetime(2046, 3, 1, 5, tzinfo=UTC), True)),
        ("", ("active", None, None, None, True)),
    ],
)
@pytest.mark.parametrize("known", [False, True], ids=["new", "imported before without the date"])
async def test_mindbody_contracts_end_at_their_termination_date(
    small: Connection, termination: str, expected: tuple[object, ...], known: bool
) -> None:
    await imported(small, mapping_of("members", "mindbody", "M/D/YYYY"), sample("mindbody_clients"))
    mapping = mapping_of("memberships", "mindbody", "M/D/YYYY")
    if known:
        await imported(small, mapping, contract(""))
    (row,) = (await imported(small, mapping, contract(termination))).rows
    membership = await stored(small, "memberships", row["id"])
    assert tuple(membership[name] for name in CANCELLATION) == expected
    await assert_repeatable(small, mapping, contract(termination))


async def test_a_status_decides_before_the_date_of_a_cancellation(small: Connection) -> None:
    await imported(small, mapping_of("members"), "external_id,first_name,last_name,email\n7,Ada,Okafor,a@example.com\n")
    rows = "external_id,member,product,status,cancelled_at,cancel_at_period_end\n1,7,Ten,active,2026-03-01,yes\n"
    (row,) = (await imported(small, mapping_of("memberships"), rows)).rows
    membership = await stored(small, "memberships", row["id"])
    assert (membership["status"], membership["ended_at"]) == ("active", None)
    assert membership["cancelled_at"] == datetime(2026, 3, 1, 5, tzinfo=UTC)


async def test_mindbody_prospects_are_leads(small: Connection) -> None:
    mapping, data = mapping_of("leads", "mindbody", "M/D/YYYY"), sample("mindbody_clients")
    done = await imported(small, mapping, data)
    assert done.verdicts == ["skipped", "skipped", "skipped", "created", "skipped"]
    lead = await stored(small, "leads", done.rows[3]["id"])
    assert (lead["email"], lead["source"], lead["phone"]) == ("pia@example.com", "Instagram", "+17185550104")
    await assert_repeatable(small, mapping, data)


async def test_memberships_before_their_members(small: Connection) -> None:
    mapping = mapping_of("memberships", "mindbody", "M/D/YYYY")
    done = await imported(small, mapping, sample("mindbody_contracts"))
    assert done.verdicts == ["fault", "skipped", "fault", "skipped"]
    assert done.reasons[0] == (
        "MBSystemID: is no member of the studio: import the members first, with the same mapping"
    )


async def test_glofox_members(small: Connection) -> None:
    mapping, data = mapping_of("members", "glofox", "DD/MM/YYYY"), sample("glofox_members")
    done = await imported(small, mapping, data)
    assert done.verdicts == ["created"] * 3
    zoe = await stored(small, "members", done.rows[0]["id"])
    assert (zoe["first_name"], zoe["phone"], zoe["membership_type"]) == ("Zoë", "+35314960000", "Ten")
    # The end of the second of October in New York.
    assert zoe["membership_end_date"] == datetime(2026, 10, 3, 4, tzinfo=UTC)
    assert zoe["created_at"] == datetime(2024, 5, 2, 10, 15, tzinfo=UTC)
    await assert_repeatable(small, mapping, data)
    memberships = mapping_of("memberships", "glofox", "DD/MM/YYYY")
    done = await imported(small, memberships, data)
    assert done.verdicts == ["created", "created", "skipped"]
    await assert_repeatable(small, memberships, data)


async def test_glofox_clients_of_the_other_form(small: Connection) -> None:
    mapping, data = mapping_of("members", "glofox"), sample("glofox_clients")
    done = await imported(small, mapping, data)
    mary, bo = [await stored(small, "members", row["id"]) for row in done.rows[:2]]
    assert (mary["first_name"], mary["last_name"]) == ("Mary Ann", "Smith")
    assert (bo["first_name"], bo["last_name"]) == ("Bo", "")
    done = await imported(small, mapping_of("memberships", "glofox"), data)
    statuses = [(await stored(small, "memberships", row["id"]))["status"] for row in done.rows]
    assert statuses == ["active", "paused", "expired"]


async def test_generic_schedule(small: Connection) -> None:
    mapping, data = mapping_of("schedule"), sample("generic_schedule")
    done = await imported(small, mapping, data)
    assert done.verdicts == ["created", "created"]
    first, second = [await stored(small, "classes", row["id"]) for row in done.rows]
    assert first["start_time"] == datetime(2031, 6, 2, 11, tzinfo=UTC)
    assert second["end_time"] == datetime(2031, 6, 2, 23, 45, tzinfo=UTC)
    assert [str(first[name]) for name in ("location_id", "room_id", "class_type_id", "instructor_id")] == [
        uid("north", "location", 0),
        *(uid("north", name) for name in ("room", "class_type", "instructor")),
    ]
    assert (first["allow_waitlist"], second["allow_waitlist"]) == (True, False)
    await assert_repeatable(small, mapping, data)


async def test_a_schedule_in_the_time_zone_of_its_location(small: Connection) -> None:
    await small.execute("update locations set timezone = 'Europe/Berlin' where id = $1", uid("north", "location", 1))
    rows = "title,location,date,start_time,duration,capacity\nA,L1,2031-06-02,9:00,60,5\nA,L0,2031-06-02,9:00,60,5\n"
    done = await imported(small, mapping_of("schedule"), rows)
    hours = [(await stored(small, "classes", row["id"]))["start_time"].hour for row in done.rows]
    assert hours == [7, 13]
    # Rows without an id are the same again by what they are.
    await assert_repeatable(small, mapping_of("schedule"), rows)


@pytest.mark.parametrize(
    ("cells", "column", "message"),
    [
        ("A,Nowhere,,2031-06-02,9:00,60,5", "location", "there is no location 'Nowhere': `studiogate location list"),
        ("A,L1,Room,2031-06-02,9:00,60,5", "room", "there is no room 'Room'"),
        ("A,L0,Room,02/06/2031,9:00,60,5", "start_time", "is no date of the formats YYYY-MM-DD"),
        ("A,L0,Room,2031-06-02,9,60,5", "start_time", "is no time of day"),
        ("A,L0,Room,2031-06-02,9:00,,5", "end_time", "is required for a new class"),
        ("A,L0,Room,2031-06-02,9:00,60,five", "capacity", "is no whole number"),
        (",L0,Room,2031-06-02,9:00,60,5", "title", "is required for a new class"),
    ],
)
async def test_faults_of_a_schedule(small: Connection, cells: str, column: str, message: str) -> None:
    rows = f"title,location,room,date,start_time,duration,capacity\n{cells}\n"
    (row,) = (await imported(small, mapping_of("schedule"), rows)).rows
    assert (row["verdict"], row["column"]) == ("fault", column)
    assert message in row["reason"]


async def test_generic_products_with_prices(small: Connection) -> None:
    mapping, data = mapping_of("products"), sample("generic_products")
    done = await imported(small, mapping, data)
    assert done.verdicts == ["created", "created"]
    prices = await small.fetch("select * from prices where product_id = any($1)", [row["id"] for row in done.rows])
    assert {(str(row["amount"]), row["price_type"], row["interval"], row["currency"]) for row in prices} == {
        ("99.00", "recurring", "month", "USD"),
        ("1250.50", "one_time", None, "USD"),
    }
    await assert_repeatable(small, mapping, data)
    changed = await imported(small, mapping, data.replace(b",99,", b",89,"))
    assert changed.verdicts == ["updated", "unchanged"]


async def test_generic_memberships(small: Connection) -> None:
    mapping, data = mapping_of("memberships"), sample("generic_memberships")
    done = await imported(small, mapping, data)
    assert done.verdicts == ["created", "created"]
    first, second = [await stored(small, "memberships", row["id"]) for row in done.rows]
    assert (str(first["member_id"]), first["credits_remaining"]) == (uid("north", "member", 1), 7)
    assert (str(second["member_id"]), second["status"]) == (uid("north", "member", 2), "paused")
    await assert_repeatable(small, mapping, data)


async def test_generic_leads(small: Connection) -> None:
    mapping, data = mapping_of("leads"), sample("generic_leads")
    done = await imported(small, mapping, data)
    assert done.verdicts == ["created", "created"]
    lea, hof = [await stored(small, "leads", row["id"]) for row in done.rows]
    assert (lea["first_name"], lea["last_name"], lea["phone"]) == ("Lea", "Lead", "+17185550120")
    assert (hof["first_name"], hof["last_name"], hof["status"]) == ("Max von", "Hof", "contacted")
    await assert_repeatable(small, mapping, data)


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
async def test_every_encoding_and_delimiter(small: Connection, codec: str, delimiter: str) -> None:
    text = delimiter.join(["external_id", "first_name", "last_name"]) + "\r\n" + delimiter.join(["1", "Zoë", "Müller"])
    outcome, _ = await attempt(small, mapping_of("members"), text.encode(codec), apply=True)
    assert not isinstance(outcome, Refusal)
    assert outcome.counts["created"] == 1
    assert await small.fetchval("select last_name from members where first_name = 'Zoë'") == "Müller"
