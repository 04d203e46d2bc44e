"""Workshops three weeks ahead: the classes with which the guide to the demo studio shows every refusal and effect.

Their ids never change, whenever the studio is made, so that the guide can name them. Each is on its own, apart from two
that overlap on purpose.
"""

from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from studiogate.demo.cast import OF_THE_GUIDE
from studiogate.demo.people import Person
from studiogate.demo.schedule import Session
from studiogate.demo.seats import Seat
from studiogate.demo.seed import Seed
from studiogate.demo.studio import LOCATION_BY_KEY, ROOM_BY_KEY, spot_ids
from studiogate.demo.timetable import Slot

MONTH = 30 * 24 * 60
LATE: dict[str, object] = {"cancellation_window_minutes": 2 * MONTH, "free_late_cancels": 0}
FEE: dict[str, object] = {"late_fee_amount": "15.00", "late_fee_currency": "USD"}
MORNING, NOON, AFTERNOON = time(10), time(13), time(16)


class Workshop(NamedTuple):
    """``people`` take the seats, ``waiting`` the waitlist, by what they show in the guide."""

    key: str
    title: str
    in_days: int
    at: time = MORNING
    capacity: int = 12
    people: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    policy: dict[str, object] | None = None
    more: dict[str, Any] = {}  # noqa: RUF012 - never changed; named tuples have no factories
    cancelled: bool = False


WORKSHOPS = (
    Workshop("open", "Workshop: Breath and Core", 21, people=("on_time", "unlimited", "cancelled")),
    Workshop("cancelled", "Workshop: Foam Rolling", 21, NOON, cancelled=True),
    Workshop("hidden", "Teacher Training: Anatomy", 21, AFTERNOON, more={"visible": False}),
    Workshop("started", "Workshop: Weekend Stretch", -2, people=("busy",)),
    Workshop("not-open", "Workshop: Handstands", 22, policy={"booking_opens_minutes_before": 24 * 60}),
    Workshop("closed", "Workshop: Deep Squats", 22, NOON, policy={"booking_closes_minutes_before": 2 * MONTH}),
    Workshop("waiver", "Workshop: Aerial Basics", 22, AFTERNOON, more={"class_type": "aerial"}),
    Workshop("busy", "Workshop: Hips and Ankles", 23, people=("busy",)),
    Workshop("overlapping", "Workshop: Desk Shoulders", 23, time(10, 30), more={"room": "bk-loft"}),
    Workshop("limited", "Workshop: Evening Mobility", 23, AFTERNOON, policy={"max_bookings_per_day": 1}),
    Workshop("spots", "Workshop: Power Ride", 24, people=("unlimited",), more={"room": "bk-loft", "spots": "required"}),
    Workshop("any-spot", "Workshop: First Ride", 24, NOON, more={"room": "bk-loft", "spots": "optional"}),
    Workshop("full", "Workshop: Reset", 25, MORNING, 2, ("gives_way", "on_time"), ("spent", "waiting")),
    Workshop("no-waitlist", "Workshop: Partner Stretch", 25, NOON, 1, ("busy",), more={"allow_waitlist": False}),
    Workshop(
        "long-waitlist",
        "Workshop: Small Group Barre",
        25,
        AFTERNOON,
        1,
        ("late",),
        ("leaves_waitlist",),
        {"waitlist_capacity": 1},
    ),
    Workshop("late", "Workshop: Night Flow", 26, people=("late",), policy=LATE),
    Workshop(
        "late-fee",
        "Workshop: Kettlebell Skills",
        26,
        NOON,
        people=("late_with_fee",),
        policy=LATE | FEE | {"late_action": "fee"},
    ),
    Workshop(
        "late-both",
        "Workshop: Jump Board",
        26,
        AFTERNOON,
        people=("late_with_both",),
        policy=LATE | FEE | {"late_action": "fee_and_forfeit"},
    ),
    Workshop("graced", "Workshop: Slow Hips", 27, people=("graced",), policy=LATE | {"free_late_cancels": 1}),
    Workshop(
        "late-free",
        "Workshop: Sound Bath",
        27,
        NOON,
        people=("late_for_free",),
        policy=LATE | {"late_action": "none"},
    ),
)

SHOWN_BY = {part.guide: part.name for part in OF_THE_GUIDE if part.guide}


def workshop_sessions(seed: Seed, today: date) -> list[Session]:
    return [_session(seed, workshop, today) for workshop in WORKSHOPS]


def workshop_seats(seed: Seed, people: dict[str, Person], today: date, now: datetime) -> list[Seat]:
    return [
        seat
        for workshop, session in zip(WORKSHOPS, workshop_sessions(seed, today), strict=True)
        for seat in _seats(seed, workshop, session, people, now)
    ]


def _session(seed: Seed, workshop: Workshop, today: date) -> Session:
    slot = Slot(
        f"workshop-{workshop.key}",
        "brooklyn",
        (),
        workshop.at,
        60,
        "bk-garden",
        "mat",
        workshop.title,
        "mira",
        workshop.capacity,
        policy=workshop.policy,
    )
    slot = replace(slot, **workshop.more)
    if slot.room != "bk-garden":
        slot = replace(slot, instructor="ana")
    zone = ZoneInfo(LOCATION_BY_KEY[slot.location].timezone)
    day = today + timedelta(days=workshop.in_days)
    starts = datetime.combine(day, workshop.at, zone)
    id_ = seed.uuid("class", "workshop", workshop.key)
    return Session(id_, slot, day, starts.astimezone(UTC), workshop.cancelled)


def _seats(seed: Seed, workshop: Workshop, session: Session, people: dict[str, Person], now: datetime) -> list[Seat]:
    """Booked within the last week, the seats before the waitlist."""
    first = min(now, session.starts) - timedelta(days=6)
    spots = spot_ids(seed, ROOM_BY_KEY[session.slot.room]) if session.slot.spots else []
    seats = []
    for place, part in enumerate((*workshop.people, *workshop.waiting)):
        person = people[SHOWN_BY[part]]
        booked_at, waits = first + timedelta(hours=5 * place + 1), place >= len(workshop.people)
        seat = Seat(session, person, booked_at, waits, attends="checked_in" if session.starts <= now else None)
        if part == "cancelled":
            seat = replace(seat, leaves_at=now - timedelta(days=1))
        seats.append(replace(seat, spot=spots[place] if spots else None, skipped=_skipped(part, waits=seat.waits)))
    return seats


def _skipped(part: str, *, waits: bool) -> str | None:
    return "insufficient_credits" if waits and part == "spent" else None
