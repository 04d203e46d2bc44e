"""Products and prices: create, change, retire, replace."""

from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.domain.staff import Role
from studiogate.flows import catalog
from tests.support import booking_studio
from tests.support.booking_studio import BookingStudio
from tests.support.staff import audited, code, faults, forget, news, person

pytestmark = pytest.mark.anyio
studio_factory, studio = booking_studio.studio_factory, booking_studio.studio
PACKAGE = {"key": "ten", "name": "Ten classes", "product_type": "package", "credits_granted": 10}


async def run(studio: BookingStudio, flow: Any, *arguments: Any, access: Any = None, **options: Any) -> Any:
    return await flow(studio.api.connection, access or person(studio), *arguments, **options)


async def wire(studio: BookingStudio, product: UUID) -> Any:
    return await studio.get(f"/products/{product}")


async def new_product(studio: BookingStudio, **values: Any) -> UUID:
    made = await run(studio, catalog.create_product, {**PACKAGE, **values})
    assert isinstance(made, UUID), made
    return made


async def new_price(studio: BookingStudio, product: UUID, amount: str = "90.00", **values: Any) -> UUID:
    made = await run(studio, catalog.create_price, product, {"amount": amount, **values})
    assert isinstance(made, UUID), made
    await studio.sql("delete from audit_log where studio_id = $1")
    await forget(studio)
    return made


async def test_create_a_product(studio: BookingStudio) -> None:
    limits: dict[str, Any] = {"location_ids": [str(studio.location)], "class_type_ids": [str(studio.class_type)]}
    product = await new_product(studio, **limits, client_visible=False)
    shown = await wire(studio, product)
    assert {name: shown[name] for name in PACKAGE} == PACKAGE
    assert (shown["active"], shown["client_visible"], shown["prices"]) == (True, False, [])
    ((action, kind, changes, reason),) = await audited(studio)
    assert (action, kind, reason) == ("product.create", "product", None)
    assert changes["location_ids"] == [None, limits["location_ids"]]
    assert changes["class_type_ids"] == [None, limits["class_type_ids"]]
    assert changes["name"] == [None, "Ten classes"]
    assert await news(studio) == [("product.created", str(product), {})]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"key": ""}, ["key"]),
        ({"key": None, "name": None, "product_type": None}, ["key", "name", "product_type"]),
        ({"key": "k" * 201}, ["key"]),
        ({"name": "a\x00b"}, ["name"]),
        ({"name": "n" * 2001}, ["name"]),
        ({"product_type": "toy"}, ["product_type"]),
        ({"credits_granted": -1}, ["credits_granted"]),
        ({"credits_granted": 100_001}, ["credits_granted"]),
        ({"credits_granted": True}, ["credits_granted"]),
        ({"location_ids": ["x"]}, ["location_ids"]),
        (
            {"location_ids": [str(UUID(int=5))], "class_type_ids": [str(UUID(int=6))]},
            ["location_ids", "class_type_ids"],
        ),
        ({"colour": "red", "client_visible": "yes"}, ["colour", "client_visible"]),
    ],
)
async def test_a_product_that_is_refused(studio: BookingStudio, values: dict[str, Any], expected: list[str]) -> None:
    given = {name: value for name, value in {**PACKAGE, **values}.items() if value is not None}
    assert faults(await run(studio, catalog.create_product, given)) == expected
    assert await audited(studio) == []
    assert len(await studio.rows("products")) == 1


async def test_a_key_is_one_products(studio: BookingStudio) -> None:
    await new_product(studio)
    assert faults(await run(studio, catalog.create_product, PACKAGE)) == ["key"]
    assert len(await audited(studio)) == 1


async def test_change_a_product(studio: BookingStudio) -> None:
    product = await new_product(studio, location_ids=[str(studio.location)])
    await audited(studio)
    given = {"name": "Eleven", "credits_granted": None, "location_ids": [str(studio.other_location)]}
    await run(studio, catalog.change_product, product, given)
    shown = await wire(studio, product)
    assert (shown["name"], shown["credits_granted"], shown["key"]) == ("Eleven", None, "ten")
    (entry,) = await audited(studio)
    assert entry[0] == "product.change"
    assert entry[2] == {
        "name": ["Ten classes", "Eleven"],
        "credits_granted": [10, None],
        "location_ids": [[str(studio.location)], [str(studio.other_location)]],
    }
    await run(studio, catalog.change_product, product, {})
    assert await audited(studio) == [], "nothing was changed"
    assert faults(await run(studio, catalog.change_product, product, {"key": "other", "name": ""})) == ["key", "name"]
    assert code(await run(studio, catalog.change_product, uuid4(), {})) == "not_found"
    await run(studio, catalog.change_product, product, {"location_ids": None})
    assert await studio.rows("product_locations", "product_id = $2", product) == []


async def test_retire_a_product(studio: BookingStudio) -> None:
    product = await new_product(studio)
    await audited(studio)
    assert not (await run(studio, catalog.retire_product, product)).active
    assert not (await wire(studio, product))["active"]
    assert await audited(studio) == [("product.retire", "product", {"active": [True, False]}, None)]
    assert code(await run(studio, catalog.retire_product, product)) == "invalid_transition"
    assert (await run(studio, catalog.retire_product, product, undo=True)).active
    assert code(await run(studio, catalog.retire_product, product, undo=True)) == "invalid_transition"


async def test_create_prices(studio: BookingStudio) -> None:
    product = await new_product(studio)
    await audited(studio)
    first = await run(studio, catalog.create_price, product, {"amount": "90.00", "default": True})
    given = {"amount": "1500", "currency": "JPY", "interval": "month", "default": True}
    second = await run(studio, catalog.create_price, product, given)
    newest, oldest = (await wire(studio, product))["prices"]
    assert (oldest["id"], oldest["default"], oldest["price_type"]) == (str(first), False, "one_time")
    assert (newest["id"], newest["default"], newest["price_type"]) == (str(second), True, "recurring")
    assert (oldest["amount"], oldest["currency"], newest["amount"]) == ("90.00", "USD", "1500")
    actions = [(action, changes.get("default")) for action, _, changes, _ in await audited(studio)]
    assert actions == [("price.create", [None, True]), ("price.default", [True, False]), ("price.create", [None, True])]
    await run(studio, catalog.make_default, first)
    assert [each["default"] for each in (await wire(studio, product))["prices"]] == [False, True]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, ["amount"]),
        ({"amount": "9"}, ["amount"]),
        ({"amount": "9.000"}, ["amount"]),
        ({"amount": "-9.00"}, ["amount"]),
        ({"amount": 9.0}, ["amount"]),
        ({"amount": "9" * 13 + ".00"}, ["amount"]),
        ({"amount": "9.00", "currency": "usd"}, ["currency"]),
        ({"amount": "9.00", "currency": "JPY"}, ["amount"]),
        ({"amount": "9.00", "interval": "decade"}, ["interval"]),
        ({"amount": "9.00", "location_ids": [str(UUID(int=5))]}, ["location_ids"]),
    ],
)
async def test_a_price_that_is_refused(studio: BookingStudio, values: dict[str, Any], expected: list[str]) -> None:
    assert faults(await run(studio, catalog.create_price, studio.product, values)) == expected
    assert await studio.rows("prices") == []


async def test_a_replacement_retires_the_old_price(studio: BookingStudio) -> None:
    product = await new_product(studio)
    limits: dict[str, Any] = {"location_ids": [str(studio.location)]}
    old = await new_price(studio, product, interval="month", default=True, **limits)
    done = await run(studio, catalog.replace_price, old, {"amount": "99.00"})
    newest, oldest = (await wire(studio, product))["prices"]
    assert (oldest["id"], oldest["amount"], oldest["active"], oldest["default"]) == (str(old), "90.00", False, False)
    assert (newest["id"], newest["amount"], newest["default"]) == (str(done.price_id), "99.00", True)
    assert (newest["interval"], newest["active"], done.memberships_kept) == ("month", True, 0)
    assert len(await studio.rows("price_locations", "price_id = $2", done.price_id)) == 1
    first, second = await audited(studio)
    assert (first[0], first[2]) == ("price.replace", {"active": [True, False], "default": [True, False]})
    assert (second[0], second[2]["amount"]) == ("price.create", [None, 99.0])
    assert code(await run(studio, catalog.replace_price, old, {"amount": "1.00"})) == "invalid_transition"
    assert faults(await run(studio, catalog.replace_price, done.price_id, {"interval": None})) == ["interval"]
    assert faults(await run(studio, catalog.replace_price, done.price_id, {"currency": "JPY"})) == ["amount"]
    assert code(await run(studio, catalog.replace_price, uuid4(), {})) == "not_found"


async def test_memberships_keep_the_price_they_renew_at(studio: BookingStudio) -> None:
    """Also those that have no price of their own yet, as after an import; others choose for themselves."""
    product = await new_product(studio)
    old = await new_price(studio, product, interval="month", default=True)
    other = await new_price(studio, product, "10.00", interval="year")
    member = await studio.new_member(membership=False)
    renewing: dict[str, Any] = {"product_id": product, "auto_renew": True}
    kept = [await studio.new_membership(member, **renewing, status=each) for each in ("active", "paused", "past_due")]
    own = await studio.new_membership(member, **renewing, price_id=other)
    kept += [await studio.new_membership(member, **renewing, price_id=old)]
    await studio.new_membership(member, **renewing, price_id=old, status="cancelled")
    left = [
        await studio.new_membership(member, product_id=product),
        await studio.new_membership(member, **renewing, status="expired"),
    ]
    assert await run(studio, catalog.retire_price, old) == 4
    prices = {row["id"]: row["price_id"] for row in await studio.rows("memberships")}
    assert [prices[each] for each in kept] == [old] * 4
    assert [prices[each] for each in (own, *left)] == [other, None, None]
    ((type_, _, changed),) = await news(studio)
    assert (type_, set(changed)) == ("product.updated", {"prices"}), "partners see nothing of the memberships' prices"
    assert (await run(studio, catalog.replace_price, other, {"amount": "11.00"})).memberships_kept == 1
    assert code(await run(studio, catalog.retire_price, old)) == "invalid_transition"
    assert code(await run(studio, catalog.make_default, old)) == "invalid_transition"


async def test_a_price_that_is_not_the_default_is_kept_by_nobody(studio: BookingStudio) -> None:
    product = await new_product(studio)
    await new_price(studio, product, interval="month", default=True)
    other = await new_price(studio, product, "10.00", interval="year")
    member = await studio.new_member(membership=False)
    membership = await studio.new_membership(member, product_id=product, auto_renew=True)
    done = await run(studio, catalog.replace_price, other, {"amount": "11.00"})
    assert done.memberships_kept == 0
    assert (await studio.row("memberships", membership))["price_id"] is None
    (row,) = await studio.rows("prices", "id = $2", done.price_id)
    assert row["amount"] == Decimal("11.00")


async def test_staff_of_one_location(studio: BookingStudio) -> None:
    """They change what is offered at their location alone; what is offered elsewhere does not exist for them."""
    desk = person(studio, Role.MANAGER, studio.location)
    here, there = [str(studio.location)], [str(studio.other_location)]
    everywhere = await new_product(studio, key="everywhere")
    elsewhere = await new_product(studio, key="elsewhere", location_ids=there)
    both = await new_product(studio, key="both", location_ids=here + there)
    own = await new_product(studio, key="own", location_ids=here)
    for flow, more in ((catalog.change_product, {"name": "New"}), (catalog.create_price, {"amount": "1.00"})):
        outcomes = [await run(studio, flow, each, more, access=desk) for each in (everywhere, both, elsewhere)]
        assert [code(each) for each in outcomes] == ["permission_denied", "permission_denied", "not_found"]
        assert not hasattr(await run(studio, flow, own, more, access=desk), "code")
    prices = [await new_price(studio, each) for each in (everywhere, elsewhere)]
    outcomes = [await run(studio, catalog.retire_price, each, access=desk) for each in prices]
    assert [code(each) for each in outcomes] == ["permission_denied", "not_found"]
    for limits in ([], there, here + there):
        given = {**PACKAGE, "location_ids": limits}
        assert faults(await run(studio, catalog.create_product, given, access=desk)) == ["location_ids"]
    assert faults(await run(studio, catalog.change_product, own, {"location_ids": None}, access=desk)) == [
        "location_ids"
    ]
