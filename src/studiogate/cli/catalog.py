"""studiogate product and price: what the studio sells."""

from typing import Annotated, Any
from uuid import UUID

import typer

from studiogate.cli.commands import Group, InStudio
from studiogate.cli.context import counted, parse_row_id
from studiogate.cli.field_options import IDS, FieldOptions, RowId, Undo, options_of
from studiogate.cli.rows import add_list
from studiogate.domain.catalog import NEW_PRICE, NEW_PRODUCT, PRICE, PRODUCT
from studiogate.domain.fields import Values
from studiogate.domain.memberships import Interval
from studiogate.flows import catalog as flow

products = Group("What the studio sells: memberships, packages and other products.")
prices = Group("The prices of products: create, replace, retire, list. A price is never edited.")
ProductId = Annotated[UUID, typer.Argument(metavar="PRODUCT_ID", parser=parse_row_id)]
PRODUCT_OPTIONS = options_of("product", location_ids=IDS, class_type_ids=IDS)
PRICE_OPTIONS = options_of("price", location_ids=IDS, interval={"type": Interval})


@products.command("create", given=FieldOptions(NEW_PRODUCT, PRODUCT_OPTIONS))
def create_product(call: InStudio, given: Values) -> None:
    """Add a product. Give it a price afterwards with `price create`."""
    product_id = call.act_in_studio("product", lambda c, access: flow.create_product(c, access, given))
    text = f"Product {product_id} is on sale once it has a price: `studiogate price create {product_id}`."
    call.show({"id": str(product_id)}, text)


@products.command("change", given=FieldOptions(PRODUCT, PRODUCT_OPTIONS, is_change=True))
def change_product(call: InStudio, product_id: RowId, given: Values) -> None:
    """Change a product. Credits apply to later sales; limits to every membership of it."""
    call.act("product", product_id, lambda c, access: flow.change_product(c, access, product_id, given))
    call.show({"id": str(product_id), "changed": sorted(given)}, "The product is changed.")


@products.command("retire")
def retire_product(call: InStudio, product_id: RowId, undo: Undo = False) -> None:
    """Stop selling a product. Memberships of it live on and renew."""
    done = call.act("product", product_id, lambda c, a: flow.retire_product(c, a, product_id, undo=undo))
    text = "The product is on sale again." if done.active else "The product is retired."
    call.show({"id": str(product_id), "active": done.active}, text)


@prices.command("create", given=FieldOptions(NEW_PRICE, PRICE_OPTIONS))
def create_price(call: InStudio, product_id: ProductId, given: Values) -> None:
    """Add a price to a product."""
    price_id = call.act("product", product_id, lambda c, a: flow.create_price(c, a, product_id, given))
    call.show({"id": str(price_id)}, f"Price {price_id} is on sale.")


@prices.command("replace", given=FieldOptions(PRICE, PRICE_OPTIONS, all_optional=True))
def replace_price(call: InStudio, price_id: RowId, given: Values) -> None:
    """Sell at a new price. The old one is retired; memberships that renew at it keep it."""
    done = call.act("price", price_id, lambda c, access: flow.replace_price(c, access, price_id, given))
    replaced: dict[str, Any] = {"id": str(price_id), "active": False, "memberships_kept": done.memberships_kept}
    text = f"Price {done.price_id} is on sale in its place; {_keeping(done.memberships_kept)} the old one."
    call.show({"id": str(done.price_id), "replaced": replaced}, text)


@prices.command("retire")
def retire_price(call: InStudio, price_id: RowId) -> None:
    """Stop selling at a price. Memberships that renew at it keep it."""
    kept = call.act("price", price_id, lambda c, access: flow.retire_price(c, access, price_id))
    value = {"id": str(price_id), "active": False, "memberships_kept": kept}
    call.show(value, f"The price is retired; {_keeping(kept)} it.")


def _keeping(memberships: int) -> str:
    return f"{counted(memberships, 'membership')} {'keeps' if memberships == 1 else 'keep'}"


@prices.command("default")
def make_default(call: InStudio, price_id: RowId) -> None:
    """Make a price the one of a sale that names none."""
    call.act("price", price_id, lambda c, access: flow.make_default(c, access, price_id))
    call.show({"id": str(price_id), "default": True}, "The price is the default of its product now.")


add_list(products, "product", "List products, with their ids.")
add_list(prices, "price", "List prices, the active ones first.")
