"""The purchases: what every membership cost, and what else went over the counter."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from studiogate.demo.memberships import period_before
from studiogate.demo.people import Person
from studiogate.demo.seed import Seed, daytime, midnight, read, written
from studiogate.demo.studio import PRODUCT_BY_KEY, Price, price_id

Row = dict[str, Any]
RENEWALS_SHOWN = 2
LATE_FEE = Price("15.00")
SOCKS = "grip-socks"


class Sale(NamedTuple):
    """What somebody bought; without a ``price``, for the first price of the product."""

    product: str
    bought_at: datetime
    price: Price | None = None
    status: str = "completed"
    quantity: int = 1
    refunded: Decimal = Decimal(0)  # the share of the total


@dataclass
class Till:
    """Everything that was paid, and what it was paid for."""

    purchases: list[Row] = field(default_factory=list)
    sales: list[Row] = field(default_factory=list)
    renewals: list[Row] = field(default_factory=list)

    def sale(self, purchase: Row, membership_id: str, price_id: str) -> None:
        self.purchases.append(purchase)
        row = {"id": purchase["id"], "membership_id": membership_id, "price_id": price_id}
        self.sales.append(row | {"created_at": purchase["created_at"]})

    def renewal(self, purchase: Row, membership_id: str, period: tuple[datetime, datetime]) -> None:
        self.purchases.append(purchase)
        row = {"id": purchase["id"], "membership_id": membership_id, "created_at": purchase["created_at"]}
        self.renewals.append(row | {"period_start": written(period[0]), "period_end": written(period[1])})


def till(seed: Seed, persons: list[Person], held: dict[str, list[Row]], today: date) -> Till:
    """What everybody paid, oldest first."""
    kept = Till()
    for person in persons:
        memberships = held.get(person.id, [])
        for earlier in memberships[:-1]:
            intro = PRODUCT_BY_KEY["intro-3"].prices[0]
            bought = _purchase(seed, person, Sale("intro-3", read(earlier["started_at"]), intro))
            kept.sale(bought, earlier["id"], price_id(seed, "intro-3", intro))
        if memberships:
            _pay(kept, seed, person, memberships[-1], today)
        kept.purchases += _over_the_counter(seed, person, today)
    for rows in (kept.purchases, kept.sales, kept.renewals):
        rows.sort(key=lambda row: (row["created_at"], row["id"]))
    return kept


def _pay(kept: Till, seed: Seed, person: Person, membership: Row, today: date) -> None:
    """The sale that began a membership, and its latest renewals."""
    product, price = str(person.cohort.product), _price(person)
    if membership["status"] == "pending":
        asked_at = midnight(today) - timedelta(minutes=2)
        kept.purchases.append(_purchase(seed, person, Sale(product, asked_at, price, status="pending")))
        return None
    paid_at, ends = read(membership["current_period_start"]), read(membership["current_period_end"])
    started = read(membership["started_at"])
    purchase = _latest_payment(seed, person, membership, paid_at, price)
    for _ in range(RENEWALS_SHOWN):
        before = period_before(person.cohort, paid_at)
        if before < started:
            return kept.sale(purchase, membership["id"], price_id(seed, product, price))
        kept.renewal(purchase, membership["id"], (paid_at, ends))
        paid_at, ends = before, paid_at
        purchase = _purchase(seed, person, Sale(product, paid_at, price))
    return None


def _price(person: Person) -> Price:
    prices = PRODUCT_BY_KEY[str(person.cohort.product)].prices
    if person.cohort.months == 12:
        return next(price for price in prices if price.interval == "year")
    # Visitors pay in the money they brought: dollars, euros, yen.
    if person.cohort.product == "drop-in":
        return [price for price in prices if not price.locations][person.number % 3]
    return next(price for price in prices if price.default)


def _latest_payment(seed: Seed, person: Person, membership: Row, paid_at: datetime, price: Price) -> Row:
    """Who left in the middle of a paid month got something back; whose card was declined is past due."""
    product = str(person.cohort.product)
    if membership["status"] == "past_due":
        return _purchase(seed, person, Sale(product, paid_at, price, status="failed"))
    if membership["status"] != "cancelled" or membership["cancel_at_period_end"]:
        return _purchase(seed, person, Sale(product, paid_at, price))
    if person.number % 4 == 1:
        return _purchase(seed, person, Sale(product, paid_at, price, status="refunded", refunded=Decimal(1)))
    return _purchase(seed, person, Sale(product, paid_at, price, status="partially_refunded", refunded=Decimal("0.4")))


def _over_the_counter(seed: Seed, person: Person, today: date) -> Iterator[Row]:
    if person.number % 11 == 3:
        bought_at = _recently(seed, person, today, SOCKS)
        yield _purchase(seed, person, Sale(SOCKS, bought_at, quantity=1 + person.number % 2))
    if person.cohort.role == "user" and not person.cohort.product:
        yield _purchase(seed, person, Sale("pack-10", _recently(seed, person, today, "abandoned"), status="cancelled"))
    if person.weekdays and person.number % 16 == 7:
        status = "completed" if person.number % 32 == 7 else "pending"
        yield _late_fee(seed, person, _recently(seed, person, today, "fee"), status)


def _recently(seed: Seed, person: Person, today: date, what: str) -> datetime:
    """Within the last days: after even the newest members joined."""
    return daytime(seed, midnight(today), -1, what, person.id)


def _purchase_id(seed: Seed, person: Person, product_key: str, bought_at: datetime) -> str:
    return seed.uuid("purchase", person.id, product_key, written(bought_at))


def socks_id(seed: Seed, person: Person, today: date) -> str:
    """The purchase of somebody's grip socks."""
    return _purchase_id(seed, person, SOCKS, _recently(seed, person, today, SOCKS))


def _late_fee(seed: Seed, person: Person, charged_at: datetime, status: str) -> Row:
    row = _row(seed, person, "late_cancel_fee", charged_at, LATE_FEE)
    return row | {"product_type": "fee", "status": status}


def _purchase(seed: Seed, person: Person, sale: Sale) -> Row:
    sold = PRODUCT_BY_KEY[sale.product]
    row = _row(seed, person, sale.product, sale.bought_at, sale.price or sold.prices[0])
    total = Decimal(row["amount_total"]) * sale.quantity
    return row | {
        "product_id": seed.uuid("product", sale.product),
        "product_type": sold.product_type,
        "quantity": sale.quantity,
        "amount_total": str(total),
        # Quantized like the total, so that the currency keeps its own number of decimals.
        "refunded_amount": str((total * sale.refunded).quantize(total)),
        "status": sale.status,
    }


def _row(seed: Seed, person: Person, product_key: str, bought_at: datetime, price: Price) -> Row:
    # Bought online, at no location in particular.
    online = seed.fraction("online", person.id, product_key) < 0.1
    return {
        "id": _purchase_id(seed, person, product_key, bought_at),
        "member_id": person.id,
        "product_id": None,
        "product_key": product_key,
        "product_type": None,
        "quantity": 1,
        "amount_total": price.amount,
        "currency": price.currency,
        "refunded_amount": str(Decimal(0).quantize(Decimal(price.amount))),
        "status": "completed",
        "location_id": None if online else seed.uuid("location", person.home),
        "created_at": written(bought_at),
    }
