"""The studio, its locations and their rooms."""

from dataclasses import dataclass

from studiogate.demo.seed import Seed

SLUG = "demo"
TIMEZONE = "America/New_York"

STUDIO = {
    "name": "North Loop Movement",
    "slug": SLUG,
    "timezone": TIMEZONE,
    "logo_url": None,
    "primary_color": "#2F5D50",
    "currency": "USD",
    "country": "US",
    "test": True,
}

POLICY = {
    "cancellation_window_minutes": 720,
    "late_action": "forfeit_credit",
    "free_late_cancels": 1,
    "free_late_cancels_days": 30,
    "waitlist_mode": "auto",
    "waitlist_capacity": 20,
    "max_bookings_per_day": 3,
}


@dataclass(frozen=True)
class Location:
    key: str
    name: str
    city: str
    state: str
    timezone: str
    active: bool = True
    is_primary: bool = False
    policy: dict[str, object] | None = None


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


LOCATIONS = (
    Location("brooklyn", "Gowanus, Brooklyn", "Brooklyn", "NY", "America/New_York", is_primary=True),
    Location(
        "denver",
        "RiNo, Denver",
        "Denver",
        "CO",
        "America/Denver",
        # Booking opens three weeks ahead here, and a shorter notice is enough to cancel.
        policy={"cancellation_window_minutes": 480, "booking_opens_minutes_before": 30240},
    ),
    Location("jersey-city", "Grove Street, Jersey City", "Jersey City", "NJ", "America/New_York", active=False),
)

ROOMS = (
    Room("bk-reformer", "brooklyn", "Reformer Room", 10, spot_word="Reformer", rows=(5, 5)),
    Room("bk-cycle", "brooklyn", "Cycle Room", 12, spot_word="Bike", rows=(3, 4, 5)),
    Room("bk-main", "brooklyn", "Main Floor", 16),
    Room("bk-garden", "brooklyn", "Garden Room", 30),
    Room("bk-loft", "brooklyn", "Ride Loft", 12, spot_word="Bike", rows=(5, 7)),
    Room("dv-loft", "denver", "Reformer Loft", 8, spot_word="Reformer", rows=(4, 4)),
    Room("dv-ridge", "denver", "Ridge Room", 14),
    Room("dv-canyon", "denver", "Canyon Room", 16),
    Room("jc-studio", "jersey-city", "Studio A", 12, active=False),
)

LOCATION_BY_KEY = {location.key: location for location in LOCATIONS}
ROOM_BY_KEY = {room.key: room for room in ROOMS}


def studio_row(seed: Seed) -> dict[str, object]:
    return {"id": seed.uuid("studio", SLUG), **STUDIO, "policy": dict(POLICY)}


def location_rows(seed: Seed) -> list[dict[str, object]]:
    return [_location_row(seed, location) for location in LOCATIONS]


def _location_row(seed: Seed, location: Location) -> dict[str, object]:
    return {
        "id": seed.uuid("location", location.key),
        "name": location.name,
        "city": location.city,
        "state": location.state,
        "timezone": location.timezone,
        "active": location.active,
        "is_primary": location.is_primary,
        "policy": dict(location.policy) if location.policy else None,
    }


def room_rows(seed: Seed) -> list[dict[str, object]]:
    return [
        {
            "id": seed.uuid("room", room.key),
            "location_id": seed.uuid("location", room.location),
            "name": room.name,
            "capacity": room.capacity,
            "active": room.active,
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
