"""The commands for products, prices, memberships, purchases and fees, as an operator uses them."""

import re
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import pytest

from tests.cli import test_staff
from tests.cli.test_staff import CommandLine
from tests.support.booking_studio import BookingStudio

url, command_line = test_staff.url, test_staff.command_line
ID = r"[0-9a-f-]{36}"


class SalesStudio(NamedTuple):
    slug: str
    member: UUID
    location: UUID
    class_type: UUID


@pytest.fixture
def sales_studio(command_line: CommandLine) -> SalesStudio:
    async def build(studio: BookingStudio) -> SalesStudio:
        member = await studio.new_member(membership=False)
        return SalesStudio(studio.studio.slug, member, studio.location, studio.class_type)

    made: SalesStudio = command_line.studio(build)[1]
    return made


def said(command_line: CommandLine, *words: object) -> str:
    """Run a command that must succeed, and return what it printed."""
    done = command_line.type(*words)
    assert (done.status, done.err) == (0, ""), done
    return done.out


def error(command_line: CommandLine, *words: object) -> str:
    done = command_line.type(*words)
    assert (done.status, done.out) == (1, ""), done
    return done.err


def as_json(command_line: CommandLine, *words: object) -> Any:
    done = command_line.type(*words, "--json")
    assert done.status == 0, done
    return done.json


def new_product(command_line: CommandLine, sales_studio: SalesStudio, *options: object) -> str:
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
    made: str = as_json(command_line, "product", "create", *words)["id"]
    return made


def new_price(command_line: CommandLine, product: str, *options: object) -> str:
    made: str = as_json(command_line, "price", "create", product, "--amount", "90.00", *options)["id"]
    return made


def new_sale(command_line: CommandLine, sales_studio: SalesStudio, product: str, *options: object) -> Any:
    words = ("--studio", sales_studio.slug, "--member", sales_studio.member, "--product", product, *options)
    return as_json(command_line, "membership", "sell", *words)


def test_products(command_line: CommandLine, sales_studio: SalesStudio) -> None:
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
    out = said(command_line, "product", "create", *words, *limits)
    (product,) = set(re.findall(ID, out))
    assert f"`studiogate price create {product}`" in " ".join(out.split())
    assert error(command_line, "product", "create", *words) == (
        "error: The key is the key of another product: choose another one.\n"
    )
    assert said(command_line, "product", "change", product, "--name", "Eleven", "--clear", "credits") == (
        "The product is changed.\n"
    )
    query = "select (name, credits_granted, client_visible)::text from products where id = $1"
    assert command_line.look(query, UUID(product)) == "(Eleven,,f)"
    assert as_json(command_line, "product", "change", product, "--visible")["changed"] == ["client_visible"]
    assert said(command_line, "product", "retire", product) == "The product is retired.\n"
    assert error(command_line, "product", "retire", product) == ("error: The product is retired already.\n")
    assert said(command_line, "product", "retire", product, "--undo") == "The product is on sale again.\n"
    unknown = uuid4()
    assert f"There is no product {unknown}" in error(command_line, "product", "retire", unknown)
    assert command_line.type("product", "create", *words[:-1], "ten").status == 2


def test_every_fault_is_listed(command_line: CommandLine, sales_studio: SalesStudio) -> None:
    words = ("--studio", sales_studio.slug, "--key", "", "--name", "", "--type", "package", "--location", uuid4())
    lines = error(command_line, "product", "create", *words).splitlines()
    assert lines == [
        "error: The key must have 1 to 200 characters.",
        "The name must have 1 to 2,000 characters.",
    ]
    words = ("--studio", sales_studio.slug, "--key", "k", "--name", "n", "--type", "package", "--location", uuid4())
    assert error(command_line, "product", "create", *words) == "error: The location 1 is no location of this studio.\n"


def test_prices(command_line: CommandLine, sales_studio: SalesStudio) -> None:
    product = new_product(command_line, sales_studio)
    out = said(command_line, "price", "create", product, "--amount", "49.00", "--interval", "month", "--default")
    (price,) = re.findall(ID, out)
    assert "must have 2 decimals" in error(command_line, "price", "create", product, "--amount", "49")
    done = as_json(command_line, "price", "replace", price, "--amount", "59.00")
    assert done["replaced"] == {"id": price, "active": False, "memberships_kept": 0}
    rows = as_json(command_line, "price", "list", "--studio", sales_studio.slug, "--product", product)
    assert [(row["amount"], row["interval"], row["default"], row["active"]) for row in rows] == [
        ("59.00", "month", True, True),
        ("49.00", "month", False, False),
    ]
    other = new_price(command_line, product)
    assert said(command_line, "price", "default", other) == "The price is the default of its product now.\n"
    assert said(command_line, "price", "retire", done["id"]) == ("The price is retired; 0 memberships keep it.\n")
    assert error(command_line, "price", "retire", done["id"]) == "error: The price is retired already.\n"


def test_a_membership(command_line: CommandLine, sales_studio: SalesStudio) -> None:
    product = new_product(command_line, sales_studio, "--credits", 8)
    new_price(command_line, product, "--interval", "month")
    words = ("--studio", sales_studio.slug, "--member", sales_studio.member, "--product", product)
    out = " ".join(said(command_line, "membership", "sell", *words, "--pending").split())
    assert re.fullmatch(rf"Sold for 90\.00 USD, pending: membership {ID}, purchase {ID}\.", out)
    sale = new_sale(command_line, sales_studio, product)
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
        assert said(command_line, "membership", verb, membership, *options) == expected
    for switch, what in (("off", "ends"), ("on", "renews")):
        assert re.match(f"The membership {what} at 20", said(command_line, "membership", "renewal", membership, switch))
    assert said(command_line, "membership", "cancel", membership, "--at-period-end").startswith(
        "The membership ends at 20"
    )
    assert (
        said(command_line, "membership", "cancel", membership, "--undo")
        == "The membership is not cancelled any more.\n"
    )
    assert as_json(command_line, "membership", "cancel", membership)["status"] == "cancelled"


def test_what_a_membership_does_not_take(command_line: CommandLine, sales_studio: SalesStudio) -> None:
    product = new_product(command_line, sales_studio, "--credits", 2)
    words = ("--studio", sales_studio.slug, "--member", sales_studio.member, "--product", product)
    assert error(command_line, "membership", "sell", *words) == (
        "error: The price is not on sale for this product at this location.\n"
    )
    new_price(command_line, product)
    unknown = ("--studio", sales_studio.slug, "--member", uuid4(), "--product", product)
    assert error(command_line, "membership", "sell", *unknown) == "error: There is no such member in this studio.\n"
    membership = new_sale(command_line, sales_studio, product)["membership"]["id"]
    assert error(command_line, "membership", "credits", membership, "--take", 3, "--reason", "r") == (
        "error: The credits cannot become negative: 2 are left.\n"
    )
    assert error(command_line, "membership", "resume", membership) == (
        "error: The membership is active, not paused: there is nothing to take back.\n"
    )
    assert command_line.type("membership", "credits", membership, "--add", 1).status == 2, "a reason is required"
    assert command_line.type("membership", "pause", membership, "--until", "tomorrow").status == 2
    over = command_line.type("membership", "pause", membership, "--until", "2001-01-01T00:00:00Z")
    assert over.err == "error: The end must be after the start of the pause.\n"


def test_purchases_and_fees(command_line: CommandLine, sales_studio: SalesStudio) -> None:
    words = ("--studio", sales_studio.slug, "--member", sales_studio.member)
    out = said(command_line, "purchase", "record", *words, "--item", "towel", "--amount", "5.00", "--quantity", 2)
    assert re.fullmatch(rf"Purchase {ID} is recorded as completed\.", " ".join(out.split()))
    (towel,) = re.findall(ID, out)
    refund = as_json(command_line, "purchase", "refund", towel, "--amount", "2.00", "--reason", "Torn.")
    assert refund == {"id": towel, "status": "partially_refunded", "refunded_amount": "2.00"}
    assert said(command_line, "purchase", "refund", towel, "--reason", "Torn.") == (
        "5.00 are refunded in all; the purchase is refunded now.\n"
    )
    product = new_product(command_line, sales_studio)
    new_price(command_line, product)
    recorded = as_json(command_line, "purchase", "record", *words, "--product", product, "--pending")
    assert recorded["status"] == "pending"
    assert said(command_line, "purchase", "mark", recorded["id"], "failed") == "The purchase is failed now.\n"
    assert "Name the product (--product)" in error(command_line, "purchase", "record", *words)
    fee = as_json(
        command_line,
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
    (listed,) = as_json(command_line, "fee", "list", "--studio", sales_studio.slug)
    assert (listed["id"], listed["fee"], listed["status"]) == (fee, "no_show_fee", "pending")
    assert "is not a fee" in error(command_line, "fee", "waive", towel, "--reason", "r")
    assert said(command_line, "fee", "waive", fee, "--reason", "First time.") == "The fee is waived.\n"
    assert (
        as_json(command_line, "fee", "list", "--studio", sales_studio.slug, "--member", sales_studio.member)[0][
            "status"
        ]
        == "cancelled"
    )
    reasons = "select count(*) from audit_log where reason in ('First time.', 'Torn.') and channel = 'command'"
    assert command_line.look(reasons) == 3
