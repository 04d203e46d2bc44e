"""The commands for products, prices, memberships, purchases and fees, as an operator uses them."""

import re
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import pytest

from tests.cli import test_staff
from tests.cli.test_staff import Keyboard
from tests.support.booking_studio import BookingStudio

url, keyboard = test_staff.url, test_staff.keyboard
ID = r"[0-9a-f-]{36}"


class SalesStudio(NamedTuple):
    slug: str
    member: UUID
    location: UUID
    class_type: UUID


@pytest.fixture
def sales_studio(keyboard: Keyboard) -> SalesStudio:
    async def build(studio: BookingStudio) -> SalesStudio:
        member = await studio.new_member(membership=False)
        return SalesStudio(studio.studio.slug, member, studio.location, studio.class_type)

    made: SalesStudio = keyboard.studio(build)[1]
    return made


def said(keyboard: Keyboard, *words: object) -> str:
    """Run a command that must succeed, and return what it printed."""
    done = keyboard.type(*words)
    assert (done.status, done.err) == (0, ""), done
    return done.out


def error(keyboard: Keyboard, *words: object) -> str:
    done = keyboard.type(*words)
    assert (done.status, done.out) == (1, ""), done
    return done.err


def as_json(keyboard: Keyboard, *words: object) -> Any:
    done = keyboard.type(*words, "--json")
    assert done.status == 0, done
    return done.json


def new_product(keyboard: Keyboard, sales_studio: SalesStudio, *options: object) -> str:
    words = (
        "--studio",
        sales_studio.slug,
        "--key",
        uuid4().hex,
        "--name",
        "Ten classes",
        "--type",
        "package",
        *options,
    )
    made: str = as_json(keyboard, "product", "create", *words)["id"]
    return made


def new_price(keyboard: Keyboard, product: str, *options: object) -> str:
    made: str = as_json(keyboard, "price", "create", product, "--amount", "90.00", *options)["id"]
    return made


def new_sale(keyboard: Keyboard, sales_studio: SalesStudio, product: str, *options: object) -> Any:
    words = ("--studio", sales_studio.slug, "--member", sales_studio.member, "--product", product, *options)
    return as_json(keyboard, "membership", "sell", *words)


def test_products(keyboard: Keyboard, sales_studio: SalesStudio) -> None:
    words = (
        "--studio",
        sales_studio.slug,
        "--key",
        "ten",
        "--name",
        "Ten classes",
        "--type",
        "package",
        "--credits",
        10,
    )
    limits = ("--location", sales_studio.location, "--class-type", sales_studio.class_type, "--hidden")
    out = said(keyboard, "product", "create", *words, *limits)
    (product,) = set(re.findall(ID, out))
    assert f"`studiogate price create {product}`" in " ".join(out.split())
    assert error(keyboard, "product", "create", *words) == (
        "error: The key is the key of another product: choose another one.\n"
    )
    assert said(keyboard, "product", "change", product, "--name", "Eleven", "--clear", "credits") == (
        "The product is changed.\n"
    )
    query = "select (name, credits_granted, client_visible)::text from products where id = $1"
    assert keyboard.look(query, UUID(product)) == "(Eleven,,f)"
    assert said(keyboard, "product", "change", product) == "Nothing was given, so nothing is changed.\n"
    assert as_json(keyboard, "product", "change", product, "--visible")["changed"] == ["client_visible"]
    assert said(keyboard, "product", "retire", product) == "The product is retired.\n"
    assert error(keyboard, "product", "retire", product) == ("error: The product is retired already.\n")
    assert said(keyboard, "product", "retire", product, "--undo") == "The product is on sale again.\n"
    unknown = uuid4()
    assert f"There is no product {unknown}" in error(keyboard, "product", "retire", unknown)
    assert keyboard.type("product", "create", *words[:-1], "ten").status == 2


def test_every_fault_is_listed(keyboard: Keyboard, sales_studio: SalesStudio) -> None:
    words = ("--studio", sales_studio.slug, "--key", "", "--name", "", "--type", "package", "--location", uuid4())
    lines = error(keyboard, "product", "create", *words).splitlines()
    assert lines == [
        "error: The key must be a string of 1 to 200 characters.",
        "The name must be a string of 1 to 2000 characters.",
    ]
    words = ("--studio", sales_studio.slug, "--key", "k", "--name", "n", "--type", "package", "--location", uuid4())
    assert error(keyboard, "product", "create", *words) == "error: The location 1 is no location of this studio.\n"


def test_prices(keyboard: Keyboard, sales_studio: SalesStudio) -> None:
    product = new_product(keyboard, sales_studio)
    out = said(keyboard, "price", "create", product, "--amount", "49.00", "--interval", "month", "--default")
    (price,) = re.findall(ID, out)
    assert "must have 2 decimals" in error(keyboard, "price", "create", product, "--amount", "49")
    done = as_json(keyboard, "price", "replace", price, "--amount", "59.00")
    assert done["replaced"] == {"id": price, "active": False, "memberships_kept": 0}
    rows = as_json(keyboard, "price", "list", "--studio", sales_studio.slug, "--product", product)
    assert [(row["amount"], row["interval"], row["default"], row["active"]) for row in rows] == [
        ("59.00", "month", True, True),
        ("49.00", "month", False, False),
    ]
    other = new_price(keyboard, product)
    assert said(keyboard, "price", "default", other) == "The price is the default of its product now.\n"
    assert said(keyboard, "price", "retire", done["id"]).startswith("The price is retired; 0 memberships")
    assert error(keyboard, "price", "retire", done["id"]) == "error: The price is retired already.\n"


def test_a_membership(keyboard: Keyboard, sales_studio: SalesStudio) -> None:
    product = new_product(keyboard, sales_studio, "--credits", 8)
    new_price(keyboard, product, "--interval", "month")
    words = ("--studio", sales_studio.slug, "--member", sales_studio.member, "--product", product)
    out = " ".join(said(keyboard, "membership", "sell", *words, "--pending").split())
    assert re.fullmatch(rf"Sold for 90\.00 USD, pending: membership {ID}, purchase {ID}\.", out)
    sale = new_sale(keyboard, sales_studio, product)
    membership = sale["membership"]["id"]
    assert (sale["membership"]["status"], sale["membership"]["credits_remaining"]) == ("active", 8)
    assert (sale["purchase"]["amount_total"], sale["purchase"]["status"]) == ("90.00", "completed")
    steps = [
        (("pause", "--until", "2999-01-01T00:00:00Z"), "The membership is paused until 2999-01-01 00:00 UTC.\n"),
        (("resume",), "The membership is active now.\n"),
        (
            ("pause", "--from", "2998-01-01T00:00:00Z"),
            "The membership is to be paused from 2998-01-01 00:00 UTC until somebody resumes it.\n",
        ),
        (("resume", "--at", "2999-01-01T00:00:00Z"), "The pause ends at 2999-01-01 00:00 UTC.\n"),
        (("credits", "--add", 3, "--reason", "A gift."), "The membership has 11 credits now.\n"),
        (("credits", "--take", 10, "--reason", "Taken."), "The membership has 1 credit now.\n"),
    ]
    for (verb, *options), expected in steps:
        assert said(keyboard, "membership", verb, membership, *options) == expected
    for switch, what in (("off", "ends"), ("on", "renews")):
        assert re.match(f"The membership {what} at 20", said(keyboard, "membership", "renewal", membership, switch))
    assert said(keyboard, "membership", "cancel", membership, "--at-period-end").startswith("The membership ends at 20")
    assert said(keyboard, "membership", "cancel", membership, "--undo") == "The membership is not cancelled any more.\n"
    assert as_json(keyboard, "membership", "cancel", membership)["status"] == "cancelled"


def test_what_a_membership_does_not_take(keyboard: Keyboard, sales_studio: SalesStudio) -> None:
    product = new_product(keyboard, sales_studio, "--credits", 2)
    words = ("--studio", sales_studio.slug, "--member", sales_studio.member, "--product", product)
    assert error(keyboard, "membership", "sell", *words) == (
        "error: The price is not on sale for this product at this location.\n"
    )
    new_price(keyboard, product)
    unknown = ("--studio", sales_studio.slug, "--member", uuid4(), "--product", product)
    assert error(keyboard, "membership", "sell", *unknown) == "error: There is no such member in this studio.\n"
    membership = new_sale(keyboard, sales_studio, product)["membership"]["id"]
    assert error(keyboard, "membership", "credits", membership, "--take", 3, "--reason", "r") == (
        "error: The credits cannot become negative: 2 are left.\n"
    )
    assert error(keyboard, "membership", "resume", membership) == (
        "error: The membership is active, not paused: there is nothing to take back.\n"
    )
    assert keyboard.type("membership", "credits", membership, "--add", 1).status == 2, "a reason is required"
    assert keyboard.type("membership", "pause", membership, "--until", "tomorrow").status == 2


def test_purchases_and_fees(keyboard: Keyboard, sales_studio: SalesStudio) -> None:
    words = ("--studio", sales_studio.slug, "--member", sales_studio.member)
    out = said(keyboard, "purchase", "record", *words, "--item", "towel", "--amount", "5.00", "--quantity", 2)
    assert re.fullmatch(rf"Purchase {ID} is recorded as completed\.", " ".join(out.split()))
    (towel,) = re.findall(ID, out)
    refund = as_json(keyboard, "purchase", "refund", towel, "--amount", "2.00", "--reason", "Torn.")
    assert refund == {"id": towel, "status": "partially_refunded", "refunded_amount": "2.00"}
    assert said(keyboard, "purchase", "refund", towel, "--reason", "Torn.") == (
        "5.00 are refunded in all; the purchase is refunded now.\n"
    )
    product = new_product(keyboard, sales_studio)
    new_price(keyboard, product)
    recorded = as_json(keyboard, "purchase", "record", *words, "--product", product, "--pending")
    assert recorded["status"] == "pending"
    assert said(keyboard, "purchase", "mark", recorded["id"], "failed") == "The purchase is failed now.\n"
    assert "Name the product (--product)" in error(keyboard, "purchase", "record", *words)
    fee = as_json(
        keyboard,
        "purchase",
        "record",
        *words,
        "--item",
        "no_show_fee",
        "--type",
        "fee",
        "--amount",
        "9.00",
        "--pending",
    )["id"]
    (listed,) = as_json(keyboard, "fee", "list", "--studio", sales_studio.slug)
    assert (listed["id"], listed["fee"], listed["status"]) == (fee, "no_show_fee", "pending")
    assert "is not a fee" in error(keyboard, "fee", "waive", towel, "--reason", "r")
    assert said(keyboard, "fee", "waive", fee, "--reason", "First time.") == "The fee is waived.\n"
    assert (
        as_json(keyboard, "fee", "list", "--studio", sales_studio.slug, "--member", sales_studio.member)[0]["status"]
        == "cancelled"
    )
    reasons = "select count(*) from audit_log where reason in ('First time.', 'Torn.') and channel = 'command'"
    assert keyboard.look(reasons) == 3
