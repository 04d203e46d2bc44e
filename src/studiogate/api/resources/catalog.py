"""GET /products with nested prices."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import Field

from studiogate.api.framework.operations import (
    LISTING,
    READING,
    Currency,
    Instant,
    Money,
    Uuid,
    Wire,
    described,
    list_of,
    operation,
)
from studiogate.api.framework.params import LIMIT, Boolean, Cursor, Limit, PathId, UpdatedAfter
from studiogate.api.framework.route import Caller, LeanRoute, needs
from studiogate.domain.access import Scope
from studiogate.domain.fields.catalog import PriceType, ProductType
from studiogate.domain.memberships import Interval
from studiogate.domain.paging import PageRequest
from studiogate.storage import catalog as storage
from studiogate.storage.paging import read_one
from studiogate.web.response import Answer

Reader = Annotated[Caller, needs(Scope.CATALOG_READ)]
routes = APIRouter(route_class=LeanRoute, tags=["catalog"])


class Price(Wire):
    """One price of a product."""

    id: Uuid = Field(examples=["0f6f1c11-8f5b-5f0e-8a43-5e0c7a3e0d6d"])
    amount: Money = Field(examples=["180.00"])
    currency: Currency = Field(examples=["USD"])
    price_type: PriceType | str = described("Paid once, or again in every `interval`.", "one_time")
    interval: Interval | str | None = described(
        "The cadence of a recurring price; null on one that is paid once.", None
    )
    default: bool = described("Whether the studio offers this price first.", True)
    active: bool = described("Whether the product is sold at this price now.", True)


class Product(Wire):
    """Something that the studio sells."""

    id: Uuid = Field(examples=["c7c2a1b8-6c3e-5c19-9b0e-5a1f7ad0e0aa"])
    object: Literal["product"] = "product"
    key: str = described("Stable product key.", "ten-pack")
    name: str = described("The product's name.", "10 Class Pack")
    product_type: ProductType | str = described("What kind of product it is; says nothing about billing.", "package")
    active: bool = described("Whether it is sold now.", True)
    client_visible: bool = described("Whether the studio shows it to clients.", True)
    credits_granted: int | None = described(
        "How many credits a purchase grants. Null: not counted in credits, such as an unlimited membership.", 10
    )
    prices: list[Price] = Field(description="The prices that the key may see.")
    updated_at: Instant = described(
        "The last change of the product or of one of these prices.", "2026-10-01T00:00:00+00:00"
    )


@routes.get("/products", **operation("List products with their prices", list_of(Product), *LISTING))
async def list_products(
    caller: Reader,
    active: Annotated[Boolean, Query()] = True,
    updated_after: UpdatedAfter = None,
    cursor: Cursor = None,
    limit: Limit = LIMIT,
) -> Answer:
    """Active ones by default. A price that is limited to locations shows only to keys that may see one of them; its
    changes are changes of the product."""
    page = await caller.read(storage.list_products, PageRequest(cursor, limit), active, updated_after)
    return caller.listed(page)


@routes.get("/products/{product_id}", **operation("Read a product with its permitted prices", Product, *READING))
async def read_product(caller: Reader, product_id: PathId) -> Answer:
    """Active or not, with all prices that the key may see."""
    return caller.found(await caller.read(read_one, storage.PRODUCT, product_id))
