"""GET /purchases: read-only history, no payment credentials, no refunds."""

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
from studiogate.api.framework.params import LIMIT, Cursor, Id, Limit, PathId, UpdatedAfter
from studiogate.api.framework.route import Caller, LeanRoute, needs
from studiogate.domain.access import Scope
from studiogate.domain.fields.catalog import PaidBy, ProductType, PurchaseStatus
from studiogate.domain.paging import PageRequest
from studiogate.storage import purchases as storage
from studiogate.storage.paging import read_one
from studiogate.storage.resources import PURCHASE
from studiogate.web.response import Answer

Reader = Annotated[Caller, needs(Scope.PURCHASES_READ)]
routes = APIRouter(route_class=LeanRoute, tags=["purchases"])


class Purchase(Wire):
    """A sale, as the studio recorded it."""

    id: Uuid = Field(examples=["8a430d6d-8f5b-5f0e-8a43-5e0c7a3e0f6f"])
    object: Literal["purchase"] = "purchase"
    member_id: Uuid = described("Who bought it.", "1d2c3b4a-6c3e-5c19-9b0e-5a1f7ad0e0bb")
    product_id: Uuid | None = described(
        "What was bought; null where the catalog has no such product, as for fees.",
        "c7c2a1b8-6c3e-5c19-9b0e-5a1f7ad0e0aa",
    )
    product_key: str = described("The product's key; `late_cancel_fee` for a late fee.", "ten-pack")
    product_type: ProductType | str = described("What kind of product it is.", "package")
    quantity: int = described("How many.", 1)
    amount_total: Money | None = described("The total that was recorded, as a decimal.", "180.00")
    currency: Currency | None = described("ISO 4217 code; null where an import did not say.", "USD")
    refunded_amount: Money | None = described("What was given back, as a decimal; null: nothing.", None)
    status: PurchaseStatus | str | None = described(
        "How far payment has come; null where an import did not say.", "completed"
    )
    paid_by: PaidBy | str | None = described("How it was paid, where the studio said so.", "card")
    created_at: Instant = Field(examples=["2026-10-01T00:00:00+00:00"])
    updated_at: Instant = Field(examples=["2026-10-01T00:00:00+00:00"])


@routes.get("/purchases", **operation("List purchases", list_of(Purchase), *LISTING))
async def list_purchases(
    caller: Reader,
    member_id: Annotated[Id | None, Query()] = None,
    updated_after: UpdatedAfter = None,
    cursor: Cursor = None,
    limit: Limit = LIMIT,
) -> Answer:
    """Read-only history. A restricted key sees purchases at its locations."""
    page = PageRequest(cursor, limit)
    return caller.listed(await caller.read(storage.list_purchases, page, member_id, updated_after))


@routes.get("/purchases/{purchase_id}", **operation("Read a purchase", Purchase, *READING))
async def read_purchase(caller: Reader, purchase_id: PathId) -> Answer:
    """Amounts are decimal strings; late-cancel fees are purchases too."""
    return caller.found(await caller.read(read_one, PURCHASE, purchase_id))
