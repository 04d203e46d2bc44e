"""Bookings and classes in a studio file: seats are counted, waitlists updated, no seat or spot is given twice."""

from typing import Any

import asyncpg
import pytest

from studiogate.domain.bookings.states import IMPORT_TRANSITIONS, BookingStatus
from tests.support.studio_files import (
    Document,
    booking,
    changed,
    exported,
    load,
    load_well,
    places,
    small_studio,
    uid,
    updated,
)

pytestmark = pytest.mark.anyio

Connection = asyncpg.Connection
STUDIO = {"studio": small_studio()["studio"]}


async def counts(connection: Connection, number: int = 0) -> tuple[int, int]:
    query = "select booked_count, waitlist_count from classes where id = $1"
    row = await connection.fetchrow(query, uid("north", "class", number))
    assert row is not None
    return row["booked_count"], row["waitlist_count"]


async def waiting(connection: Connection) -> list[tuple[int, str]]:
    query = "select position, member_id from waitlist_entries where status = 'waiting' order by position"
    members = {uid("north", "member", number): f"M{number}" for number in range(9)}
    return [(row["position"], members[str(row["member_id"])]) for row in await connection.fetch(query)]


def bookings(*rows: Document) -> Document:
    return {**STUDIO, "bookings": list(rows)}


async def test_seats_are_counted_and_waitlists_kept_in_the_order_of_joining(connection: Connection) -> None:
    await load_well(connection, small_studio())
    assert await counts(connection, 0) == (2, 2)
    assert await counts(connection, 1) == (1, 0)
    assert await waiting(connection) == [(1, "M2"), (2, "M3")]
    row = await connection.fetchrow("select * from bookings where id = $1", uid("north", "booking", 0))
    assert row is not None
    assert (row["booking_source"], row["policy"], row["credits_taken"]) == ("import", None, 0)
    assert str(row["location_id"]) == uid("north", "location", 0)
    assert await connection.fetchval("select credits_remaining from memberships") == 10


async def test_new_members_wait_behind_the_waiting_members(connection: Connection) -> None:
    await load_well(connection, changed(small_studio(), "bookings.3", ...))
    earlier = booking("north", 2, 0, 2, status="waitlisted", created_at="2030-01-01T00:00:00Z")
    await load_well(connection, bookings(earlier))
    assert await waiting(connection) == [(1, "M3"), (2, "M2")]
    await load_well(connection, bookings(earlier))
    assert await waiting(connection) == [(1, "M3"), (2, "M2")]


@pytest.mark.parametrize("status", ["confirmed", "checked_in", "no_show", "cancelled"])
async def test_a_waiting_booking_gets_its_seat_or_leaves(connection: Connection, status: str) -> None:
    document = changed(small_studio(), "classes.0.capacity", 3)
    await load_well(connection, document)
    outcome = await load_well(connection, bookings(booking("north", 2, 0, 2, status=status)))
    assert updated(outcome) == {"bookings": 1}
    assert await waiting(connection) == [(1, "M3")]
    assert await counts(connection) == (2 if status == "cancelled" else 3, 1)
    entry = await connection.fetchrow("select status, promoted_at from waitlist_entries where position is null")
    assert entry is not None
    assert entry["status"] == ("cancelled" if status == "cancelled" else "converted")
    promoted = await connection.fetchval("select promoted_at from bookings where id = $1", uid("north", "booking", 2))
    assert (promoted is None) == (status == "cancelled")
    announced = "select subject from events where type = 'waitlist.updated'"
    entries = await connection.fetch("select id from waitlist_entries")
    assert sorted(row[0] for row in await connection.fetch(announced)) == sorted(row[0] for row in entries), "each once"
    before = await exported(connection)
    await load_well(connection, bookings(booking("north", 2, 0, 2, status=status)))
    assert await exported(connection) == before


async def test_a_seat_given_up_and_taken_in_one_file(connection: Connection) -> None:
    await load_well(connection, small_studio())
    spot = uid("north", "spot", 0)
    again = booking("north", 8, 0, 0, class_spot_id=spot)
    outcome = await load_well(connection, bookings(again, booking("north", 0, 0, 0, status="cancelled")))
    assert updated(outcome) == {"bookings": 1}
    assert await counts(connection) == (2, 2)


async def test_members_exchange_their_spots(connection: Connection) -> None:
    document = changed(small_studio(), "bookings.1.class_spot_id", uid("north", "spot", 1))
    await load_well(connection, document)
    document = changed(document, "bookings.0.class_spot_id", uid("north", "spot", 1))
    await load_well(connection, changed(document, "bookings.1.class_spot_id", uid("north", "spot", 0)))


async def test_capacity_and_bookings_shrink_together(connection: Connection) -> None:
    await load_well(connection, small_studio())
    document = changed(small_studio(), "classes.0.capacity", 1)
    await load_well(connection, changed(document, "bookings.1.status", "cancelled"))
    assert await counts(connection) == (1, 2)


async def test_a_class_that_moves_takes_its_bookings_along(connection: Connection) -> None:
    await load_well(connection, small_studio())
    document = changed(small_studio(), "classes.0.location_id", uid("north", "location", 1))
    await load_well(connection, changed(document, "classes.0.end_time", "2031-05-01T11:00:00Z"))
    places_of = "select distinct location_id::text from {} where class_id = $1"
    for table in ("bookings", "waitlist_entries"):
        found = await connection.fetch(places_of.format(table), uid("north", "class", 0))
        assert [row[0] for row in found] == [uid("north", "location", 1)]


FAULTS: list[tuple[Document, list[str]]] = [
    (changed(small_studio(), "classes.0.capacity", 1), ["classes[0].capacity"]),
    (bookings(booking("north", 9, 0, 1)), ["bookings[0].class_id", "bookings[0].member_id"]),
    (bookings(booking("north", 9, 0, 3, status="waitlisted")), ["bookings[0].member_id"]),
    (
        bookings(booking("north", 9, 1, 1), booking("north", 10, 1, 1)),
        ["bookings[1].member_id", "bookings[0].class_id"],
    ),
    (bookings(booking("north", 9, 1, 1, class_spot_id=uid("x"))), ["bookings[0].class_spot_id"]),
    (bookings(booking("north", 1, 0, 1, class_spot_id=uid("north", "spot", 0))), ["bookings[0].class_spot_id"]),
    (bookings(booking("north", 9, 1, 1, membership_id=uid("north", "membership"))), ["bookings[0].membership_id"]),
    (bookings(booking("north", 9, 1, 1, membership_id=uid("x"))), ["bookings[0].membership_id"]),
    (bookings(booking("north", 9, 2, 1)), ["bookings[0].status"]),
    (bookings(booking("north", 5, 2, 0)), ["bookings[0].status"]),
    (bookings(booking("north", 4, 1, 0, status="waitlisted")), ["bookings[0].status"]),
    (bookings(booking("north", 4, 0, 0)), ["bookings[0].class_id"]),
    (bookings(booking("north", 4, 1, 1)), ["bookings[0].member_id"]),
    (changed(small_studio(), "classes.1.status", "cancelled"), ["classes[1].status"]),
    (changed(small_studio(), "classes.2.status", "scheduled"), ["classes[2].status"]),
    (changed(small_studio(), "classes.0.room_id", uid("north", "room", 2)), ["classes[0].room_id"]),
    (changed(small_studio(), "memberships.0.member_id", uid("north", "member", 1)), ["memberships[0].member_id"]),
]


@pytest.mark.parametrize(("document", "expected"), FAULTS)
async def test_faults(connection: Connection, document: Document, expected: list[str]) -> None:
    await load_well(connection, small_studio())
    before = await exported(connection)
    outcome = await load(connection, document)
    assert places(outcome)
    assert set(places(outcome)) & set(expected)
    assert await exported(connection) == before


async def test_a_fault_names_the_command_that_cancels(connection: Connection) -> None:
    await load_well(connection, small_studio())
    outcome = await load(connection, changed(small_studio(), "classes.1.status", "cancelled"))
    assert f"`studiogate class cancel {uid('north', 'class', 1)}`" in outcome.faults[0].message


async def test_overbooked_says_by_how_much(connection: Connection) -> None:
    outcome = await load(connection, changed(small_studio(), "classes.0.capacity", 1))
    assert [str(fault) for fault in outcome.faults] == [
        "classes[0].capacity: is overbooked: 2 seats are taken and it has 1"
    ]


async def test_a_spot_that_is_held_stays_in_its_room(connection: Connection) -> None:
    await load_well(connection, small_studio())
    spot = {"id": uid("north", "spot", 0), "label": "S0"}
    document: dict[str, Any] = changed(small_studio(), "rooms.1.spots", [spot])
    outcome = await load(connection, changed(document, "rooms.0.spots", []))
    assert "rooms[1].spots[0].id" in places(outcome)


@pytest.mark.parametrize("given", BookingStatus)
async def test_sql_and_the_rule_agree_on_every_change_of_status(connection: Connection, given: BookingStatus) -> None:
    document = changed(changed(small_studio(), "classes.1.capacity", 9), "bookings.4", ...)
    document["members"].append({"id": uid("north", "member", 4), "first_name": "M4", "last_name": "O"})
    rows = [booking("north", 10 + number, 1, number, status=each) for number, each in enumerate(BookingStatus)]
    await load_well(connection, {**document, "bookings": [*document["bookings"], *rows]})
    outcome = await load(connection, bookings(*({**row, "status": given} for row in rows)), dry_run=True)
    expected = [
        f"bookings[{number}].status"
        for number, stored in enumerate(BookingStatus)
        if given is not stored and given not in IMPORT_TRANSITIONS[stored]
    ]
    assert sorted(places(outcome)) == expected
    for fault in outcome.faults:
        assert ("which is final" if "[4]" in fault.place else "cannot go back to the waitlist") in fault.message


async def test_a_booking_that_took_a_credit_is_cancelled_elsewhere(connection: Connection) -> None:
    await load_well(connection, small_studio())
    await connection.execute("update bookings set credits_taken = 1 where id = $1", uid("north", "booking", 0))
    taken = small_studio()["bookings"][0]
    outcome = await load(connection, bookings({**taken, "status": "cancelled", "membership_id": None}))
    assert places(outcome) == ["bookings[0].status", "bookings[0].membership_id"]
    assert (await load(connection, bookings({**taken, "status": "checked_in"}))).faults == []
