"""studiogate product and price: what the studio sells."""

from enum import StrEnum
from typing import Annotated
from uuid import UUID

import typer

from studiogate.cli import lists
from studiogate.cli.actions import RowId, StudioOption, Undo, act, act_in_studio, some_of
from studiogate.cli.context import AsJson, DataFolder, counted, parse_row_id, print_json, print_result, screen
from studiogate.domain.catalog import ProductType
from studiogate.domain.memberships import Interval
from studiogate.flows import catalog as flow

products = lists.products
prices = typer.Typer(help="Prices of products.", no_args_is_help=True)


class Clearable(StrEnum):
    """Fields that can be emptied."""

    CREDITS = "credits"
    LOCATIONS = "locations"
    CLASS_TYPES = "class-types"


CLEARED = {
    Clearable.CREDITS: "credits_granted",
    Clearable.LOCATIONS: "location_ids",
    Clearable.CLASS_TYPES: "class_type_ids",
}
CHANGEABLE = ("name", "product_type", "client_visible", *CLEARED.values())
Credits = Annotated[int | None, typer.Option("--credits", help="Credits that it grants; without: unlimited.")]
Visible = Annotated[bool | None, typer.Option("--visible/--hidden", help="Whether clients see it.")]
Locations = Annotated[
    list[UUID] | None,
    typer.Option("--location", metavar="ID", parser=parse_row_id, help="Only at this location; repeat for more."),
]
ClassTypes = Annotated[
    list[UUID] | None,
    typer.Option("--class-type", metavar="ID", parser=parse_row_id, help="Only for this class type; repeat for more."),
]
Amount = Annotated[str, typer.Option("--amount", metavar="AMOUNT", help="With the currency's decimals: 49.00.")]
Currency = Annotated[str | None, typer.Option("--currency", help="Three capital letters; the studio's by default.")]
Every = Annotated[Interval | None, typer.Option("--interval", help="How often it is due; without: one-time.")]
ProductId = Annotated[UUID, typer.Argument(metavar="PRODUCT_ID", parser=parse_row_id)]
Kind = Annotated[ProductType, typer.Option("--type", help="The kind of product.")]


def _given(**values: object) -> dict[str, object]:
    """Return the options that were given, ids as text."""
    shown = {
        name: [str(each) for each in value] if isinstance(value, list) else value for name, value in values.items()
    }
    return {name: value for name, value in shown.items() if value not in (None, [])}


@products.command("create")
def create_product(
    key: Annotated[str, typer.Option(help="A stable name for programs, such as ten-classes.")],
    name: Annotated[str, typer.Option(help="What clients read.")],
    kind: Kind,
    studio: lists.Slug,
    credit_count: Credits = None,
    visible: Visible = None,
    location: Locations = None,
    class_type: ClassTypes = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Add a product. Give it a price afterwards with `price create`."""
    limits = {"location_ids": location, "class_type_ids": class_type}
    given = _given(
        key=key, name=name, product_type=kind.value, credits_granted=credit_count, client_visible=visible, **limits
    )
    product_id = act_in_studio(data, studio, "product", lambda c, access: flow.create_product(c, access, given))
    if as_json:
        print_json({"id": str(product_id)})
        return
    screen.print(
        f"Product {product_id} is on sale once it has a price: `studiogate price create {product_id}`.", soft_wrap=True
    )


@products.command("change")
def change_product(
    product_id: RowId,
    name: Annotated[str | None, typer.Option(help="What clients read.")] = None,
    kind: Annotated[ProductType | None, typer.Option("--type", help="The kind of product.")] = None,
    credit_count: Credits = None,
    visible: Visible = None,
    location: Locations = None,
    class_type: ClassTypes = None,
    clear: Annotated[list[Clearable] | None, typer.Option(help="Empty this; repeat for more.")] = None,
    studio: StudioOption = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Change a product. Credits apply to later sales; limits to every membership of it."""
    limits = {"location_ids": location, "class_type_ids": class_type}
    given = _given(
        name=name, product_type=kind and kind.value, credits_granted=credit_count, client_visible=visible, **limits
    )
    given |= {CLEARED[each]: None for each in clear or ()}
    some_of(given, CHANGEABLE)
    act(data, studio, "product", product_id, lambda c, access: flow.change_product(c, access, product_id, given))
    print_result({"id": str(product_id), "changed": sorted(given)}, "The product is changed.", as_json)


@products.command("retire")
def retire_product(
    product_id: RowId, undo: Undo = False, studio: StudioOption = None, as_json: AsJson = False, data: DataFolder = None
) -> None:
    """Stop selling a product. Memberships of it live on and renew."""
    done = act(
        data, studio, "product", product_id, lambda c, access: flow.retire_product(c, access, product_id, undo=undo)
    )
    print_result(
        {"id": str(product_id), "active": done.active},
        "The product is on sale again." if done.active else "The product is retired.",
        as_json,
    )


@prices.command("create")
def create_price(
    product_id: ProductId,
    amount: Amount,
    currency: Currency = None,
    interval: Every = None,
    default: Annotated[bool, typer.Option("--default", help="The price of a sale that names none.")] = False,
    location: Locations = None,
    studio: StudioOption = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Add a price to a product."""
    given = _given(
        amount=amount, currency=currency, interval=interval and interval.value, default=default, location_ids=location
    )
    price_id = act(
        data, studio, "product", product_id, lambda c, access: flow.create_price(c, access, product_id, given)
    )
    print_result({"id": str(price_id)}, f"Price {price_id} is on sale.", as_json)


@prices.command("replace")
def replace_price(
    price_id: RowId,
    amount: Annotated[str | None, typer.Option(metavar="AMOUNT", help="The new amount, such as 49.00.")] = None,
    currency: Currency = None,
    interval: Every = None,
    location: Locations = None,
    studio: StudioOption = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Sell at a new price. The old one is retired; memberships that renew at it keep it."""
    given = _given(amount=amount, currency=currency, interval=interval and interval.value, location_ids=location)
    done = act(data, studio, "price", price_id, lambda c, access: flow.replace_price(c, access, price_id, given))
    if as_json:
        kept = {"id": str(price_id), "active": False, "memberships_kept": done.memberships_kept}
        print_json({"id": str(done.price_id), "replaced": kept})
        return
    screen.print(
        f"Price {done.price_id} is on sale in its place; {_keeping(done.memberships_kept)} the old one.", soft_wrap=True
    )


@prices.command("retire")
def retire_price(
    price_id: RowId, studio: StudioOption = None, as_json: AsJson = False, data: DataFolder = None
) -> None:
    """Stop selling at a price. Memberships that renew at it keep it."""
    kept = act(data, studio, "price", price_id, lambda c, access: flow.retire_price(c, access, price_id))
    if as_json:
        print_json({"id": str(price_id), "active": False, "memberships_kept": kept})
        return
    screen.print(f"The price is retired; {_keeping(kept)} it.", soft_wrap=True)


def _keeping(memberships: int) -> str:
    return f"{counted(memberships, 'membership')} {'keeps' if memberships == 1 else 'keep'}"


@prices.command("default")
def make_default(
    price_id: RowId, studio: StudioOption = None, as_json: AsJson = False, data: DataFolder = None
) -> None:
    """Make a price the one of a sale that names none."""
    act(data, studio, "price", price_id, lambda c, access: flow.make_default(c, access, price_id))
    print_result({"id": str(price_id), "default": True}, "The price is the default of its product now.", as_json)


@prices.command("list")
def list_prices(
    studio: lists.Slug,
    product: Annotated[
        UUID | None, typer.Option("--product", metavar="ID", parser=parse_row_id, help="Only of this product.")
    ] = None,
    limit: lists.Limit = 100,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """List prices, the active ones first."""
    lists.show(data, studio, "price", as_json, limit, product=product)
