"""No byte of any response belongs to another studio or to a location that the key may not see.

The crawl requests every GET route with every kind of id of three studios (as path id, cursor and filter) and searches
every byte of the responses. Each text in the database contains its studio's canary, and texts of a row with a
location also contain the location's marker; ids are compared one by one.
"""

import hashlib
import itertools
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from string import ascii_lowercase
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.api.app import ROUTES
from studiogate.api.framework.route import Caller, LeanRoute
from studiogate.api.resources import purchases as purchase_routes
from studiogate.api.resources import schedule as schedule_routes
from studiogate.api.resources.bookings import read as booking_routes
from studiogate.domain.access import Access, Scope
from studiogate.storage import catalog, purchases
from studiogate.storage import studio as studio_storage
from studiogate.storage.bookings import read as bookings
from studiogate.storage.schedule import read as schedule
from studiogate.storage.upload_folder import UploadFolder
from tests.support.battery import Tally, battery
from tests.support.direct_client import DirectResponse, ask
from tests.support.partner_api import PartnerApi, open_partner_api
from tests.support.seed import NOON, Studio, insert, issue_key, seed_studio

pytestmark = pytest.mark.anyio

GETS = [route for route in ROUTES if "GET" in (route.methods or ())]
BY_PATH = {route.path: route for route in GETS}
LISTS = [route for route in GETS if any(field.name == "cursor" for field in route.dependant.query_params)]
ID_FILTERS = ("location_id", "class_id", "member_id", "class_type_id", "instructor_id")
ONE_OF_A_LIST = (
    "status",
    "starts_after",
    "starts_before",
    "created_after",
    "updated_after",
    "visible",
    "active",
    "email",
    "include_drafts",
    "type",
    "wait",
)
PHONE, SUSPENDED_NOTE = "+12125550100", "secret "
PRIVATE = (SUSPENDED_NOTE, '"suspended"', '"staff_notes"', '"secret_hash"')

# The kind of id (see tests/support/seed.py) that a path parameter takes.
KINDS = {"waitlist_id": "waitlist", "form_id": "form", "submission_id": "submission", "class_type_id": "class_type"}
# Kinds that have a location: their ids and texts, and no others, are hidden from a restricted key.
LOCATED = (
    "location",
    "room",
    "spot",
    "class",
    "booking",
    "waitlisted_booking",
    "cancelled_booking",
    "cancellation",
    "waitlist",
    "purchase",
    "product",
    "price",
    "event",
    "endpoint",
    "delivery",
)
UUIDS = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
CANARIES = re.compile(r"canary-[a-z]+-[0-9a-f]{12}")
PLACES = re.compile(r"place-(?:\d|none)")


@dataclass(frozen=True)
class Holder:
    """A key, and what it may see."""

    name: str
    studio: Studio
    key: str
    place: int | None  # the index of its only location, None for all

    def sees(self, kind: str, number: int) -> bool:
        if self.place is None or kind not in LOCATED:
            return True
        if kind == "spot":
            return number // 2 == self.place
        return number == self.place or (kind in ("product", "price") and number == 2)

    @cached_property
    def ids(self) -> set[str]:
        seen = {
            str(row_id)
            for kind, rows in self.studio.ids.items()
            for number, row_id in enumerate(rows)
            if self.sees(kind, number)
        }
        return seen | {str(self.studio.studio_id)}

    @cached_property
    def places(self) -> set[str]:
        return {"place-0", "place-1", "place-none"} if self.place is None else {f"place-{self.place}"}


@dataclass(frozen=True)
class IsolatedStudios:
    api: PartnerApi
    studios: list[Studio]
    holders: dict[str, Holder]

    def ids(self, kind: str) -> list[UUID]:
        return [row_id for studio in self.studios for row_id in studio.ids[kind]]

    def others(self, kind: str) -> list[UUID]:
        """Return one id of every other kind per studio: one suffices, because no id of another kind can match."""
        return [studio.first(other) for studio in self.studios for other in studio.ids if other != kind]


async def _mark(connection: Any, studio: Studio) -> None:
    """Add what the shared seed lacks: locations in texts, receipts, limited prices of an unlimited product, reasons."""
    places = [*((location, f"place-{n}") for n, location in enumerate(studio.ids["location"])), (None, "place-none")]
    for number, (location, place) in enumerate(places):
        if location is not None:
            await _mark_located(connection, studio, number, location, place)
        for statement in (
            "update classes set title = title || $3, description = $3 where studio_id = $1 and {} = $2",
            "update bookings set booking_source = booking_source || $3 where studio_id = $1 and {} = $2",
            "update waitlist_entries set skip_reason = $3 where studio_id = $1 and {} = $2",
            "update purchases set product_key = product_key || $3 where studio_id = $1 and {} = $2",
        ):
            key = "location_id" if location else "coalesce(location_id, studio_id)"
            await connection.execute(statement.format(key), studio.studio_id, location or studio.studio_id, place)
        await _cancelled(connection, studio, number, location, f"{studio.canary} {place}")
    await connection.execute(
        "update members set suspended = true, membership_type = $2 where studio_id = $1",
        studio.studio_id,
        studio.canary,
    )
    await connection.execute("update leads set phone = $2 where studio_id = $1", studio.studio_id, PHONE)
    await connection.execute(
        "update memberships set pause_reason = $2, cancellation_reason = $2 where studio_id = $1",
        studio.studio_id,
        studio.canary,
    )


async def _mark_located(connection: Any, studio: Studio, number: int, location: UUID, place: str) -> None:
    own = (studio.studio_id, location, place)
    await connection.execute("update locations set name = $3 where studio_id = $1 and id = $2", *own)
    await connection.execute("update rooms set name = name || $3 where studio_id = $1 and location_id = $2", *own)
    await connection.execute(
        "update room_spots set label = label || $3 where studio_id = $1 and room_id = any(array("
        " select id from rooms where studio_id = $1 and location_id = $2))",
        *own,
    )
    await connection.execute(
        "update products set name = name || $3, key = key || $3 where studio_id = $1 and id = any(array("
        " select product_id from product_locations where studio_id = $1 and location_id = $2))",
        *own,
    )
    # An unlimited product with a price for this location only: rows 3 and 4 of "price" here, checked separately below.
    price = await insert(
        connection,
        "prices",
        studio_id=studio.studio_id,
        product_id=studio.ids["product"][2],
        amount=1000 + number,
        currency="USD",
        price_type="one_time",
    )
    await connection.execute("insert into price_locations values ($1, $2, $3)", studio.studio_id, price, location)
    studio.ids.setdefault("limited_price", []).append(price)


async def _cancelled(connection: Any, studio: Studio, number: int, location: UUID | None, text: str) -> None:
    common = {"class_id": studio.ids["class"][number], "member_id": studio.ids["member"][2]}
    booking = await insert(
        connection,
        "bookings",
        studio_id=studio.studio_id,
        location_id=location,
        status="cancelled",
        booking_source=text,
        start_time=NOON,
        end_time=NOON,
        **common,
    )
    cancellation = uuid4()
    receipt = {"id": str(cancellation), "booking_id": str(booking), "reason": text}
    await insert(
        connection,
        "booking_cancellations",
        id=cancellation,
        studio_id=studio.studio_id,
        booking_id=booking,
        member_id=common["member_id"],
        cancelled_at=NOON,
        cancellation_type="standard",
        late=False,
        graced_for_promotion=False,
        credits_forfeited=0,
        credits_returned=0,
        receipt=json.dumps(receipt),
    )
    studio.ids.setdefault("cancelled_booking", []).append(booking)
    studio.ids.setdefault("cancellation", []).append(cancellation)


async def _file(connection: Any, studio: Studio, data: Path) -> None:
    """Store a file of the studio's first submission, with the studio's canary in its name and its content."""
    content, stored = studio.canary.encode(), uuid4().hex
    path = UploadFolder(data).kept(studio.studio_id, stored)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    upload = await insert(
        connection,
        "form_uploads",
        studio_id=studio.studio_id,
        form_id=studio.first("form"),
        field_key="q",
        filename=studio.canary,
        content_type="text/plain",
        size=len(content),
        sha256=hashlib.sha256(content).digest(),
        stored_name=stored,
        submission_id=studio.first("submission"),
    )
    studio.ids.setdefault("upload", []).append(upload)


async def build_isolated_studios(api: PartnerApi, names: Sequence[str], data: Path) -> IsolatedStudios:
    """Seed the studios, and issue one key per studio and one per location of the first studio."""
    studios = [await seed_studio(api.connection, name) for name in names]
    for studio in studios:
        await _mark(api.connection, studio)
        await _file(api.connection, studio, data)
    first = studios[0]
    holders = {s.slug: Holder(s.slug, s, await issue_key(api.connection, s), None) for s in studios}
    for number, location in enumerate(first.ids["location"]):
        name = f"place-{number}"
        key = await issue_key(api.connection, first, locations=[location])
        holders[name] = Holder(name, first, key, number)
    return IsolatedStudios(api, studios, holders)


@pytest.fixture(scope="module")
async def isolated(
    anyio_backend: object, new_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[IsolatedStudios]:
    data = tmp_path_factory.mktemp("data")
    async for api in open_partner_api(new_database(), rate_limit=0, data_dir=data):
        yield await build_isolated_studios(api, ("north", "south", "west"), data)


HOLDERS = ("north", "south", "west", "place-0", "place-1")
RESTRICTED = ("place-0", "place-1")


def leaks(holder: Holder, answer: DirectResponse) -> list[str]:
    """Return everything in a response that this key must not see."""
    text = answer.raw.decode()
    found = [each for each in CANARIES.findall(text) if each != holder.studio.canary]
    found += [each for each in PLACES.findall(text) if each not in holder.places]
    found += [each for each in UUIDS.findall(text) if each not in holder.ids and not _is_limited_price(holder, each)]
    return found + [each for each in PRIVATE if each in text]


def _is_limited_price(holder: Holder, row_id: str) -> bool:
    prices = [str(each) for each in holder.studio.ids["limited_price"]]
    return row_id in (prices if holder.place is None else prices[holder.place : holder.place + 1])


def kind_of(parameter: str) -> str:
    return KINDS.get(parameter, parameter.removesuffix("_id"))


Question = tuple[LeanRoute, str, dict[str, Any]]


def questions(isolated: IsolatedStudios, route: LeanRoute) -> Iterator[Question]:
    """Yield every way to request one route with every id."""
    names = re.findall(r"\{(\w+)\}", route.path)
    values = [isolated.ids(kind_of(name)) for name in names]
    if "booking_id" in names:
        values = [[*values[0], *isolated.ids("waitlisted_booking"), *isolated.ids("cancelled_booking")]]
    if len(names) == 1:
        values = [[*values[0], *isolated.others(kind_of(names[0]))]]
    paths = [_filled(route.path, names, each) for each in itertools.product(*values)]
    yield from ((route, path, {}) for path in paths)
    if route not in LISTS:
        return
    own_path = _filled(route.path, names, [isolated.studios[0].first(kind_of(name)) for name in names])
    everything = [row_id for studio in isolated.studios for rows in studio.ids.values() for row_id in rows[:2]]
    yield from ((route, own_path, {"cursor": row_id}) for row_id in everything)
    for field in route.dependant.query_params:
        if field.alias in ID_FILTERS:
            kind = kind_of(field.alias)
            yield from ((route, own_path, {field.alias: each}) for each in isolated.ids(kind) + isolated.others(kind))
    yield from ((route, own_path, query) for query in _plain_filters(isolated, route))
    if {"class_id", "member_id"} <= {field.alias for field in route.dependant.query_params}:
        pairs = itertools.product(isolated.ids("class"), isolated.ids("member"))
        yield from ((route, own_path, {"class_id": one, "member_id": other}) for one, other in pairs)


def _plain_filters(isolated: IsolatedStudios, route: LeanRoute) -> Iterator[dict[str, Any]]:
    names = {field.alias for field in route.dependant.query_params}
    yield from ({name: value} for name, value in (("active", "false"), ("include_drafts", "true")) if name in names)
    if "updated_after" in names:
        yield {"updated_after": "2000-01-01T00:00:00Z"}
        yield {"updated_after": "2000-01-01T00:00:00Z", "limit": 1}
    if "starts_after" in names:
        yield {"starts_after": "2000-01-01T00:00:00Z", "starts_before": "2050-01-01T00:00:00Z"}
    if "email" in names:
        kind = "lead" if route.path == "/leads" else "member"
        yield from ({"email": f"{kind}0@{studio.canary}.example"} for studio in isolated.studios)


def _filled(path: str, names: list[str], values: Any) -> str:
    for name, value in zip(names, values, strict=True):
        path = path.replace("{" + name + "}", str(value))
    return path


async def crawl(isolated: IsolatedStudios, holder: Holder, routes: list[LeanRoute]) -> tuple[list[str], dict[str, int]]:
    """Return all leaks, and the number of requests per route that returned data."""
    found: list[str] = []
    answered: dict[str, int] = {}
    for route in routes:
        for _, path, query in questions(isolated, route):
            answer = await ask(isolated.api.app, "GET", path, holder.key, query=query)
            if answer.status not in (200, 400, 404, 409):
                found.append(f"{holder.name} GET {path} {query}: {answer.status}")
            found += [f"{holder.name} GET {path} {query}: {leak}" for leak in leaks(holder, answer)]
            answered[route.path] = answered.get(route.path, 0) + (answer.status == 200)
    return found, answered


@pytest.mark.parametrize("name", HOLDERS)
async def test_no_answer_holds_a_foreign_byte(isolated: IsolatedStudios, name: str) -> None:
    found, answered = await crawl(isolated, isolated.holders[name], GETS)
    assert found == []
    assert [path for path in BY_PATH if not answered[path]] == [], "a route that never answers proves nothing"


@pytest.mark.parametrize("count", [pytest.param(6, marks=battery("leaks"))])
async def test_no_answer_among_many_studios_holds_a_foreign_byte(
    database_url: str, tally: Tally, count: int, tmp_path: Path
) -> None:
    """The same with more studios, and with every key."""
    async for api in open_partner_api(database_url, rate_limit=0, data_dir=tmp_path):
        isolated = await build_isolated_studios(
            api, [f"studio{letter}" for letter in ascii_lowercase[:count]], tmp_path
        )
        for holder in isolated.holders.values():
            found, answered = await crawl(isolated, holder, GETS)
            assert found == []
            tally.add(keys=1, answers_with_data=sum(answered.values()))
        questions_of_a_key = sum(1 for route in GETS for _ in questions(isolated, route))
        tally.add(studios=count, answers_searched=questions_of_a_key * len(isolated.holders))


async def test_every_query_parameter_is_part_of_the_crawl() -> None:
    """A new filter must be added to the crawl."""
    known = {"cursor", "limit", *ID_FILTERS, *ONE_OF_A_LIST}
    assert {field.alias for route in GETS for field in route.dependant.query_params} - known == set()


async def test_the_crawl_finds_a_wrong_studio(isolated: IsolatedStudios, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prove that the crawl can fail: reads from another studio are found on every route."""
    south, read = isolated.studios[1], Caller.read

    async def astray(caller: Caller, function: Any, *arguments: Any) -> Any:
        access = Access(south.studio_id, "astray", frozenset(Scope), None)
        return await read(caller._replace(access=access), function, *arguments)

    monkeypatch.setattr(Caller, "read", astray)
    for route in [each for each in GETS if each.path != "/key"]:  # which reads by the credential's own id only
        found, _ = await crawl(isolated, isolated.holders["north"], [route])
        assert found, f"{route.path} answered with another studio's data and the crawl did not see it"


MUTANTS = [
    (schedule, "CLASS", ["/classes", "/classes/{class_id}"]),
    (schedule, "ROOM", ["/rooms", "/rooms/{room_id}"]),
    (studio_storage, "LOCATION", ["/locations", "/locations/{location_id}"]),
    (bookings, "BOOKING", ["/bookings", "/bookings/{booking_id}"]),
    (bookings, "WAITLIST_ENTRY", ["/waitlist", "/waitlist/{waitlist_id}"]),
    (purchases, "PURCHASE", ["/purchases", "/purchases/{purchase_id}"]),
    (catalog, "PRODUCT", ["/products", "/products/{product_id}"]),
]


@pytest.mark.parametrize(("module", "name", "paths"), MUTANTS, ids=[each[1] for each in MUTANTS])
async def test_the_crawl_finds_a_forgotten_restriction(
    isolated: IsolatedStudios, monkeypatch: pytest.MonkeyPatch, module: Any, name: str, paths: list[str]
) -> None:
    forgotten = replace(getattr(module, name), permitted=None, located_by=None)
    for reader in (module, schedule_routes, booking_routes, purchase_routes):
        if hasattr(reader, name):
            monkeypatch.setattr(reader, name, forgotten)
    for path in paths:
        found, _ = await crawl(isolated, isolated.holders["place-0"], [BY_PATH[path]])
        assert found, f"{path} without its restriction leaks nothing that the crawl sees"


async def test_the_crawl_finds_a_forgotten_condition(
    isolated: IsolatedStudios, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Covers restrictions that are not part of a Resource: receipts, and the spots of a class."""
    forgotten = bookings.CANCELLATION.replace("b.location_id = any($3)", "true")
    monkeypatch.setattr(bookings, "CANCELLATION", forgotten)
    monkeypatch.setattr(schedule, "SPOT", replace(schedule.SPOT, permitted=None))
    monkeypatch.setattr(schedule, "PERMITTED_CLASS_EXISTS", schedule.CLASS_EXISTS)
    for path in ("/bookings/{booking_id}/cancellation", "/classes/{class_id}/spots"):
        found, _ = await crawl(isolated, isolated.holders["place-0"], [BY_PATH[path]])
        assert found, path


async def test_prices_for_other_places_do_not_show(isolated: IsolatedStudios) -> None:
    north = isolated.studios[0]
    limited = [str(each) for each in north.ids["limited_price"]]
    for holder, expected in (("north", limited), ("place-0", limited[:1]), ("place-1", limited[1:])):
        for path in (f"/products/{north.ids['product'][2]}", "/products"):
            answer = await ask(isolated.api.app, "GET", path, isolated.holders[holder].key)
            assert sorted(each for each in limited if each in answer.body.decode()) == sorted(expected)


async def test_a_restricted_key_sees_all_of_its_own_place(isolated: IsolatedStudios) -> None:
    """The crawl alone would also pass if everything were hidden."""
    for name in RESTRICTED:
        holder = isolated.holders[name]
        for route in LISTS:
            if "{" in route.path:
                continue
            answer = await ask(isolated.api.app, "GET", route.path, holder.key, query={"limit": 200})
            seen = {row["id"] for row in answer.json()["data"]}
            everything = (await ask(isolated.api.app, "GET", route.path, isolated.holders["north"].key)).json()["data"]
            assert seen == {row["id"] for row in everything} & holder.ids, route.path
            assert seen


# Foreign, not permitted and unknown ids get the same response.


def hidden(isolated: IsolatedStudios, holder: Holder, kind: str) -> list[UUID]:
    foreign = [row_id for studio in isolated.studios if studio is not holder.studio for row_id in studio.ids[kind]]
    return foreign + [row_id for n, row_id in enumerate(holder.studio.ids[kind]) if not holder.sees(kind, n)]


@pytest.mark.parametrize("name", HOLDERS)
async def test_hidden_and_unknown_ids_are_indistinguishable(isolated: IsolatedStudios, name: str) -> None:
    holder = isolated.holders[name]
    for route in GETS:
        names = re.findall(r"\{(\w+)\}", route.path)
        for position, parameter in enumerate(names):
            own = [next(iter(sorted(holder.ids & {str(i) for i in holder.studio.ids[kind_of(n)]}))) for n in names]
            kinds = [kind_of(parameter)]
            if kinds == ["booking"]:
                kinds += ["waitlisted_booking", "cancelled_booking"]
            asked = [uuid4(), *(row_id for kind in kinds for row_id in hidden(isolated, holder, kind))]
            paths = [_filled(route.path, names, [*own[:position], each, *own[position + 1 :]]) for each in asked]
            answers = {await ask(isolated.api.app, "GET", path, holder.key) for path in paths}
            assert len(answers) == 1, route.path
            only = answers.pop()
            assert (only.status, only.code) == (404, "not_found"), route.path


LIST_KINDS = {
    "/locations": "location",
    "/rooms": "room",
    "/class-types": "class_type",
    "/instructors": "instructor",
    "/classes": "class",
    "/classes/{class_id}/spots": "spot",
    "/products": "product",
    "/forms": "form",
    "/forms/{form_id}/submissions": "submission",
    "/leads": "lead",
    "/members": "member",
    "/members/{member_id}/memberships": "membership",
    "/bookings": "booking",
    "/waitlist": "waitlist",
    "/purchases": "purchase",
    "/events": "event",
    "/webhook-endpoints": "endpoint",
    "/webhook-endpoints/{endpoint_id}/deliveries": "delivery",
}


async def test_every_list_has_its_kind() -> None:
    assert {route.path for route in LISTS} == set(LIST_KINDS)


@pytest.mark.parametrize("name", HOLDERS)
async def test_hidden_and_unknown_cursors_are_indistinguishable(isolated: IsolatedStudios, name: str) -> None:
    holder = isolated.holders[name]
    for route in LISTS:
        names = re.findall(r"\{(\w+)\}", route.path)
        own = [sorted(holder.ids & {str(each) for each in holder.studio.ids[kind_of(n)]})[0] for n in names]
        path = _filled(route.path, names, own)
        cursors = [uuid4(), *hidden(isolated, holder, LIST_KINDS[route.path])]
        answers = {await ask(isolated.api.app, "GET", path, holder.key, query={"cursor": each}) for each in cursors}
        assert len(answers) == 1, route.path
        only = answers.pop()
        assert (only.status, only.code) == (400, "invalid_cursor"), route.path


@pytest.mark.parametrize("name", HOLDERS)
@pytest.mark.parametrize("path", ["/bookings", "/waitlist", "/purchases"])
async def test_foreign_class_and_member_filters_find_nothing(isolated: IsolatedStudios, name: str, path: str) -> None:
    holder = isolated.holders[name]
    for field in BY_PATH[path].dependant.query_params:
        if field.alias in ("class_id", "member_id"):
            asked = [uuid4(), *hidden(isolated, holder, kind_of(field.alias))]
            answers = {
                await ask(isolated.api.app, "GET", path, holder.key, query={field.alias: each}) for each in asked
            }
            assert len(answers) == 1
            assert answers.pop().json() == {"object": "list", "data": [], "has_more": False, "next_cursor": None}


@pytest.mark.parametrize("name", HOLDERS)
@pytest.mark.parametrize("path", ["/classes", "/rooms"])
async def test_hidden_location_filters_do_not_exist(isolated: IsolatedStudios, name: str, path: str) -> None:
    holder = isolated.holders[name]
    asked = [uuid4(), *hidden(isolated, holder, "location"), *isolated.others("location")]
    answers = {await ask(isolated.api.app, "GET", path, holder.key, query={"location_id": each}) for each in asked}
    assert len(answers) == 1
    assert answers.pop().code == "not_found"


async def test_no_conditional_request_finds_out_more(isolated: IsolatedStudios) -> None:
    """If-None-Match: * asks whether the resource exists at all."""
    holder = isolated.holders["place-0"]
    for path, kind in (("/bookings/{}", "booking"), ("/classes/{}", "class"), ("/members/{}", "member")):
        asked = [uuid4(), *hidden(isolated, holder, kind)]
        answers = {
            await ask(isolated.api.app, method, path.format(each), holder.key, headers={"If-None-Match": "*"})
            for method in ("GET", "HEAD")
            for each in asked
        }
        assert {answer.status for answer in answers} == {404}
        assert len({answer.headers for answer in answers}) == 1


# Writes.


async def _counts(isolated: IsolatedStudios) -> list[int]:
    tables = ("bookings", "waitlist_entries", "booking_cancellations", "credit_ledger", "purchases", "idempotency_keys")
    return [await isolated.api.connection.fetchval(f"select count(*) from {table}") for table in tables]


@pytest.mark.parametrize("name", HOLDERS)
async def test_writes_to_what_is_hidden_find_nothing(isolated: IsolatedStudios, name: str) -> None:
    holder = isolated.holders[name]
    own_class = holder.studio.ids["class"][holder.place or 0]
    own_member = holder.studio.ids["member"][2]
    before = await _counts(isolated)
    wanted = [{"class_id": each, "member_id": own_member} for each in [uuid4(), *hidden(isolated, holder, "class")]]
    wanted += [{"class_id": own_class, "member_id": each} for each in [uuid4(), *hidden(isolated, holder, "member")]]
    south = isolated.studios[1 if holder.studio is not isolated.studios[1] else 2]
    wanted.append({"class_id": south.first("class"), "member_id": south.first("member")})
    answers: dict[str, set[DirectResponse]] = {"class_id": set(), "member_id": set()}
    cancelled = set()
    for path, body in itertools.product(("/bookings", "/bookings/validate"), wanted):
        text = {member: str(value) for member, value in body.items()}
        answer = await _write(isolated, holder, "POST", path, text)
        # The class is looked up first, whatever the member is.
        assert answer.json()["error"]["param"] == ("member_id" if body["class_id"] == own_class else "class_id")
        answers[answer.json()["error"]["param"]].add(answer)
    kinds = ("booking", "waitlisted_booking", "cancelled_booking")
    for each in [uuid4(), *(row_id for kind in kinds for row_id in hidden(isolated, holder, kind))]:
        cancelled.add(await _write(isolated, holder, "DELETE", f"/bookings/{each}"))
    for same in (*answers.values(), cancelled):
        assert len(same) == 1
        assert same.pop().code == "not_found"
    assert await _counts(isolated) == before


async def _write(isolated: IsolatedStudios, holder: Holder, method: str, path: str, body: Any = None) -> DirectResponse:
    headers = {"Idempotency-Key": f"isolation-{uuid4()}"}
    answer = await ask(isolated.api.app, method, path, holder.key, body=body, headers=headers)
    assert leaks(holder, answer) == []
    return answer


async def test_a_foreign_spot_is_no_spot(isolated: IsolatedStudios) -> None:
    """A spot of another studio, a spot of another room and an unknown spot get the same refusal."""
    holder = isolated.holders["place-0"]
    body = {"class_id": str(holder.studio.first("class")), "member_id": str(holder.studio.ids["member"][2])}
    asked = [uuid4(), *hidden(isolated, holder, "spot")]
    answers = {
        await _write(isolated, holder, "POST", path, {**body, "class_spot_id": str(each)})
        for path in ("/bookings", "/bookings/validate")
        for each in asked
    }
    assert len(answers) == 2, "one for each of the two paths"
    assert all(b"spot_not_found" in answer.body for answer in answers)
    assert await isolated.api.connection.fetchval("select count(*) from bookings where class_spot_id is not null") == 0


async def test_idempotency_keys_of_two_credentials_never_meet(isolated: IsolatedStudios) -> None:
    """The same idempotency key, sent by two studios and by two keys of one studio, never replays another's result."""
    headers = {"Idempotency-Key": "the-same-for-all"}
    path = f"/bookings/{uuid4()}"
    for holder in isolated.holders.values():
        answer = await ask(isolated.api.app, "DELETE", path, holder.key, headers=headers)
        assert answer.code == "not_found"
        assert b"idempotent-replayed" not in dict(answer.headers)
    wrong = str(uuid4())
    for holder in isolated.holders.values():
        body = {"class_id": str(holder.studio.ids["class"][holder.place or 0]), "class_spot_id": wrong}
        body["member_id"] = str(holder.studio.ids["member"][2])
        answer = await ask(isolated.api.app, "POST", "/bookings", holder.key, body=body, headers=headers)
        assert answer.status == 409
        assert answer.code != "idempotency_key_reused"
        assert leaks(holder, answer) == []
        assert b"idempotent-replayed" not in dict(answer.headers)


async def test_a_bad_request_never_echoes_its_input(isolated: IsolatedStudios) -> None:
    """Not even the caller's own input: what is echoed to one party can be logged by another."""
    holder, canary = isolated.holders["north"], "canary-echo-0123456789ab"
    for route in LISTS:
        names = re.findall(r"\{(\w+)\}", route.path)
        path = _filled(route.path, names, [holder.studio.first(kind_of(name)) for name in names])
        for field in route.dependant.query_params:
            answer = await ask(isolated.api.app, "GET", path, holder.key, query={field.alias: canary})
            assert answer.status in (400, 422)
            assert canary.encode() not in answer.raw
    answer = await ask(isolated.api.app, "GET", f"/classes/{canary}", holder.key)
    assert answer.status == 422
    assert canary.encode() not in answer.raw
