"""Importing and exporting studio files on a real database."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studiogate.demo import demo_studio_file
from studiogate.flows import studio_file
from tests.support import studio_files as files
from tests.support.databases import run
from tests.support.demo_rows import with_files_beside
from tests.support.studio_files import changed, exported, load, load_text, load_well, places, small_studio, uid

pytestmark = pytest.mark.anyio

Connection = asyncpg.Connection


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Connection]:
    opened = await asyncpg.connect(url, server_settings={"timezone": "UTC"})
    try:
        yield opened
    finally:
        await opened.close()


async def loaded(url: str, *documents: files.Document) -> None:
    async with connected(url) as opened:
        await load_well(opened, *documents)


@pytest.fixture(scope="module")
def small_template(new_database: Callable[[], str]) -> str:
    """Return the name of a database with the small studio, used as a template for others."""
    url = new_database()
    run(loaded(url, small_studio()))
    return urlsplit(url).path.removeprefix("/")


@pytest.fixture
async def small(own_databases: Callable[[str], str], small_template: str) -> AsyncIterator[Connection]:
    """Yield a connection to a new database that already contains the small studio."""
    async with connected(own_databases(small_template)) as opened:
        yield opened


async def test_everything_is_created_and_then_unchanged(connection: Connection) -> None:
    first = await load_well(connection, small_studio())
    assert files.totals(first) == (28, 0, 0)
    assert first.sections["spots"].created == 2
    again = await load_well(connection, small_studio())
    assert files.totals(again) == (0, 0, 28)


@pytest.mark.parametrize("now", [datetime(2026, 3, 5, 15, 30, tzinfo=UTC), datetime(2026, 10, 30, 4, tzinfo=UTC)])
async def test_the_demo_studio_goes_round(connection: Connection, tmp_path: Path, now: datetime) -> None:
    await load_well(connection, demo_studio_file(now), files=with_files_beside(tmp_path))
    await assert_goes_round(connection, "demo")


async def test_a_small_studio_goes_round(connection: Connection) -> None:
    await load_well(connection, small_studio(), small_studio("south"))
    await assert_goes_round(connection, "north")


async def assert_goes_round(connection: Connection, slug: str) -> None:
    before = await exported(connection, slug)
    outcome = await load_text(connection, before)
    assert outcome.faults == []
    assert files.totals(outcome)[:2] == (0, 0)
    assert await exported(connection, slug) == before


async def test_an_export_makes_the_same_studio_elsewhere(connection: Connection, new_database: Any) -> None:
    await load_well(connection, small_studio())
    written = await exported(connection)
    elsewhere = await asyncpg.connect(new_database(), server_settings={"timezone": "Asia/Tokyo"})
    await connection.execute("set timezone to 'UTC'")
    await load_well(elsewhere, json.loads(written))
    await elsewhere.execute("set timezone to 'UTC'")
    assert await exported(elsewhere) == written
    await elsewhere.close()


async def test_an_export_has_every_member_of_the_file(connection: Connection, tmp_path: Path) -> None:
    demo = demo_studio_file(datetime(2026, 3, 5, tzinfo=UTC))
    await load_well(connection, demo, small_studio(), files=with_files_beside(tmp_path))
    written, small = [json.loads(await exported(connection, slug)) for slug in ("demo", "north")]
    for section, rows in demo.items():
        row, mine = (rows, written[section]) if section == "studio" else (rows[0], written[section][0])
        assert set(row) <= set(mine), section
    for section, parts in (("products", "prices"), ("rooms", "spots")):
        given, mine = (next(row[parts][0] for row in each[section] if row[parts]) for each in (demo, written))
        assert set(given) <= set(mine), parts
    assert list(small["forms"][0]["fields"][1])[:3] == ["type", "label", "key"]


async def test_sections_in_any_order(connection: Connection) -> None:
    await load_well(connection, files.sections_reversed(small_studio()))
    assert await connection.fetchval("select phone from members limit 1") == "+17185550100"


async def test_there_is_no_such_studio_to_export(connection: Connection) -> None:
    assert not await studio_file.export_studio(connection, "nowhere", print)


@pytest.mark.parametrize(
    ("path", "value", "sections"),
    [
        ("studio.name", "South", {"studio": 1}),
        ("studio.slug", "south", {"studio": 1}),
        ("studio.policy", None, {"studio": 1}),
        ("rooms.0.spots.0.x", 7, {"spots": 1}),
        ("rooms.0.spots", [], {}),
        ("rooms.0.capacity", 3, {"rooms": 1}),
        ("instructors.0.tags", None, {"instructors": 1}),
        ("classes.0.policy", {"waitlist_mode": "off"}, {"classes": 1}),
        ("products.0.location_ids", None, {"products": 1}),
        ("products.0.location_ids.0", uid("north", "location", 0), {"products": 1}),
        ("products.0.class_type_ids", [uid("north", "class_type")], {"products": 1}),
        ("products.0.prices.0.location_ids", None, {"prices": 1}),
        ("products.0.prices.0.location_ids", ..., {}),
        ("products.0.prices", [], {}),
        ("members.0.phone", None, {"members": 1}),
        ("members.0.created_at", ..., {}),
        ("members.0.email", "M0@NORTH.example.com", {}),
        ("memberships.0.status", "paused", {"memberships": 1}),
        ("memberships.0.credits_granted", None, {"memberships": 1}),
        ("purchases.0.amount_total", "1501", {"purchases": 1}),
        ("leads.0.metadata.b", 2, {"leads": 1}),
        ("forms.0.fields.0.label", "New", {"forms": 1}),
        ("bookings.1.booking_source", ..., {}),
        ("bookings.1.booking_source", "web", {"bookings": 1}),
        ("bookings.0.class_spot_id", None, {"bookings": 1}),
        ("classes", ..., {}),
    ],
)
async def test_what_counts_as_a_change(small: Connection, path: str, value: Any, sections: dict[str, int]) -> None:
    document = changed(small_studio(), path, value)
    assert files.updated(await load_well(small, document)) == sections
    assert files.updated(await load_well(small, document)) == {}


async def test_limits_become_what_the_file_says(connection: Connection) -> None:
    await load_well(connection, small_studio())
    one = changed(small_studio(), "products.0.location_ids", [uid("north", "location", 1)])
    await load_well(connection, changed(one, "products.0.prices.0.location_ids", []))
    assert json.loads(await exported(connection))["products"][0]["location_ids"] == [uid("north", "location", 1)]
    assert await connection.fetchval("select count(*) from price_locations") == 0


async def test_a_changed_form_has_a_new_version(connection: Connection) -> None:
    await load_well(connection, small_studio(), changed(small_studio(), "forms.0.title", "New"))
    await load_well(connection, changed(small_studio(), "forms.0.fields", []))
    versions = await connection.fetch("select version, fields::text from form_versions order by version")
    assert [row["version"] for row in versions] == [1, 2, 3]
    assert versions[2]["fields"] == "[]"
    assert await connection.fetchval("select version from forms") == 3


async def test_credits_and_version_of_a_membership(connection: Connection) -> None:
    async def state() -> tuple[int, ...]:
        row = await connection.fetchrow("select credits_granted, credits_remaining, state_version from memberships")
        assert row is not None
        return tuple(row)

    await load_well(connection, small_studio())
    assert await state() == (10, 10, 1)
    await connection.execute("update memberships set credits_remaining = 4, state_version = 7")
    await connection.execute(
        """insert into credit_ledger (studio_id, id, membership_id, delta, reason)
           select studio_id, gen_random_uuid(), id, -6, 'adjusted' from memberships"""
    )
    await load_well(connection, small_studio())
    assert await state() == (10, 4, 7)
    await load_well(connection, changed(small_studio(), "memberships.0.auto_renew", True))
    assert await state() == (10, 4, 8)
    stale = changed(small_studio(), "memberships.0.state_version", 2)
    await load_well(connection, changed(stale, "memberships.0.credits_remaining", 5))
    assert await state() == (10, 5, 9)
    lines = await connection.fetch("select reason, delta from credit_ledger order by created_at")
    assert [tuple(line) for line in lines] == [("granted", 10), ("adjusted", -6), ("adjusted", 1)]
    await load_well(connection, changed(stale, "memberships.0.state_version", 40))
    assert await state() == (10, 5, 9), "it is the system's own number"


async def test_rows_of_a_file_may_exchange_what_is_unique(connection: Connection) -> None:
    document = small_studio()
    await load_well(connection, document)
    for path in ("members.{}.email", "locations.{}.is_primary", "rooms.0.spots.{}.label"):
        old = [_at(document, path.format(number)) for number in (0, 1)]
        for number in (0, 1):
            document = changed(document, path.format(number), old[1 - number])
    outcome = await load_well(connection, document)
    assert files.updated(outcome) == {"members": 2, "locations": 2, "spots": 2}


def _at(document: Any, path: str) -> Any:
    for part in path.split("."):
        document = document[int(part) if part.isdecimal() else part]
    return document


SECOND = "south"
FAULTY = [
    ("studio.slug", "taken", ["studio.slug"]),
    ("studio.policy.waiver_form_id", uid("no form"), ["studio.policy.waiver_form_id"]),
    ("classes.1.policy", {"waiver_form_id": uid(SECOND, "form")}, ["classes[1].policy.waiver_form_id"]),
    ("locations.1.is_primary", True, ["locations[1].is_primary"]),
    ("locations.1.id", uid("north", "location", 0).upper(), ["locations[1].id"]),
    ("rooms.0.location_id", uid(SECOND, "location", 0), ["rooms[0].location_id"]),
    ("rooms.0.spots.1.label", "S0", ["rooms[0].spots[1].label"]),
    ("rooms.0.spots.1.id", uid(SECOND, "spot", 0), ["rooms[0].spots[1].id"]),
    ("rooms.0.spots", {}, ["rooms[0].spots"]),
    ("rooms.0.spots", [5], ["rooms[0].spots[0]"]),
    ("classes.1.room_id", uid("nowhere"), ["classes[1].room_id"]),
    ("classes.1.location_id", uid(SECOND, "location", 0), ["classes[1].location_id"]),
    ("classes.1.class_type_id", uid("x"), ["classes[1].class_type_id"]),
    ("classes.1.instructor_id", uid("x"), ["classes[1].instructor_id"]),
    ("classes.1.id", uid(SECOND, "class", 1), ["classes[1].id"]),
    ("products.0.location_ids.1", uid("x"), ["products[0].location_ids[1]"]),
    ("products.0.class_type_ids", [uid(SECOND, "class_type")], ["products[0].class_type_ids[0]"]),
    ("products.0.prices.0.location_ids.0", uid("x"), ["products[0].prices[0].location_ids[0]"]),
    ("members.1.email", "m0@north.example.com", ["members[1].email"]),
    ("memberships.0.product_id", uid(SECOND, "product"), ["memberships[0].product_id"]),
    ("purchases.0.product_id", uid("x"), ["purchases[0].product_id"]),
    ("purchases.0.location_id", uid("x"), ["purchases[0].location_id"]),
    ("purchases.0.member_id", uid(SECOND, "member", 0), ["purchases[0].member_id"]),
    ("leads.1", {"id": uid("l"), "email": "M0@north.example.com"}, ["leads[1].email"]),
    ("forms.1", {"id": uid("f"), "title": "W", "slug": "waiver"}, ["forms[1].slug"]),
    ("products.1", {"id": uid("p"), "key": "pack-10", "name": "X", "product_type": "other"}, ["products[1].key"]),
    ("bookings.0.class_id", uid(SECOND, "class", 0), ["bookings[0].class_id"]),
    ("bookings.1.member_id", uid("x"), ["bookings[1].member_id"]),
]


@pytest.fixture(scope="module")
def prepared(new_database: Callable[[], str]) -> dict[bool, str]:
    """Return two databases, without and with the file's studio; they are shared because faulty files change nothing."""
    taken = changed(small_studio(SECOND), "studio.slug", "taken")
    made = {False: new_database(), True: new_database()}
    run(loaded(made[False], taken))
    run(loaded(made[True], taken, small_studio()))
    return made


@pytest.fixture
async def prepared_connection(prepared: dict[bool, str], first_loaded: bool) -> AsyncIterator[Connection]:
    async with connected(prepared[first_loaded]) as opened:
        yield opened


@pytest.mark.parametrize(("path", "value", "expected"), FAULTY)
@pytest.mark.parametrize("first_loaded", [False, True])
async def test_faults_have_places_and_nothing_is_loaded(
    prepared_connection: Connection, path: str, value: Any, expected: list[str], first_loaded: bool
) -> None:
    """For a new studio, and for an existing one, whose rows are compared with the file."""
    connection = prepared_connection
    before = await connection.fetchval("select count(*) from studios")
    outcome = await load(connection, changed(small_studio(), path, value))
    found = [place for place in places(outcome) if not (first_loaded and place == "bookings[4].class_id")]
    assert expected[0] in found
    assert await connection.fetchval("select count(*) from studios") == before


async def test_values_that_are_taken_in_the_studio(connection: Connection) -> None:
    await load_well(connection, small_studio())
    base = {"studio": small_studio()["studio"]}
    person = {"id": uid("new"), "first_name": "N", "last_name": "N", "email": "m2@north.example.com"}
    outcome = await load(
        connection,
        {
            **base,
            "members": [person],
            "leads": [{"id": uid("new lead"), "email": "m0@north.example.com"}],
            "locations": [{"id": uid("new location"), "name": "N", "is_primary": True}],
        },
    )
    assert places(outcome) == ["members[0].email", "leads[0].email", "locations[0].is_primary"]
    assert uid("north", "member", 2) in outcome.faults[0].message


async def test_all_faults_at_once_and_none_that_only_follow(connection: Connection) -> None:
    document = changed(small_studio(), "rooms.0.capacity", "many")
    document = changed(document, "memberz", [])
    document = changed(document, "classes.1.instructor_id", uid("x"))
    outcome = await load(connection, document)
    assert places(outcome) == ["rooms[0].capacity", "classes[1].instructor_id", "memberz"]
    assert outcome.fault_count == 3


async def test_a_dry_run_counts_and_leaves_nothing(connection: Connection) -> None:
    outcome = await load(connection, small_studio(), dry_run=True)
    assert files.totals(outcome) == (28, 0, 0)
    assert await connection.fetchval("select count(*) from studios") == 0


async def test_what_came_in_great_number_is_known_to_the_planner(connection: Connection) -> None:
    """An import analyzes large tables without waiting for autoanalyze, but not after a dry run, nor small tables."""
    known = "select reltuples from pg_class where oid = $1::regclass"
    leads = [{"id": uid("lead", n), "email": f"lead{n}@example.com"} for n in range(studio_file.MANY_ROWS)]
    document = {**small_studio(), "leads": leads}
    await load(connection, document, dry_run=True)
    assert await connection.fetchval(known, "leads") == -1
    await load_well(connection, document)
    assert await connection.fetchval(known, "leads") == len(leads)
    assert await connection.fetchval(known, "classes") == -1


async def test_a_file_without_a_studio(connection: Connection) -> None:
    assert places(await load(connection, {})) == ["studio"]
    assert places(await load(connection, {"studio": None})) == ["studio"]
    empty: list[Any] = [{}, [], "", 0, False]
    for row in empty:
        assert places(await load(connection, {"studio": row}))[0] in ("studio", "studio.id")
    document = changed(small_studio(), "studio.id", "x")
    document = changed(document, "leads.0.email", 5)
    assert places(await load(connection, document)) == ["studio.id", "leads[0].email"]


@pytest.mark.parametrize("cut", [1, 40, 400, 4000])
async def test_a_cut_file(connection: Connection, cut: int) -> None:
    data = json.dumps(small_studio()).encode()[:-cut]
    outcome = await load_text(connection, data)
    assert outcome.faults[-1].message == "the file ends in the middle"
    assert await connection.fetchval("select count(*) from studios") == 0


async def test_progress_is_reported(connection: Connection) -> None:
    heard: list[tuple[str, int, int]] = []
    await load(connection, small_studio(), progress=lambda *each: heard.append(each))
    assert [step for step, done, total in heard if done == total] == ["reading", "checking", "writing"]


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from([uid("x"), "\0"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def spoiled_files(draw: st.DrawFn) -> bytes:
    """Any bytes, any JSON, any rows in any sections, or the small studio with some values replaced or cut off."""
    kind = draw(st.sampled_from(["bytes", "json", "sections", "values"]))
    if kind == "bytes":
        return draw(st.binary(max_size=60))
    if kind == "json":
        return json.dumps(draw(JUNK)).encode()
    document = small_studio()
    names = list(document)
    if kind == "sections":
        return json.dumps(draw(st.dictionaries(st.sampled_from(names), JUNK | st.lists(JUNK), max_size=4))).encode()
    for _ in range(draw(st.integers(1, 3))):
        _spoil(draw, document)
    data = json.dumps(document).encode()
    return data[: draw(st.sampled_from([len(data), len(data) // 2]))]


def _spoil(draw: st.DrawFn, target: Any) -> None:
    """Replace one value, however deep."""
    while True:
        key = draw(st.sampled_from(list(target) if isinstance(target, dict) else range(len(target))))
        if not isinstance(target[key], dict | list) or not target[key] or draw(st.integers(0, 3)) == 0:
            target[key] = draw(JUNK)
            return
        target = target[key]


@settings(max_examples=60, deadline=None)
@given(data=spoiled_files(), first_loaded=st.booleans())
def test_whatever_is_wrong_with_a_file_has_a_place(prepared: dict[bool, str], data: bytes, first_loaded: bool) -> None:
    async def attempt() -> studio_file.Outcome:
        async with connected(prepared[first_loaded]) as opened:
            return await load_text(opened, data, dry_run=True)

    outcome = run(attempt())
    assert all(fault.place and fault.message for fault in outcome.faults)
    assert outcome.faults or outcome.sections
