"""The price at which a membership renews, as the rules choose it, for display."""

import json
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from studiogate.domain.memberships import Interval, RecurringPrice, choose_price
from studiogate.storage.db.pool import Record


def with_renewal(row: Record) -> dict[str, object]:
    """Return a membership with ``renewal``: amount, currency and interval of the price at which it renews, or None."""
    prices = json.loads(row["prices"], parse_float=Decimal)
    chosen = choose_price(row["price_id"], [_recurring(each) for each in prices])
    return {**row, "renewal": None if chosen is None else _shown(prices, chosen.id)}


def _recurring(price: dict[str, Any]) -> RecurringPrice:
    created = datetime.fromisoformat(price["created_at"])
    return RecurringPrice(UUID(price["id"]), Interval(price["interval"]), price["default"], price["active"], created)


def _shown(prices: list[dict[str, object]], price_id: UUID) -> dict[str, object]:
    price = next(each for each in prices if each["id"] == str(price_id))
    return {"amount": Decimal(str(price["amount"])), "currency": price["currency"], "interval": price["interval"]}
