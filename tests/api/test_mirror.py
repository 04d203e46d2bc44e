"""A partner that mirrors a studio by its events alone ends with what the lists say, field by field."""

import random
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from studiogate.domain.refusals import Refusal
from studiogate.flows import catalog
from studiogate.flows import studio as studio_flow
from studiogate.flows.bookings import desk
from studiogate.flows.bookings import staff as class_actions
from studiogate.flows.members import erase, merge
from studiogate.flows.members import staff as members
from studiogate.flows.schedule import class_types, classes, instructors, locations, rooms
from studiogate.flows.schedule.rows import Given
from tests.flows.test_availability import announced
from tests.support import booking_studio
from tests.support.booking_studio import BookingStudio, wire_body
from tests.support.seed import issue_key

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio
DAYS = 30
LISTS = {
    "location": "/locations",
    "room": "/rooms",
    "class_type": "/class-types",
    "class": "/classes",
    "member": "/members",
    "booking": "/bookings",
}
# Changes without an event of their own, such as a moved position, are changes all the same.
UNCOMPARED = {"updated_at"}


class Mirror:
    """Reads the lists once, and from then on only events."""

    def __init__(self, studio: BookingStudio) -> None:
        self._get = studio.get
        self._cursor: dict[str, str] = {}
        self.rows: dict[str, dict[str, Any]] = {}

    async def lists(self) -> dict[str, dict[str, Any]]:
        """Return what the lists say, by kind and id."""
        found = {kind: await self._all(path) for kind, path in LISTS.items()}
        found["product"] = {**await self._all("/products"), **await self._all("/products", active="false")}
        found["instructor"] = await self._all("/instructors")
        studio = await self._get("/studio")
        found["studio"] = {studio["id"]: studio}
        return found

    async def _all(self, path: str, **query: str) -> dict[str, Any]:
        rows: dict[str, Any] = {}
        while True:
            page = await self._get(path, limit=200, **query)
            rows |= {row["id"]: row for row in page["data"]}
            if not page["has_more"]:
                return rows
            query["cursor"] = page["next_cursor"]

    async def begin(self) -> None:
        while (page := await self._get("/events", limit=200, **self._cursor))["data"]:
            self._cursor = {"cursor": page["data"][-1]["id"]}
        self.rows = await self.lists()

    async def follow(self) -> None:
        while (page := await self._get("/events", limit=200, **self._cursor))["data"]:
            for event in page["data"]:
                self._apply(event["data"])
            self._cursor = {"cursor": page["data"][-1]["id"]}

    def _apply(self, data: Any) -> None:
        row = data["object"]
        if "merged_member_id" in data:
            self.rows["member"].pop(data["merged_member_id"], None)
        if row["object"] == "waitlist":
            # Positions are announced by the waitlist's events.
            self.rows["booking"][row["booking_id"]]["waitlist_position"] = row["position"]
        if row["object"] in self.rows:
            self.rows[row["object"]][row["id"]] = row


def compared(rows: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    rows = {**rows, "instructor": {each: row for each, row in rows["instructor"].items() if row["active"]}}
    return {
        kind: {row_id: {n: v for n, v in row.items() if n not in UNCOMPARED} for row_id, row in found.items()}
        for kind, found in rows.items()
    }


class Staff:
    """Changes something of each kind every day; what the rules refuse is left alone."""

    def __init__(self, studio: BookingStudio, seed: int) -> None:
        self.studio, self.chance, self.done = studio, random.Random(seed), set[str]()

    async def _try(self, flow: Any, *arguments: Any) -> Any:
        done = await flow(self.studio.api.connection, self.studio.access, *arguments)
        if not isinstance(done, Refusal):
            self.done.add(f"{flow.__module__.rsplit('.', 1)[1]}.{flow.__name__}")
        return done

    async def _any(self, table: str, where: str = "true") -> UUID:
        found: UUID = self.chance.choice(await self.studio.rows(table, f"{where} order by created_at, id"))["id"]
        return found

    async def day(self, number: int) -> None:
        name, studio = f"N{number}", self.studio
        place = {"city": "C", "state": "S", "timezone": "UTC"}
        if number % 10 == 0:
            await self._try(locations.create, Given({"name": name, **place, "is_primary": True}))
            await self._try(studio_flow.change, Given({"name": name}))
        for flow, table in ((class_types, "class_types"), (instructors, "instructors"), (rooms, "rooms")):
            more = {"capacity": 9, "location_id": str(studio.location), "spots": []} if table == "rooms" else {}
            await self._try(flow.create, Given({"name": name, **more}))
            await self._try(flow.change, await self._any(table), Given({"name": f"{name}!"}))
            await self._try(flow.deactivate, await self._any(table))
        await self._prices(name)
        start = await studio.now() + timedelta(days=number + 1)
        times = {"start_time": start.isoformat(), "end_time": (start + timedelta(hours=1)).isoformat()}
        made = {"title": name, **times, "capacity": 3, "location_id": str(studio.location)}
        await self._try(classes.create, Given(made))
        await self._try(classes.change, await self._any("classes"), Given({"title": f"{name}!"}))
        await self._people(name)
        await self._try(class_actions.change_capacity, await self._any("classes"), self.chance.randint(2, 6))
        if number % 7 == 0:
            await self._try(class_actions.cancel_class, await self._any("classes"))

    async def _prices(self, name: str) -> None:
        product = await self._try(catalog.create_product, {"key": name, "name": name, "product_type": "package"})
        await self._try(catalog.create_price, product, {"amount": "10.00", "default": True})
        await self._try(catalog.change_product, await self._any("products"), {"name": f"{name}!"})
        await self._try(catalog.replace_price, await self._any("prices"), {"amount": "11.00"})
        await self._try(catalog.retire_price, await self._any("prices"))
        await self._try(catalog.retire_product, await self._any("products", "name like 'N%'"))

    async def _people(self, name: str) -> None:
        studio = self.studio
        for number in range(3):
            person = {"first_name": name, "last_name": str(number), "email": f"{name}{number}@example.com"}
            member = await self._try(members.create, person)
            await studio.new_membership(UUID(member["id"]), None)
        alive = "erased_at is null"
        for _ in range(5):
            wanted = wire_body(await self._any("classes"), await self._any("members", alive), join_waitlist=True)
            await studio.post(wanted)
        await studio.cancel(await self._any("bookings"))
        await self._try(members.change, await self._any("members", alive), {"first_name": "Changed"})
        await self._try(merge.merge, await self._any("members", alive), await self._any("members", alive))
        await self._try(desk.move_booking, desk.Move(await self._any("bookings"), await self._any("classes")))
        if name.endswith("5"):
            await self._try(erase.erase, await self._any("members", alive))


async def test_a_month(studio: BookingStudio) -> None:
    mirror, staff = Mirror(studio), Staff(studio, 20261119)
    await studio.booked(await studio.new_class(), await studio.new_member())
    await announced(studio)
    await mirror.begin()
    for day in range(DAYS):
        await staff.day(day)
        await mirror.follow()
    assert staff.done >= {"merge.merge", "erase.erase", "desk.move_booking", "catalog.replace_price"}
    await announced(studio)
    await mirror.follow()
    now = await mirror.lists()
    assert compared(mirror.rows) == compared(now)


async def test_scopes_and_locations(studio: BookingStudio) -> None:
    """A key hears of what it may read: the resource's scope, and its own locations."""
    staff = studio.staff
    await staff(catalog.create_product, {"key": "a", "name": "Everywhere", "product_type": "package"})
    for key, places in (("b", [studio.location]), ("c", [studio.other_location])):
        limit = {"location_ids": [str(each) for each in places]}
        product = await staff(catalog.create_product, {"key": key, "name": key, "product_type": "package", **limit})
        await staff(catalog.create_price, product, {"amount": "9.00"})
    await staff(locations.change, studio.other_location, Given({"name": "Changed"}))
    place = {"location_id": str(studio.other_location), "name": "R", "capacity": 3, "spots": []}
    await staff(rooms.create, Given(place))
    await staff(instructors.create, Given({"name": "I"}))
    await announced(studio)
    everything = ["events:read", "catalog:read", "studio:read", "schedule:read"]

    async def heard(scopes: list[str], *places: UUID) -> list[tuple[str, str]]:
        key = await issue_key(studio.api.connection, studio.studio, *scopes, locations=list(places) or None)
        page = (await studio.ask("GET", "/events", key=key, query={"limit": 200})).json()
        return [(each["type"], each["data"]["object"]["name"]) for each in page["data"]]

    products = [("product.created", each) for each in ("Everywhere", "b", "c")]
    limited = [("product.updated", each) for each in ("b", "c")]
    rest = [("location.updated", "Changed"), ("room.created", "R"), ("instructor.created", "I")]
    assert sorted(await heard(everything)) == sorted([*products, *limited, *rest])
    assert sorted(await heard(everything, studio.location)) == sorted([*products[:2], limited[0], rest[2]])
    assert await heard(["events:read", "studio:read"]) == rest[:1]
    assert await heard(["events:read"]) == []
