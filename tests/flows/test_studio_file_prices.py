"""Prices that have been sold: an import keeps what was agreed on."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from studiogate.domain.catalog import SOLD
from tests.support.csv_imports import imported, mapping_of
from tests.support.studio_files import Document, exported, load, load_well, places, small_studio, uid

pytestmark = pytest.mark.anyio

Connection = asyncpg.Connection
PRODUCT, PRICE = uid("north", "product"), uid("north", "price")
# What a file says that changes everything that a sale agrees on.
EDITED = {"amount": "90", "currency": "JPY", "price_type": "recurring", "interval": "month"}
PURCHASE: Document = {
    "id": uid("sold"),
    "member_id": uid("north", "member", 0),
    "product_id": PRODUCT,
    "product_key": "pack-10",
}
PURCHASE |= {"product_type": "package", "quantity": 2, "amount_total": "300.00", "currency": "USD"}
SOLD_BY: dict[str, Document] = {
    "membership": {"memberships": [small_studio()["memberships"][0] | {"price_id": PRICE}]},
    "purchase": {"purchases": [PURCHASE]},
    "sale": {
        "purchases": [PURCHASE | {"amount_total": "1.00", "status": "completed"}],
        "sales": [{"id": PURCHASE["id"], "membership_id": uid("north", "membership"), "price_id": PRICE}],
    },
}


@pytest.fixture
async def other(database_url: str) -> AsyncIterator[Connection]:
    connected = await asyncpg.connect(database_url, server_settings={"lock_timeout": "60s"})
    yield connected
    await connected.close()


def edited(**price: Any) -> Document:
    return {"studio": {"id": uid("north", "studio")}, "products": [{"id": PRODUCT, "prices": [{"id": PRICE, **price}]}]}


@pytest.mark.parametrize("way", SOLD_BY)
async def test_what_a_sale_agreed_on_cannot_change(connection: Connection, way: str) -> None:
    await load_well(connection, small_studio() | SOLD_BY[way])
    before = await exported(connection)
    outcome = await load(connection, edited(**EDITED))
    assert sorted(places(outcome)) == sorted(f"products[0].prices[0].{name}" for name in EDITED)
    assert {fault.message for fault in outcome.faults} == {SOLD}
    assert places(await load(connection, edited(amount="150.01"), overwrite=True)) == ["products[0].prices[0].amount"]
    assert await exported(connection) == before


async def test_everything_else_about_it_can_change(connection: Connection) -> None:
    await load_well(connection, small_studio() | SOLD_BY["membership"])
    text = await exported(connection)
    await load_well(connection, json.loads(text), edited(amount="150.00", currency="USD", price_type="one_time"))
    assert await exported(connection) == text
    successor = {"id": uid("successor"), "amount": "160.00", "price_type": "one_time"}
    document = edited(active=False, default=True, location_ids=[])
    document["products"][0]["prices"].append(successor)
    await load_well(connection, document)
    prices = await connection.fetch("select amount::text, active from prices order by amount")
    assert [tuple(price) for price in prices] == [("150.00", False), ("160.00", True)]


async def test_it_stays_with_its_product(connection: Connection) -> None:
    await load_well(connection, small_studio() | SOLD_BY["membership"])
    document = edited()
    document["products"][0] |= {"id": uid("another"), "key": "b", "name": "B", "product_type": "package"}
    assert places(await load(connection, document)) == ["products[0].prices[0].id"]


async def test_one_that_was_never_sold_can_be_corrected(connection: Connection) -> None:
    await load_well(connection, small_studio())
    await load_well(connection, edited(**EDITED))
    price = await connection.fetchrow("select amount::text, currency, interval from prices")
    assert price is not None
    assert tuple(price) == ("90", "JPY", "month")


async def test_a_csv_file_cannot_change_it_either(connection: Connection) -> None:
    await load_well(connection, small_studio())
    mapping = mapping_of("products")
    header = "external_id,key,name,product_type,amount,price_type\n"
    await imported(connection, mapping, f"{header}1,a,A,package,50.00,one_time\n")
    assert (await imported(connection, mapping, f"{header}1,a,A,package,55.00,one_time\n")).verdicts == ["updated"]
    sold = "update memberships set price_id = (select id from prices where amount = 55)"
    await connection.execute(sold)
    done = await imported(connection, mapping, f"{header}1,a,A,package,60.00,one_time\n2,b,B,package,7.00,one_time\n")
    assert (done.verdicts, done.rows[0]["column"], done.rows[0]["reason"]) == (["fault", "created"], "amount", SOLD)
    assert (await imported(connection, mapping, f"{header}1,a,A,package,55.00,one_time\n")).verdicts == ["unchanged"]


async def test_an_import_waits_for_a_sale_that_runs(connection: Connection, other: Connection) -> None:
    """A sale locks its product and refers to the price at the end; the import must find that it was sold."""
    await load_well(connection, small_studio())
    async with other.transaction():
        await other.execute("select id from products where id = $1 for share", PRODUCT)
        task = asyncio.create_task(load(connection, edited(amount="160.00")))
        while not await other.fetchval("select pg_blocking_pids($1) <> '{}'", connection.get_server_pid()):
            assert not task.done()
        await other.execute(
            "insert into purchases (studio_id, id, member_id, product_id, product_key, product_type, amount_total,"
            " currency, quantity) values ($1, $2, $3, $4, 'pack-10', 'package', 150.00, 'USD', 1)",
            uid("north", "studio"),
            uid("sold"),
            uid("north", "member", 0),
            PRODUCT,
        )
    assert places(await task) == ["products[0].prices[0].amount"]
