"""updated_at and updated_after of what listings show: locations, rooms, class types, instructors, products."""

import asyncio
from datetime import datetime
from typing import Any
from urllib.parse import quote
from uuid import UUID

import pytest

from studiogate.domain.access import operator_access
from studiogate.domain.refusals import Refusal
from studiogate.flows import catalog
from studiogate.flows.schedule import class_types, instructors, locations, rooms
from studiogate.flows.schedule.rows import Given
from tests.support.asgi import ask
from tests.support.partner_api import PartnerApi
from tests.support.seed import Studio, issue_key, seed_studio
from tests.support.studio_files import load

pytestmark = pytest.mark.anyio
RESOURCES = {
    "locations": ("location", locations.change),
    "rooms": ("room", rooms.change),
    "class-types": ("class_type", class_types.change),
    "instructors": ("instructor", instructors.change),
}


class Service:
    """A studio with a key for all of it and one for its first location."""

    def __init__(self, api: PartnerApi, studio: Studio, keys: tuple[str, str]) -> None:
        self.api, self.studio, (self.key, self.restricted) = api, studio, keys

    async def get(self, path: str, *, restricted: bool = False) -> Any:
        answer = await ask(self.api.app, "GET", path, key=self.restricted if restricted else self.key)
        assert answer.status == 200, answer.body
        return answer.json()

    async def changed(self, path: str, since: str, *, restricted: bool = False) -> list[str]:
        joined = "&" if "?" in path else "?"
        page = await self.get(f"{path}{joined}updated_after={quote(since)}", restricted=restricted)
        return [row["id"] for row in page["data"]]

    async def do(self, flow: Any, *arguments: Any) -> Any:
        async with self.api.app._runtime.database.connection() as connection:
            done = await flow(connection, operator_access(self.studio.studio_id), *arguments)
        assert not isinstance(done, Refusal), done
        return done

    async def etag(self, path: str, *, restricted: bool = False) -> str | None:
        key = self.restricted if restricted else self.key
        return (await ask(self.api.app, "GET", path, key=key)).header("etag")


@pytest.fixture
async def service(api: PartnerApi) -> Service:
    studio = await seed_studio(api.connection)
    places = studio.ids["location"][:1]
    keys = (await issue_key(api.connection, studio), await issue_key(api.connection, studio, locations=places))
    return Service(api, studio, keys)


def later(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return datetime.fromisoformat(one["updated_at"]) > datetime.fromisoformat(other["updated_at"])


@pytest.mark.parametrize("path", RESOURCES)
async def test_a_change_is_found_by_its_time(service: Service, path: str) -> None:
    kind, flow = RESOURCES[path]
    row_id = service.studio.first(kind)
    before = await service.get(f"/{path}/{row_id}")
    every = [row["id"] for row in (await service.get(f"/{path}"))["data"]]
    assert await service.changed(f"/{path}", "2020-01-01T00:00:00Z") == every
    newest = max(row["updated_at"] for row in (await service.get(f"/{path}"))["data"])
    etag = await service.etag(f"/{path}/{row_id}")
    await service.do(flow, row_id, Given({"name": "Changed"}))
    after = await service.get(f"/{path}/{row_id}")
    assert later(after, before)
    assert await service.etag(f"/{path}/{row_id}") != etag
    assert after["updated_at"] > newest
    assert await service.changed(f"/{path}", after["updated_at"]) == [str(row_id)], "inclusive"
    microsecond_later = after["updated_at"].replace("+00:00", "") + "1+00:00"
    assert await service.changed(f"/{path}", microsecond_later[:26] + "Z") in ([], [str(row_id)])
    assert await service.changed(f"/{path}", "2100-01-01T00:00:00Z") == []


async def test_a_former_primary_location_has_changed_too(service: Service) -> None:
    first, second = service.studio.ids["location"]
    since = (await service.get(f"/locations/{first}"))["updated_at"]
    await service.do(locations.change, second, Given({"is_primary": True}))
    assert set(await service.changed("/locations", since)) == {str(first), str(second)}
    shown = await service.get(f"/locations/{first}")
    assert (shown["is_primary"], shown["updated_at"] > since) == (False, True)


async def test_an_address_is_shown_as_it_was_given(service: Service) -> None:
    place = service.studio.ids["location"][1]
    assert [(await service.get(f"/locations/{place}"))[name] for name in ("address", "latitude", "phone")] == [None] * 3
    given = {"line1": "Karl-Marx-Straße 1", "country": "DE", "latitude": -0.5, "longitude": 180}
    await service.do(locations.change, place, Given({**given, "phone": "(212) 555-0123"}))
    shown = await service.get(f"/locations/{place}")
    assert shown["address"] == {"line1": "Karl-Marx-Straße 1", "line2": None, "postal_code": None, "country": "DE"}
    assert (shown["latitude"], shown["longitude"], shown["phone"]) == (-0.5, 180, "+12125550123")
    await service.do(locations.change, place, Given(dict.fromkeys((*given, "phone"))))
    assert (await service.get(f"/locations/{place}"))["address"] is None


async def test_rows_that_a_key_may_not_see_stay_hidden(service: Service) -> None:
    """Neither a filter nor a time tells anything about another location."""
    here, there = service.studio.ids["location"]
    room = service.studio.ids["room"][1]
    since = "2020-01-01T00:00:00Z"
    before = [await service.get(path, restricted=True) for path in ("/locations", "/rooms")]
    assert await service.changed("/locations", since, restricted=True) == [str(here)]
    await service.do(locations.change, there, Given({"name": "Changed"}))
    await service.do(rooms.change, room, Given({"name": "Changed"}))
    assert [await service.get(path, restricted=True) for path in ("/locations", "/rooms")] == before
    assert str(room) not in await service.changed("/rooms", since, restricted=True)
    filtered = f"/rooms?location_id={there}&updated_after={since}"
    assert (await ask(service.api.app, "GET", filtered, key=service.restricted)).status == 404


# Products


async def new_product(service: Service, **limits: list[UUID]) -> UUID:
    values = {"key": "new", "name": "New", "product_type": "package", **limits}
    product_id: UUID = await service.do(catalog.create_product, values)
    return product_id


async def test_a_price_is_a_change_of_its_product(service: Service) -> None:
    product = await new_product(service)
    path = f"/products/{product}"
    steps: list[Any] = [
        (catalog.create_price, product, {"amount": "20.00"}),
        (catalog.change_product, product, {"name": "Newer"}),
    ]
    for step in steps:
        before = await service.get(path)
        done = await service.do(*step)
        after = await service.get(path)
        assert later(after, before), step
        assert await service.changed("/products", after["updated_at"]) == [str(product)]
        if step[0] is catalog.create_price:
            steps += [(catalog.replace_price, done, {"amount": "30.00"})]
    await service.do(catalog.retire_product, product)
    assert await service.changed("/products?active=false", (await service.get(path))["updated_at"]) == [str(product)]


async def test_a_price_for_other_locations_is_no_change(service: Service) -> None:
    product = await new_product(service)
    here, there = service.studio.ids["location"]
    path = f"/products/{product}"
    before, etag = await service.get(path, restricted=True), await service.etag(path, restricted=True)
    price = await service.do(catalog.create_price, product, {"amount": "20.00", "location_ids": [str(there)]})
    await service.do(catalog.make_default, price)
    assert (await service.get(path, restricted=True), await service.etag(path, restricted=True)) == (before, etag)
    seen = await service.get(path)
    assert str(product) in await service.changed("/products", seen["updated_at"])
    assert str(product) not in await service.changed("/products", seen["updated_at"], restricted=True)
    await service.do(catalog.create_price, product, {"amount": "20.00", "location_ids": [str(here)]})
    assert later(await service.get(path, restricted=True), before)


async def test_a_price_that_moves_to_other_locations_is_a_change(service: Service) -> None:
    """Those who no longer see it learn that the product has changed; its own revision stays."""
    product = await new_product(service)
    here, there = (str(each) for each in service.studio.ids["location"])
    price = await service.do(catalog.create_price, product, {"amount": "20.00", "location_ids": [here]})
    path = f"/products/{product}"
    before = await service.get(path, restricted=True)
    row: dict[str, Any] = {"id": str(price), "location_ids": [there]}
    nested = {"studio": {"id": str(service.studio.studio_id)}, "products": [{"id": str(product), "prices": [row]}]}
    outcome = await load(service.api.connection, nested)
    assert (outcome.faults, outcome.sections["prices"].updated) == ([], 1)
    after = await service.get(path, restricted=True)
    assert (len(before["prices"]), after["prices"]) == (1, [])
    assert later(after, before)
    assert str(product) in await service.changed("/products", after["updated_at"], restricted=True)
    revision = "select revision from products where studio_id = $1 and id = $2"
    assert await service.api.connection.fetchval(revision, service.studio.studio_id, product) == 1


async def test_a_walk_loses_no_change_that_is_made_meanwhile(service: Service) -> None:
    """Pages of two with updated_after, while others write: each row that matched throughout exactly once, and a second
    walk from the newest time seen finds what the first one missed."""
    kinds = [await service.do(class_types.create, Given({"name": f"T{number}"})) for number in range(12)]
    ids = [str(saved.id) for saved in kinds]
    state: dict[str, str] = {}

    async def walk(since: str) -> str:
        cursor, newest = "", since
        seen: list[str] = []
        while cursor is not None:
            suffix = f"&cursor={cursor}" if cursor else ""
            page = await service.get(f"/class-types?limit=2&updated_after={quote(since)}{suffix}")
            for row in page["data"]:
                seen.append(row["id"])
                state[row["id"]] = row["name"]
                newest = max(newest, row["updated_at"])
            cursor = page["next_cursor"]
        assert len(seen) == len(set(seen))
        return newest

    async def write() -> None:
        for number in range(4):
            for row_id in ids[number::3]:
                await service.do(class_types.change, UUID(row_id), Given({"name": f"name {number}"}))

    newest = await walk("2020-01-01T00:00:00+00:00")
    assert set(ids) <= set(state)
    writing = asyncio.create_task(write())
    while not writing.done():
        newest = await walk(newest)
    await writing
    await walk(newest)
    assert state == {row["id"]: row["name"] for row in (await service.get("/class-types"))["data"]}


@pytest.mark.parametrize("path", [*RESOURCES, "products"])
async def test_a_wrong_time_is_refused(service: Service, path: str) -> None:
    for value in ("", "yesterday", "2026-01-01", "2026-01-01T00:00:00"):
        answer = await ask(service.api.app, "GET", f"/{path}?updated_after={value}", key=service.key)
        assert (answer.status, answer.json()["detail"][0]["loc"]) == (422, ["query", "updated_after"])
