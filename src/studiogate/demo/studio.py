"""The studio itself: places, products, class types, instructors, and the people who work there. The pictures are soft
hills, and a figure before them, drawn when they are needed."""

import colorsys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from PIL import Image, ImageDraw

from studiogate.demo.seed import Seed, sections
from studiogate.domain.pictures import SIZES, Picture, encoded
from studiogate.domain.staff import Role

# Drawn at a quarter of the size and enlarged: that makes soft edges.
DETAIL = 4
HILLS = 4


@cache
def picture_of(seed: Seed, kind: str, key: str) -> Picture:
    """Return the picture of a class type or an instructor, in colours of its own."""
    size, hue = SIZES[kind], seed.fraction("hue", kind, key)
    width, height = (side // DETAIL for side in size)
    image = Image.new("RGB", (width, height), _colour(hue, 0.14, 0.97))
    draw = ImageDraw.Draw(image)
    for hill in range(HILLS):
        middle, top = width * seed.fraction("hill", key, hill), height * (0.3 + 0.17 * hill)
        box = (middle - 0.8 * width, top, middle + 0.8 * width, top + height)
        draw.ellipse(box, fill=_colour(hue + 0.03 * hill, 0.22 + 0.1 * hill, 0.92 - 0.1 * hill))
    if kind == "instructor":
        dark, middle = _colour(hue + 0.1, 0.5, 0.38), width / 2
        draw.ellipse((middle - 0.42 * width, 0.66 * height, middle + 0.42 * width, 1.7 * height), fill=dark)
        draw.ellipse((middle - 0.17 * width, 0.24 * height, middle + 0.17 * width, 0.62 * height), fill=dark)
    return encoded(image.resize(size, Image.Resampling.BICUBIC))


def _colour(hue: float, saturation: float, value: float) -> tuple[int, int, int]:
    red, green, blue = (round(255 * part) for part in colorsys.hsv_to_rgb(hue % 1, saturation, value))
    return red, green, blue


class Colleague(NamedTuple):
    """``instructor`` is the key of the instructor that an instructor's account belongs to."""

    name: str
    email: str
    role: Role
    locations: tuple[str, ...] = ()
    instructor: str | None = None


_PLACES = sections("studio.json")
STAFF = tuple(Colleague(**each | {"role": Role(each["role"])}) for each in _PLACES["staff"])
OWNER, MANAGER, FRONT_DESK, *_ = STAFF
SLUG = "demo"
TIMEZONE = "America/New_York"
STUDIO, POLICY = _PLACES["studio"], _PLACES["policy"]


@dataclass(frozen=True)
class Room:
    key: str
    location: str
    name: str
    capacity: int
    active: bool = True
    spot_word: str | None = None
    # Spots per row, the front row first: the second row of a cycle room is wider than the first.
    rows: tuple[int, ...] = ()


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


LOCATIONS = {
    each["key"]: {"active": True, "is_primary": False, "policy": None, **each} for each in _PLACES["locations"]
}
ROOMS = tuple(Room(**each) for each in _PLACES["rooms"])
PRODUCTS = tuple(
    Product(**each | {"prices": tuple(Price(**price) for price in each["prices"])})
    for each in sections("catalog.json")["products"]
)
ROOM_BY_KEY = {room.key: room for room in ROOMS}
PRODUCT_BY_KEY = {product.key: product for product in PRODUCTS}


def studio_row(seed: Seed) -> dict[str, object]:
    return {"id": seed.uuid("studio", SLUG), **STUDIO, "policy": dict(POLICY)}


def _fields(row: Mapping[str, object], *left_out: str) -> dict[str, object]:
    return {name: value for name, value in row.items() if name not in left_out}


def location_rows(seed: Seed) -> list[dict[str, object]]:
    return [{"id": seed.uuid("location", key), **_fields(each, "key")} for key, each in LOCATIONS.items()]


def room_rows(seed: Seed) -> list[dict[str, object]]:
    return [
        {
            "id": seed.uuid("room", room.key),
            "location_id": seed.uuid("location", room.location),
            **_fields(vars(room), "key", "location", "spot_word", "rows"),
            "spots": spot_rows(seed, room),
        }
        for room in ROOMS
    ]


def spot_rows(seed: Seed, room: Room) -> list[dict[str, object]]:
    """The room's spots from front left to back right; every row is centred before the instructor."""
    places = [
        (column * 2 + max(room.rows) - width, depth) for depth, width in enumerate(room.rows) for column in range(width)
    ]
    return [
        {"id": seed.uuid("spot", room.key, number), "label": f"{room.spot_word} {number}", "x": x, "y": y}
        for number, (x, y) in enumerate(places, start=1)
    ]


def spot_ids(seed: Seed, room: Room) -> list[str]:
    return [seed.uuid("spot", room.key, number) for number in range(1, sum(room.rows) + 1)]


def class_type_rows(seed: Seed) -> list[dict[str, object]]:
    return [
        {
            "id": seed.uuid("class_type", kind["key"]),
            **{name: kind[name] for name in ("name", "description", "beginner_safe", "recovery")},
            "picture": picture_of(seed, "class_type", kind["key"]).name,
            "policy": class_type_policy(seed, kind["key"]),
        }
        for kind in _PLACES["class_types"]
    ]


def class_type_policy(seed: Seed, class_type: str) -> dict[str, object] | None:
    """A reformer that stays empty costs a fee; nobody hangs from the ceiling without a signed waiver."""
    if class_type == "aerial":
        return {"waiver_form_id": seed.uuid("form", "liability-waiver")}
    policies = {kind["key"]: kind.get("policy") for kind in _PLACES["class_types"]}
    return policies.get(class_type)


def instructor_rows(seed: Seed) -> list[dict[str, object]]:
    known = ({"active": True, **each, "tags": list(each["tags"])} for each in _PLACES["instructors"])
    rows = ((each.pop("key"), each) for each in known)
    return [
        {"id": seed.uuid("instructor", key), **row, "picture": picture_of(seed, "instructor", key).name}
        for key, row in rows
    ]


def picture_contents(seed: Seed) -> dict[str, bytes]:
    """The pictures by their names."""
    kinds = (("class_type", _PLACES["class_types"]), ("instructor", _PLACES["instructors"]))
    return dict(picture_of(seed, kind, each["key"]) for kind, rows in kinds for each in rows)


def product_rows(seed: Seed) -> list[dict[str, object]]:
    return [
        {
            "id": seed.uuid("product", product.key),
            **_fields(vars(product), "prices", "locations", "class_types"),
            "location_ids": [seed.uuid("location", key) for key in product.locations],
            "class_type_ids": [seed.uuid("class_type", key) for key in product.class_types],
            "prices": [
                {
                    "id": price_id(seed, product.key, price),
                    **_fields(vars(price), "locations"),
                    "price_type": "recurring" if price.interval else "one_time",
                    "location_ids": [seed.uuid("location", key) for key in price.locations],
                }
                for price in product.prices
            ],
        }
        for product in PRODUCTS
    ]


def price_id(seed: Seed, product: str, price: Price) -> str:
    return seed.uuid("price", product, price.currency, price.amount, price.interval)
