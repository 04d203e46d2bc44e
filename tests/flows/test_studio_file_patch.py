"""An import is a patch: what the file does not give stays, null clears, and nothing is rewound."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import asyncpg
import pytest

from studiogate.domain.audit import changed_fields
from studiogate.storage.studio_file.diff import RowChange
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
STUDIO = {"id": uid("north", "studio")}


@pytest.fixture
async def elsewhere(new_database: Callable[[], str]) -> AsyncIterator[Connection]:
    opened = await asyncpg.connect(new_database(), server_settings={"timezone": "UTC"})
    yield opened
    await opened.close()


def patch(**sections: list[Document]) -> Document:
    return {"studio": STUDIO, **sections}


async def document(connection: Connection) -> Document:
    found: Document = json.loads(await exported(connection))
    return found


def without_revisions(row: Any) -> Any:
    """Return the row without what every change moves."""
    if isinstance(row, dict):
        moved = {"revision", "state_version", "version", "versions"}
        return {name: without_revisions(value) for name, value in row.items() if name not in moved}
    return [without_revisions(each) for each in row] if isinstance(row, list) else row


# What every member of the file becomes where it is null, for rows of the small studio.
CLEARED: dict[str, dict[str, Any]] = {
    "locations": {"city": "", "state": "", "timezone": "America/New_York", "active": True, "policy": {}}
    | {"address": None, "latitude": None, "longitude": None, "phone": None},
    "rooms": {"active": True},
    "class_types": {"description": None, "beginner_safe": None, "recovery": None, "active": True, "policy": {}},
    "instructors": {"tagline": "", "tags": [], "active": True},
    "classes": {"description": None, "class_type_id": None, "instructor_id": None, "visible": True, "policy": {}},
    "products": {"credits_granted": None, "location_ids": [], "class_type_ids": [], "active": True},
    "members": {"email": None, "phone": None, "role": "member", "membership_type": None, "suspended": False},
    "memberships": {"credits_remaining": None, "credits_granted": None, "auto_renew": False, "pause_reason": None},
    "purchases": {"product_id": None, "location_id": None, "status": None, "refunded_amount": None},
    "leads": {"first_name": "", "last_name": "", "phone": None, "source": None, "metadata": {}},
    "forms": {"description": None, "fields": [], "status": "draft"},
    "bookings": {"class_spot_id": None, "membership_id": None, "booking_source": None},
}


@pytest.mark.parametrize("section", CLEARED)
async def test_absent_stays_and_null_clears(connection: Connection, section: str) -> None:
    await load_well(connection, small_studio())
    before = await document(connection)
    identity = {"id": before[section][0]["id"]}
    assert updated(await load_well(connection, patch(**{section: [identity]}))) == {}
    assert await document(connection) == before
    await load_well(connection, patch(**{section: [identity | dict.fromkeys(CLEARED[section])]}))
    after = await document(connection)
    expected = before[section][0] | CLEARED[section]
    assert without_revisions(after[section][0]) == without_revisions(expected)
    assert [without_revisions(row) for row in after[section][1:]] == without_revisions(before[section][1:])


async def test_one_field_of_a_row_changes_nothing_else(connection: Connection) -> None:
    await load_well(connection, small_studio())
    before = (await document(connection))["members"][0]
    await load_well(connection, patch(members=[{"id": before["id"], "first_name": "New"}]))
    after = (await document(connection))["members"][0]
    assert after == before | {"first_name": "New", "revision": before["revision"] + 1}


async def test_the_members_of_an_address_are_patched_one_by_one(connection: Connection) -> None:
    await load_well(connection, small_studio())
    row: Document = {"id": uid("north", "location", 0)}

    async def address(given: Any) -> Any:
        await load_well(connection, patch(locations=[row | {"address": given}]))
        found = next(each for each in (await document(connection))["locations"] if each["id"] == row["id"])
        return found["address"]

    whole = {"line1": "1 Main Street", "line2": "Rear", "postal_code": "07302", "country": "US"}
    assert await address(whole) == whole
    assert await address({}) == whole
    assert await address({"line2": None}) == whole | {"line2": None}
    assert await address({"line1": "2 Main Street"}) == whole | {"line1": "2 Main Street", "line2": None}
    assert await address(None) is None
    assert await address({"country": "CA"}) == dict.fromkeys(whole) | {"country": "CA"}


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"address": "1 Main Street"}, "address"),
        ({"address": {"city": "Brooklyn"}}, "address.city"),
        ({"address": {"line1": 5}}, "address.line1"),
        ({"address": {"line1": ""}}, "address.line1"),
        ({"address": {"country": "Germany"}}, "address.country"),
        ({"line1": "1 Main Street"}, "line1"),
        ({"latitude": 90.1}, "latitude"),
        ({"latitude": "40.7"}, "latitude"),
        ({"longitude": -180.5}, "longitude"),
        ({"longitude": True}, "longitude"),
        ({"phone": "not a number"}, "phone"),
    ],
)
async def test_wrong_addresses_are_faults(connection: Connection, given: Document, place: str) -> None:
    await load_well(connection, small_studio())
    outcome = await load(connection, patch(locations=[{"id": uid("north", "location", 0)} | given]))
    assert places(outcome) == [f"locations[0].{place}"]


async def test_a_studio_is_patched_too(connection: Connection) -> None:
    await load_well(connection, small_studio())
    before = (await document(connection))["studio"]
    await load_well(connection, {"studio": STUDIO | {"primary_color": "#123456"}})
    await load_well(connection, {"studio": STUDIO | {"policy": None}})
    after = (await document(connection))["studio"]
    assert after == before | {"primary_color": "#123456", "policy": {}, "revision": before["revision"] + 2}


async def test_new_rows_need_their_fields(connection: Connection) -> None:
    await load_well(connection, small_studio())
    outcome = await load(connection, patch(members=[{"id": uid("new"), "last_name": "N"}], classes=[{"id": uid("k")}]))
    needed = ["title", "start_time", "end_time", "capacity"]
    assert sorted(places(outcome)) == sorted(["members[0].first_name", *(f"classes[0].{name}" for name in needed)])
    assert {fault.message for fault in outcome.faults} == {"is required"}
    assert places(await load(connection, {"studio": {"id": uid("none"), "name": "N"}})) == [
        f"studio.{name}" for name in ("slug", "timezone", "currency", "country")
    ]


async def test_rules_over_several_fields_use_the_stored_ones(connection: Connection) -> None:
    await load_well(connection, small_studio())
    early = {"id": uid("north", "class", 0), "end_time": "2031-05-01T08:00:00Z"}
    price = {"id": uid("north", "price"), "price_type": "recurring"}
    waits = {"id": uid("north", "booking", 3), "class_spot_id": uid("north", "spot", 1)}
    product = {"id": uid("north", "product"), "prices": [price]}
    outcome = await load(connection, patch(classes=[early], products=[product], bookings=[waits]))
    assert sorted(places(outcome)) == [
        "bookings[0].class_spot_id",
        "classes[0].end_time",
        "products[0].prices[0].interval",
    ]
    price |= {"interval": "month"}
    await load_well(connection, patch(products=[product]))


async def test_spots_and_prices_that_are_not_named_stay(connection: Connection) -> None:
    await load_well(connection, small_studio())
    spot = {"id": uid("new spot"), "label": "S9"}
    await load_well(connection, patch(rooms=[{"id": uid("north", "room"), "spots": [spot]}]))
    labels = {each["label"] for each in (await document(connection))["rooms"][0]["spots"]}
    assert labels == {"S0", "S1", "S9"}


async def test_a_unique_value_that_another_row_of_the_file_keeps(connection: Connection) -> None:
    await load_well(connection, small_studio())
    members = [{"id": uid("north", "member", 0), "email": "m1@north.example.com"}, {"id": uid("north", "member", 1)}]
    assert places(await load(connection, patch(members=members))) == ["members[0].email"]
    members[1]["email"] = "other@example.com"
    await load_well(connection, patch(members=members))


# Revisions


async def revision(connection: Connection, table: str, row_id: str) -> int:
    found: int = await connection.fetchval(f"select revision from {table} where id = $1", row_id)
    return found


async def test_a_row_that_changed_since_the_export_is_not_rewound(connection: Connection) -> None:
    await load_well(connection, small_studio())
    stale = await document(connection)
    await connection.execute("update memberships set credits_remaining = 4, state_version = 2")
    await connection.execute("update bookings set status = 'checked_in' where id = $1", uid("north", "booking", 1))
    await connection.execute("update studios set name = 'Renamed'")
    before = await exported(connection)
    outcome = await load(connection, stale)
    assert sorted(map(str, outcome.faults)) == [
        "bookings[1]: changed since this export",
        "memberships[0]: changed since this export",
        "studio: changed since this export",
    ]
    assert await exported(connection) == before
    outcome = await load(connection, stale, overwrite=True)
    assert updated(outcome) == {"studio": 1, "memberships": 1, "bookings": 1}
    assert await connection.fetchval("select credits_remaining from memberships") == 10


async def test_a_changed_row_that_the_file_would_not_change_is_no_fault(connection: Connection) -> None:
    await load_well(connection, small_studio())
    stale = await document(connection)
    await connection.execute("update members set suspended = true")
    await connection.execute("update members set suspended = false")
    assert (await load(connection, stale)).faults == []
    for row in stale["members"]:
        row["first_name"] = "Later"
    assert len((await load(connection, stale)).faults) == len(stale["members"])


async def test_a_file_without_revisions_is_taken_at_its_word(connection: Connection) -> None:
    await load_well(connection, small_studio())
    await connection.execute("update members set first_name = 'Changed'")
    outcome = await load_well(connection, small_studio())
    assert updated(outcome) == {"members": 4}


async def test_bookings_raise_no_revision_of_their_class(connection: Connection) -> None:
    await load_well(connection, small_studio())
    class_id = uid("north", "class", 1)
    before = await revision(connection, "classes", class_id)
    await load_well(connection, patch(bookings=[booking("north", 9, 1, 2)]))
    assert await connection.fetchval("select booked_count from classes where id = $1", class_id) == 2
    assert await revision(connection, "classes", class_id) == before
    await load_well(connection, patch(classes=[{"id": class_id, "capacity": 5}]))
    assert await revision(connection, "classes", class_id) == before + 1


async def test_limits_raise_the_revision(connection: Connection) -> None:
    await load_well(connection, small_studio())
    product = uid("north", "product")
    before = await revision(connection, "products", product)
    await load_well(connection, patch(products=[{"id": product, "location_ids": []}]))
    assert await revision(connection, "products", product) == before + 1


# What follows


async def test_a_changed_number_of_credits_is_an_adjustment(connection: Connection) -> None:
    await load_well(connection, small_studio())
    membership = uid("north", "membership")
    outcome = await load_well(connection, patch(memberships=[{"id": membership, "credits_remaining": 7}]))
    assert outcome.effects == {"credits_adjusted": 1}
    lines = await connection.fetch("select delta, reason, booking_id from credit_ledger where reason = 'adjusted'")
    assert [tuple(line) for line in lines] == [(-3, "adjusted", None)]
    outcome = await load_well(connection, patch(memberships=[{"id": membership, "auto_renew": True}]))
    assert outcome.effects == {}
    assert await connection.fetchval("select state_version from memberships") == 3


async def test_seats_that_become_free_go_to_the_waitlist(connection: Connection) -> None:
    open_to_all = {"require_entitlement": False, "waiver_form_id": None}
    await load_well(connection, changed(small_studio(), "studio.policy", open_to_all))
    given_up = {"id": uid("north", "booking", 1), "status": "cancelled"}
    outcome = await load_well(connection, patch(bookings=[given_up]))
    assert outcome.effects == {"promoted": 1}
    row = await connection.fetchrow(
        "select status, promoted_at from bookings where id = $1", uid("north", "booking", 2)
    )
    assert row is not None
    assert (row["status"], row["promoted_at"] is None) == ("confirmed", False)
    larger = {"id": uid("north", "class", 0), "capacity": 3}
    assert (await load_well(connection, patch(classes=[larger]))).effects == {"promoted": 1}
    assert await connection.fetchval("select count(*) from waitlist_entries where status = 'waiting'") == 0


async def test_a_dry_run_shows_every_field(connection: Connection) -> None:
    await load_well(connection, small_studio())
    before = await exported(connection)
    shown: list[RowChange] = []
    member, new = uid("north", "member", 0), uid("new")
    file = patch(
        members=[
            {"id": member, "first_name": "New", "phone": None},
            {"id": new, "first_name": "A", "last_name": "B"},
        ],
        products=[{"id": uid("north", "product"), "location_ids": [], "prices": []}],
    )
    file["studio"] = STUDIO | {"name": "South"}
    outcome = await load(connection, file, dry_run=True, on_change=shown.append)
    assert updated(outcome) == {"studio": 1, "members": 1, "products": 1}
    by_place = {change.place: change for change in shown}
    assert by_place["studio"].fields == {"name": ["North", "South"]}
    assert by_place["members[0]"].fields == {"first_name": ["M0", "New"], "phone": ["+17185550100", None]}
    assert (by_place["members[1]"].created, str(by_place["members[1]"].id)) == (True, new)
    assert by_place["members[1]"].fields["last_name"] == [None, "B"]
    both = sorted([uid("north", "location", 0), uid("north", "location", 1)])
    assert by_place["products[0]"].fields == {"location_ids": [both, []]}
    assert len(shown) == 4
    assert await exported(connection) == before


# Warnings

LATER = {"start_time": "2031-05-01T09:30:00Z", "end_time": "2031-05-01T10:30:00Z", "title": "New", "capacity": 2}
WARNED = [
    ({"room_id": uid("north", "room"), "location_id": uid("north", "location", 0)}, "room_id", "classes[0].room_id"),
    ({"instructor_id": uid("north", "instructor")}, "instructor", "classes[0].instructor_id"),
    (
        {"room_id": uid("north", "room", 2), "location_id": uid("north", "location", 1), "capacity": 10},
        "10 places",
        "classes[0].capacity",
    ),
    ({"room_id": uid("north", "room", 2), "location_id": uid("north", "location", 0)}, "not at", "classes[0].room_id"),
]


@pytest.mark.parametrize(("fields", "_said", "place"), WARNED)
async def test_warnings_and_strict(connection: Connection, fields: Document, _said: str, place: str) -> None:
    await load_well(connection, small_studio())
    file = patch(classes=[{"id": uid("new class"), **LATER, **fields}])
    refused = await load(connection, file, strict=True)
    assert places(refused) == [place]
    assert await connection.fetchval("select count(*) from classes where id = $1", uid("new class")) == 0
    outcome = await load(connection, file)
    assert outcome.faults == []
    assert [each.place for each in outcome.warnings] == [place]
    assert (await load(connection, file)).warnings == [], "an unchanged class gives no reason to warn again"


async def test_classes_one_after_the_other_are_no_reason_to_warn(connection: Connection) -> None:
    await load_well(connection, small_studio())
    after = LATER | {"start_time": "2031-05-01T10:00:00Z"}
    room = {"room_id": uid("north", "room"), "location_id": uid("north", "location", 0)}
    file = patch(classes=[{"id": uid("new class"), **after, **room, "instructor_id": uid("north", "instructor")}])
    assert (await load(connection, file, strict=True)).faults == []


async def test_a_room_that_becomes_too_small(connection: Connection) -> None:
    await load_well(connection, small_studio())
    outcome = await load(connection, patch(rooms=[{"id": uid("north", "room"), "capacity": 1}]))
    assert {each.place for each in outcome.warnings} == {"rooms[0].capacity"}


# The audit log


async def entries(connection: Connection) -> list[tuple[str, str, Any]]:
    rows = await connection.fetch("select action, channel, changes::text from audit_log order by occurred_at, id")
    return [(row["action"], row["channel"], json.loads(row["changes"])) for row in rows]


async def test_every_import_and_every_changed_row_is_recorded(connection: Connection) -> None:
    await load_well(connection, small_studio())
    ((action, channel, changes),) = await entries(connection)
    assert (action, channel, changes["members"]) == ("studio.import", "import", {"created": 4, "updated": 0})
    await connection.execute("delete from audit_log")
    member = {"id": uid("north", "member", 0), "first_name": "New", "suspended": True}
    await load(connection, patch(members=[member]), operator="ada")
    assert await entries(connection) == [
        ("member.change", "import", {"first_name": ["•••", "•••"], "suspended": [False, True]}),
        ("studio.import", "import", {"members": {"created": 0, "updated": 1}}),
    ]
    assert {row[0] for row in await connection.fetch("select actor_name from audit_log")} == {"ada"}
    await connection.execute("delete from audit_log")
    await load(connection, patch(members=[member]))
    assert await entries(connection) == [], "nothing was changed"


async def test_the_log_shows_what_the_rule_says(connection: Connection) -> None:
    """The statement that writes the entries of an import agrees with ``domain.audit`` on every kind of row."""
    await load_well(connection, small_studio())
    before = await document(connection)
    emptied = {name: [{"id": before[name][0]["id"], **dict.fromkeys(CLEARED[name])}] for name in CLEARED}
    filled = patch(
        members=[{"id": uid("x"), "first_name": "A", "last_name": "", "staff_notes": 'Ö "quoted"', "suspended": True}],
        leads=[{"id": uid("l"), "email": "l@example.com", "metadata": {"a": None}, "first_name": "L"}],
        products=[{"id": uid("p"), "key": "p", "name": "P", "product_type": "single", "location_ids": []}],
        instructors=[{"id": uid("i"), "name": "I", "tags": ["a", "b"], "tagline": "back\\slash"}],
    )
    for file in ({"studio": STUDIO, **emptied}, filled):
        await connection.execute("delete from audit_log")
        seen: list[RowChange] = []
        assert (await load(connection, file, on_change=seen.append)).faults == []
        rows = await connection.fetch("select subject_id, subject_type, changes::text from audit_log")
        shown = {row["subject_id"]: (row["subject_type"], json.loads(row["changes"])) for row in rows}
        assert len(seen) > 3
        for change in seen:
            kind, changes = shown[change.id]
            old, new = ({name: pair[side] for name, pair in change.fields.items()} for side in (0, 1))
            assert changes == changed_fields(kind, old, new), change


# Many rows


async def statements(connection: Connection, file: Document) -> int:
    """Return how many statements an import runs."""
    seen: list[str] = []

    def note(record: Any) -> None:
        seen.append(record.query)

    connection.add_query_logger(note)
    try:
        assert (await load(connection, file)).faults == []
    finally:
        connection.remove_query_logger(note)
    return len(seen)


def people(count: int, name: str) -> list[Document]:
    return [
        {"id": uid("many", number), "first_name": name, "last_name": "N", "email": f"n{number}@example.com"}
        for number in range(count)
    ]


async def test_the_number_of_statements_does_not_follow_the_number_of_rows(
    connection: Connection, elsewhere: Connection
) -> None:
    """Creating a studio takes the same statements for any number of rows; changing one, a few per 500 rows."""
    few, many = ({**small_studio(), "members": [*small_studio()["members"], *people(n, "A")]} for n in (110, 400))
    assert await statements(connection, few) == await statements(elsewhere, many)
    before = await statements(elsewhere, patch(members=people(10, "B")))
    assert await statements(elsewhere, patch(members=people(400, "C"))) <= before + 4


async def test_a_room_that_does_not_exist_is_a_fault_and_no_warning(connection: Connection) -> None:
    """A warning about its location would be beside the point."""
    await load_well(connection, small_studio())
    start = {"start_time": "2031-06-01T09:00:00Z", "end_time": "2031-06-01T10:00:00Z", "capacity": 2}
    row = {"id": uid("new class"), "title": "New", "location_id": uid("north", "location", 0), **start}
    outcome = await load(connection, patch(classes=[row | {"room_id": uid("none")}]))
    assert (places(outcome), outcome.warnings) == (["classes[0].room_id"], [])
    outcome = await load(connection, patch(classes=[row | {"room_id": uid("north", "room", 2)}]))
    assert [str(warning) for warning in outcome.warnings] == [
        "classes[0].room_id: the room is not at the class's location"
    ]
