"""The memberships, one current one per member who holds something and the intro offers that some began with; the
purchases: what every membership cost, and what else went over the counter."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from studiogate.demo.people import Cohort, Person
from studiogate.demo.seed import Seed, daytime, midnight, months_before, read, written
from studiogate.demo.studio import PRODUCT_BY_KEY, Price, price_id
from studiogate.domain.fields.catalog import PurchaseStatus
from studiogate.domain.purchases import RECEIVED

Row = dict[str, Any]
PAUSE_REASONS = ("travel", "injury", "parental leave", "busy season at work")
CANCELLATION_REASONS = ("moving away", "price", "schedule no longer fits", "medical")
INTRO_DAYS = 30
# What a membership has only in some states.
UNSET_AT_FIRST = (
    *("paused_at", "pause_starts_at", "pause_ends_at", "pause_reason"),
    *("cancel_at", "cancelled_at", "cancellation_reason", "ended_at"),
)


def membership_id(seed: Seed, person: Person) -> str:
    return seed.uuid("membership", person.id, person.cohort.product)


def memberships_of(seed: Seed, person: Person, today: date) -> list[Row]:
    """All that the person ever held, the current one last."""
    if not person.cohort.product:
        return []
    current = _current(seed, person, today)
    began_with_intro = person.cohort.product == "unlimited" and seed.fraction("began with intro", person.id) < 0.4
    if not began_with_intro:
        return [current]
    begins = read(current["started_at"]) - timedelta(days=seed.whole(INTRO_DAYS + 1, 45, "intro", person.id))
    ends = written(begins + timedelta(days=INTRO_DAYS))
    intro = _row(seed, person, "intro-3") | {
        "status": "expired",
        "state_version": 5,
        "started_at": written(begins),
        "current_period_start": written(begins),
        "current_period_end": ends,
        "ended_at": ends,
        "credits_remaining": 0,
    }
    return [intro, current]


def _current(seed: Seed, person: Person, today: date) -> Row:
    cohort = person.cohort
    ends = daytime(seed, midnight(today), seed.whole(*cohort.ends_in, "ends", person.id), person.id)
    renewals = seed.whole(*cohort.renewals, "renewals", person.id)
    begins = period_before(cohort, ends)
    # The price by which the membership renews; packs do not.
    interval = {1: "month", 12: "year"}.get(cohort.months, "")
    prices = [each for each in PRODUCT_BY_KEY[str(cohort.product)].prices if each.interval == interval]
    row = _row(seed, person, str(cohort.product)) | {
        "price_id": price_id(seed, str(cohort.product), prices[0]) if prices else None,
        "status": cohort.status,
        "auto_renew": cohort.months > 0,
        "state_version": 1 + renewals,
        "started_at": written(period_before(cohort, begins, renewals)),
        "current_period_start": written(begins),
        "current_period_end": written(ends),
    }
    return row | _state_details(seed, person, today, begins, ends)


def period_before(cohort: Cohort, moment: datetime, periods: int = 1) -> datetime:
    if cohort.months:
        return months_before(moment, cohort.months * periods)
    return moment - timedelta(days=cohort.days * periods)


def _row(seed: Seed, person: Person, product: str) -> Row:
    granted = PRODUCT_BY_KEY[product].credits_granted
    return {
        "id": seed.uuid("membership", person.id, product),
        "member_id": person.id,
        "product_id": seed.uuid("product", product),
        **dict.fromkeys(UNSET_AT_FIRST),
        "auto_renew": False,
        "cancel_at_period_end": False,
        "credits_granted": granted,
        "credits_remaining": granted,
    }


def _state_details(seed: Seed, person: Person, today: date, begins: datetime, ends: datetime) -> Row:
    if person.cohort.status == "paused":
        pauses = daytime(seed, midnight(today), -seed.whole(3, 20, "pause", person.id), "pause", person.id)
        length = timedelta(days=seed.pick((30, 45, 60), "pause length", person.id))
        return {
            "paused_at": written(pauses),
            "pause_starts_at": written(pauses),
            "pause_ends_at": written(pauses + length),
            "pause_reason": seed.pick(PAUSE_REASONS, "pause", person.id),
        }
    if person.cohort.status == "cancelled":
        # Every second one stayed to the end of the paid period, the others left at once.
        decided = begins + timedelta(hours=seed.whole(48, 500, "cancelled", person.id))
        stays = person.number % 2 == 0
        ended = written(ends if stays else decided)
        return {
            "auto_renew": False,
            "cancel_at_period_end": stays,
            "cancel_at": ended,
            "cancelled_at": written(decided),
            "cancellation_reason": seed.pick(CANCELLATION_REASONS, "cancelled", person.id),
            "ended_at": ended,
        }
    if person.cohort.status == "expired":
        return {"ended_at": written(ends), "credits_remaining": seed.whole(0, 2, "left over", person.id)}
    if person.cohort.status == "active" and person.cohort.months == 1 and person.number % 9 == 0:
        reason = seed.pick(CANCELLATION_REASONS, "leaving", person.id)
        planned = {"auto_renew": False, "cancel_at_period_end": True, "cancel_at": written(ends)}
        return {**planned, "cancellation_reason": reason}
    return {}


# Purchases

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
    status, share = ("refunded", "1") if person.number % 4 == 1 else ("partially_refunded", "0.4")
    return _purchase(seed, person, Sale(product, paid_at, price, status=status, refunded=Decimal(share)))


def _over_the_counter(seed: Seed, person: Person, today: date) -> Iterator[Row]:
    if person.number % 11 == 3:
        bought_at = _recently(seed, person, today, SOCKS)
        yield _purchase(seed, person, Sale(SOCKS, bought_at, quantity=1 + person.number % 2))
    if person.cohort.role == "user" and not person.cohort.product:
        yield _purchase(seed, person, Sale("pack-10", _recently(seed, person, today, "abandoned"), status="cancelled"))
    if person.weekdays and person.number % 16 == 7:
        status = "completed" if person.number % 32 == 7 else "pending"
        charged_at = _recently(seed, person, today, "fee")
        row = _purchase_row(seed, person, "late_cancel_fee", charged_at, LATE_FEE)
        yield row | {"product_type": "fee", "status": status}


def _recently(seed: Seed, person: Person, today: date, what: str) -> datetime:
    """Within the last days: after even the newest members joined."""
    return daytime(seed, midnight(today), -1, what, person.id)


def _purchase_id(seed: Seed, person: Person, product_key: str, bought_at: datetime) -> str:
    return seed.uuid("purchase", person.id, product_key, written(bought_at))


def socks_id(seed: Seed, person: Person, today: date) -> str:
    """The purchase of somebody's grip socks."""
    return _purchase_id(seed, person, SOCKS, _recently(seed, person, today, SOCKS))


def _purchase(seed: Seed, person: Person, sale: Sale) -> Row:
    sold = PRODUCT_BY_KEY[sale.product]
    row = _purchase_row(seed, person, sale.product, sale.bought_at, sale.price or sold.prices[0])
    total = Decimal(row["amount_total"]) * sale.quantity
    return row | {
        "product_id": seed.uuid("product", sale.product),
        "product_type": sold.product_type,
        "quantity": sale.quantity,
        "amount_total": str(total),
        # Quantized like the total, so that the currency keeps its own number of decimals.
        "refunded_amount": str((total * sale.refunded).quantize(total)),
        "status": sale.status,
        "paid_by": _paid_by(seed, person, sale) if PurchaseStatus(sale.status) in RECEIVED else None,
    }


def _paid_by(seed: Seed, person: Person, sale: Sale) -> str:
    """Small things are often paid in cash, everything else mostly by card."""
    ways = ("cash", "cash", "card", "card") if sale.product == SOCKS else ("card", "card", "card", "cash", "transfer")
    return seed.pick(ways, "paid by", person.id, written(sale.bought_at))


def _purchase_row(seed: Seed, person: Person, product_key: str, bought_at: datetime, price: Price) -> Row:
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
