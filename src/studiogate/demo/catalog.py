"""What the studio sells, and which classes each product admits to."""

from dataclasses import dataclass

from studiogate.demo.seed import Seed


@dataclass(frozen=True)
class Price:
    amount: str
    currency: str = "USD"
    interval: str | None = None
    default: bool = True
    active: bool = True
    locations: tuple[str, ...] = ()


@dataclass(frozen=True)
class Product:
    key: str
    name: str
    product_type: str
    credits_granted: int | None
    prices: tuple[Price, ...]
    active: bool = True
    client_visible: bool = True
    locations: tuple[str, ...] = ()
    class_types: tuple[str, ...] = ()

    def covers(self, location: str, class_type: str) -> bool:
        return location in (self.locations or (location,)) and class_type in (self.class_types or (class_type,))


PRODUCTS = (
    Product("intro-3", "Intro Offer: 3 Classes in 30 Days", "intro", 3, (Price("59.00"),)),
    Product(
        "drop-in",
        "Single Class",
        "single",
        1,
        (
            Price("32.00"),
            Price("28.00", default=False, locations=("denver",)),
            Price("29.50", currency="EUR", default=False),
            Price("4800", currency="JPY", default=False),
        ),
    ),
    Product("pack-5", "5 Class Pack", "package", 5, (Price("145.00"),)),
    Product("pack-10", "10 Class Pack", "package", 10, (Price("270.00"), Price("250.00", default=False, active=False))),
    Product("pack-20", "20 Class Pack", "package", 20, (Price("480.00"),)),
    Product(
        "unlimited",
        "Unlimited",
        "membership",
        None,
        (Price("219.00", interval="month"), Price("2190.00", interval="year", default=False)),
    ),
    Product(
        "off-peak-brooklyn",
        "Brooklyn Off-Peak",
        "membership",
        None,
        (Price("139.00", interval="month"),),
        locations=("brooklyn",),
    ),
    Product(
        "reformer-10",
        "10 Reformer Pack",
        "package",
        10,
        (Price("320.00"),),
        class_types=("reformer-foundations", "reformer-flow"),
    ),
    Product("grip-socks", "Grip Socks", "retail", None, (Price("18.00"),)),
    Product("staff-guest", "Staff Guest Pass", "single", 1, (Price("0.00"),), client_visible=False),
    Product("founders", "Founding Member", "membership", None, (Price("149.00", interval="month"),), active=False),
)

PRODUCT_BY_KEY = {product.key: product for product in PRODUCTS}


def product_rows(seed: Seed) -> list[dict[str, object]]:
    return [
        {
            "id": seed.uuid("product", product.key),
            "key": product.key,
            "name": product.name,
            "product_type": product.product_type,
            "active": product.active,
            "client_visible": product.client_visible,
            "credits_granted": product.credits_granted,
            "location_ids": [seed.uuid("location", key) for key in product.locations],
            "class_type_ids": [seed.uuid("class_type", key) for key in product.class_types],
            "prices": [_price_row(seed, product, price) for price in product.prices],
        }
        for product in PRODUCTS
    ]


def price_id(seed: Seed, product: str, price: Price) -> str:
    return seed.uuid("price", product, price.currency, price.amount, price.interval)


def _price_row(seed: Seed, product: Product, price: Price) -> dict[str, object]:
    return {
        "id": price_id(seed, product.key, price),
        "amount": price.amount,
        "currency": price.currency,
        "price_type": "recurring" if price.interval else "one_time",
        "interval": price.interval,
        "default": price.default,
        "active": price.active,
        "location_ids": [seed.uuid("location", key) for key in price.locations],
    }
