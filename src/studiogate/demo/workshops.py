"""Workshops three weeks ahead: the classes with which the guide to the demo studio shows every refusal and effect.

Their ids never change, whenever the studio is made, so that the guide can name them. Each is on its own, apart from two
that overlap on purpose.
"""

from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from studiogate.demo.content_files import sections
from studiogate.demo.people import OF_THE_GUIDE, Person
from studiogate.demo.rosters import Seat
from studiogate.demo.schedule import Session, Slot
from studiogate.demo.seed import Seed
from studiogate.demo.studio import LOCATION_BY_KEY, ROOM_BY_KEY, spot_ids


class Workshop(NamedTuple):
    """``people`` take the seats, ``waiting`` the waitlist, by what they show in the guide."""

    key: str
    title: str
    in_days: int
    at: time
    capacity: int = 12
    people: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    policy: dict[str, object] | None = None
    more: dict[str, Any] = {}  # noqa: RUF012 - never changed; named tuples have no factories
    cancelled: bool = False


WORKSHOPS = tuple(
    Workshop(**each | {"at": time.fromisoformat(each.get("at", "10:00"))})
    for each in sections("timetable.json")["workshops"]
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
        key=f"workshop-{workshop.key}",
        location="brooklyn",
        minutes=60,
        room="bk-garden",
        class_type="mat",
        title=workshop.title,
        instructor="mira",
        capacity=workshop.capacity,
        starts=workshop.at,
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
