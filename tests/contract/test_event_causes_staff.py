"""What staff change besides classes and sales: the studio, its places and catalog, merged and erased members; and the
changed counts of classes, whoever moved them."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.flows import catalog, studio
from studiogate.flows.bookings import desk
from studiogate.flows.bookings import staff as class_actions
from studiogate.flows.bookings.desk import Move
from studiogate.flows.members import erase, merge
from studiogate.flows.schedule import class_types, instructors, locations, rooms
from studiogate.flows.schedule.rows import Given
from tests.contract.test_event_causes_inside import imported
from tests.support import event_causes
from tests.support.event_causes import AVAILABILITY, EventStudio, causing, difference, in_any_order

pytestmark = pytest.mark.anyio
studio_factory, event_studio = event_causes.studio_factory, event_causes.event_studio
PLACE = {"city": "C", "state": "S", "timezone": "America/New_York"}


async def one_row(event_studio: EventStudio, flow: Any, kind: str, new: dict[str, Any], path: str) -> None:
    """Create a row of a kind, change it, change nothing, and deactivate it."""
    made = (await event_studio.studio.staff(flow.create, Given(new))).id
    assert await event_studio.news("staff") == [(f"{kind}.created", {})]
    await event_studio.studio.staff(flow.change, made, Given({"name": "Changed"}))
    assert await event_studio.news("staff") == [(f"{kind}.updated", {"name": new["name"]})]
    await event_studio.studio.staff(flow.change, made, Given({"name": "Changed"}))
    assert await event_studio.news("staff") == [], "nothing differs"
    before = await event_studio.studio.get(path.format(id=made))
    await event_studio.studio.staff(flow.deactivate, made)
    changed = difference(before, await event_studio.studio.get(path.format(id=made)))
    assert await event_studio.news("staff") == ([(f"{kind}.updated", changed)] if changed else [])


@causing("location.created", "location.updated")
async def test_locations(event_studio: EventStudio) -> None:
    await one_row(event_studio, locations, "location", {"name": "New", **PLACE}, "/locations/{id}")
    for name in ("First", "Second"):
        await event_studio.studio.staff(locations.create, Given({"name": name, **PLACE, "is_primary": True}))
    expected = [("location.created", {}), ("location.updated", {"is_primary": True}), ("location.created", {})]
    assert in_any_order(await event_studio.news("staff")) == in_any_order(expected), "the former one no longer is"


@causing("room.created", "room.updated")
async def test_rooms(event_studio: EventStudio) -> None:
    new = {"name": "New", "location_id": str(event_studio.studio.location), "capacity": 5, "spots": []}
    await one_row(event_studio, rooms, "room", new, "/rooms/{id}")


@causing("class_type.created", "class_type.updated")
async def test_class_types(event_studio: EventStudio) -> None:
    await one_row(event_studio, class_types, "class_type", {"name": "New"}, "/class-types/{id}")


@causing("instructor.created", "instructor.updated")
async def test_instructors(event_studio: EventStudio) -> None:
    await one_row(event_studio, instructors, "instructor", {"name": "New"}, "/instructors/{id}")


@causing("studio.updated")
async def test_the_studio(event_studio: EventStudio) -> None:
    before = await event_studio.studio.get("/studio")
    await event_studio.studio.staff(studio.change, Given({"name": "Changed"}))
    assert await event_studio.news("staff") == [("studio.updated", {"name": before["name"]})]
    await event_studio.studio.staff(studio.change, Given({"schedule_weeks_ahead": 9}))
    assert await event_studio.news("staff") == [], "partners do not see it"


@causing("product.created", "product.updated")
async def test_products_and_prices(event_studio: EventStudio) -> None:
    staff, get = event_studio.studio.staff, event_studio.studio.get
    product = await staff(catalog.create_product, {"key": "ten", "name": "Ten", "product_type": "package"})
    assert await event_studio.news("staff") == [("product.created", {})]
    path = f"/products/{product}"

    async def causes_one(flow: Any, *arguments: Any) -> Any:
        before = await get(path)
        done = await staff(flow, *arguments)
        changed = difference(before, await get(path))
        assert await event_studio.news("staff") == [("product.updated", changed)]
        return done, set(changed)

    _, changed = await causes_one(catalog.change_product, product, {"name": "Ten classes"})
    assert changed == {"name"}
    price, changed = await causes_one(catalog.create_price, product, {"amount": "90.00", "default": True})
    assert changed == {"prices"}
    second, _ = await causes_one(catalog.create_price, product, {"amount": "80.00"})
    await causes_one(catalog.make_default, second)
    await causes_one(catalog.replace_price, price, {"amount": "95.00"})
    await causes_one(catalog.retire_price, second)
    _, changed = await causes_one(catalog.retire_product, product)
    assert changed == {"active"}


@causing(
    "product.created",
    "product.updated",
    "studio.updated",
    "location.created",
    "location.updated",
    "room.created",
    "room.updated",
    "class_type.created",
    "class_type.updated",
    "instructor.created",
    "instructor.updated",
)
async def test_an_import(event_studio: EventStudio, tmp_path: Path) -> None:
    """One event for each row, also where only prices change."""
    own, place = event_studio.studio, {"city": "C", "state": "S", "timezone": "UTC"}
    ids = {word: str(uuid4()) for word in ("location", "room", "class_type", "instructor", "product", "price")}
    price = {"id": ids["price"], "amount": "9.00", "currency": "USD", "price_type": "one_time"}
    await imported(
        event_studio,
        tmp_path / "new.json",
        locations=[{"id": ids["location"], "name": "New", **place}],
        rooms=[{"id": ids["room"], "location_id": ids["location"], "name": "New", "capacity": 3}],
        class_types=[{"id": ids["class_type"], "name": "New"}],
        instructors=[{"id": ids["instructor"], "name": "New"}],
        products=[{"id": ids["product"], "key": "n", "name": "N", "product_type": "package", "prices": [price]}],
    )
    kinds = ("location", "room", "class_type", "instructor", "product")
    assert await event_studio.news("staff") == [(f"{kind}.created", {}) for kind in kinds]
    before = {kind: await own.get(event_causes.PATHS[kind].format(id=ids[kind])) for kind in kinds}
    document = {
        "studio": {"id": str(own.id), "name": "Renamed"},
        "locations": [{"id": ids["location"], "name": "L2"}],
        "rooms": [{"id": ids["room"], "capacity": 4}],
        "class_types": [{"id": ids["class_type"], "name": "T2"}],
        "instructors": [{"id": ids["instructor"], "active": False}],
        "products": [{"id": ids["product"], "prices": [{**price, "amount": "12.00"}]}],
    }
    name = (await own.get("/studio"))["name"]
    (tmp_path / "changed.json").write_text(json.dumps(document))
    await event_studio.command("import", tmp_path / "changed.json")
    after = {kind: await own.get(event_causes.PATHS[kind].format(id=ids[kind])) for kind in kinds}
    expected = [(f"{kind}.updated", difference(before[kind], after[kind])) for kind in kinds]
    assert await event_studio.news("staff") == [("studio.updated", {"name": name}), *expected]
    assert all(changed for _, changed in expected)


@causing("member.created", "member.updated", "member.merged", "member.erased")
async def test_merged_and_erased_members(event_studio: EventStudio) -> None:
    own = event_studio.studio
    people = [{"email": f"{n}@example.com", "first_name": n, "last_name": "X"} for n in ("kept", "other", "third")]
    people[1]["phone"] = "+12125550100"
    kept, other, third = [(await event_studio.act("POST", "/members", each))["id"] for each in people]
    await event_studio.news()
    await own.staff(merge.merge, UUID(kept), UUID(other))
    assert await event_studio.news("staff") == [("member.merged", {"phone": None}), ("member.updated", {"phone": None})]
    await own.staff(merge.merge, UUID(third), UUID(kept))
    await event_studio.news("staff")
    merged = (await own.get("/events", type="member.merged"))["data"]
    assert [(each["data"]["object"]["id"], each["data"]["merged_member_id"]) for each in merged] == [
        (kept, other),
        (third, kept),
    ]
    for gone in (other, kept):
        answers = [
            await own.ask("GET", f"/members/{gone}"),
            await own.ask("GET", f"/members/{gone}/memberships"),
            await own.ask(
                "POST", "/bookings/validate", body={"class_id": str(await own.new_class()), "member_id": gone}
            ),
        ]
        errors = [answer.json()["error"] for answer in answers]
        assert [error["details"]["merged_into"] for error in errors] == [third] * 3
        assert [error["param"] for error in errors] == ["member_id"] * 3
    exists = await own.ask("POST", "/members", body=people[1])
    assert (exists.status, exists.json()["error"]["details"]) == (409, {"member_id": third})
    before = await own.get(f"/members/{third}")
    await own.staff(erase.erase, UUID(third))
    changed = dict.fromkeys(difference(before, await own.get(f"/members/{third}")))
    assert {"name", "email", "phone", "erased_at"} <= set(changed)
    assert await event_studio.news("staff") == [("member.erased", changed), ("member.updated", changed)]
    log = json.dumps((await own.get("/events", limit=200))["data"])
    assert "example.com" not in log
    again = await event_studio.act("POST", "/members", people[1])
    assert again["id"] not in (kept, other, third)
    assert await event_studio.news() == [("member.created", {})]


@causing("booking.created", "booking.cancelled", "booking.updated", "waitlist.updated")
async def test_a_moved_booking(event_studio: EventStudio) -> None:
    """Each of the two names the other, in its event and when it is read; likewise where the member waits already."""
    own = event_studio.studio
    held = await own.booked(await own.new_class(), await own.new_member())
    await event_studio.news()
    moved = await own.staff(desk.move_booking, Move(UUID(held["id"]), await own.new_class()))
    new = moved.booked.booking
    assert (moved.receipt["cancellation_type"], moved.receipt["cancelled_by"]) == ("moved", "studio")
    previous = {"status": "confirmed", "moved_to_booking_id": None}
    assert await event_studio.news("staff") == [("booking.cancelled", previous), ("booking.created", {})]
    assert (new["moved_from_booking_id"], new["moved_to_booking_id"]) == (held["id"], None)
    assert (await own.get(f"/bookings/{held['id']}"))["moved_to_booking_id"] == new["id"]
    class_id, _, (waits,) = await event_studio.full_class(minutes=30)
    booked = await own.booked(await own.new_class(), UUID(waits["member_id"]))
    await own.change("classes", class_id, capacity=2)
    await event_studio.news()
    moved = await own.staff(desk.move_booking, Move(UUID(booked["id"]), class_id))
    assert (moved.booked.booking["id"], moved.booked.booking["status"]) == (waits["id"], "confirmed")
    assert (await own.get(f"/bookings/{booked['id']}"))["moved_to_booking_id"] == waits["id"]
    assert (await own.get(f"/bookings/{waits['id']}"))["moved_from_booking_id"] == booked["id"]
    news = await event_studio.news("staff")
    assert news[0] == ("booking.cancelled", previous)
    assert ("booking.updated", {"moved_from_booking_id": None}) in news


@causing("booking.created", "booking.cancelled", "class.updated", "class.cancelled", AVAILABILITY)
async def test_availability(event_studio: EventStudio) -> None:
    """It follows a booking, a cancellation, the capacity and the end of a class; counts that moved back do not."""
    own = event_studio.studio
    class_id = await own.new_class(capacity=10)
    held = [await own.booked(class_id, await own.new_member()) for _ in range(2)]
    assert await event_studio.news() == [("booking.created", {})] * 2
    first = await event_studio.availability()
    assert first[0]["data"]["previous_attributes"] == {"booked_count": 0, "available_count": 10}
    assert first[-1]["data"]["object"] == await own.get(f"/classes/{class_id}")
    await own.cancelled(held[0]["id"])
    (again,) = (await event_studio.availability())[len(first) :]
    assert again["data"]["previous_attributes"] == {"booked_count": 2, "available_count": 8}
    await own.staff(class_actions.change_capacity, class_id, 12)
    (capacity,) = (await event_studio.availability())[len(first) + 1 :]
    assert capacity["data"]["previous_attributes"] == {"capacity": 10, "available_count": 9}
    await own.staff(class_actions.cancel_class, class_id)
    (ended,) = (await event_studio.availability())[len(first) + 2 :]
    assert ended["data"]["previous_attributes"] == {"booked_count": 1, "available_count": 11}
    assert ended["data"]["object"]["available_count"] == 0
    assert ended["data"]["object"] == await own.get(f"/classes/{class_id}")
    event_studio.types |= {"booking.cancelled", "class.updated", "class.cancelled"}
