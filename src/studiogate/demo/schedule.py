"""The timetable, and the classes laid out from it: two weeks back, and as far ahead as series go.

All its times lie between 06:00 and 21:00, local time, where no clock is ever set forward or back.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from studiogate.demo.seed import Seed, sections, week_number, written
from studiogate.demo.studio import LOCATIONS, ROOM_BY_KEY, Room

DAYS_BEFORE = 14
# Eight weeks: the default of how far ahead the classes of a series are created.
DAYS_AFTER = 56
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
OPENED = date(2023, 1, 2)


@dataclass(frozen=True)
class Slot:
    key: str
    location: str
    minutes: int
    room: str
    class_type: str
    title: str
    instructor: str | None
    capacity: int
    days: tuple[int, ...] = ()
    starts: time = time()
    spots: str | None = None
    description: str | None = None
    allow_waitlist: bool = True
    visible: bool = True
    # Sought after: full within days of opening, with people waiting.
    sought_after: bool = False
    # On the slot's first day of every third week the class is cancelled.
    often_cancelled: bool = False
    policy: dict[str, object] | None = None


def read_slot(entry: dict[str, Any]) -> Slot:
    """Return a slot as content/timetable.json has it: weekdays by three letters, the start as HH:MM."""
    days = tuple(number for number, name in enumerate(WEEKDAYS) if name[:3] in entry.get("days", ()))
    return Slot(**{**entry, "days": days, "starts": time.fromisoformat(entry.get("starts", "00:00"))})


TIMETABLE = tuple(map(read_slot, sections("timetable.json")["timetable"]))


@dataclass(frozen=True)
class Session:
    id: str
    slot: Slot
    day: date
    starts: datetime
    cancelled: bool

    @property
    def ends(self) -> datetime:
        return self.starts + timedelta(minutes=self.slot.minutes)

    @property
    def room(self) -> Room:
        return ROOM_BY_KEY[self.slot.room]


def series_id(seed: Seed, slot: Slot) -> str:
    return seed.uuid("series", slot.location, slot.key)


def sessions(seed: Seed, today: date) -> list[Session]:
    found = []
    for day in (today + timedelta(days=offset) for offset in range(-DAYS_BEFORE, DAYS_AFTER + 1)):
        for slot in (each for each in TIMETABLE if day.weekday() in each.days):
            # Seven in the morning stays seven in the morning when the clocks change.
            starts = datetime.combine(day, slot.starts, zone_of(slot)).astimezone(UTC)
            # By the day alone: an import must never find a class cancelled that it knew as scheduled.
            is_third = day.weekday() == slot.days[0] and week_number(day) % 3 == len(slot.days) % 3
            id_ = seed.uuid("class", slot.location, slot.key, day)
            found.append(Session(id_, slot, day, starts, slot.often_cancelled and is_third))
    return sorted(found, key=lambda session: (session.starts, session.id))


def zone_of(slot: Slot) -> ZoneInfo:
    return ZoneInfo(LOCATIONS[slot.location]["timezone"])


def class_row(seed: Seed, session: Session) -> dict[str, object]:
    slot = session.slot
    return {
        "id": session.id,
        **_of_slot(seed, slot),
        "start_time": written(session.starts),
        "end_time": written(session.ends),
        "status": "cancelled" if session.cancelled else "scheduled",
        # Workshops and the classes of the moment repeat on no day.
        "series_id": series_id(seed, slot) if slot.days else None,
        "series_date": session.day.isoformat() if slot.days else None,
    }


def _of_slot(seed: Seed, slot: Slot) -> dict[str, object]:
    """Return what the classes of a slot and their series have in common."""
    return {
        "title": slot.title,
        "description": slot.description,
        "class_type_id": seed.uuid("class_type", slot.class_type),
        "location_id": seed.uuid("location", slot.location),
        "room_id": seed.uuid("room", slot.room),
        "instructor_id": seed.uuid("instructor", slot.instructor) if slot.instructor else None,
        "capacity": slot.capacity,
        "allow_waitlist": slot.allow_waitlist,
        "spot_selection_mode": slot.spots,
        "visible": slot.visible,
        "policy": dict(slot.policy) if slot.policy else None,
    }


def series_rows(seed: Seed, today: date) -> list[dict[str, object]]:
    """One series per slot; its classes exist as far ahead as housekeeping would have created them."""
    return [
        {
            "id": series_id(seed, slot),
            **_of_slot(seed, slot),
            "weekdays": [WEEKDAYS[day] for day in slot.days],
            "local_start": f"{slot.starts:%H:%M}",
            "minutes": slot.minutes,
            "every_weeks": 1,
            "first_date": OPENED.isoformat(),
            "last_date": None,
            "generated_until": (today + timedelta(days=DAYS_AFTER)).isoformat(),
        }
        for slot in TIMETABLE
    ]
