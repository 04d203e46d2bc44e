"""GET /products with nested prices."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import Field

from studiogate.api.framework.operations import LISTING, READING, Instant, Money, Uuid, Wire, list_of, operation
from studiogate.api.framework.params import LIMIT, Boolean, Cursor, Limit, PathId, UpdatedAfter
from studiogate.api.framework.route import Caller, LeanRoute, needs
from studiogate.domain.access import Scope
from studiogate.domain.paging import PageRequest
from studiogate.storage import catalog as storage
from studiogate.storage.paging import read_one
from studiogate.web.response import Answer

Reader = Annotated[Caller, needs(Scope.CATALOG_READ)]
routes = APIRouter(route_class=LeanRoute, tags=["catalog"])


class Price(Wire):
    id: Uuid = Field(examples=["0f6f1c11-8f5b-5f0e-8a43-5e0c7a3e0d6d"])
    amount: Money = Field(examples=["180.00"])
    currency: str = Field(examples=["USD"])
    price_type: Literal["one_time", "recurring"] = Field(examples=["one_time"])
    interval: Literal["day", "week", "month", "year"] | None = Field(
        description="The cadence of a recurring price.", examples=[None]
    )
    default: bool = Field(examples=[True])
    active: bool = Field(examples=[True])


class Product(Wire):
    id: Uuid = Field(examples=["c7c2a1b8-6c3e-5c19-9b0e-5a1f7ad0e0aa"])
    object: Literal["product"] = "product"
    key: str = Field(description="Stable product key.", examples=["ten-pack"])
    name: str = Field(examples=["10 Class Pack"])
    product_type: str = Field(examples=["package"])
    active: bool = Field(examples=[True])
    client_visible: bool = Field(examples=[True])
    credits_granted: int | None = Field(examples=[10])
    prices: list[Price]
    updated_at: Instant = Field(
        description="The last change of the product or of one of these prices.", examples=["2026-10-01T00:00:00+00:00"]
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
