"""Products and prices in the settings: a price is replaced, never edited, and a sentence says what it means."""

import re
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import pytest

from studiogate.console.settings.products import sentence
from studiogate.domain.staff import Role
from tests.console.test_settings_places import fields_of, followed
from tests.support.booking_studio import BookingStudio
from tests.support.console import Console, texts

pytestmark = pytest.mark.anyio
PRODUCTS = "/console/settings/products"


@pytest.mark.parametrize(
    ("kind", "credits_granted", "interval", "expected"),
    [
        ("membership", 8, "month", "8 classes each month, $120.00, renews monthly"),
        ("membership", None, "year", "Unlimited classes each year, $120.00, renews yearly"),
        ("package", 1, None, "1 class, $120.00 once, without an end date"),
        ("fee", None, None, "$120.00, paid once"),
        ("retail", None, "week", "$120.00, due every week"),
    ],
)
def test_a_sentence_says_what_a_price_means(
    kind: str, credits_granted: int | None, interval: str | None, expected: str
) -> None:
    price = {"amount": Decimal("120.00"), "currency": "USD", "interval": interval}
    assert sentence({"product_type": kind, "credits_granted": credits_granted}, price) == expected


async def new_product(console: Console, **given: Any) -> str:
    """Create a product by its form; return the address of its page."""
    new = fields_of((await console.get(f"{PRODUCTS}/new")).text)
    created = await console.post(f"{PRODUCTS}/new", {**new, "name": f"Eight {uuid4().hex[:6]}", **given})
    assert created.status_code == 303, texts(created)
    return str(created.headers["location"])


async def prices(studio: BookingStudio, product: str) -> list[Any]:
    statement = "select * from prices where studio_id = $1 and product_id = $2 order by created_at"
    return await studio.api.connection.fetch(statement, studio.id, UUID(product.rpartition("/")[2]))


async def test_create_a_product_with_a_price(console: Console, studio: BookingStudio) -> None:
    limits = {"location_ids": ["", str(studio.location)], "class_type_ids": ["", str(studio.class_type)]}
    at = await new_product(console, name="Eight a month", credits_granted="8", **limits)
    row = await studio.row("products", UUID(at.rpartition("/")[2]))
    assert (row["key"], row["credits_granted"], row["client_visible"]) == ("eight-a-month", 8, True)
    assert "No price yet" in texts(await console.get(at))
    price = {**fields_of((await console.get(f"{at}/price")).text), "amount": "120", "interval": "month"}
    assert "The price is on sale." in await followed(console, await console.post(f"{at}/price", price))
    for page in (at, PRODUCTS):
        assert "8 classes each month, $120.00, renews monthly" in texts(await console.get(page))
    name = (await studio.row("locations", studio.location))["name"]
    assert f"Sold only at {name} Books only T" in texts(await console.get(at))
    refused = await console.post(f"{at}/price", {**price, "amount": "1,200"})
    assert refused.status_code == 422
    assert 'id="f-amount-fault"' in refused.text
    again = await console.post(f"{PRODUCTS}/new", {"name": "Eight a Month!", "product_type": "package"})
    assert "is the key of another product" in texts(again)


async def test_a_replaced_price_stays_with_those_who_have_it(console: Console, studio: BookingStudio) -> None:
    at = await new_product(console)
    await console.post(f"{at}/price", {"amount": "100", "interval": "month", "default": "yes"})
    (old,) = await prices(studio, at)
    member = await studio.new_member(membership=False)
    product = UUID(at.rpartition("/")[2])
    await studio.new_membership(member, None, product_id=product, price_id=old["id"], auto_renew=True)
    path = f"{PRODUCTS}/prices/{old['id']}"
    form = await console.get(f"{path}/replace")
    assert "1 membership renews at it and keeps it." in texts(form)
    shown = fields_of(form.text)
    assert (shown["amount"], shown["interval"]) == ("100.00", "month")
    same = await console.post(f"{path}/replace", shown)
    assert "Change something, or keep the price." in texts(same)
    done = await console.post(f"{path}/replace", {**shown, "amount": "110"})
    assert "The new price is on sale. 1 membership keeps the old one." in await followed(console, done)
    old, new = await prices(studio, at)
    assert (old["amount"], old["active"], new["amount"], new["active"], new["default"]) == (100, False, 110, True, True)
    assert (await console.post(f"{path}/replace", {**shown, "amount": "120"})).status_code == 404, "retired by now"
    page = texts(await console.get(at))
    assert page.index("$110.00") < page.index("$100.00")
    preview = texts(await console.get(f"{PRODUCTS}/prices/{new['id']}/retire"))
    assert "Unlimited classes each month, $110.00" in preview
    assert len(await prices(studio, at)) == 2, "only asked"
    done = await console.post(f"{PRODUCTS}/prices/{new['id']}/retire")
    assert "The price is retired." in await followed(console, done)


async def test_a_retired_product_can_be_sold_again(console: Console, studio: BookingStudio) -> None:
    at = await new_product(console, name="Old pass")
    done = await console.post(f"{at}/retire")
    shown = await console.get(done.headers["location"])
    assert "Old pass is no longer sold." in texts(shown)
    assert f'action="{at}/sell-again"' in shown.text
    assert "Old pass" not in texts(await console.get(PRODUCTS))
    assert "Old pass" in texts(await console.get(f"{PRODUCTS}?show=retired"))
    assert "Old pass is on sale again." in await followed(console, await console.post(f"{at}/sell-again"))


async def test_a_change_keeps_what_the_form_does_not_show(console: Console, studio: BookingStudio) -> None:
    """A location that was deactivated still limits the product; somebody else's change meanwhile stays."""
    at = await new_product(console, location_ids=["", str(studio.location), str(studio.other_location)])
    product = UUID(at.rpartition("/")[2])
    await studio.change("locations", studio.other_location, active=False)
    page = (await console.get(f"{at}/change")).text
    ticked = re.findall(r'name="location_ids" type="checkbox" value="([^"]+)" checked', page)
    assert set(ticked) == {str(studio.location), str(studio.other_location)}
    shown: dict[str, str | list[str]] = {**fields_of(page), "location_ids": ["", *ticked], "class_type_ids": [""]}
    assert (await console.post(f"{at}/change", {**shown, "client_visible": "no"})).status_code == 303
    assert (await console.post(f"{at}/change", {**shown, "name": "Renamed"})).status_code == 303
    row = await studio.row("products", product)
    assert (row["name"], row["client_visible"]) == ("Renamed", False)
    statement = "select count(*) from product_locations where product_id = $1"
    assert await studio.api.connection.fetchval(statement, product) == 2
    assert (await console.post(f"{at}/change", {**shown, "location_ids": [""]})).status_code == 303
    assert await studio.api.connection.fetchval(statement, product) == 0


async def test_a_manager_of_one_location_changes_only_what_is_sold_there(
    console: Console, studio: BookingStudio
) -> None:
    manager = await console.as_role(Role.MANAGER, studio.location)
    everywhere = await new_product(console, name="Everywhere")
    elsewhere = await new_product(console, name="Elsewhere", location_ids=[str(studio.other_location)])
    assert (await manager.get(elsewhere)).status_code == 404
    page = await manager.get(everywhere)
    assert page.status_code == 200
    assert "New price" not in texts(page)
    for name, form in (("change", {"name": "Mine"}), ("retire", {}), ("price", {"amount": "1"})):
        assert (await manager.post(f"{everywhere}/{name}", form)).status_code == 404, name
    own = {"name": "Ours", "product_type": "package"}
    refused = await manager.post(f"{PRODUCTS}/new", {**own, "location_ids": ""})
    assert refused.status_code == 422
    assert "must name one or more of your own locations" in texts(refused)
    refused = await manager.post(f"{PRODUCTS}/new", {**own, "location_ids": ["", str(studio.other_location)]})
    assert refused.status_code == 422
    created = await manager.post(f"{PRODUCTS}/new", {**own, "location_ids": ["", str(studio.location)]})
    assert created.status_code == 303
