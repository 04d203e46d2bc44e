"""The purchases: what every membership cost, and what else went over the counter."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from studiogate.demo.catalog import PRODUCT_BY_KEY, Price
from studiogate.demo.dates import daytime, midnight, read, written
from studiogate.demo.memberships import period_before
from studiogate.demo.people import Person
from studiogate.demo.seed import Seed

RENEWALS_SHOWN = 6
LATE_FEE = Price("15.00")


def purchase_rows(
    seed: Seed, persons: list[Person], held: dict[str, list[dict[str, Any]]], today: date
) -> list[dict[str, Any]]:
    rows = [row for person in persons for row in _of_person(seed, person, held.get(person.id, []), today)]
    return sorted(rows, key=lambda row: (row["created_at"], row["id"]))


def _of_person(seed: Seed, person: Person, held: list[dict[str, Any]], today: date) -> Iterator[dict[str, Any]]:
    for earlier in held[:-1]:
        yield _purchase(seed, person, "intro-3", read(earlier["started_at"]))
    if held:
        yield from _payments(seed, person, held[-1], today)
    yield from _over_the_counter(seed, person, today)


def _payments(seed: Seed, person: Person, membership: dict[str, Any], today: date) -> Iterator[dict[str, Any]]:
    product, price = str(person.cohort.product), _price(person)
    if membership["status"] == "pending":
        yield _purchase(seed, person, product, midnight(today) - timedelta(minutes=2), price, status="pending")
        return
    if membership["status"] == "past_due":
        yield _purchase(seed, person, product, read(membership["current_period_end"]), price, status="failed")
    paid_at, started = read(membership["current_period_start"]), read(membership["started_at"])
    yield _latest_payment(seed, person, membership, paid_at, price)
    for _ in range(RENEWALS_SHOWN - 1):
        paid_at = period_before(person.cohort, paid_at)
        if paid_at < started:
            break
        yield _purchase(seed, person, product, paid_at, price)


def _price(person: Person) -> Price:
    prices = PRODUCT_BY_KEY[str(person.cohort.product)].prices
    if person.cohort.months == 12:
        return next(price for price in prices if price.interval == "year")
    # Visitors pay in the money they brought: dollars, euros, yen.
    if person.cohort.product == "drop-in":
        return [price for price in prices if not price.locations][person.number % 3]
    return next(price for price in prices if price.default)


def _latest_payment(
    seed: Seed, person: Person, membership: dict[str, Any], paid_at: datetime, price: Price
) -> dict[str, Any]:
    """Who left in the middle of a paid month got something back."""
    product = str(person.cohort.product)
    if membership["status"] != "cancelled" or membership["cancel_at_period_end"]:
        return _purchase(seed, person, product, paid_at, price)
    if person.number % 4 == 1:
        return _purchase(seed, person, product, paid_at, price, status="refunded", refunded=Decimal(1))
    return _purchase(seed, person, product, paid_at, price, status="partially_refunded", refunded=Decimal("0.4"))


def _over_the_counter(seed: Seed, person: Person, today: date) -> Iterator[dict[str, Any]]:
    if person.number % 11 == 3:
        bought = _recently(seed, person, today, "socks")
        yield _purchase(seed, person, "grip-socks", bought, quantity=1 + person.number % 2)
    if person.cohort.role == "user" and not person.cohort.product:
        yield _purchase(seed, person, "pack-10", _recently(seed, person, today, "abandoned"), status="cancelled")
    if person.weekdays and person.number % 16 == 7:
        status = "completed" if person.number % 32 == 7 else "pending"
        yield _late_fee(seed, person, _recently(seed, person, today, "fee"), status)


def _recently(seed: Seed, person: Person, today: date, what: str) -> datetime:
    """Within the last days: after even the newest members joined."""
    return daytime(seed, midnight(today), -1, what, person.id)


def _late_fee(seed: Seed, person: Person, charged_at: datetime, status: str) -> dict[str, Any]:
    row = _row(seed, person, "late_cancel_fee", charged_at, LATE_FEE)
    return row | {"product_type": "fee", "status": status}


def _purchase(
    seed: Seed,
    person: Person,
    product: str,
    bought_at: datetime,
    price: Price | None = None,
    *,
    status: str = "completed",
    quantity: int = 1,
    refunded: Decimal = Decimal(0),
) -> dict[str, Any]:
    sold = PRODUCT_BY_KEY[product]
    row = _row(seed, person, product, bought_at, price or sold.prices[0])
    total = Decimal(row["amount_total"]) * quantity
    return row | {
        "product_id": seed.uuid("product", product),
        "product_type": sold.product_type,
        "quantity": quantity,
        "amount_total": str(total),
        # Quantized like the total, so that the currency keeps its own number of decimals.
        "refunded_amount": str((total * refunded).quantize(total)),
        "status": status,
    }


def _row(seed: Seed, person: Person, product_key: str, bought_at: datetime, price: Price) -> dict[str, Any]:
    # Bought online, at no location in particular.
    online = seed.fraction("online", person.id, product_key) < 0.1
    return {
        "id": seed.uuid("purchase", person.id, product_key, written(bought_at)),
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
